import { type ColumnMemory, MemoryPiece } from '../../core/columns/memory.js';
import { eventBatches } from '../../sources/finances/api-v0/collectors.js';
import { numberedId, sharedEventIds } from '../../sources/finances/model/event-ids.js';
import { Flattener } from '../../sources/finances/model/flatten.js';
import { count, type EventWarnings, SliceRows, type KeepRaw } from '../../sources/finances/model/slice-rows.js';
import { eachEvent, type ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { windowSource } from '../../sources/finances/api-v0/event-pages.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import type { Batch } from '../../engine/run/pipeline.js';
import { dayOf, importedKey } from '../../lake/loads/imported-days.js';
import { monthOf } from '../../core/windows.js';
import type { DedupIndex, FileIds } from './dedup-index.js';
import { leftOut as leftOutMonth, type UndatedEvents } from './undated-events.js';
import { datesByPage } from './page-dates.js';
import type { Family } from '../../core/columns/table.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import { metadataOf } from '../../lake/files/new-file.js';
import type { SizedWriter } from '../../core/parquet/thread.js';

/** What the chunks of one input share beside the events that are known. */
export interface EventProgress {
  /** The latest date of the nearest page that has one, in microseconds since 1970. */
  latest: bigint | undefined;
  /** Its events without a date, and its span. */
  readonly undated: UndatedEvents;
}

/** A month of a chunk, as batches: its entries first, if it has any. */
export interface MonthBatches {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** What the lake is to hold of them. */
  readonly fileIds: FileIds;
  /** Its number among those of the input. */
  readonly number: number;
  /** How many of its events have no date: whether they are new shows when they are about to be committed. */
  readonly undated: number;
  /** Made when they are asked for, so that one is there at a time: in `memory`, once the one before is no longer used. */
  readonly batches: (memory: ColumnMemory) => Iterable<Batch>;
}

export interface DedupedChunk {
  readonly months: readonly MonthBatches[];
  /** Events of days that are taken, by the start of their day. */
  readonly leftOut: ReadonlyMap<number, number>;
  /** Events that the lake holds as often as the input has had them, by the start of their day. */
  readonly known: ReadonlyMap<number, number>;
}

/**
 * The events of some of an input's pages, as many as memory is to hold. They come by the one way that pages of the service
 * come by; but nobody knows what they were asked for, so each UTC day is a window of its own.
 */
export class EventChunk {
  /** Bytes of the pages taken in. */
  bytes = 0;
  readonly #rows: SliceRows;
  readonly #flattener: Flattener;
  readonly #progress: EventProgress;
  #dated = 0;

  /** @param raws holds the events of a chunk before, which is used no longer */
  constructor(warnings: EventWarnings, progress: EventProgress, raws: RawMemory) {
    raws.clear();
    this.#rows = new SliceRows(raws.keep);
    this.#flattener = new Flattener(this.#rows, warnings);
    this.#progress = progress;
    // Which window an event is in shows when all of the chunk is there.
    this.#rows.begin(windowSource({ start: 0, end: 0 }));
  }

  get events(): number {
    return this.#rows.events.length;
  }

  /** Whether the days of all events can be told. */
  get isPlaceable(): boolean {
    return this.events === 0 || this.#dated > 0 || this.#progress.latest !== undefined;
  }

  /** Throws UPSTREAM_BODY, and takes in nothing then, where the page's events aren't what the model says. */
  add(page: ScannedPage, bytes: number): void {
    const before = this.events;
    this.#rows.pages++;
    eachEvent(page, (list, event) => {
      this.#flattener.add(page.tape, list, event);
    });
    if (this.events > before) this.bytes += bytes;
    for (let row = before; row < this.events; row++) if (this.#rows.events.postedAt[row] !== undefined) this.#dated++;
  }

  /** What of it the lake doesn't hold by month, without the days that `isLoaded`. */
  async finish(dedupIndex: DedupIndex, isLoaded: (day: number) => boolean): Promise<DedupedChunk> {
    const rows = this.#rows;
    const { instants, days } = this.#assignDays();
    const { contentHashes, eventIds: ids } = sharedEventIds(rows);
    const isDated = (row: number) => rows.events.postedAt[row] !== undefined;
    const { times, positions, stage } = await dedupIndex.deduplicate({
      ids,
      days,
      isDated,
      isOpen: (day) => !isLoaded(day),
    });
    const leftOut = new Map<number, number>();
    const known = new Map<number, number>();
    const chosen = new Map<number, number[]>();
    for (let row = 0; row < this.events; row++) {
      const day = days[row] ?? 0;
      if (times[row] !== 0) {
        rows.events.position.set(row, positions[row] ?? 0);
        const ofDay = chosen.get(day);
        if (ofDay === undefined) chosen.set(day, [row]);
        else ofDay.push(row);
      } else count(isLoaded(day) ? leftOut : known, day);
    }
    const eventIds = ids.map((id, row) => numberedId(id, times[row] ?? 1));
    const { undated } = this.#progress;
    const note = (row: number, staged: number): void => {
      const contentHash = contentHashes[row] ?? '';
      undated.add({ staged, contentHash, eventId: eventIds[row] ?? '', day: days[row] ?? 0, times: times[row] ?? 0 });
    };
    const finished = { rows, ids: { contentHashes, eventIds }, effective: instants };
    const months = new Map<string, number[]>();
    for (const start of [...chosen.keys()].toSorted((one, other) => one - other)) {
      const month = monthOf(start);
      months.set(month, [...(months.get(month) ?? []), start]);
    }
    const batches: MonthBatches[] = [];
    for (const [month, starts] of months) {
      const rowsOfMonth = starts.flatMap((start) => chosen.get(start) ?? []);
      const fileIds = await stage(rowsOfMonth);
      const batchesOf = (memory: ColumnMemory) =>
        eventBatches({ events, entries }, finished, month, rowsOfMonth, memory);
      const number = undated.nextMonth();
      const withoutDate = rowsOfMonth.filter((row) => !isDated(row));
      for (const row of withoutDate) note(row, number);
      batches.push({ month, days: starts, fileIds, number, undated: withoutDate.length, batches: batchesOf });
    }
    for (let row = 0; row < this.events; row++) if (times[row] === 0 && !isDated(row)) note(row, leftOutMonth);
    await undated.flush();
    return { months: batches, leftOut, known };
  }

  /** Assigns each event its instant, and its day as its window. */
  #assignDays(): {
    readonly instants: readonly (bigint | undefined)[];
    /** Start of the day of each row. */
    readonly days: Float64Array;
  } {
    const { events: received, sources } = this.#rows;
    const { instants, last } = datesByPage(
      {
        length: this.events,
        page: (row) => received.page.get(row),
        date: (row) => received.postedAt[row],
      },
      this.#progress.latest,
    );
    this.#progress.latest = last;
    const numbers = new Map<number, number>();
    const days = new Float64Array(this.events);
    for (let row = 0; row < this.events; row++) {
      const instant = Number((instants[row] ?? 0n) / 1000n);
      if (received.postedAt[row] !== undefined) this.#progress.undated.reach(instant);
      const { start, end } = dayOf(instant);
      let number = numbers.get(start);
      if (number === undefined) numbers.set(start, (number = sources.push(windowSource({ start, end })) - 1));
      days[row] = start;
      received.source.set(row, number);
    }
    return { instants, days };
  }
}

/** A month of a chunk as files on the local disk, until the whole input is known to be sound. */
export interface StagedMonth {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** These three as in `MonthBatches`. */
  readonly fileIds: FileIds;
  readonly number: number;
  readonly undated: number;
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as the log keeps them. */
  readonly net: string;
}

/** A month on its way to the local disk. */
export interface StagingMonth {
  /** Undefined where it holds nothing. Never unhandled where nobody waits for it any more. */
  readonly month: Promise<StagedMonth | undefined>;
}

/**
 * Writes a month of a chunk to the workspace, in the bytes that it will have in the lake. Comes back once the writer has all of
 * its rows.
 */
export async function stageMonth(
  { keep }: Workspace,
  writer: SizedWriter,
  family: Family,
  account: string,
  { batches, ...told }: MonthBatches,
): Promise<StagingMonth> {
  const metadata = metadataOf({
    family,
    account,
    month: told.month,
    loadKeys: told.days.map((day) => importedKey(dayOf(day))),
  });
  const files = new Map<string, Promise<LocalParquet>>();
  let net = '{}';
  for (const { table, rows, tags } of batches(writer.memory)) {
    files.set(table.name, keptFile(await writer.take(table, rows, metadata), keep));
    net = tags['net'] ?? net;
  }
  const staged = async (): Promise<StagedMonth | undefined> => {
    const main = await files.get(events.name);
    const derived = await files.get(entries.name);
    return main && { ...told, events: main, entries: derived, net };
  };
  return { month: handled(staged()) };
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
