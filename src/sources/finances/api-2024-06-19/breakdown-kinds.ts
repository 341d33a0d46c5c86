/** A rule for the kind of a breakdown's amounts: the first matching one applies. */
interface KindRule {
  /** Matches the type of the transaction. */
  readonly transactionType?: RegExp;
  /** Matches one of the breakdown types from the top, without wrappers. */
  readonly segment?: RegExp;
  readonly kind: string;
  /** Whether none of these amounts counts. */
  readonly isMemo?: true;
}

/** Breakdown types that only state the direction of an amount. */
const wrappers: ReadonlySet<string> = new Set([
  'Sales',
  'Expenses',
  'Refunded Sales',
  'Refunded Expenses',
  'Refund Sales',
  'RefundExpenses',
]);

const rules: readonly KindRule[] = [
  { transactionType: /^Transfer$/, kind: 'disbursement', isMemo: true },
  { segment: /^(?:MarketplaceFacilitator(?:Tax|VAT)|LowValueGoodsTax|TaxWithheld)/, kind: 'tax_withheld' },
  { segment: /Fees?$|^(?:Commission|RefundCommission|Subscription)$|Chargeback$/, kind: 'fee' },
  { segment: /^(?:PromoRebates|Promo)$|Discount$/, kind: 'promotion' },
  { segment: /Reimbursement$|^FBAReversedReimbursement$/, kind: 'reimbursement' },
  { segment: /^(?:ReserveCredit|ReserveDebit|RetrochargeReversal)$/, kind: 'adjustment' },
  { segment: /^(?:BaseTax|TaxOnRevenue)$/, kind: 'tax' },
  {
    segment: /^(?:ProductCharges|Shipping|Gift[wW]rap|Tax|RecommerceLiquidation)$|(?:Principal|Tax)$/,
    kind: 'charge',
  },
  { transactionType: /^(?:ServiceFee|ProductAdsPayment|AmazonFees)$/, kind: 'fee' },
  { transactionType: /Reimbursement/, kind: 'reimbursement' },
  { transactionType: /^(?:Adjustment|MiscellaneousLedgerAdjustment|RemovalShipment)$/, kind: 'adjustment' },
  { transactionType: /^(?:Retrocharge|ChargeRefund)$/, kind: 'tax' },
];

const noRule: KindRule = { kind: 'unknown' };

/** The kind of an amount; `types` are those of its breakdown, from the top. */
export function breakdownKind(transactionType: string, types: readonly string[]): string {
  const segments = types.filter((type) => !wrappers.has(type));
  const matches = (rule: KindRule) =>
    rule.transactionType?.test(transactionType) === true || segments.some((type) => rule.segment?.test(type) === true);
  return (rules.find(matches) ?? noRule).kind;
}

/** The types of an amount's breakdown, from the top: one node for each sequence of types. */
export class BreakdownChain {
  /** The types, joined by `/`; undefined for an amount outside of breakdowns. */
  readonly text: string | undefined;
  /** The last type. */
  readonly name: string | undefined;
  readonly kind: string;
  readonly isMemo: boolean;
  /** Whether a type other than a wrapper is in the chain. */
  readonly isTyped: boolean;
  /** Numbers of the amounts' paths, by their other properties. */
  readonly pathNumbers = new Map<number, number>();
  readonly #transactionType: string;
  readonly rule: KindRule;
  readonly #children = new Map<number, BreakdownChain>();

  /** @param parent left out: the transaction itself */
  constructor(transactionType: string, type?: string, parent?: BreakdownChain) {
    this.#transactionType = transactionType;
    this.text = parent?.text === undefined ? type : `${parent.text}/${type ?? ''}`;
    this.name = type;
    const isWrapper = type === undefined || wrappers.has(type);
    this.isTyped = !isWrapper || parent?.isTyped === true;
    this.rule = ruleOf(transactionType, isWrapper ? undefined : type, parent?.rule);
    this.kind = this.rule.kind;
    this.isMemo = this.rule.isMemo === true;
  }

  /** The chain with one more type. `number` is the type's in a dictionary. */
  child(number: number, type: () => string): BreakdownChain {
    let child = this.#children.get(number);
    if (child === undefined) {
      child = new BreakdownChain(this.#transactionType, type(), this);
      this.#children.set(number, child);
    }
    return child;
  }
}

/** The first matching rule: that of the types above, unless an earlier one matches the type. */
function ruleOf(transactionType: string, segment: string | undefined, above: KindRule | undefined): KindRule {
  for (const rule of rules) {
    if (rule === above) return rule;
    if (rule.transactionType?.test(transactionType) === true) return rule;
    if (segment !== undefined && rule.segment?.test(segment) === true) return rule;
  }
  return noRule;
}
