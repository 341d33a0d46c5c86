import type { Table, PipelineTables } from '../../core/columns/table.js';
import type { Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { Batch, Job, Pipeline, Reading } from '../run/pipeline.js';
import type { Slice, SliceQueue } from '../run/slice-queue.js';
import type { Day } from './day-states.js';
import type { Expectation } from './volume-estimate.js';

/** What a sync asks of a pipeline: its range ends where the sync does, and begins where the pipeline finds a gap. */
export interface SyncJob extends Job {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Loaded windows that end later than this are read again; `Infinity`: none. Milliseconds since 1970. */
  readonly lookBackFrom: number;
  /** The same where the user has said how far to look back; `Infinity`: the schedule decides. */
  readonly requestedLookBackFrom: number;
  /** What earlier runs were asked for of the pipeline, and isn't loaded. */
  readonly asked: readonly RequestedRange[];
  /** Whether it is one of several runs that make a sync, none of which may take long before its first slice. */
  readonly isInTurns: boolean;
  /** Whether an earlier run of this sync has read a slice, by its label. */
  wasRead(label: string): boolean;
}

/** How much of a range the lake has for one pipeline. */
export interface LoadedVolume {
  /** Load keys: windows, groups or orders that were read. */
  readonly count: number;
  /** Days that its windows cover, fractions of days included; null for a pipeline without windows. */
  readonly days: number | null;
  /** Events or settlements; a window that the range cuts counts in proportion. */
  readonly results: number;
}

/** Days of a range, and what of it isn't loaded. */
export interface Coverage {
  readonly days: readonly Day[];
  readonly gaps: readonly Window[];
}

/** A page that a plan asks for where the lake doesn't say how much there is: the first one of a window. */
export interface Probe<Upstream> {
  readonly pipeline: Definition<Upstream>;
  readonly window: Window;
  /** The stretch that it is a sample of, of which nothing is loaded. */
  readonly gap: Window;
}

/** The result of a probe. */
export interface ProbedPage {
  readonly window: Window;
  readonly gap: Window;
  /** Windows that were asked for and hold nothing: those before it, and it itself where it is so. */
  readonly empty: readonly Window[];
  readonly results: number;
  /** Whether the page holds all of the window. */
  readonly isWhole: boolean;
  /** The latest date on the page, in milliseconds since 1970; undefined where there is none. */
  readonly reach: number | undefined;
  readonly batches: readonly Batch[];
}

export interface ForecastQuestion {
  readonly job: Job;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** By the name of the pipeline that was asked. */
  readonly probed: ReadonlyMap<string, ProbedPage>;
}

/** What a backfill has to load, and what it is expected to find. */
export interface Forecast<S extends Slice = Slice> {
  readonly queue: SliceQueue<S>;
  /** Undefined: nothing is known of what slices hold. */
  readonly expectation: Expectation<S> | undefined;
  readonly loaded: LoadedVolume;
  /** Slices for settlements that nobody has listed yet. */
  readonly unlisted: number;
  /** False where there may be slices that nobody knows of. */
  readonly isComplete: boolean;
}

/** How the slices of a pipeline are found: by windows of dates, by settlement, by order. */
export interface Slicing<S extends Slice> {
  /** What a load key of the pipeline begins with: `window`, `group`, `order`. */
  readonly loadKey: string;
  /** What the lake lacks of a job (or, to refresh, holds of it too). */
  sliceQueue(job: Job): SliceQueue<S>;
  /** What a sync reads instead; it gets what `prepareSync` of the definition has found. */
  sync(job: SyncJob): SliceQueue<S>;
  /** What a plan expects of a job. */
  forecast(question: ForecastQuestion): Forecast<S>;
  /** Which days of a range are loaded; left out: its slices have no dates. */
  readonly coverage?: (lake: Lake, account: string, range: Window) => Coverage;
}

/**
 * A pipeline as its definition has it: with all that commands need to know of it.
 *
 * The main table is the last of `tables`: its commits make a slice count.
 */
export interface Definition<Upstream, S extends Slice = Slice, Page = unknown>
  extends Pipeline<Upstream, S, Page>, Slicing<S> {
  readonly needs?: readonly Definition<Upstream>[];
  /** The operation whose quota its requests take. */
  readonly operation: string;
  /** Requests at once that the operation is known to allow. */
  readonly burst?: number;
  /** What a result is called: `event`, `group`. */
  readonly result: string;
  /** What a report calls the data; left out: the pipeline's name. */
  readonly title?: string;
  /** `prepare` of a sync; left out: as of any run. */
  prepareSync?(job: SyncJob, reading: Reading<Upstream>): Promise<Job>;
  /** What a plan may ask the service where the lake doesn't say; left out: nothing. */
  probes?(job: Job): readonly Probe<Upstream>[];
}

/** The table whose commits make a slice of a pipeline count. */
export function mainTable({ name, tables }: PipelineTables): Table {
  const main = tables.at(-1);
  if (main === undefined) throw new Error(`the pipeline ${name} has no table`);
  return main;
}
