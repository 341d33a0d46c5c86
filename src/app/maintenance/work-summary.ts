import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { grid } from '../../core/text/width.js';
import { printable } from '../../core/printable.js';

/** A `compact` or `rebuild` that has ended. */
export interface WorkReport {
  /** As the user wrote it. */
  readonly lake: string;
  readonly seconds: number;
  readonly works: readonly Work[];
  readonly failure: unknown;
}

/** What the figures of a command are called. */
export interface WorkWords {
  /** `Compacted`. */
  readonly done: string;
  /** Said where no file was written. */
  readonly nothing: (works: readonly Work[]) => string;
  /** Heading of the number of slices. */
  readonly slices: string;
}

/** The summary for people: a line per pipeline that anything was done to. */
export function workText({ lake, works, failure }: WorkReport, words: WorkWords): string {
  const written = works.filter(({ files }) => files > 0);
  if (failure === undefined && written.length === 0) return words.nothing(works);
  const headings = ['pipeline', words.slices, 'files', 'after', 'size', 'after', 'time'];
  const rows = written.map((work) => [
    printable(work.pipeline),
    formatCount(work.slices),
    formatCount(work.replacedFiles),
    formatCount(work.files),
    formatBytes(work.replacedBytes),
    formatBytes(work.bytes),
    `${work.seconds.toFixed(1)} s`,
  ]);
  const title =
    failure === undefined
      ? `${words.done} ${printable(lake)}`
      : `Not done: ${printable(lake)}; what is listed here is in the lake and stays`;
  return ['', title, '', ...grid([headings, ...rows]), ''].join('\n');
}

/** The summary for programs, on one line: the keys that every command's has. */
export function workJson({ lake, seconds, works, failure }: WorkReport): string {
  const pipelines = works.map((work): [string, unknown] => [
    work.pipeline,
    {
      slices: work.slices,
      requests: 0,
      retries: 0,
      throttled: 0,
      pages: 0,
      events: rowsOf(work, 'events'),
      entries: rowsOf(work, 'entries'),
      files: work.files,
      bytes: work.bytes,
      seconds: work.seconds,
      rows: Object.fromEntries(work.rows),
      replacedFiles: work.replacedFiles,
      replacedBytes: work.replacedBytes,
    },
  ]);
  const status = failure === undefined ? 'done' : 'failed';
  return JSON.stringify({ status, lake, seconds, pipelines: Object.fromEntries(pipelines) });
}

/** Rows of the tables that hold events, or of those that hold entries. */
function rowsOf({ rows }: Work, what: 'events' | 'entries'): number {
  return [...rows].reduce((sum, [table, count]) => (table.endsWith(what) ? sum + count : sum), 0);
}

/** What `compact` or `rebuild` has done to one pipeline's tables. */
export interface Work {
  readonly pipeline: string;
  /** Merges made, or files of the main table made again. */
  slices: number;
  /** Rows gone through, by table. */
  readonly rows: Map<string, number>;
  /** Files written, and their bytes. */
  files: number;
  bytes: number;
  /** Files that they take the place of, and their bytes. */
  replacedFiles: number;
  replacedBytes: number;
  seconds: number;
}

export function newWork(pipeline: string): Work {
  return { pipeline, slices: 0, rows: new Map(), files: 0, bytes: 0, replacedFiles: 0, replacedBytes: 0, seconds: 0 };
}
