import type { LoadKeyKind } from '../../lake/catalog/load-key.js';
import type { Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { Batch, Job, Pipeline, Reading } from '../run/pipeline.js';
import type { Slice, SliceQueue } from '../run/slice-queue.js';
import type { Day } from './day-states.js';
import type { Expectation } from './volume-estimate.js';

/** The job of a sync: its range ends with the sync's, and begins at the pipeline's first gap. */
export interface SyncJob extends Job {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Loaded windows that end later are read again; `Infinity`: none. Milliseconds since 1970. */
  readonly lookBackFrom: number;
  /** The look-back that the user requested; `Infinity`: the schedule decides. */
  readonly requestedLookBackFrom: number;
  /** Ranges of the pipeline that earlier runs or the configuration request, and that aren't loaded. */
  readonly requested: readonly RequestedRange[];
  /** Whether the sync consists of several runs, each of which must reach its first slice quickly. */
  readonly isInTurns: boolean;
  /** Whether an earlier run of this sync has read a slice, by its label. */
  wasRead(label: string): boolean;
}

/** What the lake has of a range for one pipeline. */
export interface LoadedVolume {
  /** Load keys: windows, groups or orders that were read. */
  readonly count: number;
  /** Days covered by its windows, with fractions; null for a pipeline without windows. */
  readonly days: number | null;
  /** Events or settlements; a window across a bound of the range counts in proportion. */
  readonly results: number;
}

/** The days of a range, and its gaps. */
export interface Coverage {
  readonly days: readonly Day[];
  readonly gaps: readonly Window[];
}

/** A page that a plan requests to estimate the volume: the first one of a window. */
export interface Probe<Upstream> {
  readonly pipeline: Definition<Upstream>;
  readonly window: Window;
  /** The gap that it samples. */
  readonly gap: Window;
}

/** The result of a probe. */
export interface ProbedPage {
  readonly window: Window;
  readonly gap: Window;
  /** Windows that were read and are empty, possibly with the probed one. */
  readonly empty: readonly Window[];
  readonly results: number;
  /** Whether the page contains the whole window. */
  readonly isWhole: boolean;
  /** The latest date on the page, in milliseconds since 1970; undefined without one. */
  readonly reach: number | undefined;
  readonly batches: readonly Batch[];
}

export interface ForecastRequest {
  readonly job: Job;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** By pipeline name. */
  readonly probed: ReadonlyMap<string, ProbedPage>;
}

/** The slices that a backfill has to load, and their expected volume. */
export interface Forecast<S extends Slice = Slice> {
  readonly queue: SliceQueue<S>;
  /** Undefined: no volume is known. */
  readonly expectation: Expectation<S> | undefined;
  readonly loaded: LoadedVolume;
  /** Slices of settlements that aren't listed yet. */
  readonly unlisted: number;
  /** False where there may be unknown slices. */
  readonly isComplete: boolean;
}

/** How a pipeline is divided into slices: by windows of dates, by settlement, by order. */
export interface Slicing<S extends Slice> {
  readonly loadKeyKind: LoadKeyKind;
  /** The slices of a job that the lake lacks; to refresh, all of them. */
  sliceQueue(job: Job): SliceQueue<S>;
  /** The slices of a sync; the job is that of `prepareSync`. */
  sync(job: SyncJob): SliceQueue<S>;
  /** The estimate of a plan. */
  forecast(request: ForecastRequest): Forecast<S>;
  /** The loaded days of a range; left out: its slices have no dates. */
  readonly coverage?: (lake: Lake, account: string, range: Window) => Coverage;
}

/** A pipeline with the data that commands need. */
export interface Definition<Upstream, S extends Slice = Slice, Page = unknown>
  extends Pipeline<Upstream, S, Page>, Slicing<S> {
  readonly needs?: readonly Definition<Upstream>[];
  /** The operation whose quota its requests use. */
  readonly operation: string;
  /** Documented burst of the operation. */
  readonly burst?: number;
  /** The noun for a result: `event`, `group`. */
  readonly result: string;
  /** Heading in a report; default the pipeline's name. */
  readonly title?: string;
  /** Whether slices replace loaded rows in a backfill too: these are compared. */
  readonly restates?: boolean;
  /** What of a range the service doesn't have any more, for people. `now`: milliseconds since 1970. */
  limitText?(range: Window, now: number): string | undefined;
  /** `prepare` of a sync; default `prepare`. */
  prepareSync?(job: SyncJob, reading: Reading<Upstream>): Promise<Job>;
  /** The pages that a plan may request for its estimate; default none. */
  probes?(job: Job): readonly Probe<Upstream>[];
}
