import type { PipelineFigures } from '../../core/events/run-event.js';
import type { UnreadSlice, RequestCounts, Warnings } from './pipeline.js';

/** The result of one pipeline in a run. */
export class PipelineCounts implements RequestCounts {
  readonly pipeline: string;
  slices = 0;
  /** Slices that another run loaded meanwhile: their rows are discarded. */
  conflicts = 0;
  requests = 0;
  retries = 0;
  throttled = 0;
  pages = 0;
  /** Committed rows, by table; a slice that was read twice counts once. */
  readonly rows = new Map<string, number>();
  files = 0;
  bytes = 0;
  seconds = 0;
  /** Counts of unexpected data, by kind and subject. */
  readonly warnings = new Map<string, Map<string, number>>();
  /** Slices that could not be read: the next run tries them again. */
  readonly leftOpen: LeftOpenSlice[] = [];

  constructor(pipeline: string) {
    this.pipeline = pipeline;
  }
}

interface LeftOpenSlice extends UnreadSlice {
  /** Whether its failure is independent of the others. */
  readonly isAlone: boolean;
}

/** What a committed slice adds to the summary. */
export interface SliceFigures {
  readonly rows: ReadonlyMap<string, number>;
  readonly files: number;
  readonly bytes: number;
  readonly warnings: Warnings;
}

/** Counts a slice; `earlier` is the result of an earlier read in this run, which it replaces. */
export function addSlice(
  summary: PipelineCounts,
  { rows, files, bytes, warnings }: SliceFigures,
  earlier?: Pick<SliceFigures, 'rows' | 'warnings'>,
): void {
  summary.slices++;
  summary.files += files;
  summary.bytes += bytes;
  addCounts(summary.rows, rows);
  addWarnings(summary, warnings);
  if (earlier === undefined) return;
  addCounts(summary.rows, earlier.rows, -1);
  addWarnings(summary, earlier.warnings, -1);
}

export function addWarnings(summary: PipelineCounts, warnings: Warnings, factor: 1 | -1 = 1): void {
  for (const [kind, subjects] of Object.entries(warnings)) {
    const counts = summary.warnings.get(kind) ?? new Map<string, number>();
    addCounts(counts, subjects, factor);
    if (counts.size > 0) summary.warnings.set(kind, counts);
    else summary.warnings.delete(kind);
  }
}

/** Adds counts, or subtracts them and removes those that become 0. */
function addCounts(sum: Map<string, number>, counts: ReadonlyMap<string, number>, factor: 1 | -1 = 1): void {
  for (const [name, count] of counts) {
    const total = (sum.get(name) ?? 0) + factor * count;
    if (total === 0 && factor === -1) sum.delete(name);
    else sum.set(name, total);
  }
}

export function figuresOf(summary: PipelineCounts): PipelineFigures {
  const { slices, requests, retries, throttled, pages, rows, files, bytes, seconds } = summary;
  return { slices, requests, retries, throttled, pages, rows: Object.fromEntries(rows), files, bytes, seconds };
}
