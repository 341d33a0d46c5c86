/** The columns of a settlement report, in Amazon's order. */
export const reportColumns = [
  'settlement-id',
  'settlement-start-date',
  'settlement-end-date',
  'deposit-date',
  'total-amount',
  'currency',
  'transaction-type',
  'order-id',
  'merchant-order-id',
  'adjustment-id',
  'shipment-id',
  'marketplace-name',
  'amount-type',
  'amount-description',
  'amount',
  'fulfillment-id',
  'posted-date',
  'posted-date-time',
  'order-item-code',
  'merchant-order-item-id',
  'merchant-adjustment-item-id',
  'sku',
  'quantity-purchased',
  'promotion-id',
] as const;

export type ReportFields = Readonly<Partial<Record<string, string>>>;

/** A line of a report. */
export function reportLine(fields: ReportFields, columns: readonly string[] = reportColumns): string {
  return columns.map((name) => fields[name] ?? '').join('\t');
}

/** The first line of a settlement. */
export function reportHeader(id: string, total: string, more: ReportFields = {}): string {
  return reportLine({
    'settlement-id': id,
    'settlement-start-date': '2026-03-02 07:11:20 UTC',
    'settlement-end-date': '2026-03-16 07:11:20 UTC',
    'deposit-date': '2026-03-18 07:11:20 UTC',
    'total-amount': total,
    currency: 'USD',
    ...more,
  });
}

/** A line of an order of a settlement. */
export function amountLine(id: string, amount: string, more: ReportFields = {}): string {
  return reportLine({
    'settlement-id': id,
    'transaction-type': 'Order',
    'order-id': '111-0000000-0000001',
    'marketplace-name': 'Amazon.com',
    'amount-type': 'ItemPrice',
    'amount-description': 'Principal',
    amount,
    'posted-date': '2026-03-03',
    'posted-date-time': '2026-03-03 01:02:03 UTC',
    ...more,
  });
}

export const reportNames = reportColumns.join('\t');

/** A document: its line of names, and others. */
export function reportText(...lines: readonly string[]): string {
  return `${[reportNames, ...lines].join('\n')}\n`;
}
