import { netKinds } from '../model/amount-kinds.js';

/** What an amount of a settlement report is, in the words of `entries`. */
export interface LineKind {
  readonly kind: string;
  readonly name: string;
}

/** The labels of an amount in a settlement report. */
export interface LineLabels {
  readonly transactionType: string;
  readonly amountType: string;
  readonly description: string;
}

/** What a written line has, where a rule alone doesn't say it. */
interface Writing {
  /** The description in place of `*`. */
  readonly description?: string;
  /** The names that are written by the rule; left out: all. */
  readonly names?: RegExp;
  /** Whether a fee with tax is written by another rule, in its parts. */
  readonly isWithoutTax?: true;
}

/**
 * Transaction type, amount type, amount description, kind, name. `*` at either end of a pattern stands for any text. A name of
 * `{description}` is the amount's description, and one of `{type}` its amount type. The first row that matches applies.
 */
type LineRule = readonly [
  type: string,
  amountType: string,
  description: string,
  kind: string,
  name: string,
  writing?: Writing,
];

/** The kinds of net amounts, which are amount types of written lines that Amazon has no label for. */
const kinds = [...netKinds, 'unknown'];

const basePart = 'Base fee';

const rulesOfKinds = kinds.map((kind): LineRule => ['*', kind, '*', kind, '{description}']);

const rulesOfLabels: readonly LineRule[] = [
  ['*_Retrocharge', 'ItemPrice', 'Tax', 'tax', 'BaseTax'],
  ['*_Retrocharge', 'ItemPrice', '*', 'tax', '{description}'],
  ['Liquidations*', 'ItemPrice', 'Principal', 'charge', 'Revenue'],
  ['Liquidations*', 'ItemPrice', 'Tax', 'tax', 'TaxAmount'],
  ['*', 'ItemPrice', 'Shipping', 'charge', 'ShippingCharge'],
  ['*', 'ItemPrice', '*', 'charge', '{description}'],
  ['*', 'ItemFees', '*', 'fee', '{description}'],
  ['*', 'ItemWithheldTax', '*', 'tax_withheld', '{description}'],
  ['*', 'Promotion', '*', 'promotion', 'PromotionMetaDataDefinitionValue', { description: 'Principal' }],
  ['*', 'Points', 'PointsGranted', 'points', 'CostOfPointsGranted'],
  ['*', 'Points', 'PointsReturned', 'points', 'CostOfPointsReturned'],
  ['*', 'Cost of Advertising', 'Tax on fee', 'tax', 'ProductAdsPayment'],
  ['*', 'Cost of Advertising', '*', 'fee', 'ProductAdsPayment', { description: basePart }],
  ['CouponRedemptionFee', '*', '*', 'fee', 'CouponRedemptionFee'],
  ['*', 'Deals', '*', 'fee', 'RunLightningDealFee'],
  ['Vine Enrollment Fee', '*', '*', 'fee', 'VineEnrollmentFee'],
  ['*', 'Vine Enrollment Fee', '*', 'fee', 'VineEnrollmentFee'],
  ['FBAFees', '*', '*', 'fee', '{type}', { description: basePart, names: /^FBA/ }],
  ['AmazonFees', '*', 'Base fee', 'fee', '{type}'],
  ['AmazonFees', '*', 'Tax on fee', 'fee', '{type}'],
  ['AmazonFees', '*', 'Discount on fee', 'fee', '{type}'],
  ['*', '*', 'Subscription Fee', 'fee', 'Subscription'],
  ['*', '*', 'Storage Fee', 'fee', 'FBAStorageFee', { isWithoutTax: true }],
  ['*', '*', 'StorageRenewalBilling', 'fee', 'FBALongTermStorageFee'],
  ['*', '*', 'FBAInboundTransportationFee', 'fee', 'FBAInboundTransportationFee'],
  ['*', '*', 'RemovalComplete', 'fee', 'FBARemovalFee'],
  ['*', '*', 'DisposalComplete', 'fee', 'FBADisposalFee'],
  ['*', '*', 'Paid services fee', 'fee', 'PaidServicesFee'],
  [
    ...(['*', 'FBA Inventory Reimbursement', '*', 'adjustment', '{description}'] as const),
    { names: /Reimbursement|^[A-Z]+(?:_[A-Z]+)+$/ },
  ],
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

const rules = [...rulesOfKinds, ...rulesOfLabels];

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
  return { kind, name: name === '{description}' ? description : name === '{type}' ? amountType : name };
}

