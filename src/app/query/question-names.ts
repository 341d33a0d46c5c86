/** The names of the questions, in the order of their list. */
export const questionNames = [
  'profit-by-month',
  'month-comparison',
  'profit-by-marketplace',
  'profit-by-sku',
  'unprofitable-skus',
  'costs-to-check',
  'fee-rate',
  'largest-fees',
  'storage-fees',
  'advertising',
  'promotions',
  'refunds-by-month',
  'refund-rate',
  'reimbursements',
  'tax-by-marketplace',
  'orders-not-paid',
  'open-settlements',
  'payouts',
  'order-history',
  'late-events',
  'changed-months',
  'unknown-amounts',
  'currencies',
  'days-not-loaded',
] as const;

/** The name of a question of `ask`. */
export type QuestionName = (typeof questionNames)[number];
