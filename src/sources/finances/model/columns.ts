import { column, type Column, type ColumnType, type Encoding } from '../../../core/columns/table.js';

/** A column that queries filter by. */
export function filtered(base: Column): Column {
  return { ...base, filtered: true };
}

/** A column that queries search for single values. */
export function withBloomFilter(base: Column): Column {
  return { ...base, bloomFilter: true };
}

/** A column that files of earlier versions lack: null there until `rebuild`. */
export function addedLater(base: Column): Column {
  return { ...base, later: true };
}

/** The same for a column that may be null. */
export function nullable(name: string, type: ColumnType, encoding: Encoding, about: string): Column {
  return { ...column(name, type, encoding, about), nullable: true };
}

/** A text that repeats, and may be null. */
export function nullableText(name: string, about: string): Column {
  return nullable(name, 'text', 'dictionary', about);
}

/** A column with nearly all of its values in each file: computing the bounds of those of entries took a sixth of the encoding time. */
export function unbounded(base: Column): Column {
  return { ...base, unbounded: true };
}

/** Columns with one value for an event and many entries: DuckDB evaluates each value of a dictionary once. */
export function repeated(base: Column): Column {
  return { ...base, encoding: 'dictionary' };
}

export const postedAt = filtered(
  nullable('posted_at', 'instant', 'dictionary', "The event's own date; null where it has none."),
);
export const effectiveAt = filtered(
  column(
    'effective_at',
    'instant',
    'dictionary',
    '`posted_at`, or for an event without a date the nearest instant that the order of pages allows.',
  ),
);
export const maybeEffectiveAt: Column = { ...effectiveAt, nullable: true };
export const amazonOrderId = withBloomFilter(
  filtered(nullable('amazon_order_id', 'text', 'delta-length', 'The order, as the marketplace numbers it.')),
);
