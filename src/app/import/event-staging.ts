import { MemoryPiece } from '../../core/columns/memory.js';
import type { SizedWriter } from '../../core/parquet/thread.js';
import { monthOf } from '../../core/windows.js';
import type { Batch } from '../../engine/run/pipeline.js';
import { dayOf, importedKey } from '../../lake/loads/imported-days.js';
import type { Family } from '../../core/columns/table.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import { metadataOf } from '../../lake/files/new-file.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';
import { eventBatches } from '../../sources/finances/api-v0/collectors.js';
import { addPageDirectly } from '../../sources/finances/api-v0/direct-page.js';
import { eachEvent, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { windowSource } from '../../sources/finances/model/slice-rows.js';
import { numberedId, sharedEventIds } from '../../sources/finances/model/event-ids.js';
import { Flattener } from '../../sources/finances/model/flatten.js';
import { SliceRows, type KeepRaw, count, moveWarnings, newWarnings } from '../../sources/finances/model/slice-rows.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import type { DedupIndex, FileIds } from './dedup-index.js';
import { loadedDays, type ImportOptions } from './imported-day-files.js';
import { datesByPage } from './saved-pages.js';
import { leftOut, UndatedEvents } from './undated-events.js';

/** What rows need on their way into the lake. */
export interface ImportResources {
  readonly workspace: Workspace;
  readonly writer: SizedWriter;
  readonly dedupIndex: DedupIndex;
  readonly raws: RawMemory;
}

/** A month of a chunk as files on the local disk, until the whole input is known to be sound. */
export interface StagedMonth {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** What the lake is to hold of them. */
  readonly fileIds: FileIds;
  /** Its number among those of the input. */
  readonly number: number;
  /** How many of its events have no date: whether they are new shows when they are about to be committed. */
  readonly undated: number;
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as the log keeps them. */
  readonly net: string;
}

/** The events of some of an input's pages, as many as memory is to hold. */
interface Chunk {
  readonly rows: SliceRows;
  readonly flattener: Flattener;
  /** Of the pages taken in. */
  bytes: number;
  hasDates: boolean;
}

/**
 * The events of an input on their way to the local disk, in the bytes that they will have in the lake, chunk by chunk. They
 * go the one way that pages of the service go; but nobody knows what they were asked for, so each UTC day is a window of its own.
 */
export class EventStaging {
  readonly warnings = newWarnings();
  /** Of the page that is being taken in. */
  readonly #pageWarnings = newWarnings();
  readonly undated: UndatedEvents;
  /** Events of days that windows were loaded for, by the start of the day. */
  readonly leftOut = new Map<number, number>();
  /** Events with a date that the lake holds as often, by the start of the day. */
  readonly known = new Map<number, number>();
  readonly #options: ImportOptions;
  readonly #resources: ImportResources;
  readonly #family: Family;
  readonly #isLoaded: (day: number) => boolean;
  readonly #months: Promise<StagedMonth | undefined>[] = [];
  #failure: { readonly reason: unknown } | undefined;
  #chunk: Chunk;
  /** The latest date of the nearest page that has one, in microseconds since 1970. */
  #latest: bigint | undefined;

  constructor(options: ImportOptions, resources: ImportResources, family: Family) {
    this.#options = options;
    this.#resources = resources;
    this.#family = family;
    this.#isLoaded = loadedDays(options, family);
    this.undated = new UndatedEvents(resources.workspace.fresh());
    this.#chunk = this.#newChunk();
  }

  /** Bytes of the pages that memory holds. */
  get bytes(): number {
    return this.#chunk.bytes;
  }

  /** Whether the days of all events in memory are known. */
  get isPlaceable(): boolean {
    const { rows, hasDates } = this.#chunk;
    return rows.events.length === 0 || hasDates || this.#latest !== undefined;
  }

  /** Takes in a body that is written as the service writes a page of events, and nothing of another: false then. */
  addDirectly(body: Buffer): boolean {
    const { rows, flattener } = this.#chunk;
    const { length } = rows.events;
    rows.pages++;
    const isAdded = addPageDirectly(body, rows, flattener);
    if (isAdded) this.#added(length, body.length);
    else for (const counts of Object.values(this.#pageWarnings)) counts.clear();
    return isAdded;
  }

  /** Throws UPSTREAM_BODY, and takes in nothing then, where the page's events aren't what the model says. */
  add(page: ScannedPage, bytes: number): void {
    const { rows, flattener } = this.#chunk;
    const { length } = rows.events;
    rows.pages++;
    eachEvent(page, (list, event) => {
      flattener.add(page.tape, list, event);
    });
    this.#added(length, bytes);
  }

  /** Notes that a page was taken in. */
  #added(before: number, bytes: number): void {
    const { rows } = this.#chunk;
    moveWarnings(this.#pageWarnings, this.warnings);
    if (rows.events.length > before) this.#chunk.bytes += bytes;
    for (let row = before; row < rows.events.length && !this.#chunk.hasDates; row++) {
      this.#chunk.hasDates = rows.events.postedAt[row] !== undefined;
    }
  }

  /**
   * Stages what the lake doesn't hold of the events in memory, by month. Comes back once the writer has all of their rows;
   * throws what a chunk before has failed with.
   */
  async stage(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.reason;
    const { rows } = this.#chunk;
    const { length } = rows.events;
    const { instants, days } = this.#assignDays();
    const { contentHashes, eventIds: ids } = sharedEventIds(rows);
    const isDated = (row: number) => rows.events.postedAt[row] !== undefined;
    const isOpen = (day: number) => !this.#isLoaded(day);
    const { times, positions, stage } = await this.#resources.dedupIndex.deduplicate({ ids, days, isDated, isOpen });
    const eventIds = ids.map((id, row) => numberedId(id, times[row] ?? 1));
    const noteUndated = (row: number, staged: number): void => {
      this.undated.add(staged, contentHashes[row] ?? '', eventIds[row] ?? '', days[row] ?? 0, times[row] ?? 0);
    };
    const chosen = new Map<number, number[]>();
    for (let row = 0; row < length; row++) {
      const day = days[row] ?? 0;
      if (times[row] === 0) {
        count(isOpen(day) ? this.known : this.leftOut, day);
        if (!isDated(row)) noteUndated(row, leftOut);
        continue;
      }
      rows.events.position.set(row, positions[row] ?? 0);
      const ofDay = chosen.get(day);
      if (ofDay === undefined) chosen.set(day, [row]);
      else ofDay.push(row);
    }
    const months = new Map<string, number[]>();
    for (const start of [...chosen.keys()].toSorted((one, other) => one - other)) {
      const month = monthOf(start);
      months.set(month, [...(months.get(month) ?? []), start]);
    }
    const finished = { rows, ids: { contentHashes, eventIds }, effective: instants };
    for (const [month, starts] of months) {
      const ofMonth = starts.flatMap((start) => chosen.get(start) ?? []);
      const number = this.undated.nextMonth();
      const undated = ofMonth.filter((row) => !isDated(row));
      for (const row of undated) noteUndated(row, number);
      const staged = { month, days: starts, fileIds: await stage(ofMonth), number, undated: undated.length };
      const { memory } = this.#resources.writer;
      await this.#write(staged, eventBatches({ events, entries }, finished, month, ofMonth, memory));
    }
    await this.undated.flush();
    this.#chunk = this.#newChunk();
  }

  /** The staged months, once they are on the local disk. */
  async months(): Promise<readonly StagedMonth[]> {
    return (await Promise.all(this.#months)).filter((month) => month !== undefined);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#months);
  }

  /** A new chunk: the events of the one before are used no longer. */
  #newChunk(): Chunk {
    const { raws } = this.#resources;
    raws.clear();
    const rows = new SliceRows(raws.keep);
    // Which window an event is in shows when all of the chunk is there.
    rows.begin(windowSource({ start: 0, end: 0 }));
    return { rows, flattener: new Flattener(rows, this.#pageWarnings), bytes: 0, hasDates: false };
  }

  /** Assigns each event its instant, and its day as its window. */
  #assignDays(): {
    readonly instants: readonly (bigint | undefined)[];
    /** Start of the day of each row. */
    readonly days: Float64Array;
  } {
    const { events: received, sources } = this.#chunk.rows;
    const { length } = received;
    const dates = {
      length,
      page: (row: number) => received.page.get(row),
      date: (row: number) => received.postedAt[row],
    };
    const { instants, last } = datesByPage(dates, this.#latest);
    this.#latest = last;
    const numbers = new Map<number, number>();
    const days = new Float64Array(length);
    for (let row = 0; row < length; row++) {
      const instant = Number((instants[row] ?? 0n) / 1000n);
      if (received.postedAt[row] !== undefined) this.undated.reach(instant);
      const { start, end } = dayOf(instant);
      let number = numbers.get(start);
      if (number === undefined) numbers.set(start, (number = sources.push(windowSource({ start, end })) - 1));
      days[row] = start;
      received.source.set(row, number);
    }
    return { instants, days };
  }

  /** Writes a month's batches. They are made when they are asked for, so that one is there at a time, in the writer's memory. */
  async #write(staged: Omit<StagedMonth, 'events' | 'entries' | 'net'>, batches: Iterable<Batch>): Promise<void> {
    const { writer, workspace } = this.#resources;
    const loadKeys = staged.days.map((day) => importedKey(dayOf(day)));
    const { account } = this.#options;
    const metadata = metadataOf({ family: this.#family, account, month: staged.month, loadKeys });
    const files = new Map<string, Promise<LocalParquet>>();
    let net = '{}';
    for (const { table, rows, tags } of batches) {
      files.set(table.name, keptFile(await writer.take(table, rows, metadata), workspace.keep));
      net = tags['net'] ?? net;
    }
    const written = async (): Promise<StagedMonth | undefined> => {
      const main = await files.get(events.name);
      const derived = await files.get(entries.name);
      return main && { ...staged, events: main, entries: derived, net };
    };
    const month = handled(written());
    this.#months.push(month);
    month.catch((reason: unknown) => (this.#failure = { reason }));
  }
}

/** One piece of memory for the events of one chunk after the other, as they were received, so that no page needs to be held. */
export class RawMemory {
  readonly #piece: MemoryPiece;
  /** The piece, as events' bytes are asked for. */
  #page: Buffer | undefined;

  /** @param size bytes; events beyond it have memory of their own */
  constructor(size: number) {
    this.#piece = new MemoryPiece(size);
  }

  readonly keep: KeepRaw = (page, start, end) => {
    const bytes = page.subarray(start, end);
    const from = this.#piece.take(bytes.length);
    if (from === undefined) return { page: Buffer.from(bytes), start: 0, end: bytes.length };
    this.#page ??= Buffer.from(this.#piece.buffer);
    this.#page.set(bytes, from);
    return { page: this.#page, start: from, end: from + bytes.length };
  };

  /** Gives the memory out anew: nobody may use what lies in it any more. */
  clear(): void {
    this.#piece.clear();
  }
}
