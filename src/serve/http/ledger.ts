/** One result as it goes over the wire: an event with the name of its list, or what comes in one list only (whose `list` is empty). */
export interface LedgerItem {
  /** `ShipmentEventList` and so on. */
  readonly list: string;
  /** The result's JSON, UTF-8. */
  readonly json: string;
}

export interface LedgerPage {
  readonly items: readonly LedgerItem[];
  /**
   * Where the next page begins, or undefined after the last one. Opaque to the service; it names the last item
   * delivered, not an offset, so that items which come up meanwhile neither shift nor repeat others.
   */
  readonly next: string | undefined;
}

export interface LedgerQuery {
  /** Where to go on, from an earlier page of the same question. */
  readonly cursor: string | undefined;
  /** At most this many items, 1 to 500. */
  readonly limit: number;
  /** The instant of the first request of the chain: milliseconds since 1970. What happens after it stays out. */
  readonly asOf: number;
}

/** Half-open range of instants, milliseconds since 1970. */
export interface InstantRange {
  readonly from: number;
  readonly to: number;
}

/** Which transactions are asked for; what is undefined narrows nothing. */
export interface TransactionQuestion {
  /** Instants of posting. */
  readonly range: InstantRange;
  /** `DEFERRED`, `RELEASED` or `DEFERRED_RELEASED`. */
  readonly status: string | undefined;
  /** Those of one marketplace, and those that belong to none. */
  readonly marketplaceId: string | undefined;
  readonly orderId: string | undefined;
  readonly groupId: string | undefined;
}

/** Which settlement accounts are asked for: each marketplace has one of one type. */
interface AccountQuestion {
  readonly marketplaceIds: readonly string[] | undefined;
  readonly accountType: string | undefined;
}

/** Which summaries are asked for: those of one settlement, or of so many days, which become one for each account. */
export interface SummaryQuestion extends AccountQuestion {
  readonly settlementId: string | undefined;
  /** UTC days since 1970-01-01, both included; without a last one all to now. */
  readonly days: { readonly first: number; readonly last: number | undefined } | undefined;
}

export interface PayoutQuestion extends AccountQuestion {
  /** Instants of creation. */
  readonly range: InstantRange;
  readonly payoutId: string | undefined;
}

/**
 * The same money as transactions (Finances 2024-06-19). Each item comes exactly once over the pages of one question; a page may
 * have none and still not be the last one. What isn't known is answered with no items.
 */
export interface TransactionLedger {
  /** In no order. */
  transactions(question: TransactionQuestion, query: LedgerQuery): Promise<LedgerPage>;
  summaries(question: SummaryQuestion, query: LedgerQuery): Promise<LedgerPage>;
  /** The newest first. */
  payouts(question: PayoutQuestion, query: LedgerQuery): Promise<LedgerPage>;
}

/**
 * What the service answers from: a made-up seller, or a lake. Items come ordered by instant, each exactly once over
 * the pages of one question. Which date rules apply is the service's matter, not the ledger's.
 */
export interface Ledger {
  /** Groups that opened within the range. */
  groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /** Events whose instant lies within the range; one without a date is sorted at the instant it was booked. */
  events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /**
   * Events of one group, or undefined where there is no such group. `range`: only those whose instant lies within it, as
   * `events` has them.
   */
  eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined>;
  /** Events of one order, or undefined where there is no such order. */
  eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined>;
  /** undefined: it has no transactions, as an account that the newer API answers nothing. */
  readonly byTransaction?: TransactionLedger | undefined;
}
