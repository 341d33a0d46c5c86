/** One result as it goes over the wire: an event with the name of its list, or a group (whose `list` is empty). */
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
  /** At most this many items, 1 to 100. */
  readonly limit: number;
  /** The instant of the first request of the chain: milliseconds since 1970. What happens after it stays out. */
  readonly asOf: number;
}

/** Half-open range of instants, milliseconds since 1970. */
export interface InstantRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What the service answers from: a made-up seller, or a lake. Items come ordered by instant, each exactly once over
 * the pages of one question. Which date rules apply is the service's matter, not the ledger's.
 */
export interface Ledger {
  /** Groups that opened within the range. */
  groups(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /** Events whose instant lies within the range; one without a date stands at the instant it was booked. */
  events(range: InstantRange, query: LedgerQuery): Promise<LedgerPage>;
  /**
   * Events of one group, or undefined where there is no such group. `range`: only those whose instant lies within it, as
   * `events` has them.
   */
  eventsOfGroup(groupId: string, query: LedgerQuery, range?: InstantRange): Promise<LedgerPage | undefined>;
  /** Events of one order, or undefined where there is no such order. */
  eventsOfOrder(orderId: string, query: LedgerQuery): Promise<LedgerPage | undefined>;
}
