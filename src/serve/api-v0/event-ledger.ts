import type { InstantRange, LedgerPage, LedgerQuery } from '../operation/ledger-page.js';

/**
 * A ledger's groups and events (`event-operations.ts`). Items are ordered by instant, each exactly once in the pages of a
 * question. The service, not the ledger, applies the rules about dates.
 */
export interface EventLedger {
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
}
