import { literal } from '../../core/duckdb/literals.js';

/** A category of net amounts: each amount belongs to exactly one. */
export interface Category {
  readonly id: CategoryId;
  readonly label: string;
  /** What belongs to it, for a reader who wants to check. */
  readonly about: string;
  /** `kind` of the entries; those of the lists that give money back belong to `refunds` whatever their kind is. */
  readonly kinds: readonly string[];
}

/** SQL for what decides an amount's category beside its kind. */
interface CategoryRules {
  /** Whether its event gives a buyer's money back. */
  readonly isRefund: string;
  /** Whether its event gives a fee back. */
  readonly isFeeRefund?: string;
  /** The amount's own type. */
  readonly name?: string;
}

export type CategoryId =
  'charges' | 'promotions' | 'fees' | 'taxes' | 'refunds' | 'reimbursements' | 'transfers' | 'unknown';

/** Lists whose events give a buyer's money back, with all that comes back to the seller beside it. */
export const refundLists = ['RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList'] as const;

/** In the order in which they are shown. */
export const categories: readonly Category[] = [
  {
    id: 'charges',
    label: 'Sales',
    about: 'What buyers paid without tax: prices, shipping, gift wrap.',
    kinds: ['charge'],
  },
  {
    id: 'promotions',
    label: 'Promotions',
    about: 'Rebates on prices and shipping, and the cost of points.',
    kinds: ['promotion', 'points'],
  },
  {
    id: 'fees',
    label: 'Fees',
    about: 'What the marketplace took for selling, shipping, storing, advertising.',
    kinds: ['fee'],
  },
  {
    id: 'taxes',
    label: 'Taxes',
    about:
      'Tax that buyers paid, less what the marketplace withheld to remit it, and tax on advertising, coupons and deals. Tax that was given ' +
      'back is part of the refunds, and a fee that is a tax one of the fees.',
    kinds: ['tax', 'tax_withheld'],
  },
  {
    id: 'refunds',
    label: 'Refunds',
    about: 'Every amount of refunds, guarantee claims and chargebacks, with fees that were given back.',
    kinds: [],
  },
  {
    id: 'reimbursements',
    label: 'Reimbursements',
    about: 'What the marketplace made good, and its adjustments, such as for lost stock.',
    kinds: ['reimbursement', 'adjustment'],
  },
  {
    id: 'transfers',
    label: 'Loans and transfers',
    about: 'Loans, debts, credits, disbursements and direct payments: money that was moved, not earned.',
    kinds: ['credit', 'debt', 'loan', 'disbursement', 'direct_payment'],
  },
  {
    id: 'unknown',
    label: 'Unknown',
    about: 'Amounts of transactions whose kind is not known; they are part of the net proceeds.',
    kinds: [],
  },
];

/** What a column of amounts of a category is called. */
export function columnOf(id: CategoryId): string {
  return id === 'charges' ? 'sales' : id === 'transfers' ? 'loans_and_transfers' : id;
}

/** What selling brought and cost: neither what was moved nor what is unknown. */
export const tradeCategories = categories.filter(({ id }) => id !== 'transfers' && id !== 'unknown');

/** SQL for the category of a net amount. A charge that is tax by its name (`Tax`, `ShippingTax`, `TCS-IGST`) is no sale. */
export function categorySql({ isRefund, isFeeRefund = 'false', name = 'name' }: CategoryRules): string {
  const isTax = `contains(${name}, 'Tax') OR contains(${name}, 'VAT') OR starts_with(${name}, 'TCS')`;
  const kinds = categories
    .filter(({ kinds: of }) => of.length > 0)
    .map(({ id, kinds: of }) => `WHEN kind IN (${of.map(literal).join(', ')}) THEN ${literal(id)} `);
  return (
    `CASE WHEN ${isRefund} THEN 'refunds' WHEN kind = 'charge' AND (${isTax}) THEN 'taxes' ` +
    `WHEN kind = 'charge' AND ${isFeeRefund} THEN 'fees' ${kinds.join('')}ELSE 'unknown' END`
  );
}

/** The same for entries of v0, which name their list. */
export const entryCategory = categorySql({
  isRefund: `event_list IN (${refundLists.map(literal).join(', ')})`,
  isFeeRefund: "event_list = 'ChargeRefundEventList'",
});
