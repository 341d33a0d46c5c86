import { Mutex } from '../../core/mutex.js';
import { LedgerlakeError } from '../../core/errors.js';
import { columnBytes, int64sOf, ReusedMemory, SharedArrays } from '../../core/columns/memory.js';
import { Tape, kind } from '../../core/json/tape.js';
import { encodeFile, type EncodedFile } from '../../core/parquet/encode-file.js';
import { excerpt, isHtml } from '../../engine/retry/api-refusal.js';
import type { Window } from '../../core/windows.js';
import { dayOf } from '../../lake/loads/imported-days.js';
import { eventBatches } from '../../sources/finances/api-v0/collectors.js';
import { addPageDirectly } from '../../sources/finances/api-v0/direct-page.js';
import { eachEvent, scanPage } from '../../sources/finances/api-v0/finances-page.js';
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

/** What the lines of a chunk hold. */
export interface FlattenedChunk {
  readonly events: number;
  /** The earliest date of the first page that has one, and the latest of the last one, in microseconds since 1970. */
  readonly dates: { readonly first: bigint; readonly last: bigint } | undefined;
  /** Lines that are no bodies of the service, by their number in the chunk. */
  readonly broken: ReadonlyMap<number, string>;
  /** Bodies that hold groups, which aren't read yet, by their number in the chunk. */
  readonly groups: ReadonlyMap<number, GroupsBody>;
  readonly warnings: EventWarnings;
  /** Its events in their days; undefined where the days depend on earlier chunks, or where it has no events. */
  readonly assigned: AssignedChunk | undefined;
}

export interface GroupsBody {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly hasEvents: boolean;
}

/** The events of a chunk, once their days are known. */
export interface AssignedChunk {
  /** Their ids without the numbers of equal events, as `idWords` an event. */
  readonly words: Int32Array;
  /** The start of each one's day. */
  readonly days: Float64Array<ArrayBuffer>;
  /** Those without a date, by their number in the chunk. */
  readonly undated: ReadonlyMap<number, UndatedEvent>;
  /** The earliest and the latest date, in milliseconds since 1970; undefined where there is none. */
  readonly reach: { readonly first: number; readonly last: number } | undefined;
  readonly rows: ChunkRows;
}

/** All of a chunk's events but for their bytes, on their way to who encodes them. */
export interface ChunkRows {
  readonly memory: RowsMemory;
  readonly hashes: IdHashes;
  /** The instant of each event, in microseconds since 1970. */
  readonly instants: BigInt64Array;
  /** For another chunk's rows, once nobody needs these any more. */
  readonly reusable: SharedArrayBuffer;
}

/** A chunk that is to be encoded. */
export interface DedupedChunk {
  readonly lines: ChunkLines;
  readonly rows: ChunkRows;
  readonly chosen: ChosenEvents;
}

export interface UndatedEvent {
  readonly contentHash: string;
  /** Without the number of equal events. */
  readonly eventId: string;
}

/** What is to be written of a chunk. */
export interface ChosenEvents {
  /** The number of each event among equal ones of the input, from 1. */
  readonly times: Int32Array<ArrayBuffer>;
  /** Its position in its day. */
  readonly positions: Int32Array<ArrayBuffer>;
  readonly months: readonly ChosenMonth[];
}

export interface ChosenMonth {
  readonly month: string;
  /** Numbers of its events, day by day. */
  readonly rows: Int32Array<ArrayBuffer>;
  /** Of its files. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** A month of a chunk as files. */
export interface EncodedMonth {
  readonly events: EncodedFile;
  /** Undefined where no event has an amount. */
  readonly entries: EncodedFile | undefined;
  /** Net sums by currency, as the log keeps them. */
  readonly net: string;
}

/**
 * The bytes of lines for one thread alone: where others may read, to copy a part takes a multiple.
 *
 * @param memory is used where it has their size
 */
function privateCopy({ bytes, ends }: ChunkLines, memory: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  // A line that is longer than all others leaves no memory behind.
  const copy = memory.length === bytes.length ? memory : Buffer.alloc(bytes.length);
  copy.set(bytes.subarray(0, ends.at(-1)));
  return copy;
}

/**
 * The events of some lines of an input on their way to rows: flattened, then assigned to their days. They go the one way that pages
 * of the service go; but nobody knows what they were asked for, so each UTC day is a window of its own. Once they are assigned, it takes
 * the next lines: its memory has the size then.
 */
export class Chunk {
  readonly #rows = new SliceRows();
  readonly #pageWarnings = newWarnings();
  readonly #flattener = new Flattener(this.#rows, this.#pageWarnings);
  readonly #tape = new Tape();
  #lines = Buffer.alloc(0);
  #memory: SharedArrayBuffer | undefined;