const otherTransaction = 'other-transaction';

/**
 * The transaction types of written lines, by the list of their events without `EventList`, or the type of their transactions. Of several,
 * the first one that a rule matches applies.
 */
const transactionTypes: Readonly<Record<string, readonly string[]>> = {
  Shipment: ['Order'],
  ShipmentSettle: ['Order'],
  TrialShipment: ['Order'],
  Refund: ['Refund'],
  GuaranteeClaim: ['A-to-z Guarantee Refund'],
  Chargeback: ['Chargeback Refund'],
  Retrocharge: ['Order_Retrocharge'],
  ProductAdsPayment: ['ServiceFee'],
  SellerDealPayment: ['ServiceFee'],
  CouponPayment: ['CouponRedemptionFee'],
  SellerReviewEnrollmentPayment: ['Vine Enrollment Fee'],
  SAFETReimbursement: ['SAFE-T Reimbursement'],
  RemovalShipment: ['Liquidations'],
  RemovalShipmentAdjustment: ['Liquidations Adjustments'],
  FBALiquidation: ['Liquidations'],
  CapacityReservationBilling: ['Capacity Reservation Fee'],
  TaxWithholding: ['Income tax charged'],
};
const otherTypes = [otherTransaction, 'FBAFees', 'AmazonFees'];

/** The rules in the order in which they write: those of one name first, those of one transaction type before those of all. */
const writingRules = [...rulesOfLabels.toSorted((one, other) => generality(one) - generality(other)), ...rulesOfKinds];

function generality([type, , , , name]: LineRule): number {
  return (name.startsWith('{') ? 2 : 0) + (type === '*' ? 1 : 0);
}

/** Names of fees with a label of their own, which reports have as one amount with its tax. */
export const wholeFees: readonly string[] = rulesOfLabels.flatMap(
  ([type, amountType, description, kind, name, { isWithoutTax = false } = {}]) =>
    kind === 'fee' && type === '*' && amountType === '*' && description !== '*' && !isWithoutTax ? [name] : [],
);

/** The descriptions of the parts of a fee, and of what reports have as one amount. */
const partDescriptions: Readonly<Record<string, string>> = {
  Base: basePart,
  Tax: 'Tax on fee',
  Promo: 'Discount on fee',
  Total: 'TransactionTotalAmount',
};

/**
 * The labels by which an amount is written: `lineKind` reads its kind and name from them.
 *
 * @param list the list of its event without `EventList`, or the type of its transaction
 * @param part `Base`, `Tax` or `Promo` of a fee that is written in its parts, `Total` of several amounts; undefined: of none
 */
export function lineLabels(list: string, { kind, name }: LineKind, part?: string): LineLabels {
  const types = Object.hasOwn(transactionTypes, list) ? (transactionTypes[list] ?? otherTypes) : otherTypes;
  const ofPart = partDescriptions[part ?? ''];
  for (const rule of writingRules) {
    const [, , , , , { isWithoutTax = false } = {}] = rule;
    const written = isWithoutTax && part !== undefined ? undefined : labelsBy(rule, types, { kind, name });
    if (written === undefined) continue;
    const isPart = ofPart !== undefined && written.description === basePart;
    const labels = isPart ? { ...written, description: ofPart } : written;
    const read = lineKind(labels.transactionType, labels.amountType, labels.description);
    if (read?.kind === kind && read.name === name) return labels;
  }
  return { transactionType: otherTransaction, amountType: 'unknown', description: name };
}

/** The labels of an amount by one rule; undefined where the rule isn't about it. */
function labelsBy(
  [ofTransaction, ofAmount, ofDescription, kind, ruleName, { description = ofDescription, names } = {}]: LineRule,
  types: readonly string[],
  amount: LineKind,
): LineLabels | undefined {
  const transactionType = types.find((type) => matches(ofTransaction, type));
  const isNamed = ruleName === amount.name || (ruleName.startsWith('{') && names?.test(amount.name) !== false);
  if (transactionType === undefined || kind !== amount.kind || !isNamed) return undefined;
  // Items are those of orders.
  if (ofAmount.startsWith('Item') && transactionType === otherTransaction) return undefined;
  const amountType = ofAmount !== '*' ? ofAmount : ruleName === '{type}' ? amount.name : transactionType;
  return { transactionType, amountType, description: description === '*' ? amount.name : description };
}
