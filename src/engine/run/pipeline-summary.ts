import type { RunEvent } from '../../core/events/run-event.js';
import type { Warnings, RequestCounts } from './pipeline.js';

/** What one pipeline did in a run. */
export interface PipelineSummary extends RequestCounts {
  readonly pipeline: string;
  slices: number;
  /** Slices that another run has loaded meanwhile: what was read of them is dropped. */
  conflicts: number;
  /** Rows read, by table. */
  readonly rows: Map<string, number>;
  files: number;
  bytes: number;
  seconds: number;
  /** What was unexpected in the data: kind of thing, place, times. */
  readonly warnings: Map<string, Map<string, number>>;
  /** Slices that could not be read, and why. */
  readonly skipped: SkippedSlice[];
}

/** A slice that could not be read: the next run tries it again. */
export interface SkippedSlice {
  readonly label: string;
  readonly reason: string;
  /** That it failed tells nothing of the others. */
  readonly isAlone: boolean;
}

/** What a slice that is in the lake adds to the summary. */
export interface SliceResult {
  readonly rows: ReadonlyMap<string, number>;
  readonly files: number;
  readonly bytes: number;
  readonly warnings: Warnings;
}

export function newSummary(pipeline: string): PipelineSummary {
  return {
    pipeline,
    slices: 0,
    conflicts: 0,
    requests: 0,
    retries: 0,
    throttled: 0,
    pages: 0,
    rows: new Map(),
    files: 0,
    bytes: 0,
    seconds: 0,
    warnings: new Map(),
    skipped: [],
  };
}

export function addSlice(summary: PipelineSummary, { rows, files, bytes, warnings }: SliceResult): void {
  summary.slices++;
  summary.files += files;
  summary.bytes += bytes;
  for (const [table, count] of rows) summary.rows.set(table, (summary.rows.get(table) ?? 0) + count);
  addWarnings(summary, warnings);
}

export function addWarnings(summary: PipelineSummary, warnings: Warnings): void {
  for (const [kind, places] of Object.entries(warnings)) {
    const counts = summary.warnings.get(kind) ?? new Map<string, number>();
    for (const [place, times] of places) counts.set(place, (counts.get(place) ?? 0) + times);
    if (counts.size > 0) summary.warnings.set(kind, counts);
  }
}

/** The summary as listeners get it. */
export function pipelineEnded(summary: PipelineSummary): RunEvent {
  const { pipeline, slices, requests, retries, throttled, pages, rows, files, bytes, seconds } = summary;
  const counts = { slices, requests, retries, throttled, pages, rows: Object.fromEntries(rows), files, bytes, seconds };
  return { event: 'pipeline-ended', pipeline, ...counts };
}
