import type { FileFigures } from '../../lake/delta/data-file.js';
import type { PipelineTables, TableBatch } from '../../core/columns/table.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { LoadKeyKind } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { SliceVerdict } from '../retry/causes.js';
import type { QuotaState } from './concurrency-plan.js';
import type { Day } from './day-states.js';
import type { JobValues } from './load-options.js';
import type { SliceHole } from './slice-holes.js';
import type { Slice, SliceQueue } from './slice-queue.js';
import type { Window } from '../../core/windows.js';

/** What a run loads: what an account lacks of a range, or what a sync has to read. Each `Slicing` answers for both. */
export type Job = BackfillJob | SyncJob;

/** With the options of the load that decide what is read. A sync always refreshes, and no job does after a conflict with another run. */
interface CommonJob extends JobValues {
  readonly account: string;
  readonly range: Window;
  readonly lake: Lake;
}

export interface BackfillJob extends CommonJob {
  readonly kind: 'backfill';
  /** Whether requests are limited: then slices are sized by density, otherwise on a grid. */
  readonly isPaced?: boolean | undefined;
  /** Windows that a stopped run had begun to read, and whose pages are in the page journal. */
  readonly begun?: readonly Window[] | undefined;
}

/** Its range ends with the sync's, and begins at the first gap. */
export interface SyncJob extends CommonJob {
  readonly kind: 'sync';
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Loaded windows of a pipeline that end later are read again. Milliseconds since 1970. */
  lookBackFrom(pipeline: string): number;
  /** The look-back that the user requested; `Infinity`: the schedule decides. */
  readonly requestedLookBackFrom: number;
  /** Ranges that earlier runs or the configuration request, and that weren't loaded when the sync began. */
  readonly requested: readonly RequestedRange[];
  /**
   * Whether an earlier run of this sync has read a slice, by its label. Set where the sync consists of several runs, each of which must
   * reach its first slice quickly.
   */
  readonly wasRead?: ((pipeline: string, slice: string) => boolean) | undefined;
}

/** Counts of one pipeline's requests, updated by their sender. */
export interface RequestCounts {
  requests: number;
  retries: number;
  throttled: number;
  pages: number;
}

/** How a slice's pages are read. */
export interface Reading<Upstream> {
  readonly upstream: Upstream;
  readonly account: string;
  readonly counts: RequestCounts;
  /** Among the waiting requests the lowest is sent first. It changes with every page. */
  readonly priority: number;
  readonly signal: AbortSignal;
  /** Registers a function to call after the commit. */
  committed(then: () => Promise<void>): void;
  /** Reports the outcome of each request, for logs and metrics. */
  emit(event: UpstreamEvent): void;
}

/** The quota of an upstream, and its latency. */
export interface Pace extends QuotaState {
  /** Average seconds from a request to its complete answer; undefined before the first one. */
  readonly latency: number | undefined;
}

/** Rows of one table and month, ready to be written. */
export interface Batch extends TableBatch, FileFigures {
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** What it is a part of; left out: it is committed with the other batches of its slice. */
  readonly part?: SlicePart;
}

/** A part of a slice that is committed by itself, where only its pages show which load keys it has. */
export interface SlicePart extends Slice {
  /** Unexpected data of the part. */
  readonly warnings: Warnings;
}

/** Counts of unexpected data, by kind and subject. */
export type Warnings = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** A slice that can't be read, or a part of one. */
export interface UnreadSlice {
  /** For people. */
  readonly label: string;
  readonly reason: string;
}

