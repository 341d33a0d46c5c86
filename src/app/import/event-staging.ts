import { alignedWith } from '../../core/columns/memory.js';
import type { Hole } from '../../core/json/tape.js';
import { compare } from '../../core/compare.js';
import { groupBy } from '../../core/group-by.js';
import { monthOf } from '../../core/windows.js';
import type { EncodedFile } from '../../core/parquet/encode-file.js';
import type { Family } from '../../core/columns/table.js';
import { contentOf } from '../../lake/delta/file-tags.js';
import { dayOf, importedKey } from '../../lake/loads/imported-days.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import { metadataOf } from '../../lake/files/new-file.js';
import { markHandled, type Workspace } from '../../lake/files/workspace.js';
import { numberedId } from '../../sources/finances/model/event-ids.js';
import { count } from '../../core/count.js';
import { moveWarnings, newWarnings } from '../../sources/finances/model/slice-rows.js';
import type { ChosenMonth, EncodedMonth, FlattenedChunk, GroupsBody, AssignedChunk } from './chunk.js';
import type { ChunkThreads, ChunkTask } from './chunk-threads.js';
import type { DedupIndex, FileIds } from './dedup-index.js';
import { loadedDays, type ImportOptions } from './imported-day-files.js';
import type { Input } from './input-bytes.js';
import { brokenLine, longestLine, type Line } from './saved-pages.js';
import { unstaged, UndatedEvents } from './undated-events.js';

/** The resources that an input's import uses. */
export interface ImportResources {
  readonly workspace: Workspace;
  readonly threads: ChunkThreads;
  readonly dedupIndex: DedupIndex;
}

/** A month of a chunk before its files are encoded. */
interface UnencodedMonth {
  readonly month: string;
  /** Starts of the days that have events, in order. */
  readonly days: readonly number[];
  /** The ids of the events that are to be committed. */
  readonly fileIds: FileIds;
  /** Its number among the staged months of the input. */
  readonly number: number;
  /** How many of its events have no date: whether they are new is decided just before the commit. */
  readonly undated: number;
}

/** A month of a chunk as files on the local disk, until the whole input is read without a failure. */
export interface StagedMonth extends UnencodedMonth {
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: string;
}

/** Takes an input's lines, in their order. */
interface LineListener {
  readonly input: Pick<Input, 'name' | 'bytes'>;
  /** Called for a line that is not a body of the service; what it throws ends the input. */
  readonly broken: (line: number, found: string) => void;
  /** Called for what is left out of a body. */
  readonly hole: (line: number, hole: Hole) => void;
  /** Called for a body with groups. */
  readonly addGroups: (line: number, body: GroupsBody) => void;
  /** Called for a body with events, or an empty one. */
  readonly addEventPage: () => void;
}

/** Lines that are gathered for one chunk. */
interface GatheredLines {
  readonly bytes: Buffer<SharedArrayBuffer>;
  /** Bytes of all lines. */
  length: number;
  readonly starts: number[];
  readonly ends: number[];
  /** The number of each line in the input. */
  readonly numbers: number[];
  /** Numbers of the lines that are too long to be kept. */
  readonly tooLong: Set<number>;
}

/** Lines of a chunk at most: each takes memory for its position and its faults. */
const mostLines = 10_000;

/**
 * The size of an input's chunks in bytes. All chunks are about as large, because a small one takes as many commits and files. A
 * compressed input has more bytes than its size says, and chunks of at least half the maximum.
 */
function evenChunkBytes(bytes: number | undefined, most: number): number {
  return bytes === undefined || bytes < most ? most : bytes / Math.ceil(bytes / most);
}

/** A flattened chunk that isn't deduplicated yet. */
interface FlatChunk {
  readonly task: ChunkTask;
  readonly assigned: AssignedChunk | undefined;
  readonly bytes: number;
  readonly lastLine: number;
}

/** Chunks that wait for the first page with a date have at most this many times the bytes of one chunk. */
const mostUndatedChunks = 4;

/**
 * Stages the events of an input on the local disk, chunk by chunk, as the files that the lake will have. Chunks are flattened and
 * encoded at once, and deduplicated one after the other.
 */
export class EventStaging {
  readonly warnings = newWarnings();
  readonly undated: UndatedEvents;
  /** Events of days with a loaded window, by the start of the day. */
  readonly leftOut = new Map<number, number>();
  /** Events with a date that the lake has as often, by the start of the day. */
  readonly known = new Map<number, number>();
  readonly #options: ImportOptions;
  readonly #resources: ImportResources;
  readonly #family: Family;
  readonly #listener: LineListener;
  readonly #isLoaded: (day: number) => boolean;
  /** A chunk is handed out once it has this many bytes. */
  readonly #fullChunkBytes: number;
  readonly #months: Promise<StagedMonth>[] = [];
  /** Chunks of the input that are neither encoded nor waiting for a date. */
  readonly #pending = new Set<Promise<void>>();
  /** When the newest chunk is deduplicated, or waits for a date. */
  #turn: Promise<void>;
  #failure: { readonly reason: unknown } | undefined;
  #gathered: GatheredLines | undefined;
  /** Chunks that wait for a page with a date. */
  #waiting: FlatChunk[] = [];
  /** The latest date of the nearest page that has one, in microseconds since 1970. */
  #latest: bigint | undefined;

