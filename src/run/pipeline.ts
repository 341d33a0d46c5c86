import type { RecordBatch } from 'apache-arrow';
import type { Table } from '../columns/table.js';
import type { Lake } from '../lake/lake.js';
import type { Window } from './windows.js';

/** The unit of reading, retrying and committing: what it reads becomes one file per table, in one commit. */
export interface Slice {
  /** Begins the names of its files: letters, digits, `-`, `.` and `_`. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** What counts as loaded once it is committed: `window/…`, `group/…`, `order/…`. */
  readonly units: readonly string[];
  /** Units of others that can't stand beside these in the lake, as they hold some of the same. */
  readonly excludes?: (unit: string) => boolean;
}

/** What a pipeline is asked to load, and where it finds what it needs. */
export interface Job {
  readonly account: string;
  readonly range: Window;
  readonly lake: Lake;
  /** Read again what the lake holds. */
  readonly refresh: boolean;
  /** Order ids, for the pipelines that read by order. */
  readonly orders: readonly string[];
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
  /** Place among the run's slices: the oldest is served first. */
  readonly priority: number;
  readonly signal: AbortSignal;
}

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
export type Noticed = Readonly<Record<string, ReadonlyMap<string, number>>>;

/** Turns the pages of one slice into batches. */
export interface Collector<Page> {
  /** Takes one page in; how many results it held. */
  add(page: Page): number;
  /** Every row taken in, once there are no more pages. */
  finish(): readonly Batch[];
  /** What was unexpected in the data. */
  readonly noticed: Noticed;
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
  /** Pipelines whose slices must be loaded for the same range first. */
  readonly needs?: readonly Pipeline<Upstream>[];
  /** What the lake lacks of the job (or, to refresh, holds of it too), oldest first. */
  slices(job: Job): readonly S[];
  /** The slice's pages in order, until there are no more. */
  pages(slice: S, reading: Reading<Upstream>): AsyncIterable<Page>;
  collect(slice: S): Collector<Page>;
}
