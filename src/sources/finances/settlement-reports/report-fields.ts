/** The fields of a flat file V2, in Amazon's order. */
export const reportFields = [
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

export type ReportField = (typeof reportFields)[number];

/** Columns of `settlement_lines` that are a field of the line as it stands. */
export const textFields = {
  transaction_type: 'transaction-type',
  merchant_order_id: 'merchant-order-id',
  adjustment_id: 'adjustment-id',
  shipment_id: 'shipment-id',
  marketplace: 'marketplace-name',
  amount_type: 'amount-type',
  amount_description: 'amount-description',
  order_id: 'order-id',
  fulfillment_id: 'fulfillment-id',
  order_item_id: 'order-item-code',
  merchant_order_item_id: 'merchant-order-item-id',
  merchant_adjustment_item_id: 'merchant-adjustment-item-id',
  sku: 'sku',
  promotion_id: 'promotion-id',
} as const satisfies Readonly<Record<string, ReportField>>;
