import { setMaxListeners } from 'node:events';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { failureKindOf } from './failed-slice.js';
import { loadSlices, type PipelineRunOptions } from './load-slices.js';
import { sliceVerdict } from '../retry/read-failure.js';
import { addWarnings, figuresOf, PipelineCounts } from './pipeline-counts.js';
import type { Job, Pipeline } from './pipeline.js';

/**
 * Runs pipelines concurrently: each loads the slices that the lake lacks. The first failure stops the others; committed slices
 * stay, and the next run continues from there. After `closing` open slices are completed.
 *
 * @returns a summary for each pipeline that ran, also after a failure; `failure` is the first one, or the reason of `closing` with
 * slices left
 */
export async function runPipelines<Upstream>(
  pipelines: readonly Pipeline<Upstream>[],
  options: PipelineRunOptions<Upstream>,
): Promise<{ summaries: PipelineCounts[]; failure: unknown }> {
  const summaries: PipelineCounts[] = [];
  const started = new Map<Pipeline<Upstream>, Promise<void>>();
  const failures: unknown[] = [];
  const stop = new AbortController();
  const isClosing = (): boolean => options.closing?.aborted === true;
  /** Whether an error only means that slices are left. */
  const isClosingReason = (error: unknown): boolean => isClosing() && error === options.closing?.reason;
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // Every open slice and request adds a listener.
  setMaxListeners(0, signal);

  const start = (pipeline: Pipeline<Upstream>): Promise<void> => {
    const running = started.get(pipeline) ?? run(pipeline);
    started.set(pipeline, running);
    return running;
  };
  const run = async (pipeline: Pipeline<Upstream>): Promise<void> => {
    for (const needed of pipeline.needs ?? []) await start(needed);
    if (signal.aborted) return;
    if (isClosing()) {
      failures.push(options.closing?.reason);
      return;
    }
    const summary = new PipelineCounts(pipeline.name);
    summaries.push(summary);
    try {
      await runPipeline(pipeline, { ...options, signal }, summary);
      options.emit({ event: 'pipeline-ended', pipeline: pipeline.name, ...figuresOf(summary) });
    } catch (error) {
      failures.push(error);
      if (isClosingReason(error)) return;
      stop.abort(new LedgerlakeError('STOPPED', 'another slice failed'));
    }
  };

  // After an abort all pipelines are awaited, so that nothing continues after the summary.
  await Promise.all(pipelines.map(start));
  const broken = failures.find((error) => !isClosingReason(error)) ?? failures[0];
  const failure: unknown = options.signal.aborted ? options.signal.reason : (broken ?? incomplete(summaries));
  return { summaries, failure };
}

/** The failure of a run with slices left open. */
function incomplete(summaries: readonly PipelineCounts[]): LedgerlakeError | undefined {
  const left = summaries.flatMap(({ pipeline, leftOpen }) => leftOpen.map((slice) => ({ pipeline, ...slice })));
  const [first] = left;
  if (first === undefined) return undefined;
  const more = left.length === 1 ? '' : `, and ${left.length - 1} more`;
  const message = `left open ${first.pipeline} ${first.label}${more}: ${first.reason}`;
  return new LedgerlakeError('INCOMPLETE', message);
}

/** Loads the slices that the lake lacks for a pipeline, in one or more passes. */
async function runPipeline<Upstream>(
  pipeline: Pipeline<Upstream>,
  options: PipelineRunOptions<Upstream>,
  summary: PipelineCounts,
): Promise<void> {
  const { upstream, clock, emit } = options;
  const began = clock.now();
  const { slicing, operation } = pipeline;
  const client = pipeline.client(upstream);
  const begun = client?.begun(operation);
  const isPaced = client?.pace(operation) !== undefined;
  const job: Job = options.job.kind === 'sync' ? options.job : { ...options.job, isPaced, begun };
  try {
    const found = await prepared(pipeline, job, options, summary);
    for (let next: Job | undefined = job; next !== undefined;) {
      const queue = slicing.sliceQueue(next, found);
      if (queue.left !== '' || next === job) {
        emit({ event: 'pipeline-planned', pipeline: pipeline.name, left: queue.left });
      }
      const failed = summary.leftOpen.length;
      const isWhole: boolean = await loadSlices(pipeline, queue, { ...options, job: next }, summary);
      // The lake may lack a part of what wasn't committed: plan again.
      next = !isWhole && summary.leftOpen.length === failed ? { ...job, refresh: false } : undefined;
    }
    if (summary.slices > 0) addWarnings(summary, slicing.warnings?.(job, clock.now(), found) ?? {});
  } finally {
    summary.seconds = (clock.now() - began) / 1000;
  }
}

/** What the pipeline's `prepare` finds; undefined where that fails. */
async function prepared<Upstream>(
  pipeline: Pipeline<Upstream>,
  job: Job,
  { upstream, signal, emit }: PipelineRunOptions<Upstream>,
  summary: PipelineCounts,
): Promise<unknown> {
  if (pipeline.slicing.prepare === undefined) return undefined;
  const labels = { pipeline: pipeline.name, slice: 'what has changed' };
  const afterwards: (() => Promise<void>)[] = [];
  try {
    const found = await pipeline.slicing.prepare(job, {
      upstream,
      signal,
      account: job.account,
      counts: summary,
      priority: 0,
      committed: (then) => afterwards.push(then),
      emit: (event) => {
        emit({ ...labels, ...event });
      },
    });
    // Its pages describe this instant, and are useless to another run.
    for (const then of afterwards) await then();
    return found;
  } catch (error) {
    if (signal.aborted || sliceVerdict(pipeline, error) === 'abort') throw error;
    const reason = messageOf(error);
    summary.leftOpen.push({ label: labels.slice, reason, isAlone: false });
    emit({ event: 'slice-failed', ...labels, verdict: 'skip', cause: failureKindOf(error), reason });
    return undefined;
  }
}
