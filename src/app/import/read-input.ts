import { LedgerlakeError } from '../../core/errors.js';
import type { GroupRow } from '../../sources/finances/model/group-rows.js';
import { count, newWarnings, type EventWarnings } from '../../sources/finances/model/slice-rows.js';
import type { Family } from '../../core/columns/table.js';
import { handled, type Workspace } from '../../lake/files/workspace.js';
import type { SizedWriter } from '../../core/parquet/thread.js';
import {
  EventChunk,
  type EventProgress,
  type RawMemory,
  stageMonth,
  type StagedMonth,
  type StagingMonth,
} from './event-chunk.js';
import { GroupList } from './add-groups.js';
import { loadedDays } from './imported-day-files.js';
import type { DedupIndex } from './dedup-index.js';
import type { ImportOptions } from './import-options.js';
import type { Input } from './input-bytes.js';
import { contentOf, brokenLine, savedPages } from './saved-pages.js';
import { UndatedEvents } from './undated-events.js';

/** Pages whose days can't be told, as none of them has a date, are held until this many times a chunk's bytes. */
const mostUndatedChunks = 4;

/** Where rows go on their way into the lake. */
export interface ImportResources {
  readonly workspace: Workspace;
  readonly writer: SizedWriter;
  readonly dedupIndex: DedupIndex;
  readonly raws: RawMemory;
}

/** All of an input: its events on the local disk, or on their way there, its groups in memory. */
export interface ReadInput {
  /** Never unhandled where nobody waits for them any more. */
  readonly months: Promise<readonly StagedMonth[]>;
  readonly undated: UndatedEvents;
  /** Events of days that windows were loaded for, by the start of the day. */
  readonly leftOut: ReadonlyMap<number, number>;
  /** Events with a date that the lake holds as often, by the start of the day. */
  readonly known: ReadonlyMap<number, number>;
  /** By the start of the day on which they opened. */
  readonly groups: ReadonlyMap<number, readonly GroupRow[]>;
  readonly eventPages: number;
  readonly groupPages: number;
  readonly eventWarnings: EventWarnings;
  readonly groupWarnings: EventWarnings;
  /** Lines that were left out. */
  readonly skipped: number;
}

/**
 * Reads an input to its end, and stages its rows. Comes back once the writer has all of them.
 *
 * @throws LedgerlakeError BROKEN_LINE where the input can't be read so far, what the writer throws, or the signal's reason
 */
export async function readInput(
  input: Input,
  options: ImportOptions,
  resources: ImportResources,
  family: Family,
): Promise<ReadInput> {
  const { signal, skipBroken, limits } = options;
  resources.dedupIndex.nextInput();
  const eventWarnings = newWarnings();
  const groupWarnings = newWarnings();
  const staging = new Staging(options, resources, family);
  const undated = new UndatedEvents(resources.workspace.fresh());
  const progress: EventProgress = { latest: undefined, undated };
  const list = new GroupList(groupWarnings);
  const counts = { eventPages: 0, groupPages: 0, skipped: 0 };
  let chunk = new EventChunk(eventWarnings, progress, resources.raws);
  let last = 1;
  let received = 0;

  const broken = (line: number, found: string): void => {
    const error = brokenLine(input.name, line, found);
    if (!skipBroken) throw error;
    counts.skipped++;
    options.emit({ event: 'line-left-out', reason: error.message });
  };
  const stage = async (): Promise<void> => {
    await staging.add(chunk);
    chunk = new EventChunk(eventWarnings, progress, resources.raws);
  };

  try {
    for await (const { page, line, bytes } of savedPages(input, broken, signal)) {
      signal.throwIfAborted();
      last = line;
      resources.writer.expect((received += bytes));
      const content = contentOf(page);
      try {
        if (content.hasEvents) chunk.add(page, bytes);
        if (content.hasGroups) list.add(page, line);
      } catch (error) {
        if (!(error instanceof LedgerlakeError) || error.code !== 'UPSTREAM_BODY') throw error;
        broken(line, error.message);
        continue;
      }
      if (content.hasGroups) counts.groupPages++;
      if (content.hasEvents || !content.hasGroups) counts.eventPages++;
      if (chunk.bytes < limits.chunkBytes) continue;
      if (chunk.isPlaceable) await stage();
      else if (chunk.bytes > limits.chunkBytes * mostUndatedChunks) break;
    }
    if (!chunk.isPlaceable) {
      throw brokenLine(
        input.name,
        last,
        'expected an event with a date by here, found none: nobody can tell their days',
      );
    }
    await stage();
    const groups = list.finish() ?? new Map<number, GroupRow[]>();
    if (groups.size === 0) {
      for (const line of list.lines) {
        broken(line, 'expected a group of the file to say when it opened, found none that does');
        counts.groupPages--;
      }
    }
    const months = handled(staging.months());
    return {
      months,
      undated,
      leftOut: staging.leftOut,
      known: staging.known,
      groups,
      ...counts,
      eventWarnings,
      groupWarnings,
    };
  } catch (error) {
    // What is under way writes into a folder that is about to be cleared.
    await staging.settled();
    resources.dedupIndex.abandonInput();
    throw error;
  }
}

/** The chunks of an input on their way to the local disk. */
class Staging {
  /** Events of days that windows were loaded for, by the start of the day. */
  readonly leftOut = new Map<number, number>();
  /** Events that the lake holds as often, by the start of the day. */
  readonly known = new Map<number, number>();
  readonly #options: ImportOptions;
  readonly #resources: ImportResources;
  readonly #family: Family;
  readonly #isLoaded: (day: number) => boolean;
  readonly #months: StagingMonth[] = [];
  #failure: { readonly reason: unknown } | undefined;

  constructor(options: ImportOptions, resources: ImportResources, family: Family) {
    this.#options = options;
    this.#resources = resources;
    this.#family = family;
    this.#isLoaded = loadedDays(options, family);
  }

  /** Throws what a chunk before has failed with. */
  async add(chunk: EventChunk): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.reason;
    const { workspace, writer, dedupIndex } = this.#resources;
    const finished = await chunk.finish(dedupIndex, this.#isLoaded);
    for (const [day, events] of finished.leftOut) count(this.leftOut, day, events);
    for (const [day, events] of finished.known) count(this.known, day, events);
    for (const month of finished.months) {
      const staging = await stageMonth(workspace, writer, this.#family, this.#options.account, month);
      this.#months.push(staging);
      staging.month.catch((reason: unknown) => (this.#failure = { reason }));
    }
  }

  /** All of them, once they are there. */
  async months(): Promise<readonly StagedMonth[]> {
    const months = await Promise.all(this.#months.map(({ month }) => month));
    return months.filter((month) => month !== undefined);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#months.map(({ month }) => month));
  }
}
