import { setMaxListeners } from 'node:events';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { MissingLoads } from '../../lake/transaction/slice-commit.js';
import { causeOf, loadSlices, type RunOptions } from './load-slices.js';
import { addWarnings, newSummary, pipelineEnded, type PipelineSummary } from './pipeline-summary.js';
import type { Job, Pipeline } from './pipeline.js';

/**
 * A run: loads what the lake lacks for each pipeline, several pipelines side by side. The first failure stops the others; what
 * was committed stays, and the next run continues from there. `closing` stops none: what is open is finished.
 *
 * @returns a summary per pipeline that ran, also when it failed: then with the first failure, or with the reason of
 * `closing` where that left something
 */
export async function runPipelines<Upstream>(
  pipelines: readonly Pipeline<Upstream>[],
  options: RunOptions<Upstream>,
): Promise<{ summaries: PipelineSummary[]; failure: unknown }> {
  const summaries: PipelineSummary[] = [];
  const started = new Map<Pipeline<Upstream>, Promise<void>>();
  const failures: unknown[] = [];
  const stop = new AbortController();
  const isClosing = (): boolean => options.closing?.aborted === true;
  /** What was not begun is no failure of what is open. */
  const isLeft = (error: unknown): boolean => isClosing() && error === options.closing?.reason;
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
    if (isClosing()) {
      failures.push(options.closing?.reason);
      return;
    }
    const summary = newSummary(pipeline.name);
    summaries.push(summary);
    try {
      await runPipeline(pipeline, { ...options, signal }, summary);
      options.emit(pipelineEnded(summary));
    } catch (error) {
      failures.push(error);
      if (isLeft(error)) return;
      stop.abort(new LedgerlakeError('STOPPED', 'another slice failed'));
    }
  };

  // The signal only tells pending work to end: all of it is waited for, so that nothing goes on behind the summary.
  await Promise.all(pipelines.map(start));
  const broken = failures.find((error) => !isLeft(error)) ?? failures[0];
  const failure: unknown = options.signal.aborted ? options.signal.reason : (broken ?? incomplete(summaries));
  return { summaries, failure };
}

/** The failure of a run that has read all it could. */
function incomplete(summaries: readonly PipelineSummary[]): LedgerlakeError | undefined {
  const left = summaries.flatMap(({ pipeline, skipped }) => skipped.map((slice) => ({ pipeline, ...slice })));
  const [first] = left;
  if (first === undefined) return undefined;
  const more = left.length === 1 ? '' : `, and ${left.length - 1} more`;
  const message = `left open ${first.pipeline} ${first.label}${more}: ${first.reason}`;
  return new LedgerlakeError('INCOMPLETE', message);
}

/** Loads what the lake lacks for a pipeline, in as many passes as it takes. */
async function runPipeline<Upstream>(
  pipeline: Pipeline<Upstream>,
  options: RunOptions<Upstream>,
  summary: PipelineSummary,
): Promise<void> {
  const { upstream, clock, emit } = options;
  const began = clock.now();
  const begun = pipeline.begun?.(upstream);
  const given: Job = { ...options.job, isPaced: pipeline.pace(upstream) !== undefined, begun };
  /** Slices that another run has loaded meanwhile, since this one last planned what is missing. */
  let conflicts = 0;
  try {
    const job = await prepared(pipeline, given, options, summary);
    for (let asked: Job | undefined = job; asked !== undefined;) {
      const queue = pipeline.sliceQueue(asked);
      if (queue.left !== '' || asked === job) {
        emit({ event: 'pipeline-planned', pipeline: pipeline.name, left: queue.left });
      }
      const failed = summary.skipped.length;
      conflicts += await loadSlices(pipeline, queue, { ...options, job: asked }, summary);
      const lacking = job.lake.missingLoads(pipeline.name, job.account);
      if (lacking !== undefined) {
        asked = widened(asked, lacking);
        emit({
          ...{ event: 'refresh-widened', pipeline: pipeline.name },
          ...{ slices: lacking.loadKeys.length, reason: lacking.damaged.found },
        });
      } else if (conflicts > 0 && summary.skipped.length === failed) {
        // The other run may have loaded only some of it: plan again what is missing.
        asked = { ...job, refresh: false };
        conflicts = 0;
      } else asked = undefined;
    }
    if (summary.slices > 0) addWarnings(summary, pipeline.warnings?.(job, clock.now()) ?? {});
  } finally {
    summary.seconds = (clock.now() - began) / 1000;
  }
}

/** The job with what the pipeline must know before slices are cut; where that can't be read, the job as it was. */
async function prepared<Upstream>(
  pipeline: Pipeline<Upstream>,
  job: Job,
  { upstream, signal, emit, judge }: RunOptions<Upstream>,
  summary: PipelineSummary,
): Promise<Job> {
  if (pipeline.prepare === undefined) return job;
  const labels = { pipeline: pipeline.name, slice: 'what has changed' };
  const afterwards: (() => Promise<void>)[] = [];
  try {
    const known = await pipeline.prepare(job, {
      ...{ upstream, signal, account: job.account, counts: summary, priority: 0 },
      committed: (then) => {
        afterwards.push(then);
      },
      emit: (event) => {
        emit({ ...labels, ...event });
      },
    });
    // Its pages are of no use to another run: what they say is of this instant.
    for (const then of afterwards) await then();
    return known;
  } catch (error) {
    if (signal.aborted || (pipeline.judge?.(error) ?? judge(error)) === 'abort') throw error;
    const reason = messageOf(error);
    summary.skipped.push({ label: labels.slice, reason, isAlone: false });
    emit({ event: 'slice-failed', ...labels, verdict: 'skip', cause: causeOf(error), reason });
    return job;
  }
}

/**
 * Reads again what else a damaged file holds, as nothing can replace a part of it.
 *
 * @throws LedgerlakeError LAKE_STORE where that was tried, or isn't known: nothing of what waits came into the lake
 */
function widened(job: Job, { loadKeys, damaged }: MissingLoads): Job {
  if (job.onlyLoadKeys === undefined && loadKeys.length > 0)
    return { ...job, refresh: true, onlyLoadKeys: new Set(loadKeys) };
  const why =
    loadKeys.length === 0
      ? 'another run has changed it meanwhile; run the same command again'
      : `it also contains what could not be read again (${loadKeys.join(', ').slice(0, 200)}); restore the file from a copy`;
  const message = `${damaged.found}; it was not replaced, because ${why}`;
  throw new LedgerlakeError('LAKE_STORE', message, { cause: damaged });
}
