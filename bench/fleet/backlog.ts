/** The operations of the service that a fleet's accounts are read by, each with a bucket of its own. */
export const operations = ['listing', 'events', 'groups'] as const;
export type Operation = (typeof operations)[number];

/** What is left to read of one operation: slices alike, each of so many requests. */
export interface Backlog {
  requests: number;
  readonly perSlice: number;
  /** Events on a page, on average. */
  readonly perPage: number;
}

/** Work of an account: settlements are read once they are listed, events beside both. */
export type Backlogs = Record<Operation, Backlog>;

export function isDone(backlogs: Backlogs): boolean {
  return operations.every((operation) => backlogs[operation].requests === 0);
}

/** So many events in so many slices alike, of which none is without a request. */
export function backlogOf(slices: number, events: number): Backlog {
  if (slices === 0) return { requests: 0, perSlice: 1, perPage: 0 };
  const perSlice = Math.max(1, Math.ceil(events / slices / pageSize));
  const requests = slices * perSlice;
  return { requests, perSlice, perPage: events / requests };
}

/** Results on a full page. */
export const pageSize = 100;

/**
 * Requests that need not be sent again, of those that were answered: where nothing is kept of slices that are open, those
 * of whole slices.
 */
export function keptOf(answered: number, chains: number, perSlice: number): number {
  const each = Math.floor(answered / chains);
  const further = answered - each * chains;
  const whole = (requests: number): number => Math.floor(requests / perSlice) * perSlice;
  return further * whole(each + 1) + (chains - further) * whole(each);
}

/** Requests after which every chain that has begun a slice is through with it, where so many have gone out. */
export function drained(sent: number, chains: number, perSlice: number): number {
  const each = Math.floor(sent / chains);
  const further = sent - each * chains;
  const whole = (requests: number): number => Math.ceil(requests / perSlice) * perSlice;
  return further * whole(each + 1) + (chains - further) * whole(each);
}