  /** @param turn when the first chunk may be deduplicated, and lines may be reported */
  constructor(
    options: ImportOptions,
    resources: ImportResources,
    family: Family,
    listener: LineListener,
    turn: Promise<void>,
  ) {
    this.#turn = turn;
    this.#options = options;
    this.#resources = resources;
    this.#family = family;
    this.#listener = listener;
    this.#isLoaded = loadedDays(options.lake.snapshot, options.account, family.pipeline);
    this.#fullChunkBytes = evenChunkBytes(listener.input.bytes, options.limits.chunkBytes);
    this.undated = new UndatedEvents(resources.workspace.newPath());
  }

  /** Copies the next line. Resolves once there is room for more; throws the failure of an earlier line or chunk. */
  async add({ number, bytes }: Line): Promise<void> {
    const length = bytes?.length ?? 0;
    const { chunkBytes } = this.#options.limits;
    if (this.#gathered !== undefined && this.#gathered.length + length > chunkBytes) await this.handOut();
    const gathered = (this.#gathered ??= this.#emptyLines(Math.max(length, chunkBytes)));
    const { starts, ends, numbers, tooLong } = gathered;
    const previousEnd = ends.at(-1) ?? 0;
    const start = bytes === undefined ? previousEnd : alignedWith(bytes, previousEnd);
    if (bytes === undefined) tooLong.add(number);
    else gathered.bytes.set(bytes, start);
    gathered.length += length;
    starts.push(start);
    ends.push(start + length);
    numbers.push(number);
    if (numbers.length === mostLines || gathered.length >= this.#fullChunkBytes) await this.handOut();
  }

  #emptyLines(bytes: number): GatheredLines {
    const memory = this.#resources.threads.linesMemory(bytes + mostLines * Float64Array.BYTES_PER_ELEMENT);
    return { bytes: memory, length: 0, starts: [], ends: [], numbers: [], tooLong: new Set() };
  }

  /**
   * Resolves once all events of the input, whose lines are handed out, are deduplicated.
   *
   * @throws LedgerlakeError BROKEN_LINE where none of its events has a date
   */
  async finish(): Promise<void> {
    await this.#turn;
    if (this.#waiting.length > 0) throw this.#undatable();
  }

  /** The staged months, once they are on the local disk. */
  async months(): Promise<readonly StagedMonth[]> {
    return Promise.all(this.#months);
  }

  /** Resolves once no chunk is pending, and discards those that wait for a date. */
  async settled(): Promise<void> {
    this.#failure ??= { reason: new Error('given up') };
    await Promise.allSettled([...this.#pending, ...this.#months]);
    for (const { task } of this.#waiting) task.discard();
    this.#waiting = [];
  }

  /** Hands the gathered lines out to be flattened, once there is room. Throws the failure of an earlier line or chunk. */
  async handOut(): Promise<void> {
    const lines = this.#gathered;
    this.#gathered = undefined;
    if (lines === undefined) return;
    const { threads } = this.#resources;
    await threads.vacancy();
    if (this.#failure !== undefined) throw this.#failure.reason;
    const chunk = this.#process(threads.nextTask(), lines).catch((reason: unknown) => {
      this.#failure ??= { reason };
    });
    threads.occupy(chunk);
    this.#pending.add(chunk);
    void chunk.finally(() => this.#pending.delete(chunk));
  }

  /** Flattens a chunk, and deduplicates it when the chunks before are. Resolves once it is encoded, or waits for a date. */
  async #process(task: ChunkTask, lines: GatheredLines): Promise<void> {
    const { bytes, length, starts, ends } = lines;
    const flattened = markHandled(
      task.flatten({ bytes, starts: Int32Array.from(starts), ends: Int32Array.from(ends) }),
    );
    const before = this.#turn;
    let encoded: Promise<unknown> | undefined;
    const turn = async (): Promise<void> => {
      try {
        await before;
        const chunk = await flattened;
        this.#reportLines(lines, chunk);
        if (chunk.events === 0) {
          task.discard();
          return;
        }
        const lastLine = lines.numbers.at(-1) ?? 0;
        this.#waiting.push({ task, assigned: chunk.assigned, bytes: length, lastLine });
        // Events before the first page with a date get its earliest one.
        const instant = this.#latest ?? chunk.dates?.first;
        if (instant !== undefined) encoded = Promise.all(await this.#stageWaiting(instant));
        else if (this.#isOverfull()) throw this.#undatable();
        this.#latest = chunk.dates?.last ?? this.#latest;
      } catch (error) {
        if (!this.#waiting.some((chunk) => chunk.task === task)) task.discard();
        throw error;
      }
    };
    this.#turn = markHandled(turn());
    await this.#turn;
    await encoded;
  }

  /** Reports a chunk's lines to the listener. */
  #reportLines({ numbers, tooLong }: GatheredLines, { broken, holes, groups, warnings }: FlattenedChunk): void {
    const listener = this.#listener;
    moveWarnings(warnings, this.warnings);
    for (const [at, line] of numbers.entries()) {
      const found = tooLong.has(line)
        ? `expected a response body, found a line of more than ${longestLine / 1024 / 1024} MB`
        : broken.get(at);
      for (const hole of holes.get(at) ?? []) listener.hole(line, hole);
      const body = groups.get(at);
      if (found !== undefined) listener.broken(line, found);
      else if (body !== undefined) listener.addGroups(line, body);
      else listener.addEventPage();
    }
  }

  #isOverfull(): boolean {
    const bytes = this.#waiting.reduce((sum, chunk) => sum + chunk.bytes, 0);
    return bytes > this.#options.limits.chunkBytes * mostUndatedChunks;
  }

  #undatable(): Error {
    const found =
      'expected an event with a date up to here, found none, so the days of the events are unknown; put a page with a date before them';
    return brokenLine(this.#listener.input.name, this.#waiting.at(-1)?.lastLine ?? 0, found);
  }

  /**
   * Deduplicates the waiting chunks.
   *
   * @param before the instant of their events without a date, where no page before has one
   * @returns promises that resolve once the chunks are encoded
   */
  async #stageWaiting(before: bigint): Promise<readonly Promise<unknown>[]> {
    const encoded: Promise<unknown>[] = [];
    for (let chunk = this.#waiting[0]; chunk !== undefined; chunk = this.#waiting[0]) {
      const assigned = chunk.assigned ?? (await chunk.task.assignDays(before));
      const months = await this.#stage(chunk.task, assigned);
      this.#waiting.shift();
      encoded.push(...months);
    }
    return encoded;
  }

  /** Deduplicates a chunk, and hands its new events out to be encoded, by month. */
  async #stage(
    task: ChunkTask,
    { words, days, undated, reach }: AssignedChunk,
  ): Promise<readonly Promise<StagedMonth>[]> {
    const { dedupIndex } = this.#resources;
    if (reach !== undefined) for (const instant of [reach.first, reach.last]) this.undated.extendSpan(instant);
    const isDated = (row: number) => !undated.has(row);
    const isOpen = (day: number) => !this.#isLoaded(day);
    const { times, positions, stage } = await dedupIndex.deduplicate({ words, days, isDated, isOpen });
    const noteUndated = (row: number, staged: number): void => {
      const event = undated.get(row);
      if (event === undefined) return;
      const nth = times[row] ?? 0;
      this.undated.add(staged, event.contentHash, numberedId(event.eventId, nth || 1), days[row] ?? 0, nth);
    };
    for (const row of undated.keys()) if (times[row] === 0) noteUndated(row, unstaged);
    this.#countKnown(days, times);
    const chosen = newRows(days, times);
    const starts = groupBy([...chosen.keys()].toSorted(compare), monthOf);
    const staged: UnencodedMonth[] = [];
    const months: ChosenMonth[] = [];
    for (const [month, ofMonth] of starts) {
      const rows = ofMonth.flatMap((day) => chosen.get(day) ?? []);
      const number = this.undated.nextMonth();
      const withoutDate = undated.size === 0 ? [] : rows.filter((row) => undated.has(row));
      for (const row of withoutDate) noteUndated(row, number);
      const loadKeys = ofMonth.map((day) => importedKey(dayOf(day)));
      const metadata = metadataOf({ family: this.#family, account: this.#options.account, month, loadKeys });
      months.push({ month, rows: Int32Array.from(rows), metadata });
      staged.push({ month, days: ofMonth, fileIds: await stage(rows), number, undated: withoutDate.length });
    }
    await this.undated.flush();
    const encoded = markHandled(task.encode({ times, positions, months }));
    const files = staged.map((month, at) => markHandled(this.#keepFiles(month, encoded, at)));
    this.#months.push(...files);
    return files;
  }

  #countKnown(days: Float64Array, times: Int32Array): void {
    for (let row = 0; row < days.length; row++) {
      const day = days[row] ?? 0;
      if (times[row] === 0) count(this.#isLoaded(day) ? this.leftOut : this.known, day);
    }
  }

  async #keepFiles(month: UnencodedMonth, encoded: Promise<readonly EncodedMonth[]>, at: number): Promise<StagedMonth> {
    const files = (await encoded)[at];
    if (files === undefined) throw new Error(`expected the files of ${month.month}, got none`);
    const localFile = async ({ bytes, rows, stats }: EncodedFile): Promise<LocalParquet> => {
      return { path: await this.#resources.workspace.writeLocal(bytes), rows, stats, content: contentOf(bytes) };
    };
    const entries = files.entries && (await localFile(files.entries));
    return { ...month, events: await localFile(files.events), entries, net: files.net };
  }
}

/** Rows of the new events, by the start of their day. */
function newRows(days: Float64Array, times: Int32Array): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  let day = NaN;
  let ofDay: number[] = [];
  for (let row = 0; row < days.length; row++) {
    if (times[row] === 0) continue;
    if (days[row] !== day) {
      day = days[row] ?? 0;
      ofDay = rows.get(day) ?? [];
      rows.set(day, ofDay);
    }
    ofDay.push(row);
  }
  return rows;
}
