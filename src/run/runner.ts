import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.js';
import { LedgerlakeError } from '../errors.js';
import type { Split } from '../lake/lake.js';
import type { Job, Noticed, Pipeline, RequestCounts, Slice } from './pipeline.js';
import { runSlice, type SliceResult } from './slice-stream.js';

/** What one pipeline did in a run. */
export interface PipelineSummary extends RequestCounts {
  readonly pipeline: string;
  slices: number;
  /** Rows read, by table. */
  readonly rows: Map<string, number>;
  files: number;
  bytes: number;
  seconds: number;
  /** What was unexpected in the data: kind of thing, place, times. */
  readonly noticed: Map<string, Map<string, number>>;
}

/** What a run tells while it is under way. */
export interface RunEvents {
  /** The pipeline knows what there is to do. */
  planned(pipeline: string, slices: number): void;
  /** A slice is in the lake. */
  committed(pipeline: string, slice: Slice, rows: ReadonlyMap<string, number>, left: number): void;
  /** The pipeline has nothing left to do. */
  finished(summary: PipelineSummary): void;
}

export interface RunOptions<Upstream> {
  readonly job: Job;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly events: RunEvents;
  /** Slices of one pipeline that are open at once. */
  readonly openSlices: number;
  /** Parts files that hold more than what is read again; without it such a refresh fails. */
  readonly split?: Split;
}

/**
 * The outer river: loads what the lake lacks for each pipeline, those that read different operations side by side.
 * The first failure stops the others; what was committed stays, and the next run goes on from there.
 *
 * @returns a summary per pipeline that ran, also when it failed: then with the first failure
 */
export async function runPipelines<Upstream>(
  pipelines: readonly Pipeline<Upstream>[],
  options: RunOptions<Upstream>,
): Promise<{ summaries: PipelineSummary[]; failure: unknown }> {
  const summaries: PipelineSummary[] = [];
  const started = new Map<Pipeline<Upstream>, Promise<void>>();
  const failures: unknown[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // Every open slice and request listens to it, and there may be many.
  setMaxListeners(0, signal);

  const start = (pipeline: Pipeline<Upstream>): Promise<void> => {
    const running = started.get(pipeline) ?? run(pipeline);
    started.set(pipeline, running);
    return running;
  };
  const run = async (pipeline: Pipeline<Upstream>): Promise<void> => {
    for (const needed of pipeline.needs ?? []) await start(needed);
    if (signal.aborted) return;
    const summary = newSummary(pipeline.name);
    summaries.push(summary);
    try {
      await runPipeline(pipeline, { ...options, signal }, summary);
      options.events.finished(summary);
    } catch (error) {
      failures.push(error);
      stop.abort(new LedgerlakeError('STOPPED', 'another slice failed'));
    }
  };

  // The signal only tells pending work to end: all of it is waited for, so that nothing goes on behind the summary.
  await Promise.all(pipelines.map(start));
  return { summaries, failure: options.signal.aborted ? options.signal.reason : failures[0] };
}

async function runPipeline<Upstream>(
  pipeline: Pipeline<Upstream>,
  { job, upstream, clock, signal, events, openSlices, split }: RunOptions<Upstream>,
  summary: PipelineSummary,
): Promise<void> {
  const began = clock.now();
  try {
    for (let asked = job; ; asked = { ...job, refresh: false }) {
      const slices = pipeline.slices(asked);
      if (slices.length > 0 || asked === job) events.planned(pipeline.name, slices.length);
      // What another run has put in the way of a slice may hold only some of it: what is missing then is planned anew.
      if (await loadSlices(slices, asked)) return;
    }
  } finally {
    summary.seconds = (clock.now() - began) / 1000;
  }

  /** Loads the slices, several at once; false where other runs got ahead of some. */
  async function loadSlices(slices: readonly Slice[], { lake, refresh, account }: Job): Promise<boolean> {
    const waiting = [...slices.entries()];
    let left = waiting.length;
    let taken = true;
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [priority, slice] = next;
        signal.throwIfAborted();
        const reading = { upstream, account, counts: summary, priority, signal };
        const result = await runSlice(pipeline, slice, reading, lake, refresh, split).catch((error: unknown) => {
          // What is open is finished, and nothing new begun.
          waiting.length = 0;
          throw error;
        });
        left--;
        if (!result.taken) taken = false;
        else {
          addResult(summary, result);
          events.committed(pipeline.name, slice, result.rows, left);
        }
      }
    };
    const results = await Promise.allSettled(Array.from({ length: openSlices }, worker));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return taken;
  }
}

function addResult(summary: PipelineSummary, { files, bytes, rows, collector }: SliceResult): void {
  summary.slices++;
  summary.files += files;
  summary.bytes += bytes;
  for (const [table, count] of rows) summary.rows.set(table, (summary.rows.get(table) ?? 0) + count);
  addNoticed(summary.noticed, collector.noticed);
}

function newSummary(pipeline: string): PipelineSummary {
  return {
    pipeline,
    slices: 0,
    requests: 0,
    retries: 0,
    throttled: 0,
    pages: 0,
    rows: new Map(),
    files: 0,
    bytes: 0,
    seconds: 0,
    noticed: new Map(),
  };
}

function addNoticed(to: Map<string, Map<string, number>>, from: Noticed): void {
  for (const [kind, places] of Object.entries(from)) {
    const counts = to.get(kind) ?? new Map<string, number>();
    for (const [place, times] of places) counts.set(place, (counts.get(place) ?? 0) + times);
    if (counts.size > 0) to.set(kind, counts);
  }
}
