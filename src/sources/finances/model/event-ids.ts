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

/**
 * The ids of a slice's events: hashes of what was received, so that the same event has the same
 * id on every run. An event without a date also hashes the start of its window, as nothing else tells two months' equal
 * fees apart; the second, third … identical event of a slice gets `-2`, `-3` …
 */
export function eventIds(rows: SliceRows): EventIds {
  const { contentHashes, eventIds: ids } = sharedEventIds(rows);
  const seen = new Map<string, number>();
  const numbered = ids.map((id) => {
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
