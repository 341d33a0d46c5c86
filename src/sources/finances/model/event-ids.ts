import { hash } from 'node:crypto';
import { isoInstant } from '../../../core/numeric/instant.js';
import type { RowSource, SliceRows } from './slice-rows.js';

/** Bytes that an instant and the zero before it take at most: years of more than four digits have a sign. */
const windowLength = 32;
/** The first 128 bits of a SHA-256 in hex. */
const idLength = 32;

/** Of each event, in order of receipt. */
export interface EventIds {
  /** `content_hash`. */
  readonly contentHashes: readonly string[];
  /** `event_id`. */
  readonly eventIds: readonly string[];
}

/** The `content_hash` of one event. */
export function contentHashOf(list: string, raw: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${list}\0`), raw]), 'hex').slice(0, idLength);
}

/**
 * The ids of a slice's events: hashes of what was received, so that the same event has the same
 * id on every run. An event without a date also hashes the start of its window, as nothing else tells two months' equal
 * fees apart; the second, third … identical event of a slice gets `-2`, `-3` …
 *
 * @param leftOut rows that become no event: they take no number
 */
export function eventIds(rows: SliceRows, leftOut: ReadonlySet<number> = new Set()): EventIds {
  const { contentHashes, eventIds: ids } = sharedEventIds(rows);
  const seen = new Map<string, number>();
  const numbered = ids.map((id, row) => {
    if (leftOut.has(row)) return id;
    const times = (seen.get(id) ?? 0) + 1;
    seen.set(id, times);
    return numberedId(id, times);
  });
  return { contentHashes, eventIds: numbered };
}

/** The id of the how many-th event that would share it, from 1. */
export function numberedId(id: string, times: number): string {
  return times === 1 ? id : `${id}-${times}`;
}

/** The same without the numbers: identical events share an id. */
export function sharedEventIds(rows: SliceRows): EventIds {
  const { events, lists, sources } = rows;
  const contentHashes: string[] = [];
  const ids: string[] = [];
  const prefixes = sources.map(prefix);
  const names = Array.from({ length: lists.length }, (_, list) => Buffer.from(`${lists.value(list)}\0`));
  let hashed = Buffer.alloc(1 << 16);
  for (let row = 0; row < events.length; row++) {
    const number = events.source.get(row);
    const source = sources[number];
    const raw = events.raw[row];
    const name = names[events.list.get(row)];
    if (source === undefined || raw === undefined || name === undefined) throw new Error(`event ${row} has no source`);
    // One call over one piece of memory: a hash object for each event would cost as much again as the hashing.
    const length = name.length + raw.end - raw.start;
    if (length + windowLength > hashed.length) hashed = Buffer.alloc(2 * length + windowLength);
    hashed.set(name);
    hashed.set(raw.page.subarray(raw.start, raw.end), name.length);
    const content = hash('sha256', hashed.subarray(0, length), 'hex').slice(0, idLength);
    let id = content;
    if (events.postedAt[row] === undefined && source.windowStart !== undefined) {
      const end = length + hashed.write(`\0${isoInstant(source.windowStart)}`, length, 'latin1');
      id = hash('sha256', hashed.subarray(0, end), 'hex').slice(0, idLength);
    }
    id = (prefixes[number] ?? '') + id;
    contentHashes.push(content);
    ids.push(id);
  }
  return { contentHashes, eventIds: ids };
}

/** Only by date is an event in one slice alone; elsewhere the group or the order is part of its id. */
function prefix(source: RowSource): string {
  const owner = source.requestedOrderId ?? source.groupId;
  return owner === undefined ? '' : `${owner}:`;
}

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
