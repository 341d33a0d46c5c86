import { hash } from 'node:crypto';
import type { Data, Utf8 } from 'apache-arrow';
import { hexArray, type HexAffixes } from '../../../core/columns/arrays.js';
import type { ColumnMemory, SharedArrays } from '../../../core/columns/memory.js';
import { isoInstant } from '../../../core/numeric/instant.js';
import type { Subject, SliceRows } from './slice-rows.js';

/** Maximum bytes of two instants and the zeros before them: years of more than four digits have a sign. */
const windowLength = 64;
/** Maximum bytes of a list's name and a zero. */
const mostName = 64;
/** The first 128 bits of a SHA-256. */
const hashBytes = 16;

/** The ids of events, by event number. */
export interface EventIds {
  /** The `content_hash` of chosen ones. */
  readonly contentHashes: (chosen: Int32Array, memory?: ColumnMemory) => Data<Utf8>;
  /** The `event_id` of chosen ones. */
  readonly eventIds: (chosen: Int32Array, memory?: ColumnMemory) => Data<Utf8>;
}

/** The `content_hash` of one event. */
export function contentHashOf(list: string, raw: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${list}\0`), raw]), 'hex').slice(0, 2 * hashBytes);
}

/**
 * The ids of a slice's events: hashes of the received bytes, so that the same event has the same id on every run. The id of an
 * event without a date also includes the start of its window, as only that distinguishes equal fees of two months; of an imported
 * one both ends of its span. The second, third … identical event of a slice gets `-2`, `-3` …
 *
 * @param leftOut rows that become no event, and aren't counted
 */
export function eventIds(rows: SliceRows, leftOut: ReadonlySet<number> = new Set()): EventIds {
  const ids = new HashedIds(rows);
  return ids.numbered(ids.nth((row) => !leftOut.has(row)));
}

/** What follows the id of the second, third … identical event or line: `-2`, `-3` … */
export function nthSuffix(nth: number): string {
  return nth === 1 ? '' : `-${nth}`;
}

/** Concatenated hashes of events' contents and ids. */
export interface IdHashes {
  readonly contents: Uint8Array;
  readonly hashes: Uint8Array;
}

/** Ids as hashes without suffixes: identical events share one. */
export class HashedIds {
  /** Concatenated hashes of all events. */
  readonly #contents: Uint8Array;
  /** The same for ids, without their prefixes. */
  readonly #hashes: Uint8Array;
  readonly #rows: SliceRows;
  /** The prefix of the ids of each subject. */
  readonly #prefixes: readonly Buffer[];
  /** Whether the events' pages may be written to for a moment. */
  readonly #mayWritePages: boolean;
  /** Buffer for the bytes of the event that is hashed. */
  #hashed = nothing;
  readonly #overwritten = new Uint8Array(mostName);

  /**
   * @param pages `writable` where nothing else reads the events' pages meanwhile: they are overwritten and restored; or the known
   *   hashes
   */
  constructor(rows: SliceRows, pages?: 'writable' | IdHashes) {
    const { events, lists, subjects } = rows;
    this.#mayWritePages = pages === 'writable';
    this.#rows = rows;
    this.#prefixes = subjects.map((subject) => Buffer.from(prefix(subject)));
    if (typeof pages === 'object') {
      this.#contents = pages.contents;
      this.#hashes = pages.hashes;
      return;
    }
    this.#contents = new Uint8Array(events.length * hashBytes);
    this.#hashes = new Uint8Array(events.length * hashBytes);
    const names = Array.from({ length: lists.length }, (_, list) => Buffer.from(`${lists.value(list)}\0`));
    for (let row = 0; row < events.length; row++) {
      const subject = subjects[events.subject.get(row)];
      const name = names[events.list.get(row)];
      if (subject === undefined || name === undefined) throw new Error(`event ${row} has no subject`);
      this.#hash(row, name, subject);
    }
    this.#hashed = nothing;
  }

  #hash(row: number, name: Buffer, subject: Subject): void {
    const { raw, postedAt } = this.#rows.events;
    const isUndated = postedAt[row] === undefined && subject.windowStart !== undefined;
    if (this.#mayWritePages && !isUndated && raw.start(row) >= name.length && name.length <= mostName) {
      const content = this.#digestInPlace(row, name);
      putDigest(content, this.#contents, row);
      putDigest(content, this.#hashes, row);
      return;
    }
    // One call over one buffer: a hash object for each event would double the cost.
    const length = name.length + raw.size(row);
    if (length + windowLength > this.#hashed.length) this.#hashed = Buffer.alloc(2 * length + windowLength);
    const hashed = this.#hashed;
    hashed.set(name);
    hashed.set(raw.bytes(row), name.length);
    const content = digestOf(hashed.subarray(0, length));
    putDigest(content, this.#contents, row);
    putDigest(isUndated ? this.#undatedDigest(length, subject) : content, this.#hashes, row);
  }

  /** Writes the list's name over the bytes before the event, and restores them: faster than copying the event. */
  #digestInPlace(row: number, name: Buffer): string {
    const bytes = this.#rows.events.raw.bytes(row, name.length);
    const overwritten = this.#overwritten;
    for (let at = 0; at < name.length; at++) {
      overwritten[at] = bytes[at] ?? 0;
      bytes[at] = name[at] ?? 0;
    }
    const digest = digestOf(bytes);
    for (let at = 0; at < name.length; at++) bytes[at] = overwritten[at] ?? 0;
    return digest;
  }

  /** The digest of the content in `#hashed` and the start of its window, or both ends of its span. */
  #undatedDigest(length: number, { windowStart = 0, windowEnd = 0, isSpan }: Subject): string {
    const window =
      isSpan === true ? `\0${isoInstant(windowStart)}\0${isoInstant(windowEnd)}` : `\0${isoInstant(windowStart)}`;
    const end = length + this.#hashed.write(window, length, 'latin1');
    return digestOf(this.#hashed.subarray(0, end));
  }

  /** Which one each event is of those with the same id, from 1; 1 for those that aren't counted. */
  nth(isCounted: (row: number) => boolean): Int32Array<ArrayBuffer> {
    const seen = new Map<string, number>();
    const nth = new Int32Array(this.#rows.events.length).fill(1);
    for (let row = 0; row < nth.length; row++) {
      if (!isCounted(row)) continue;
      const id = this.eventId(row);
      const count = (seen.get(id) ?? 0) + 1;
      seen.set(id, count);
      nth[row] = count;
    }
    return nth;
  }

  /** The first 64 bits of the content hashes of some events. */
  fingerprints(rows: readonly number[]): BigUint64Array<ArrayBuffer> {
    const { buffer, byteOffset, byteLength } = this.#contents;
    const view = new DataView(buffer, byteOffset, byteLength);
    return BigUint64Array.from(rows, (row) => view.getBigUint64(row * hashBytes));
  }

  /** Copies of all hashes. */
  copy(memory: SharedArrays): IdHashes {
    return { contents: memory.bytes(this.#contents), hashes: memory.bytes(this.#hashes) };
  }

  contentHash(row: number): string {
    return hexOf(this.#contents, row);
  }

  eventId(row: number): string {
    return String(this.#prefix(row)) + hexOf(this.#hashes, row);
  }

  /** @param nth which one each event is of those with the same hash, from 1 */
  numbered(nth: Int32Array): EventIds {
    const around = (row: number): HexAffixes | undefined => {
      const prefix = this.#prefix(row);
      const which = nth[row] ?? 1;
      return prefix.length === 0 && which === 1 ? undefined : { prefix, suffix: Buffer.from(nthSuffix(which)) };
    };
    return {
      contentHashes: (chosen, memory) => hexArray(this.#contents, hashBytes, chosen, memory),
      eventIds: (chosen, memory) => hexArray(this.#hashes, hashBytes, chosen, memory, around),
    };
  }

  #prefix(row: number): Buffer {
    return this.#prefixes[this.#rows.events.subject.get(row)] ?? nothing;
  }
}

const nothing = Buffer.alloc(0);

/** One character for each byte: a buffer for each hash would double the cost. */
function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'binary');
}

function putDigest(digest: string, into: Uint8Array, row: number): void {
  const start = row * hashBytes;
  for (let at = 0; at < hashBytes; at++) into[start + at] = digest.charCodeAt(at);
}

function hexOf({ buffer, byteOffset }: Uint8Array, row: number): string {
  return Buffer.from(buffer, byteOffset + row * hashBytes, hashBytes).toString('hex');
}

/** An event read by group or order may be in several slices: its id begins with the group or order. */
function prefix(subject: Subject): string {
  const owner = subject.requestedOrderId ?? subject.groupId;
  return owner === undefined ? '' : `${owner}:`;
}

/** Microseconds of an instant in milliseconds. */
export function micros(ms: number | undefined): bigint | undefined {
  return ms === undefined ? undefined : BigInt(ms) * 1000n;
}
