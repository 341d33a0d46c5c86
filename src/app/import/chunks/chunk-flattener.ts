import { SharedArrays } from '../../../core/columns/memory.js';
import { compare } from '../../../core/compare.js';
import { LedgerlakeError } from '../../../core/errors.js';
import { Tape, type TextHole } from '../../../core/json/tape.js';
import { monthOf, type Window } from '../../../core/windows.js';
import { dayOf } from '../../../lake/loads/imported-spans.js';
import { attributes } from '../../../sources/finances/api-v0/attributes.js';
import { Flattener } from '../../../sources/finances/api-v0/flatten.js';
import { HashedIds, type IdHashes } from '../../../sources/finances/model/event-ids.js';
import {
  moveWarnings,
  newWarnings,
  emptySubject,
  SliceRows,
  spanSubject,
  type EventWarnings,
  type RowsMemory,
} from '../../../sources/finances/model/slice-rows.js';
import { privateCopy, withBodies, type ChunkLines } from './chunk-lines.js';
import { millisOf, noDate, type PageDates, type PageSpans } from './page-spans.js';
import { addBody, bodyFault, type RepairedBody } from './saved-body.js';

/** The contents of a chunk's lines. */
export interface FlattenedChunk {
  /** With a date or without. */
  readonly events: number;
  /** The dates of each line. */
  readonly dates: PageDates;
  /** Faults of lines that are not bodies of the service, by the line's number in the chunk. */
  readonly broken: ReadonlyMap<number, string>;
  /** The lines that the rows refer to, where some are no JSON: with repaired bodies. */
  readonly repaired: ChunkLines | undefined;
  /** What is left out of bodies, by the line's number in the chunk. */
  readonly holes: ReadonlyMap<number, readonly TextHole[]>;
  /** Bodies with groups, which are read later, by the line's number in the chunk. */
  readonly groups: ReadonlyMap<number, GroupsBody>;
  readonly warnings: EventWarnings;
  /** Its events without a date, where their spans weren't given. */
  readonly undated: UndatedLines;
  /** Its other events; undefined where there are none. */
  readonly flat: FlatEvents | undefined;
}

/** Events without a date, each as a line of its own: their spans are known once the whole input is read. */
export interface UndatedLines {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each line ends. */
  readonly ends: Int32Array;
  /** The line of the chunk that each is from. */
  readonly lines: Int32Array;
  /** Their content hashes. */
  readonly contents: readonly string[];
}

/** Events whose spans are known. */
export interface FlatEvents {
  /** Start and end of each event's span, in milliseconds since 1970. */
  readonly starts: Float64Array<ArrayBuffer>;
  readonly ends: Float64Array<ArrayBuffer>;
  /** Which one each event is of equal ones of the chunk, from 1. */
  readonly nth: Int32Array<ArrayBuffer>;
  /** In order. */
  readonly months: readonly FlatMonth[];
  readonly rows: ChunkRows;
}

export interface FlatMonth {
  readonly month: string;
  /** Rows of its events, in order of receipt. */
  readonly rows: Int32Array<ArrayBuffer>;
  /** The first 64 bits of their content hashes, of equal ones once. */
  readonly fingerprints: BigUint64Array<ArrayBuffer>;
}

export interface GroupsBody {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly hasEvents: boolean;
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

/**
 * Flattens the events of an input's lines. Saved pages are read as pages of the service are, but their windows are unknown: the window
 * of an event is its span of days. It flattens one chunk after the other, with the memory that it has.
 */
export class ChunkFlattener {
  readonly #rows = new SliceRows(attributes);
  readonly #pageWarnings = newWarnings();
  readonly #flattener = new Flattener(this.#rows, this.#pageWarnings);
  readonly #target = { rows: this.#rows, flattener: this.#flattener, tape: new Tape() };
  #lines = Buffer.alloc(0);

  /**
   * Flattens lines, in place of those before. Broken lines and bodies without events add no rows.
   *
   * @param spans of the events of each line; left out: events with a date are of its day, the others are returned as lines
   * @param memory for the rows, if it is large enough
   */
  flatten(lines: ChunkLines, spans?: PageSpans, memory?: SharedArrayBuffer): FlattenedChunk {
    const received = this.#read(lines, new Map());
    const repaired = received.repaired.size === 0 ? undefined : withBodies(lines, received.repaired);
    // The rows refer to the lines' bytes. Bodies that are no JSON are rare, so their lines are simply read again.
    const { broken, warnings } = repaired === undefined ? received : this.#read(repaired, received.repaired);
    const holes = new Map([...received.repaired].map(([line, { repairs }]) => [line, repairs.holes]));
    const { groups, hasNext } = received;
    return {
      events: this.#rows.events.length,
      dates: this.#dates(lines.starts.length, hasNext),
      broken,
      repaired,
      holes,
      groups,
      warnings,
      ...this.#place(spans, memory),
    };
  }

