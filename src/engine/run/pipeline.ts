import type { RecordBatch } from 'apache-arrow';
import type { Table } from '../../core/columns/table.js';
import type { UpstreamEvent } from '../../core/events/run-event.js';
import type { Lake } from '../../lake/lake.js';
import type { Quota } from './concurrency-plan.js';
import type { Slice } from './slice.js';
import type { Window } from '../../core/windows.js';
import type { SliceQueue } from './slice-queue.js';

/** What a pipeline is asked to load, and where it finds what it needs. */
export interface Job {
  readonly account: string;
  readonly range: Window;
  readonly lake: Lake;
  /** Read again what the lake holds. */
  readonly refresh: boolean;
  /** Units that are read again, and nothing else is; left out: what the rest says. */
  readonly onlyLoadKeys?: ReadonlySet<string> | undefined;
  /** Order ids, for the pipelines that read by order. */
  readonly orders: readonly string[];
  /** Whether requests are worth saving: slices are cut by what they hold then, else on a grid. */
  readonly isPaced?: boolean | undefined;
  /** Windows that a run which was stopped had begun to read, and whose pages are still there. */
  readonly begun?: readonly Window[] | undefined;
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
  /** The run ends: nothing else could be read either, or it would be wrong to try. */
  | 'stop'
  /** It is left open, and the others go on. */
  | 'leave'
  /** It is left open as it was before: nothing was asked, so that it tells nothing of the others. */
  | 'known'
  /** It is left open, as the upstream knows no such thing, which tells nothing of the others. */
  | 'unknown'
  /** It holds too much to be read at once. */
  | 'part'
  /** It can't be gone on with where it broke off: it is read in parts, or from its beginning where it has none. */
  | 'again'
  /** Nothing of its length is taken, whatever it holds. */
  | 'shorten';

/** Rows of one table and month, ready to be written. */
export interface Batch {
  readonly table: Table;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  readonly rows: RecordBatch;
  /** Tags for the log: sums, keys. */
  readonly tags: Readonly<Record<string, string>>;
}

/** What a run noticed in the data: what kind of thing, where, how often. */
export type Warnings = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** Turns the pages of one slice into batches. */
export interface Collector<Page> {
  /** Takes one page in; how many results it held. */
  add(page: Page): number;
  /** The latest date taken in, in milliseconds since 1970; undefined where there is none. */
  readonly reach: number | undefined;
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
  /** Results on a full page; left out: `pageSize` of `work.ts`. */
  readonly perPage?: number;
  /** Pipelines whose slices must be loaded for the same range first. */
  readonly needs?: readonly Pipeline<Upstream>[];
  /** What the lake lacks of the job (or, to refresh, holds of it too). */
  work(job: Job): SliceQueue<S>;
  /** How fast the operation that it reads can be asked; undefined: as fast as it answers. */
  pace(upstream: Upstream): Pace | undefined;
  /** Windows that a stopped run had begun to read, and that can be gone on with. */
  begun?(upstream: Upstream): readonly Window[];
  /** What is to be told of what the lake holds once a run has read some of it. `now`: milliseconds since 1970. */
  warnings?(job: Job, now: number): Warnings;
  /** The slice's pages in order, until there are no more. */
  pages(slice: S, reading: Reading<Upstream>): AsyncIterable<Page>;
  collect(slice: S): Collector<Page>;
  /** What becomes of a slice that can't be read; left out: what the run says for all. */
  judge?(error: unknown): Verdict;
}
