/** One result as it is sent: an event with the name of its list, or a result of another kind, whose `list` is empty. */
export interface LedgerItem {
  /** Such as `ShipmentEventList`. */
  readonly list: string;
  /** The result's JSON, UTF-8. */
  readonly json: string;
}

export interface LedgerPage {
  readonly items: readonly LedgerItem[];
  /**
   * Cursor of the next page; undefined after the last one. Opaque to the service. It names the last item delivered, not
   * an offset, so that items added meanwhile neither shift nor repeat others.
   */
  readonly next: string | undefined;
}

export interface LedgerQuery {
  /** `next` of the previous page of the same question; undefined for the first page. */
  readonly cursor: string | undefined;
  /** Largest number of items, 1 to 500. */
  readonly limit: number;
  /** The instant of the chain's first request, milliseconds since 1970. Later events are left out. */
  readonly asOf: number;
}

/** Half-open range of instants, milliseconds since 1970. */
export interface InstantRange {
  readonly from: number;
  readonly to: number;
}

/** A selection of transactions; an undefined member doesn't restrict it. */
export interface TransactionQuestion {
  /** Range of posting instants. */
  readonly range: InstantRange;
  /** `DEFERRED`, `RELEASED` or `DEFERRED_RELEASED`. */
  readonly status: string | undefined;
  /** Transactions of this marketplace, and those of none. */
  readonly marketplaceId: string | undefined;
  readonly orderId: string | undefined;
  readonly groupId: string | undefined;
}

/** A selection of settlement accounts: each marketplace has one of each type. */
interface AccountQuestion {
  readonly marketplaceIds: readonly string[] | undefined;
  readonly accountType: string | undefined;
}

/** A selection of summaries: those of one settlement, or one for each account over a range of days. */
export interface SummaryQuestion extends AccountQuestion {
  readonly settlementId: string | undefined;
  /** UTC days since 1970-01-01, both included; without `last` up to now. */
  readonly days: { readonly first: number; readonly last: number | undefined } | undefined;
}

export interface PayoutQuestion extends AccountQuestion {
  /** Range of creation instants. */
  readonly range: InstantRange;
  readonly payoutId: string | undefined;
}

/**
 * A ledger's transactions, summaries and payouts (`transaction-operations.ts`). Each item appears exactly once in the pages of
 * a question; a page may be empty without being the last one. An unknown id has no items.
 */
export interface TransactionLedger {
  /** Transactions in no particular order. */
  transactions(question: TransactionQuestion, query: LedgerQuery): Promise<LedgerPage>;
  summaries(question: SummaryQuestion, query: LedgerQuery): Promise<LedgerPage>;
  /** Payouts, newest first. */
  payouts(question: PayoutQuestion, query: LedgerQuery): Promise<LedgerPage>;
}

/**
 * The data behind the service: a synthetic seller, or a lake. Items are ordered by instant, each exactly once in the
 * pages of a question. The service, not the ledger, applies the rules about dates.
 */
export interface Ledger {
  /** Groups that opened in the range. */
  groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /**
   * Events whose instant lies in the range; an event without a date is sorted by the instant at which it was booked.
   */
  events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /**
   * Events of one group; undefined where the group doesn't exist. `range`: only events whose instant lies in it, as in
   * `events`.
   */
  eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined>;
  /** Events of one order; undefined where the order doesn't exist. */
  eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined>;
  /** Undefined: no transactions, as for an account that the newer API answers with nothing. */
  readonly byTransaction?: TransactionLedger | undefined;
}
