import { createHash } from 'node:crypto';
import { isoInstant } from '../exact/instant.js';
import type { RowSource, SliceRows } from './rows.js';

const zero = Buffer.of(0);
/** The first 128 bits of a SHA-256 in hex. */
const idLength = 32;

export interface EventIds {
  /** `content_hash` of each event, in order of receipt. */
  readonly contentHashes: readonly string[];
  /** `event_id` of each event, in order of receipt. */
  readonly eventIds: readonly string[];
}

/**
 * The ids of a slice's events (PRODUCT.md, "Columns"): hashes of what was received, so that the same event has the same
 * id on every run. An event without a date also hashes the start of its window, as nothing else tells two months' equal
 * fees apart; the second, third … identical event of a slice gets `-2`, `-3` …
 */
export function eventIds(rows: SliceRows): EventIds {
  const { events, lists } = rows;
  const contentHashes: string[] = [];
  const ids: string[] = [];
  const seen = new Map<string, number>();
  for (let row = 0; row < events.length; row++) {
    const source = rows.sources[events.source.get(row)];
    const raw = events.raw[row];
    if (source === undefined || raw === undefined) throw new Error(`event ${row} has no source`);
    const hash = createHash('sha256')
      .update(lists.value(events.list.get(row)))
      .update(zero);
    hash.update(raw.page.subarray(raw.start, raw.end));
    const content = hash.copy().digest('hex').slice(0, idLength);
    const isDated = events.postedAt[row] !== undefined || source.windowStart === undefined;
    const own = isDated ? content : windowed(hash.update(zero), source.windowStart);
    const id = prefix(source) + own;
    const times = (seen.get(id) ?? 0) + 1;
    seen.set(id, times);
    contentHashes.push(content);
    ids.push(times === 1 ? id : `${id}-${times}`);
  }
  return { contentHashes, eventIds: ids };
}

function windowed(hash: ReturnType<typeof createHash>, windowStart: number): string {
  return hash.update(isoInstant(windowStart)).digest('hex').slice(0, idLength);
}

/** Only by date is an event in one slice alone; elsewhere the group or the order is part of its id. */
function prefix(source: RowSource): string {
  const owner = source.requestedOrderId ?? source.groupId;
  return owner === undefined ? '' : `${owner}:`;
}
