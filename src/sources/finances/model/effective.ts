import type { RowSource, SliceRows } from './slice-rows.js';

/**
 * `effective_at` of each event, in order of receipt: microseconds since 1970, or undefined for an order's event where
 * the order has no date at all.
 *
 * Pages come in order of time, but inside a page events stand list by list. So an event without a date is placed where
 * its page begins: at the page's earliest date, else at the latest date of the pages before it, else at the earliest of
 * the first later page that has one, else at the source's own fallback.
 */
export function effectiveInstants(rows: SliceRows): (bigint | undefined)[] {
  const { events, sources } = rows;
  const effective = [...events.postedAt];
  for (let first = 0; first < events.length;) {
    const source = sources[events.source.get(first)];
    let end = first;
    while (end < events.length && events.source.get(end) === events.source.get(first)) end++;
    if (source !== undefined) placeUndated(rows, first, end, source, effective);
    first = end;
  }
  return effective;
}

function placeUndated(
  rows: SliceRows,
  first: number,
  end: number,
  source: RowSource,
  effective: (bigint | undefined)[],
): void {
  const { page, postedAt } = rows.events;
  const earliest = new Map<number, bigint>();
  for (let row = first; row < end; row++) {
    const posted = postedAt[row];
    const known = earliest.get(page.get(row));
    if (posted !== undefined && (known === undefined || posted < known)) earliest.set(page.get(row), posted);
  }
  // Before the first page with a date, that page's beginning is the nearest instant there is.
  let before = earliest.values().next().value ?? micros(source.fallback);
  let latest: bigint | undefined;
  for (let row = first; row < end; row++) {
    if (row > first && page.get(row) !== page.get(row - 1)) before = latest ?? before;
    const posted = postedAt[row];
    if (posted === undefined) effective[row] = clamped(earliest.get(page.get(row)) ?? before, source);
    else if (latest === undefined || posted > latest) latest = posted;
  }
}

function clamped(instant: bigint | undefined, source: RowSource): bigint | undefined {
  const start = micros(source.windowStart);
  const end = micros(source.windowEnd);
  if (!source.clamp || instant === undefined || start === undefined || end === undefined) return instant;
  if (instant < start) return start;
  return instant < end ? instant : end - 1n;
}

/** Microseconds of an instant in milliseconds. */
export function micros(ms: number | undefined): bigint | undefined {
  return ms === undefined ? undefined : BigInt(ms) * 1000n;
}
