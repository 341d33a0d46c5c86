import { Mutex } from '../../core/mutex.js';
import { LedgerlakeError } from '../../core/errors.js';
import { columnBytes, int64sOf, ReusedMemory, SharedArrays } from '../../core/columns/memory.js';
import { Tape, kind, type Hole, type Repairs } from '../../core/json/tape.js';
import { encodeFile, type EncodedFile } from '../../core/parquet/encode-file.js';
import { excerpt, isHtml } from '../../engine/retry/api-refusal.js';
import type { Window } from '../../core/windows.js';
import { dayOf } from '../../lake/loads/imported-days.js';
import { eventBatches } from '../../sources/finances/api-v0/collectors.js';
import { addPageDirectly } from '../../sources/finances/api-v0/direct-page.js';
import { eachEvent, scanPage, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { HashedIds, type IdHashes } from '../../sources/finances/model/event-ids.js';
import { Flattener } from '../../sources/finances/model/flatten.js';
import {
  moveWarnings,
  newWarnings,
  SliceRows,
  windowSource,
  type EventWarnings,
  type RowsMemory,
} from '../../sources/finances/model/slice-rows.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import { datesByPage } from './saved-pages.js';

/** Some lines of an input. */
export interface ChunkLines {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Where each line begins. */
  readonly starts: Int32Array;
  /** Where each line ends. */
  readonly ends: Int32Array;
}

/** The contents of a chunk's lines. */
export interface FlattenedChunk {
  readonly events: number;
  /** The earliest date of the first page with a date, and the latest of the last such page, in microseconds since 1970. */
  readonly dates: { readonly first: bigint; readonly last: bigint } | undefined;
  /** Faults of lines that are not bodies of the service, by the line's number in the chunk. */
  readonly broken: ReadonlyMap<number, string>;
  /** The lines that the rows refer to, where some are no JSON: with repaired bodies. */
  readonly repaired: ChunkLines | undefined;
  /** What is left out of bodies, by the line's number in the chunk. */
  readonly holes: ReadonlyMap<number, readonly Hole[]>;
  /** Bodies with groups, which are read later, by the line's number in the chunk. */
  readonly groups: ReadonlyMap<number, GroupsBody>;
  readonly warnings: EventWarnings;
  /** Its events with their days; undefined where the days depend on earlier chunks, or where it has no events. */
  readonly assigned: AssignedChunk | undefined;
}

export interface GroupsBody {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly hasEvents: boolean;
}

/** A body as valid JSON, and how it was repaired. */
interface RepairedBody {
  readonly bytes: Uint8Array;
  readonly repairs: Repairs;
}

/** The contents of lines whose events are among the rows. */
interface ReadLines extends Pick<FlattenedChunk, 'broken' | 'groups' | 'warnings'> {
  readonly repaired: ReadonlyMap<number, RepairedBody>;
}

/** The events of a chunk, once their days are known. */
export interface AssignedChunk {
  /** Their ids without the numbers of equal events: `idWords` words for each event. */
  readonly words: Int32Array;
  /** The start of each event's day. */
  readonly days: Float64Array<ArrayBuffer>;
  /** Events without a date, by their row. */
  readonly undated: ReadonlyMap<number, UndatedEvent>;
  /** The earliest and the latest date, in milliseconds since 1970; undefined where there is none. */
  readonly reach: { readonly first: number; readonly last: number } | undefined;
  readonly rows: ChunkRows;
}

/** A chunk's events without their bytes, on their way to the encoder. */
export interface ChunkRows {
  readonly memory: RowsMemory;
  readonly hashes: IdHashes;
  /** The instant of each event, in microseconds since 1970. */
  readonly instants: BigInt64Array;
  /** Memory for another chunk's rows, once these are encoded. */
  readonly reusable: SharedArrayBuffer;
}

/** A chunk that is ready to be encoded. */
export interface DedupedChunk {
  readonly lines: ChunkLines;
  readonly rows: ChunkRows;
  readonly chosen: ChosenEvents;
}

interface UndatedEvent {
  readonly contentHash: string;
  /** Without the number of equal events. */
  readonly eventId: string;
}

/** The events of a chunk that are written. */
export interface ChosenEvents {
  /** The number of each event among equal ones of the input, from 1. */
  readonly times: Int32Array<ArrayBuffer>;
  /** The position of each event in its day. */
  readonly positions: Int32Array<ArrayBuffer>;
  readonly months: readonly ChosenMonth[];
}

export interface ChosenMonth {
  readonly month: string;
  /** Rows of its events, day by day. */
  readonly rows: Int32Array<ArrayBuffer>;
  /** The metadata of its files. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** A month of a chunk as files. */
export interface EncodedMonth {
  readonly events: EncodedFile;
  /** Undefined where no event has an amount. */
  readonly entries: EncodedFile | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: string;
}

/** Lines with some bodies replaced. */
function withBodies({ bytes, starts, ends }: ChunkLines, bodies: ReadonlyMap<number, RepairedBody>): ChunkLines {
  const all = [...starts].map((start, line) => bodies.get(line)?.bytes ?? bytes.subarray(start, ends[line]));
  const lengths = all.map(({ length }) => length);
  const replaced = new Uint8Array(new SharedArrayBuffer(lengths.reduce((sum, length) => sum + length, 0)));
  const newEnds = new Int32Array(starts.length);
  let end = 0;
  for (const [line, body] of all.entries()) {
    replaced.set(body, end);
    newEnds[line] = end += body.length;
  }
  return { bytes: replaced, starts: newEnds.map((each, line) => each - (lengths[line] ?? 0)), ends: newEnds };
}

/**
 * Copies the bytes of lines to unshared memory, from which slices are copied several times as fast.
 *
 * @param memory is used where it has the size of the lines
 */
function privateCopy({ bytes, ends }: ChunkLines, memory: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  // New memory of exactly this size, so that one long line isn't kept.
  const copy = memory.length === bytes.length ? memory : Buffer.alloc(bytes.length);
  copy.set(bytes.subarray(0, ends.at(-1)));
  return copy;
}

/**
 * Flattens the events of an input's lines, and assigns them to their days. Saved pages are read as pages of the service are, but
 * their windows are unknown, so each UTC day is a window. A chunk is used for further lines afterwards, with the memory that it has.
 */
export class Chunk {
  readonly #rows = new SliceRows();
  readonly #pageWarnings = newWarnings();
  readonly #flattener = new Flattener(this.#rows, this.#pageWarnings);
  readonly #tape = new Tape();
  #lines = Buffer.alloc(0);
  #memory: SharedArrayBuffer | undefined;

  /**
   * Flattens lines, in place of those before. Broken lines and bodies without events add no rows.
   *
   * @param memory for the rows once their days are assigned, if it is large enough
   */
  flatten(lines: ChunkLines, memory?: SharedArrayBuffer): FlattenedChunk {
    this.#memory = memory;
    const received = this.#read(lines, new Map());
    const repaired = received.repaired.size === 0 ? undefined : withBodies(lines, received.repaired);
    // The rows refer to the lines' bytes. Bodies that are no JSON are rare, so their lines are simply read again.
    const { broken, warnings } = repaired === undefined ? received : this.#read(repaired, received.repaired);
    const { first, last, instants, dependsOnBefore } = this.#dates(undefined);
    const dates = first === undefined || last === undefined ? undefined : { first, last };
    const assigned = dependsOnBefore ? undefined : this.#assign(instants);
    const holes = new Map([...received.repaired].map(([line, body]) => [line, body.repairs.holes]));
    const { groups } = received;
    return { events: this.#rows.events.length, dates, broken, repaired, holes, groups, warnings, assigned };
  }

  /** @param known the bodies that are repaired, by line */
  #read(lines: ChunkLines, known: ReadonlyMap<number, RepairedBody>): ReadLines {
    const { starts, ends } = lines;
    const rows = this.#rows;
    this.#flattener.clear();
    // The window is set once the day of an event is known.
    rows.begin(windowSource({ start: 0, end: 0 }));
    const warnings = newWarnings();
    const all = (this.#lines = privateCopy(lines, this.#lines));
    const broken = new Map<number, string>();
    const groups = new Map<number, GroupsBody>();
    const repaired = new Map<number, RepairedBody>();
    for (const [line, start] of starts.entries()) {
      const body = all.subarray(start, ends[line]);
      rows.pages++;
      const { mark } = rows;
      try {
        const content = this.#addBody(body, known.get(line));
        if (content.hasGroups) groups.set(line, { body: Uint8Array.from(body), hasEvents: content.hasEvents });
        if (content.repaired !== undefined) repaired.set(line, content.repaired);
        moveWarnings(this.#pageWarnings, warnings);
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        rows.truncate(mark);
        for (const counts of Object.values(this.#pageWarnings)) counts.clear();
        broken.set(line, isHtml(body) ? webPage(body) : error.message);
      }
    }
    return { broken, groups, warnings, repaired };
  }

  /**
   * Assigns each event to its day, which is its window, and computes the ids, which depend on it.
   *
   * @param before the latest date of the nearest page before the chunk that has one, in microseconds since 1970
   */
  assignDays(before: bigint | undefined): AssignedChunk {
    return this.#assign(this.#dates(before).instants);
  }

  #assign(instants: readonly (bigint | undefined)[]): AssignedChunk {
    const rows = this.#rows;
    const { length, postedAt } = rows.events;
    const days = new Float64Array(length);
    const sourceOfDay = new Map<number, number>();
    let day = { start: NaN, end: NaN };
    for (let row = 0; row < length; row++) {
      const instant = millisOf(instants[row] ?? 0n);
      if (!(instant >= day.start && instant < day.end)) day = dayOf(instant);
      this.#setDay(row, day, sourceOfDay);
      days[row] = day.start;
    }
    const ids = new HashedIds(rows, 'writable');
    const undated = new Map<number, UndatedEvent>();
    const reach = { first: Infinity, last: -Infinity };
    for (let row = 0; row < length; row++) {
      const posted = postedAt[row];
      if (posted === undefined) {
        undated.set(row, { contentHash: ids.contentHash(row), eventId: ids.eventId(row) });
        continue;
      }
      const instant = millisOf(posted);
      if (instant < reach.first) reach.first = instant;
      if (instant > reach.last) reach.last = instant;
    }
    const memory = new SharedArrays(this.#memory);
    const copies = {
      ...{ memory: rows.copy(this.#lines, memory), hashes: ids.copy(memory) },
      instants: memory.int64s(instants),
    };
    return {
      ...{ words: ids.words(), days, undated, reach: reach.first === Infinity ? undefined : reach },
      rows: { ...copies, reusable: memory.reusable },
    };
  }

  /** Sets the window of an event to its day. */
  #setDay(row: number, day: Window, sourceOfDay: Map<number, number>): void {
    const { events, sources } = this.#rows;
    let source = sourceOfDay.get(day.start);
    if (source === undefined) {
      source = sources.push(windowSource(day)) - 1;
      sourceOfDay.set(day.start, source);
    }
    events.source.set(row, source);
  }

  #dates(before: bigint | undefined) {
    const { length, page, postedAt } = this.#rows.events;
    return datesByPage({ length, page: (row) => page.get(row), date: (row) => postedAt[row] }, before);
  }

  /**
   * Adds the events of a body. Throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY where it is not a body of the service.
   *
   * @param known how the body was repaired
   */
  #addBody(body: Buffer, known: RepairedBody | undefined): Content {
    // A line that is too long is empty here.
    const isDirect = body.length === 0 || (known === undefined && addPageDirectly(body, this.#rows, this.#flattener));
    if (isDirect) return { hasEvents: true, hasGroups: false, repaired: undefined };
    const page = scanPage(body, { tape: this.#tape, isBare: true });
    const { repairs } = page.tape;
    const repaired = repairs && { bytes: page.tape.bytes, repairs };
    if (known !== undefined) page.tape.repairs = known.repairs;
    const has = (name: string): boolean => {
      const member = page.tape.member(page.payload, name);
      return member !== undefined && page.tape.kind(member) !== kind.null;
    };
    const content = { hasEvents: has('FinancialEvents'), hasGroups: has('FinancialEventGroupList'), repaired };
    if (!content.hasEvents && !content.hasGroups) refuseOtherResults(page);
    if (content.hasEvents)
      eachEvent(page, (list, event) => {
        this.#flattener.add(page.tape, list, event);
      });
    return content;
  }
}

/** Encodes chunks, one after the other. */
export class ChunkEncoder {
  readonly #rows = new SliceRows();
  /** Memory for the columns of one file at a time. */
  readonly #memory = new ReusedMemory(columnBytes);
  #lines = Buffer.alloc(0);
  /** Guards the memory. */
  readonly #mutex = new Mutex();

  /**
   * Encodes a chunk's months as files, in their order, once the chunks before are encoded.
   *
   * @throws LedgerlakeError PARQUET_MISMATCH, ENCODER
   */
  encode(chunk: DedupedChunk): Promise<EncodedMonth[]> {
    return this.#mutex.run(() => this.#encodeNow(chunk));
  }

  async #encodeNow({ lines, rows, chosen }: DedupedChunk): Promise<EncodedMonth[]> {
    this.#memory.clear();
    this.#lines = privateCopy(lines, this.#lines);
    this.#rows.take(rows.memory, this.#lines);
    const { times, positions, months } = chosen;
    this.#rows.events.position.assign(positions);
    const ids = new HashedIds(this.#rows, rows.hashes);
    const effective = int64sOf(rows.instants);
    const finished = { rows: this.#rows, ids: ids.numbered(times), effective };
    const encoded: EncodedMonth[] = [];
    for (const { month, rows: ofMonth, metadata } of months) {
      const files = new Map<string, EncodedFile>();
      let net = '{}';
      for (const { rows: batch, tags } of eventBatches(
        { events, entries },
        finished,
        month,
        [...ofMonth],
        this.#memory,
      )) {
        files.set(batch.table.name, await encodeFile(batch, metadata));
        this.#memory.clear();
        net = tags['net'] ?? net;
      }
      const main = files.get(events.name);
      if (main !== undefined) encoded.push({ events: main, entries: files.get(entries.name), net });
    }
    return encoded;
  }
}

/** The members of a body, which show the operation that it answers. A body with neither is an empty page. */
interface Content {
  readonly hasEvents: boolean;
  readonly hasGroups: boolean;
  /** The body, where it is no JSON. */
  readonly repaired: RepairedBody | undefined;
}

/**
 * An empty page has a token at most: results of another operation, such as transactions, would vanish in silence.
 *
 * @throws LedgerlakeError UPSTREAM_BODY
 */
function refuseOtherResults({ tape, payload }: ScannedPage): void {
  for (const key of tape.keys(payload)) {
    const value = tape.kind(key + 1);
    if (value !== kind.array && value !== kind.object) continue;
    const found = tape.stringValue(key).slice(0, 80);
    throw new LedgerlakeError(
      'UPSTREAM_BODY',
      `expected a payload with FinancialEvents or FinancialEventGroupList, found ${found}` +
        (found === 'transactions' ? ': pages of Finances 2024-06-19 cannot be imported' : ''),
    );
  }
}

function webPage(bytes: Buffer): string {
  return `expected a body with a "payload" object, found a web page (HTML): ${excerpt(bytes.toString('utf8', 0, 400))}`;
}

/** Milliseconds of an instant in microseconds. */
function millisOf(micros: bigint): number {
  const number = Number(micros);
  // Doubles are exact for the instants of five centuries, and a division of bigints allocates.
  return Number.isSafeInteger(number) ? Math.trunc(number / 1000) : Number(micros / 1000n);
}
