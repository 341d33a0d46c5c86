import type { BackendPage, BackendQuery } from '../operation/backend-page.js';
import type { Window } from '../../core/windows.js';

/**
 * A backend's groups and events (`event-operations.ts`). Items are ordered by instant, each exactly once in the pages of a
 * question. The server, not the backend, applies the rules about dates.
 */
export interface EventBackend {
  /** Groups that opened in the range. */
  groups(range: Window, query: BackendQuery): Promise<BackendPage>;
  /**
   * Events whose instant lies in the range; an event without a date is sorted by the instant at which it was booked.
   */
  events(range: Window, query: BackendQuery): Promise<BackendPage>;
  /**
   * Events of one group; undefined where the group doesn't exist. `range`: only events whose instant lies in it, as in
   * `events`.
   */
  eventsOfGroup(groupId: string, query: BackendQuery, range?: Window): Promise<BackendPage | undefined>;
  /** Events of one order; undefined where the order doesn't exist. */
  eventsOfOrder(orderId: string, query: BackendQuery): Promise<BackendPage | undefined>;
}