/** Turns the pages of one slice into batches. */
export interface Collector<Page> {
  /** Adds one page; returns its number of results. */
  add(page: Page): number;
  /** The latest date so far, in milliseconds since 1970; undefined without one. */
  readonly reach: number | undefined;
  /** The earliest date so far. */
  readonly first?: number | undefined;
  /** All rows, after the last page. */
  finish(): readonly Batch[];
  /** Unexpected data so far. */
  readonly warnings: Warnings;
  /** What could not be read so far. */
  readonly holes: readonly SliceHole[];
  /** Parts that can't be read; the others are loaded. Left out: none. */
  readonly leftOpen?: readonly UnreadSlice[];
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
export interface Probe {
  /** The name of the pipeline that reads it. */
  readonly pipeline: string;
  readonly window: Window;
  /** The gap that it samples. */
  readonly gap: Window;
  /** Results on a full page; left out: `pageSize` of `slice-queue.ts`. */
  readonly perPage?: number | undefined;
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
  readonly job: BackfillJob;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** By pipeline name. */
  readonly probed: ReadonlyMap<string, ProbedPage>;
}

/** The expected volume of a pipeline's slices: means, with fractions. */
export interface Expectation<S extends Slice = Slice> {
  /** Undefined where only the requests are known. */
  results(slice: S): number | undefined;
  /** Requests, at least 1. */
  pages(slice: S): number;
  /** The loaded days that it is based on; left out: it has another basis. */
  readonly basis?: Basis;
}

/** The days that an expectation is based on. */
export interface Basis {
  readonly days: number;
  /** The first result, where loaded days before it are empty and excluded: milliseconds since 1970. */
  readonly emptyBefore: number | undefined;
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

/** How a pipeline is divided into slices: by windows of dates, by settlement, by order. `Prepared` is what `prepare` finds. */
export interface Slicing<S extends Slice, Prepared = unknown, Upstream = unknown> {
  readonly loadKeyKind: LoadKeyKind;
  /**
   * What slices are cut by, from requests or from the lake's files; left out: load keys decide. Its errors are judged like those of a
   * slice.
   */
  prepare?(job: Job, reading: Reading<Upstream>): Promise<Prepared>;
  /**
   * The slices of a job: of a backfill those that the lake lacks, to refresh all of them; of a sync what is new and what may have
   * changed. `prepared`: left out where there is nothing to find, or finding it failed.
   */
  sliceQueue(job: Job, prepared?: Prepared): SliceQueue<S>;
  /** The estimate of a plan. */
  forecast(request: ForecastRequest): Forecast<S>;
  /** The loaded days of a range; left out: its slices have no dates. */
  readonly coverage?: (lake: Lake, account: string, range: Window) => Coverage;
  /** The pages that a plan may request for its estimate; left out: none. */
  probes?(job: Job): readonly Probe[];
  /** Warnings about the lake's data after a run. `now`: milliseconds since 1970. */
  warnings?(job: Job, now: number, prepared?: Prepared): Warnings;
}

/** What sends the requests of operations. */
export interface RequestClient {
  /** The rate at which an operation accepts requests; undefined: not throttled. */
  pace(operation: string): Pace | undefined;
  /** The windows of an operation that a dead run had begun to read, and that can be resumed. */
  begun(operation: string): readonly Window[];
}

/**
 * Loads tables from an upstream, slice by slice. All that depends on a pipeline is here: no command switches over its name. `S` is the
 * type of its slices, `Page` that of their pages, `Prepared` what its slicing prepares.
 *
 * A pipeline is one file: see `pipelines/`.
 */
export interface Pipeline<
  Upstream,
  S extends Slice = Slice,
  Page = unknown,
  Prepared = unknown,
> extends PipelineTables {
  /** For `--help`, in a sentence. */
  readonly about: string;
  /** Heading in a report; default the pipeline's name. */
  readonly title?: string;
  /** The operation whose quota its requests use. */
  readonly operation: string;
  /** Pipelines that must load the same range first. */
  readonly needs?: readonly Pipeline<Upstream>[];
  /** Days for which the service keeps what it reads, where these are few. */
  readonly keptDays?: number;
  readonly slicing: Slicing<S, Prepared, Upstream>;
  /** What sends its requests; undefined: it isn't connected. */
  client(upstream: Upstream): RequestClient | undefined;
  /** The slice's pages in order, until there are no more. */
  pages(slice: S, reading: Reading<Upstream>): AsyncIterable<Page>;
  collect(slice: S): Collector<Page>;
  /** The verdict on a slice that can't be read; default `readVerdict`. */
  readonly judge?: (error: unknown) => SliceVerdict;
}