  /**
   * Lines that are no bodies of the service, and those without events, give none. What was flattened before is forgotten.
   *
   * @param memory for the rows once their days are assigned, as far as it suffices
   */
  flatten(lines: ChunkLines, memory?: SharedArrayBuffer): FlattenedChunk {
    const { starts, ends } = lines;
    this.#memory = memory;
    const rows = this.#rows;
    this.#flattener.clear();
    // Which window an event is in shows when its day is known.
    rows.begin(windowSource({ start: 0, end: 0 }));
    const warnings = newWarnings();
    const all = (this.#lines = privateCopy(lines, this.#lines));
    const broken = new Map<number, string>();
    const groups = new Map<number, GroupsBody>();
    for (const [line, start] of starts.entries()) {
      const body = all.subarray(start, ends[line]);
      rows.pages++;
      const { mark } = rows;
      try {
        const content = this.#addBody(body);
        if (content.hasGroups) groups.set(line, { body: Uint8Array.from(body), hasEvents: content.hasEvents });
        moveWarnings(this.#pageWarnings, warnings);
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        rows.truncate(mark);
        for (const counts of Object.values(this.#pageWarnings)) counts.clear();
        broken.set(line, isHtml(body) ? webPage(body) : error.message);
      }
    }
    const { first, last, instants, dependsOnBefore } = this.#dates(undefined);
    const dates = first === undefined || last === undefined ? undefined : { first, last };
    const assigned = dependsOnBefore ? undefined : this.#assign(instants);
    return { events: rows.events.length, dates, broken, groups, warnings, assigned };
  }

  /**
   * Assigns each event to its day, which is its window, and computes the ids that follow from it.
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

  /** Makes an event one of its day's window. */
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

  /** Adds the events of a body. Throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY where it is none of the service. */
  #addBody(body: Buffer): Content {
    // A line that is too long to be read is here without a byte.
    const isDirect = body.length === 0 || addPageDirectly(body, this.#rows, this.#flattener);
    if (isDirect) return { hasEvents: true, hasGroups: false };
    const page = scanPage(body, this.#tape);
    const has = (name: string): boolean => {
      const member = page.tape.member(page.payload, name);
      return member !== undefined && page.tape.kind(member) !== kind.null;
    };
    const content = { hasEvents: has('FinancialEvents'), hasGroups: has('FinancialEventGroupList') };
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
  /** For the columns of one file after the other. */
  readonly #memory = new ReusedMemory(columnBytes);
  #lines = Buffer.alloc(0);
  /** Guards the memory. */
  readonly #mutex = new Mutex();

  /**
   * The files of a chunk's months, in their order, once those of the chunks before are encoded.
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

/** What a body contains shows which operations it can be an answer of. One with neither is an empty page. */
interface Content {
  readonly hasEvents: boolean;
  readonly hasGroups: boolean;
}

function webPage(bytes: Buffer): string {
  return `expected a body with a "payload" object, found a web page (HTML): ${excerpt(bytes.toString('utf8', 0, 400))}`;
}

/** Milliseconds of an instant in microseconds. */
function millisOf(micros: bigint): number {
  const number = Number(micros);
  // Doubles hold the instants of five centuries exactly, and a division of integers makes an object.
  return Number.isSafeInteger(number) ? Math.trunc(number / 1000) : Number(micros / 1000n);
}
