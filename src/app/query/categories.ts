import { literal } from '../../core/duckdb/literals.js';

/** A category of net amounts: each amount belongs to exactly one. */
export interface Category {
  readonly id: CategoryId;
  readonly label: string;
  readonly about: string;
  /** The `kind` of its entries; entries of the lists that give money back belong to `refunds` whatever their kind. */
  readonly kinds: readonly string[];
}

/** SQL expressions that decide an amount's category beside its kind. */
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

/** Lists whose events give a buyer's money back, together with all that is returned to the seller. */
const refundLists = ['RefundEventList', 'GuaranteeClaimEventList', 'ChargebackEventList'];

/** The categories in the order of display. */
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

/** The name of the column for a category. */
export function columnOf(id: CategoryId): string {
  return id === 'charges' ? 'sales' : id === 'transfers' ? 'loans_and_transfers' : id;
}

/** The categories of trade: all but transfers and unknown amounts. */
export const tradeCategories = categories.filter(({ id }) => id !== 'transfers' && id !== 'unknown');

/**
 * SQL for the category of a net amount. A charge named as a tax (`Tax`, `ShippingTax`, `TCS-IGST`) is a tax, not a
 * sale.
 */
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

/** SQL for the category of a net entry of v0. */
export const entryCategory = categorySql({
  isRefund: `event_list IN (${refundLists.map(literal).join(', ')})`,
  isFeeRefund: "event_list = 'ChargeRefundEventList'",
});
