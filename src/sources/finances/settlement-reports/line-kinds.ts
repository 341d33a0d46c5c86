/** What an amount of a settlement report is, in the words of `entries`. */
export interface LineKind {
  readonly kind: string;
  readonly name: string;
}

/**
 * Transaction type, amount type, amount description, kind, name. `*` at either end of a pattern stands for any text. A name of
 * `{description}` is the amount's description, and one of `{type}` its amount type. The first row that matches applies.
 */
type LineRule = readonly [type: string, amountType: string, description: string, kind: string, name: string];

const rules: readonly LineRule[] = [
  ['*_Retrocharge', 'ItemPrice', 'Tax', 'tax', 'BaseTax'],
  ['*_Retrocharge', 'ItemPrice', '*', 'tax', '{description}'],
  ['Liquidations*', 'ItemPrice', 'Principal', 'charge', 'Revenue'],
  ['Liquidations*', 'ItemPrice', 'Tax', 'tax', 'TaxAmount'],
  ['*', 'ItemPrice', 'Shipping', 'charge', 'ShippingCharge'],
  ['*', 'ItemPrice', '*', 'charge', '{description}'],
  ['*', 'ItemFees', '*', 'fee', '{description}'],
  ['*', 'ItemWithheldTax', '*', 'tax_withheld', '{description}'],
  ['*', 'Promotion', '*', 'promotion', 'PromotionMetaDataDefinitionValue'],
  ['*', 'Points', 'PointsGranted', 'points', 'CostOfPointsGranted'],
  ['*', 'Points', 'PointsReturned', 'points', 'CostOfPointsReturned'],
  ['*', 'Cost of Advertising', '*', 'fee', 'ProductAdsPayment'],
  ['CouponRedemptionFee', '*', '*', 'fee', 'CouponRedemptionFee'],
  ['*', 'Deals', '*', 'fee', 'RunLightningDealFee'],
  ['Vine Enrollment Fee', '*', '*', 'fee', 'VineEnrollmentFee'],
  ['*', 'Vine Enrollment Fee', '*', 'fee', 'VineEnrollmentFee'],
  ['FBAFees', '*', '*', 'fee', '{type}'],
  ['AmazonFees', '*', 'Base fee', 'fee', '{type}'],
  ['AmazonFees', '*', 'Tax on fee', 'fee', '{type}'],
  ['AmazonFees', '*', 'Discount on fee', 'fee', '{type}'],
  ['*', '*', 'Subscription Fee', 'fee', 'Subscription'],
  ['*', '*', 'Storage Fee', 'fee', 'FBAStorageFee'],
  ['*', '*', 'StorageRenewalBilling', 'fee', 'FBALongTermStorageFee'],
  ['*', '*', 'FBAInboundTransportationFee', 'fee', 'FBAInboundTransportationFee'],
  ['*', '*', 'RemovalComplete', 'fee', 'FBARemovalFee'],
  ['*', '*', 'DisposalComplete', 'fee', 'FBADisposalFee'],
  ['*', '*', 'Paid services fee', 'fee', 'PaidServicesFee'],
  ['*', 'FBA Inventory Reimbursement', '*', 'adjustment', '{description}'],
  ['*', '*', 'BuyerRecharge', 'adjustment', 'BuyerRecharge'],
  ['*', '*', 'MiscAdjustment', 'adjustment', 'MiscAdjustment'],
  ['*', '*', 'NonSubscriptionFeeAdj', 'adjustment', 'NonSubscriptionFeeAdj'],
  ...anywhere('SAFE-T Reimbursement', 'reimbursement', 'SAFETReimbursement'),
  ...anywhere('COMMINGLING_VAT', 'tax', 'COMMINGLING_VAT'),
  ...anywhere('Seller Rewards', 'adjustment', 'SellerRewards'),
  ...anywhere('Capacity Reservation Fee', 'fee', 'CapacityReservationFee'),
  ...anywhere('Income tax charged', 'tax_withheld', 'IncomeTax'),
  ...anywhere('Previous Reserve Amount Balance', 'adjustment', 'ReserveCredit'),
  ...anywhere('Current Reserve Amount', 'adjustment', 'ReserveDebit'),
  ...anywhere('Payable to Amazon', 'debt', 'PayableToAmazon'),
  ...anywhere('Successful charge', 'debt', 'SuccessfulCharge'),
  ...anywhere('Transfer of funds unsuccessful', 'debt', 'UnsuccessfulTransfer'),
];

/** The rules of a label that reports have in one column or another. */
function anywhere(label: string, kind: string, name: string): readonly LineRule[] {
  return [
    ['*', '*', label, kind, name],
    ['*', label, '*', kind, name],
    [label, '*', '*', kind, name],
  ];
}

function matches(pattern: string, text: string): boolean {
  if (pattern.startsWith('*')) return text.endsWith(pattern.slice(1));
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
}

/** What a line's amount is; undefined where no rule names it: it is never guessed. */
export function lineKind(transactionType: string, amountType: string, description: string): LineKind | undefined {
  const rule = rules.find(
    ([ofTransaction, ofAmount, ofDescription]) =>
      matches(ofTransaction, transactionType) && matches(ofAmount, amountType) && matches(ofDescription, description),
  );
  if (rule === undefined) return undefined;
  const [, , , kind, name] = rule;
  return { kind, name: name.replace('{description}', () => description).replace('{type}', () => amountType) };
}
