import type { NetSums } from '../../lake/delta/data-file.js';
import { compare } from '../../core/compare.js';
import { Mutex } from '../../core/mutex.js';
import { LedgerlakeError } from '../../core/errors.js';
import { columnBytes, int64sOf, ReusedMemory, SharedArrays } from '../../core/columns/memory.js';
import { Tape, kind, type TextHole, type Repairs } from '../../core/json/tape.js';
import { encodeFile, type EncodedFile } from '../../core/parquet/encode-file.js';
import { excerpt, isHtml } from '../../engine/retry/api-refusal.js';
import { monthOf, type Window } from '../../core/windows.js';
import { dayOf } from '../../lake/loads/imported-spans.js';
import { addPageDirectly } from '../../sources/finances/api-v0/direct-page.js';
import { eachEvent, scanPage, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { apiWith } from '../../sources/finances/finances-apis.js';
import { finishedSlice } from '../../sources/finances/api-v0/event-batches.js';
import { monthBatches } from '../../sources/finances/model/slice-batches.js';
import { HashedIds, type IdHashes } from '../../sources/finances/model/event-ids.js';
import { Flattener } from '../../sources/finances/api-v0/flatten.js';
import { attributes } from '../../sources/finances/api-v0/attributes.js';
import {
  moveWarnings,
  newWarnings,
  emptySubject,
  SliceRows,
  spanSubject,
  type EventWarnings,
  type RowsMemory,
} from '../../sources/finances/model/slice-rows.js';
import { entries, events } from '../../sources/finances/api-v0/event-tables.js';
import { millisOf, noDate, type PageDates, type PageSpans } from './page-spans.js';

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
  /** The number of each event among equal ones of the chunk, from 1. */
  readonly times: Int32Array<ArrayBuffer>;
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

/** A body as valid JSON, and how it was repaired. */
interface RepairedBody {
  readonly bytes: Uint8Array;
  readonly repairs: Repairs;
}

/** The contents of lines whose events are among the rows. */
interface ReadLines extends Pick<FlattenedChunk, 'broken' | 'groups' | 'warnings'> {
  /** 1 for each line with a `NextToken`. */
  readonly hasNext: Uint8Array;
  readonly repaired: ReadonlyMap<number, RepairedBody>;
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
export interface PlacedChunk {
  readonly lines: ChunkLines;
  readonly rows: ChunkRows;
  readonly events: PlacedEvents;
}

/** The events of a chunk as they are written. */
export interface PlacedEvents {
  /** The number of each event among equal ones, from 1. */
  readonly times: Int32Array<ArrayBuffer>;
  /** The position of each event in its span. */
  readonly positions: Int32Array<ArrayBuffer>;
  readonly months: readonly (Omit<FlatMonth, 'fingerprints'> & {
    /** The metadata of its files. */
    readonly metadata: ReadonlyMap<string, string>;
  })[];
}

/** A month of a chunk as files. */
export interface EncodedMonth {
  readonly events: EncodedFile;
  /** Undefined where no event has an amount. */
  readonly entries: EncodedFile | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: NetSums;
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
 * Flattens the events of an input's lines. Saved pages are read as pages of the service are, but their windows are unknown: the window
 * of an event is its span of days. A chunk is used for further lines afterwards, with the memory that it has.
 */
export class Chunk {
  readonly #rows = new SliceRows(attributes);
  readonly #pageWarnings = newWarnings();
  readonly #flattener = new Flattener(this.#rows, this.#pageWarnings);
  readonly #tape = new Tape();
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
    const holes = new Map([...received.repaired].map(([line, body]) => [line, body.repairs.holes]));
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

  /** @param known the bodies that are repaired, by line */
  #read(lines: ChunkLines, known: ReadonlyMap<number, RepairedBody>): ReadLines {
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
    const hasNext = new Uint8Array(starts.length);
    for (const [line, start] of starts.entries()) {
      const body = all.subarray(start, ends[line]);
      rows.pages++;
      const { mark } = rows;
      try {
        const content = this.#addBody(body, known.get(line));
        if (content.hasGroups) groups.set(line, { body: Uint8Array.from(body), hasEvents: content.hasEvents });
        if (content.hasNext) hasNext[line] = 1;
        if (content.repaired !== undefined) repaired.set(line, content.repaired);
        moveWarnings(this.#pageWarnings, warnings);
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        rows.truncate(mark);
        for (const counts of Object.values(this.#pageWarnings)) counts.clear();
        broken.set(line, isHtml(body) ? webPage(body) : error.message);
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
    const times = ids.times((row) => isDated[row] === 1);
    const flat: FlatEvents = {
      starts,
      ends,
      times,
      months: inOrder.map(([name, ofMonth]) => ({
        month: name,
        rows: Int32Array.from(ofMonth),
        fingerprints: ids.fingerprints(ofMonth.filter((row) => times[row] === 1)),
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

  /**
   * Adds the events of a body. Throws LedgerlakeError JSON_SYNTAX or UPSTREAM_BODY where it is not a body of the service.
   *
   * @param known how the body was repaired
   */
  #addBody(body: Buffer, known: RepairedBody | undefined): Content {
    // A line that is too long is empty here.
    const none = { hasNext: false };
    const direct = body.length === 0 ? none : known === undefined && addPageDirectly(body, this.#rows, this.#flattener);
    if (direct) return { hasEvents: true, hasGroups: false, hasNext: direct.hasNext, repaired: undefined };
    const page = scanPage(body, { tape: this.#tape, isBare: true });
    const { repairs } = page.tape;
    const repaired = repairs && { bytes: page.tape.bytes, repairs };
    if (known !== undefined) page.tape.repairs = known.repairs;
    const has = (name: string): boolean => {
      const member = page.tape.member(page.payload, name);
      return member !== undefined && page.tape.kind(member) !== kind.null;
    };
    const hasNext = page.cursor !== undefined;
    const content = { hasEvents: has('FinancialEvents'), hasGroups: has('FinancialEventGroupList'), hasNext, repaired };
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
  readonly #rows = new SliceRows(attributes);
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
  encode(chunk: PlacedChunk): Promise<EncodedMonth[]> {
    return this.#mutex.run(() => this.#encodeNow(chunk));
  }

  async #encodeNow({ lines, rows, events: placed }: PlacedChunk): Promise<EncodedMonth[]> {
    this.#memory.clear();
    this.#lines = privateCopy(lines, this.#lines);
    this.#rows.take(rows.memory, this.#lines);
    const { times, positions, months } = placed;
    this.#rows.events.position.assign(positions);
    const ids = new HashedIds(this.#rows, rows.hashes);
    const effective = int64sOf(rows.instants);
    const finished = finishedSlice({ rows: this.#rows, ids: ids.numbered(times), effective }, this.#memory);
    const encoded: EncodedMonth[] = [];
    for (const { month, rows: ofMonth, metadata } of months) {
      const files = new Map<string, EncodedFile>();
      let net: NetSums = {};
      for (const batch of monthBatches({ events, entries }, finished, month, [...ofMonth])) {
        files.set(batch.table.name, await encodeFile(batch, metadata));
        this.#memory.clear();
        net = batch.net ?? net;
      }
      const main = files.get(events.name);
      if (main !== undefined) encoded.push({ events: main, entries: files.get(entries.name), net });
    }
    return encoded;
  }
}

const lineEnd = Buffer.from(']}}}');

/** The members of a body, which show the operation that it answers. A body with neither is an empty page. */
interface Content {
  readonly hasEvents: boolean;
  readonly hasGroups: boolean;
  /** Whether it has a `NextToken`. */
  readonly hasNext: boolean;
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
    const api = apiWith(found);
    throw new LedgerlakeError(
      'UPSTREAM_BODY',
      `expected a payload with FinancialEvents or FinancialEventGroupList, found ${found}` +
        (api === undefined ? '' : `: pages of ${api.title} cannot be imported`),
    );
  }
}

function webPage(bytes: Buffer): string {
  return `expected a body with a "payload" object, found a web page (HTML): ${excerpt(bytes.toString('utf8', 0, 400))}`;
}
