/**
 * What a run noticed in the upstream's data that nobody expected; nothing of it stops a slice.
 *
 * - `unknownLists`: events in lists that the model doesn't know, by list
 * - `unknownPaths`: amounts at paths that the model doesn't know, by `list: path`
 * - `oddFields`: values of a type that their field can't have, by `list: path`
 * - `inexactAmounts`: amounts that DECIMAL(18,6) can't hold exactly, by `list: path`
 * - `unknownOrders`: orders that the service doesn't know, by their id
 */
export type EventWarnings = Readonly<Record<WarningKind, Map<string, number>>>;

export type WarningKind = 'unknownLists' | 'unknownPaths' | 'oddFields' | 'inexactAmounts' | 'unknownOrders';

export function newWarnings(): EventWarnings {
  return {
    unknownLists: new Map(),
    unknownPaths: new Map(),
    oddFields: new Map(),
    inexactAmounts: new Map(),
    unknownOrders: new Map(),
  };
}

export function count<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** Places of one kind that are told apart: a page can name as many as it has bytes. */
const mostPlaces = 1000;

/** Counts a place of one kind; what comes behind the first thousand counts as one. */
export function countPlace(counts: Map<string, number>, place: string): void {
  count(counts, counts.size < mostPlaces || counts.has(place) ? place : 'others');
}
