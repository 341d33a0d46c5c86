import type { PipelineTables, TableBatch } from '../../core/columns/table.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { Lake } from '../../lake/lake.js';
import type { QuotaState } from './concurrency-plan.js';
import type { Derivation } from './derivation.js';
import type { LoadValues } from './load-options.js';
import type { SliceHole } from './slice-holes.js';
import type { Slice, SliceQueue, SplitReason } from './slice-queue.js';
import type { Window } from '../../core/windows.js';

/** What a pipeline loads, and its inputs. */
export interface Job {
  readonly account: string;
  readonly range: Window;
  readonly lake: Lake;
  /** Whether loaded slices are read again. */
  readonly refresh: boolean;
  /** Only these load keys are read again; left out: the range decides. */
  readonly onlyLoadKeys?: ReadonlySet<string> | undefined;
  /** Order ids, for the pipelines that read by order. */
  readonly orders: readonly string[];
  /** The options of the load; left out: none is given. */
  readonly options?: LoadValues | undefined;
  /** Whether requests are limited: then slices are sized by density, otherwise on a grid. */
  readonly isPaced?: boolean | undefined;
  /** Windows that a stopped run had begun to read, and whose pages are in the journal. */
  readonly begun?: readonly Window[] | undefined;
  /** Windows that are read regardless of age, found by the pipeline's `prepare`. */
  readonly changed?: readonly ChangedWindow[] | undefined;
  /** Subjects that the pipeline reads one by one, found by its `prepare`. */
  readonly subjects?: readonly Subject[] | undefined;
}

/** A window whose rows have changed since they were read, or whose content is known without a request. */
export interface ChangedWindow extends Window {
  /** Bodies of API pages with the window's present content; left out: the API is read. */
  readonly bodies?: () => Promise<readonly Uint8Array[]>;
}

/** Something that is read by its id, such as a settlement. */
export interface Subject {
  readonly id: string;
  /** Its date, in milliseconds since 1970; undefined: unknown. */
  readonly at: number | undefined;
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

/** The outcome of a slice that can't be read. */
export type SliceVerdict =
  /** The run ends: no other slice can or may be read. */
  | 'abort'
  /** The next run reads it; the others continue. */
  | 'skip'
  /** As `skip`, for a reason that no other slice shares: it doesn't count as a sign that all of them fail. */
  | 'skip-alone'
  /** It can't be resumed: it is split, or read again from its beginning. */
  | 'retry'
  | SplitReason;

/** Rows of one table and month, ready to be written. */
export interface Batch extends TableBatch {
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  /** Tags for the log: sums, keys. */
  readonly tags: Readonly<Record<string, string>>;
  /** What it is a part of; left out: it is committed with the other batches of its slice. */
  readonly part?: SlicePart;
}

/** A part of a slice that is committed by itself, where only its pages show which load keys it has. */
export interface SlicePart {
  /** Prefix of its file names. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  readonly loadKeys: readonly string[];
  /** Whether the read is recorded even if nothing has changed. */
  readonly noted?: boolean;
  /** Unexpected data of the part. */
  readonly warnings: Warnings;
}

/** Counts of unexpected data, by kind and subject. */
export type Warnings = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** A part of a slice that can't be read. */
export interface UnreadPart {
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
  /** Parts that can't be read, and are left out; the others are loaded. Left out: none. */
  readonly unread?: readonly UnreadPart[];
}

/**
 * Loads tables from an upstream, slice by slice. `S` is the type of its slices, `Page` that of their pages.
 *
 * A definition is one file: see `pipelines/`.
 */
export interface Pipeline<Upstream, S extends Slice = Slice, Page = unknown> extends PipelineTables {
  /** For `--help`, in a sentence. */
  readonly about: string;
  /** Derives its first derived table from the stored rows of the main table; left out: `rebuild` doesn't change its tables. */
  readonly derivation?: Derivation;
  /** Results on a full page; default `pageSize` of `slice-queue.ts`. */
  readonly perPage?: number;
  /** Pipelines that must load the same range first. */
  readonly needs?: readonly Pipeline<Upstream>[];
  /**
   * Completes the job before slices are cut, by requests or from the lake's files. Its errors are judged like those of a
   * slice.
   */
  prepare?(job: Job, reading: Reading<Upstream>): Promise<Job>;
  /** The slices of the job that the lake lacks; to refresh, all of them. */
  sliceQueue(job: Job): SliceQueue<S>;
  /** The rate of its operation; undefined: not throttled. */
  pace(upstream: Upstream): Pace | undefined;
  /** Windows that a stopped run had begun to read, and that can be resumed. */
  begun?(upstream: Upstream): readonly Window[];
  /** Warnings about the lake's data after a run. `now`: milliseconds since 1970. */
  warnings?(job: Job, now: number): Warnings;
  /** The slice's pages in order, until there are no more. */
  pages(slice: S, reading: Reading<Upstream>): AsyncIterable<Page>;
  collect(slice: S, options: LoadValues): Collector<Page>;
  /** The verdict on a slice that can't be read; default the run's `judge`. */
  judge?(error: unknown): SliceVerdict;
}
