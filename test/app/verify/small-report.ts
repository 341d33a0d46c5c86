import {
  amountLine,
  reportHeader,
  reportText,
  type ReportFields,
} from '../../sources/finances/settlement-reports/report-file.js';

const period = { 'settlement-start-date': '2025-02-20 00:00:00 UTC', 'settlement-end-date': '2025-03-06 00:00:00 UTC' };

interface Changed {
  readonly total?: string;
  readonly header?: ReportFields;
  /** Lines in addition to those of the settlement. */
  readonly lines?: readonly string[];
}

/** The report of GROUP-1, computed by hand from the small backend. */
export function smallReport({ total = '228.71', header = {}, lines = [] }: Changed = {}): string {
  const sales = Array.from({ length: 14 }, (_, number) => {
    const day = new Date(Date.UTC(2025, 1, 20 + number, 2)).toISOString();
    const order = `111-0000000-${String(number).padStart(7, '0')}`;
    const posted = { 'posted-date': day.slice(0, 10), 'posted-date-time': `${day.slice(0, 19).replace('T', ' ')} UTC` };
    const shared = { ...posted, 'order-id': order, sku: `SKU-${number}` };
    return [
      amountLine('900', '25.10', shared),
      amountLine('900', '-3.765', { ...shared, 'amount-type': 'ItemFees', 'amount-description': 'Commission' }),
    ];
  });
  const other = { 'transaction-type': 'other-transaction', 'order-id': '', 'amount-type': 'other-transaction' };
  const fee = amountLine('900', '-39.99', { ...other, 'amount-description': 'Subscription Fee' });
  const reserve = { ...other, 'amount-description': 'Previous Reserve Amount Balance', 'posted-date-time': '' };
  return reportText(
    reportHeader('900', total, { ...period, ...header }),
    ...[amountLine('900', '10.00', reserve), ...sales.flat(), fee, fee, ...lines],
  );
}
