import type { TextHole } from '../../core/json/tape.js';
import type { PipelineTables } from '../../core/columns/table.js';
import { markHandled, type Workspace } from '../../lake/files/workspace.js';
import { dayOf, importedKey } from '../../lake/loads/imported-spans.js';
import { moveWarnings, newWarnings } from '../../sources/finances/model/slice-rows.js';
import { millisOf, noDate, pageSpans, type PageDates, type PageSpans } from './chunks/page-spans.js';
import type { FlattenedChunk, GroupsBody } from './chunks/chunk-flattener.js';
import type { GatheredLines } from './chunks/chunk-lines.js';
import type { ChunkThreads } from './chunks/chunk-threads.js';
import type { FileHole, ImportOptions, KeyHoles } from './stored-imports.js';
import type { Input } from './input-bytes.js';
import { brokenLine, longestLine, type Line } from './saved-pages.js';
import { loadKeysOfStaged, stageMonths, type Positions, type StagedMonth } from './staged-months.js';
import { UndatedEvents } from './undated-lines.js';

/** The resources that an input's import uses. */
export interface ImportResources {
  readonly workspace: Workspace;
  readonly threads: ChunkThreads;
  readonly positions: Positions;
}

/** The events of an input as they are staged. */
export interface StagedEvents {
  readonly months: readonly StagedMonth[];
  /** The spans of its pages; undefined where all events have a date, and could be read. */
  readonly spans: PageSpans | undefined;
  /** Its events that could not be read, by each load key that it fills. */
  readonly holes: KeyHoles;
}

/** Takes an input's lines, in their order. */
interface LineListener {
  readonly input: Pick<Input, 'name' | 'bytes'>;
  /** Called for a line that is not a body of the service; what it throws ends the input. */
  readonly broken: (line: number, found: string) => void;
  /** Called for what is left out of a body; `page` is the number of the body in the input, from 0. */
  readonly hole: (line: number, hole: TextHole, page: number) => void;
  /** Called for a body with groups. */
  readonly addGroups: (line: number, body: GroupsBody) => void;
  /** Called for a body with events, or an empty one. */
  readonly addEventPage: () => void;
}

/** Lines that are gathered for one chunk, with their numbers in the input. */
interface NumberedLines {
  readonly gathered: GatheredLines;
  readonly numbers: number[];
  /** Numbers of the lines that are too long to be kept. */
  readonly tooLong: Set<number>;
}

/**
 * The size of an input's chunks in bytes. All chunks are about as large, because a small one takes as many commits and files. A
 * compressed input has more bytes than its size says, and chunks of at least half the maximum.
 */
function evenChunkBytes(bytes: number | undefined, most: number): number {
  return bytes === undefined || bytes < most ? most : bytes / Math.ceil(bytes / most);
}

/**
 * Stages the events of an input on the local disk, chunk by chunk: those with a date as the files that the lake will have, the others as
 * lines. Chunks are flattened and encoded at once.
 */
export class EventStaging {
  readonly warnings = newWarnings();
  readonly undated: UndatedEvents;
  /** Its events that could not be read, by the page. */
  readonly holes: { readonly page: number; readonly hole: FileHole }[] = [];
  /** The number of its events where none has a date. */
  dateless = 0;
  readonly #options: ImportOptions;
  readonly #resources: ImportResources;
  readonly #pipeline: PipelineTables;
  readonly #listener: LineListener;
  /** A chunk is handed out once it has this many bytes. */
  readonly #fullChunkBytes: number;
  readonly #months: Promise<readonly StagedMonth[]>[] = [];
  readonly #dates: PageDates[] = [];
  #pages = 0;
  #events = 0;
  #lastLine = 0;
  /** When the newest chunk has its positions. */
  #turn: Promise<unknown>;
  #failure: { readonly reason: unknown } | undefined;
  #open: NumberedLines | undefined;

  /** @param turn when the first chunk may take its positions, and lines may be reported */
  constructor(
    options: ImportOptions,
    resources: ImportResources,
    pipeline: PipelineTables,
    listener: LineListener,
    turn: Promise<unknown>,
  ) {
    this.#turn = turn;
    this.#options = options;
    this.#resources = resources;
    this.#pipeline = pipeline;
    this.#listener = listener;
    this.#fullChunkBytes = evenChunkBytes(listener.input.bytes, options.limits.chunkBytes);
    this.undated = new UndatedEvents(resources.workspace.newPath());
  }

  /** When all chunks that were handed out have their positions, or have failed. */
  get turn(): Promise<unknown> {
    return this.#turn.catch(() => undefined);
  }

