/** A category of net amounts, as `category_of` in SQL decides: each amount belongs to exactly one. */
export interface Category {
  readonly id: CategoryId;
  readonly label: string;
  readonly about: string;
}

export type CategoryId =
  'sales' | 'promotions' | 'fees' | 'taxes' | 'refunds' | 'reimbursements' | 'loans_and_transfers' | 'unknown';

/** The categories in the order of display. */
export const categories: readonly Category[] = [
  {
    id: 'sales',
    label: 'Sales',
    about: 'What buyers paid without tax: prices, shipping, gift wrap.',
  },
  {
    id: 'promotions',
    label: 'Promotions',
    about: 'Rebates on prices and shipping, and the cost of points.',
  },
  {
    id: 'fees',
    label: 'Fees',
    about: 'What the marketplace took for selling, shipping, storing, advertising, and postage.',
  },
  {
    id: 'taxes',
    label: 'Taxes',
    about:
      'Tax that buyers paid, less what the marketplace withheld to remit it, and tax on advertising, coupons and deals. Tax that was given ' +
      'back is part of the refunds, and a fee that is a tax one of the fees.',
  },
  {
    id: 'refunds',
    label: 'Refunds',
    about: 'Every amount of refunds, guarantee claims and chargebacks, with fees that were given back.',
  },
  {
    id: 'reimbursements',
    label: 'Reimbursements',
    about: 'What the marketplace made good, such as lost stock, less what it took back of that.',
  },
  {
    id: 'loans_and_transfers',
    label: 'Loans and transfers',
    about: 'Loans, debts, credits, disbursements, direct payments and reserves: money that was moved, not earned.',
  },
  {
    id: 'unknown',
    label: 'Unknown',
    about: 'Amounts whose type is not known; they are part of the net proceeds.',
  },
];

/** The categories of trade: all but transfers and unknown amounts. */
export const tradeCategories = categories.filter(({ id }) => id !== 'loans_and_transfers' && id !== 'unknown');
