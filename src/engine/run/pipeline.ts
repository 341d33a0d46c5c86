import type { Table } from '../../core/columns/table.js';
import type { TableRows } from '../../core/columns/table-rows.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { Lake } from '../../lake/lake.js';
import type { Quota } from './concurrency-plan.js';
import type { Derivation } from './derivation.js';
import type { Slice, SliceQueue, SplitReason } from './slice-queue.js';
import type { Window } from '../../core/windows.js';

/** What a pipeline is asked to load, and where it finds what it needs. */
export interface Job {
  readonly account: string;
  readonly range: Window;
  readonly lake: Lake;
  /** Read again what the lake holds. */
  readonly refresh: boolean;
  /** Load keys that are read again, and nothing else is; left out: what the rest says. */
  readonly onlyLoadKeys?: ReadonlySet<string> | undefined;
  /** Order ids, for the pipelines that read by order. */
  readonly orders: readonly string[];
  /** Whether requests are worth saving: slices are cut by what they hold then, else on a grid. */
  readonly isPaced?: boolean | undefined;
  /** Windows that a run which was stopped had begun to read, and whose pages are still there. */
  readonly begun?: readonly Window[] | undefined;
  /** Windows that are read whatever their age, as the pipeline's `prepare` has found. */
  readonly changed?: readonly ChangedWindow[] | undefined;
  /** What the pipeline reads one by one, as its `prepare` has found. */
  readonly subjects?: readonly Subject[] | undefined;
}

/** A window whose rows have changed since they were read, or that is known without asking for it by itself. */
export interface ChangedWindow extends Window {
  /** Bodies as of the API which hold what the window holds now; left out: the API is asked for it. */
  readonly bodies?: () => Promise<readonly Uint8Array[]>;
}

/** Something that is read by its id, such as a settlement. */
export interface Subject {
  readonly id: string;
  /** Where it counts by date, in milliseconds since 1970; undefined where nothing says. */
  readonly at: number | undefined;
}

/** Counts of one pipeline's requests, kept by whoever sends them. */
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
  /** Place among those that wait for a request: the lowest goes first. Another one with every page. */
  readonly priority: number;
  readonly signal: AbortSignal;
  /** Has something done once the slice is in the lake. */
  committed(then: () => Promise<void>): void;
  /** Takes what becomes of each request, for logs and metrics. */
  emit(event: UpstreamEvent): void;
}

/** What is known of how fast an upstream answers, and what it allows. */
export interface Pace extends Quota {
  /** Seconds from a request to its whole answer, of late; undefined before the first one. */
  readonly latency: number | undefined;
}

/** What becomes of a slice that can't be read. */
export type Verdict =
  /** The run ends: no other slice can be read either, or must not be. */
  | 'abort'
  /** It is left to the next run, and the others go on. */
  | 'skip'
  /** It is skipped without a request, as it failed in an earlier run; that says nothing about the others. */
  | 'known'
  /** It is skipped, as the upstream does not know it or has no page of it; that says nothing about the others. */
  | 'unknown'
  /** It can't be continued where it broke off: it is split, or read again from its beginning where it can't be. */
  | 'retry'
  | SplitReason;

/** Rows of one table and month, ready to be written. */
export interface Batch {
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  readonly rows: TableRows;
  /** Tags for the log: sums, keys. */
  readonly tags: Readonly<Record<string, string>>;
}

/** What a run noticed in the data: what kind of thing, where, how often. */
export type Warnings = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** Turns the pages of one slice into batches. */
export interface Collector<Page> {
  /** Adds one page; returns how many results it has. */
  add(page: Page): number;
  /** The latest date taken in, in milliseconds since 1970; undefined where there is none. */
  readonly reach: number | undefined;
  /** The earliest one; left out: nobody asks for it. */
  readonly first?: number | undefined;
  /** Every row taken in, once there are no more pages. */
  finish(): readonly Batch[];
  /** What was unexpected in the data. */
  readonly warnings: Warnings;
}

/**
 * From an upstream into tables, slice by slice. `S` is what its slices are, `Page` what it reads of them.
 *
 * A definition is one file: see `pipelines/`.
 */
export interface Pipeline<Upstream, S extends Slice = Slice, Page = unknown> {
  readonly name: string;
  /** For `--help`, in a sentence. */
  readonly about: string;
  /** Those derived from the main table first, the main table last. */
  readonly tables: readonly Table[];
  /** How its first derived table follows from the stored rows of the main one; left out: `rebuild` leaves its tables as they are. */
  readonly derivation?: Derivation;
  /** Results on a full page; left out: `pageSize` of `slice-queue.ts`. */
  readonly perPage?: number;
  /** Pipelines whose slices must be loaded for the same range first. */
  readonly needs?: readonly Pipeline<Upstream>[];
  /**
   * The job with what must be known before slices are cut, by requests or from the lake's files; left out: there is nothing.
   * What it throws is judged as for a slice.
   */
  prepare?(job: Job, reading: Reading<Upstream>): Promise<Job>;
  /** What the lake lacks of the job (or, to refresh, holds of it too). */
  sliceQueue(job: Job): SliceQueue<S>;
  /** How fast the operation that it reads can be asked; undefined: as fast as it answers. */
  pace(upstream: Upstream): Pace | undefined;
  /** Windows that a stopped run had begun to read, and that can be gone on with. */
  begun?(upstream: Upstream): readonly Window[];
  /** What the lake's data lacks or has oddly, once a run has read some of it. `now`: milliseconds since 1970. */
  warnings?(job: Job, now: number): Warnings;
  /** The slice's pages in order, until there are no more. */
  pages(slice: S, reading: Reading<Upstream>): AsyncIterable<Page>;
  collect(slice: S): Collector<Page>;
  /** What becomes of a slice that can't be read; left out: what the run says for all. */
  judge?(error: unknown): Verdict;
}