  /**
   * Adds the events of lines to the rows.
   *
   * @param known the bodies that are repaired, by line
   */
  #read(lines: ChunkLines, known: ReadonlyMap<number, RepairedBody>) {
    const { starts, ends } = lines;
    const rows = this.#rows;
    this.#flattener.clear();
    // The subject is set once the span of an event is known.
    rows.begin(emptySubject);
    const warnings = newWarnings();
    const all = (this.#lines = privateCopy(lines, this.#lines));
    const broken = new Map<number, string>();
    const groups = new Map<number, GroupsBody>();
    const repaired = new Map<number, RepairedBody>();
    /** 1 for each line with a `NextToken`. */
    const hasNext = new Uint8Array(starts.length);
    for (const [line, start] of starts.entries()) {
      const body = all.subarray(start, ends[line]);
      rows.pages++;
      const { mark } = rows;
      try {
        const content = addBody(body, this.#target, known.get(line)?.repairs);
        if (content.hasGroups) groups.set(line, { body: Uint8Array.from(body), hasEvents: content.hasEvents });
        if (content.hasNext) hasNext[line] = 1;
        if (content.repaired !== undefined) repaired.set(line, content.repaired);
        moveWarnings(this.#pageWarnings, warnings);
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        rows.truncate(mark);
        for (const counts of Object.values(this.#pageWarnings)) counts.clear();
        broken.set(line, bodyFault(body, error));
      }
    }
    return { broken, groups, warnings, repaired, hasNext };
  }

  #dates(lines: number, hasNext: Uint8Array): PageDates {
    const { length, page, postedAt } = this.#rows.events;
    const first = new BigInt64Array(lines).fill(noDate);
    const last = new BigInt64Array(lines).fill(noDate);
    for (let row = 0; row < length; row++) {
      const date = postedAt[row];
      if (date === undefined) continue;
      const line = page.get(row) - 1;
      const known = first[line] ?? noDate;
      if (known === noDate || date < known) first[line] = date;
      if (date > (last[line] ?? noDate)) last[line] = date;
    }
    return { first, last, hasNext };
  }

  /** Sets the windows of the events whose spans are known, and computes the ids, which depend on them. */
  #place(spans: PageSpans | undefined, given: SharedArrayBuffer | undefined) {
    const rows = this.#rows;
    const { length, postedAt, page } = rows.events;
    const subjects = new Map<string, number>();
    const instants: (bigint | undefined)[] = [];
    const [starts, ends] = [new Float64Array(length), new Float64Array(length)];
    const undated: number[] = [];
    const months = new Map<string, number[]>();
    let day: Window = { start: NaN, end: NaN };
    let month = '';
    for (let row = 0; row < length; row++) {
      const line = page.get(row) - 1;
      const posted = spans === undefined ? postedAt[row] : spans.instants[line];
      instants.push(posted);
      if (posted === undefined) {
        undated.push(row);
        continue;
      }
      const instant = millisOf(posted);
      if (!(instant >= day.start && instant < day.end)) {
        day = dayOf(instant);
        month = monthOf(instant);
      }
      const span = spans === undefined ? day : { start: spans.starts[line] ?? 0, end: spans.ends[line] ?? 0 };
      this.#setSpan(row, span, subjects);
      starts[row] = span.start;
      ends[row] = span.end;
      const ofMonth = months.get(month);
      if (ofMonth === undefined) months.set(month, [row]);
      else ofMonth.push(row);
    }
    const ids = new HashedIds(rows, 'writable');
    if (months.size === 0) return { undated: this.#undatedLines(undated, ids), flat: undefined };
    const isDated = new Uint8Array(length).fill(1);
    for (const row of undated) isDated[row] = 0;
    const memory = new SharedArrays(given);
    const copies = {
      memory: rows.copy(this.#lines, memory),
      hashes: ids.copy(memory),
      instants: memory.int64s(instants),
    };
    const inOrder = [...months].toSorted(([a], [b]) => compare(a, b));
    const nth = ids.nth((row) => isDated[row] === 1);
    const flat: FlatEvents = {
      starts,
      ends,
      nth,
      months: inOrder.map(([name, ofMonth]) => ({
        month: name,
        rows: Int32Array.from(ofMonth),
        fingerprints: ids.fingerprints(ofMonth.filter((row) => nth[row] === 1)),
      })),
      rows: { ...copies, reusable: memory.reusable },
    };
    return { undated: this.#undatedLines(undated, ids), flat };
  }

  /** Sets the window of an event to its span. */
  #setSpan(row: number, span: Window, subjects: Map<string, number>): void {
    const { events, subjects: all } = this.#rows;
    const key = `${span.start}/${span.end}`;
    let subject = subjects.get(key);
    if (subject === undefined) {
      subject = all.push(spanSubject(span)) - 1;
      subjects.set(key, subject);
    }
    events.subject.set(row, subject);
  }

  #undatedLines(rows: readonly number[], ids: HashedIds): UndatedLines {
    const { lists, events } = this.#rows;
    const lines = rows.map((row) => {
      const list = JSON.stringify(lists.value(events.list.get(row)));
      // The form that is read directly.
      return [Buffer.from(`{"payload":{"FinancialEvents":{${list}:[`), events.raw.bytes(row), lineEnd];
    });
    let end = 0;
    const ends = lines.map((line) => (end += line.reduce((sum, { length }) => sum + length, 0)));
    return {
      bytes: new Uint8Array(Buffer.concat(lines.flat(), end)),
      ends: Int32Array.from(ends),
      lines: Int32Array.from(rows, (row) => events.page.get(row) - 1),
      contents: rows.map((row) => ids.contentHash(row)),
    };
  }
}

const lineEnd = Buffer.from(']}}}');
