import type { Json } from '../sources/records/record.js';

/** The parameters of an operation by the service's names, except those of paging. */
export type FinancesParameters = Readonly<Record<string, string | Date | undefined>>;

/** One result of a page: an event, a settlement, a transaction, a summary, a payout. */
export interface FinancesResult {
  /** The list of an event of Finances v0, such as `ShipmentEventList`; empty for all other results. */
  readonly list: string;
  /** The result as received: numbers are exact, `raw` is its JSON byte for byte. */
  readonly json: Json;
}

/** A page. */
export interface FinancesPage {
  /** The response body, byte for byte. One that is no JSON is repaired: its texts, and without what can't be read. */
  readonly body: Uint8Array;
  /** In the order of the page. */
  readonly results: readonly FinancesResult[];
  /** What could not be read and is left out: list, bytes and request id. */
  readonly holes: readonly string[];
}