  /** Copies the next line. Resolves once there is room for more; throws the failure of an earlier line or chunk. */
  async add({ number, bytes }: Line): Promise<void> {
    const { length } = bytes ?? nothing;
    if (this.#open?.gathered.hasRoom(length) === false) await this.handOut();
    const most = Math.max(length, this.#options.limits.chunkBytes);
    this.#open ??= {
      gathered: this.#resources.threads.gather(most),
      numbers: [],
      tooLong: new Set(),
    };
    const open = this.#open;
    open.gathered.add(bytes ?? nothing);
    open.numbers.push(number);
    if (bytes === undefined) open.tooLong.add(number);
    if (open.gathered.isFull || open.gathered.length >= this.#fullChunkBytes) await this.handOut();
  }

  /**
   * The staged months of an input whose lines are handed out, once they are on the local disk, and the spans of its pages; undefined
   * where they aren't needed. A hole is of the day that is nearest to its page, as an event without a date.
   *
   * @throws LedgerlakeError BROKEN_LINE where none of its events has a date; the failure of a chunk
   */
  async finish(): Promise<StagedEvents> {
    await this.#turn;
    const months = (await Promise.all(this.#months)).flat();
    this.throwFailure();
    const isNeeded = this.undated.pages.length + this.holes.length > 0;
    const spans = isNeeded ? pageSpans(joinedDates(this.#dates, this.#pages)) : undefined;
    if (spans === undefined && this.#events > 0 && months.length === 0) {
      const found =
        'expected an event with a date in the file, found none, so the days of its events are unknown; put a page with a date before them';
      this.dateless = this.#events;
      throw brokenLine(this.#listener.input.name, this.#lastLine, found);
    }
    const holes = new Map(loadKeysOfStaged(months).map((loadKey) => [loadKey, [] as FileHole[]]));
    if (spans !== undefined)
      for (const { page, hole } of this.holes)
        holes.get(importedKey(dayOf(millisOf(spans.instants[page] ?? 0n))))?.push(hole);
    return { months, spans, holes };
  }

  /** Throws the first failure of a chunk. */
  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Resolves once no chunk is pending. */
  async settled(): Promise<void> {
    this.#failure ??= { reason: new Error('given up') };
    await this.turn;
    await Promise.allSettled(this.#months);
  }

  /** Hands the gathered lines out to be flattened, once there is room. Throws the failure of an earlier line or chunk. */
  async handOut(): Promise<void> {
    const lines = this.#open;
    this.#open = undefined;
    if (lines === undefined) return;
    const { threads } = this.#resources;
    await threads.vacancy();
    this.throwFailure();
    const months = markHandled(
      this.#process(lines).catch((reason: unknown) => {
        this.#failure ??= { reason };
        return [];
      }),
    );
    this.#months.push(months);
    threads.occupy(months.then(() => undefined));
  }

  /** Flattens a chunk, and encodes it once those before have their positions. */
  async #process(lines: NumberedLines): Promise<readonly StagedMonth[]> {
    const { threads, positions, workspace } = this.#resources;
    const task = threads.nextTask();
    const flattened = markHandled(task.flatten(lines.gathered.lines));
    const before = this.#turn;
    const turn = async () => {
      try {
        await before;
        const chunk = await flattened;
        this.#reportLines(lines, chunk);
        this.#dates.push(chunk.dates);
        this.#events += chunk.events;
        this.#lastLine = lines.numbers.at(-1) ?? 0;
        await this.undated.add(chunk.undated, this.#pages);
        this.#pages += lines.numbers.length;
        const { account } = this.#options;
        const { flat } = chunk;
        if (flat === undefined) {
          task.discard();
          return { months: [] };
        }
        return { months: stageMonths(task, flat, { pipeline: this.#pipeline, account, positions, workspace }) };
      } catch (error) {
        task.discard();
        throw error;
      }
    };
    const placed = markHandled(turn());
    this.#turn = placed;
    const { months } = await placed;
    return months;
  }

  /** Reports a chunk's lines to the listener. */
  #reportLines({ numbers, tooLong }: NumberedLines, { broken, holes, groups, warnings }: FlattenedChunk): void {
    const listener = this.#listener;
    moveWarnings(warnings, this.warnings);
    for (const [at, line] of numbers.entries()) {
      const found = tooLong.has(line)
        ? `expected a response body, found a line of more than ${longestLine / 1024 / 1024} MB`
        : broken.get(at);
      for (const hole of holes.get(at) ?? []) listener.hole(line, hole, this.#pages + at);
      const body = groups.get(at);
      if (found !== undefined) listener.broken(line, found);
      else if (body !== undefined) listener.addGroups(line, body);
      else listener.addEventPage();
    }
  }
}

const nothing = new Uint8Array();

/** The dates of an input's pages, from those of its chunks. */
function joinedDates(chunks: readonly PageDates[], pages: number): PageDates {
  const all = {
    first: new BigInt64Array(pages).fill(noDate),
    last: new BigInt64Array(pages).fill(noDate),
    hasNext: new Uint8Array(pages),
  };
  let at = 0;
  for (const { first, last, hasNext } of chunks) {
    all.first.set(first, at);
    all.last.set(last, at);
    all.hasNext.set(hasNext, at);
    at += first.length;
  }
  return all;
}
