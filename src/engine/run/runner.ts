import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { RunEvent, Emit } from '../../core/events/run-event.js';
import type { Lacking } from '../../lake/transaction/held-back.js';
import type { Split } from '../../lake/lake.js';
import { loadAll, type OpenSlice } from './open-slices.js';
import { tooManyPages } from './outlook.js';
import type { Job, Warnings, Pipeline, Reading, RequestCounts, Verdict } from './pipeline.js';
import type { Slice } from './slice.js';
import { runSlice, type SliceResult } from './slice-stream.js';
import type { Progress, Work } from './work.js';

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
  readonly warnings: Map<string, Map<string, number>>;
  /** Slices that could not be read, and why. */
  readonly leftOpen: LeftOpen[];
}

/** A slice that could not be read: the next run tries it again. */
export interface LeftOpen {
  readonly label: string;
  readonly reason: string;
  /** That it failed tells nothing of the others. */
  readonly isAlone: boolean;
}

/** Slices left open, without a single page of any, after which there is no point in trying the others. */
const hopeless = 4;

/** Pages of a slice after which it isn't given up any more for holding more than was expected. */
const firstPages = 3;

/** Times that a slice is read from its beginning again. */
const mostAgain = 2;

export interface RunOptions<Upstream> {
  readonly job: Job;
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Once it aborts nothing further is begun, and what is open comes to its end. */
  readonly closing?: AbortSignal | undefined;
  readonly emit: Emit;
  /** Slices of one pipeline that are open at once where there is no quota. */
  readonly openSlices: number;
  /** What becomes of a slice that can't be read, by what was thrown. */
  readonly judge: (error: unknown) => Verdict;
  /** Parts files that hold more than what is read again; without it such a refresh fails. */
  readonly split?: Split;
  /** Whether a slice that came back empty takes the place of imported rows; left out: it doesn't. */
  readonly acceptsEmpty?: boolean;
}

/**
 * The outer river: loads what the lake lacks for each pipeline, those that read different operations side by side.
 * The first failure stops the others; what was committed stays, and the next run goes on from there. That nothing further
 * is to be begun (`closing`) stops none.
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
      options.emit(endOf(summary));
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
  const left = summaries.flatMap(({ pipeline, leftOpen }) => leftOpen.map((slice) => ({ pipeline, ...slice })));
  const [first] = left;
  if (first === undefined) return undefined;
  const more = left.length === 1 ? '' : `, and ${left.length - 1} more`;
  const message = `left open ${first.pipeline} ${first.label}${more}: ${first.reason}`;
  return new LedgerlakeError('INCOMPLETE', message);
}

async function runPipeline<Upstream>(
  pipeline: Pipeline<Upstream>,
  options: RunOptions<Upstream>,
  summary: PipelineSummary,
): Promise<void> {
  const { upstream, clock, signal, closing, emit, openSlices } = options;
  const began = clock.now();
  const begun = pipeline.begun?.(upstream);
  const job: Job = { ...options.job, isPaced: pipeline.pace(upstream) !== undefined, begun };
  try {
    let outrun: Slice[] = [];
    for (let asked = job; ;) {
      const work = pipeline.work(asked);
      if (work.left !== '' || asked === job) {
        emit({ event: 'pipeline-planned', pipeline: pipeline.name, left: work.left });
      }
      const open = summary.leftOpen.length;
      await loadAll({
        work,
        pace: () => pipeline.pace(upstream),
        unpaced: openSlices,
        clock,
        signal,
        closing,
        load: async (one) => {
          const isDone = await loadSlice(pipeline, work, one, { ...options, job: asked }, summary);
          if (!isDone) outrun.push(one.slice);
        },
      });
      const lacking = job.lake.lacking(pipeline.name, job.account);
      if (lacking !== undefined) {
        if (asked.again !== undefined || lacking.units.length === 0) throw notMended(lacking);
        const [slices, reason] = [lacking.units.length, lacking.damaged.found];
        emit({ event: 'refresh-widened', pipeline: pipeline.name, slices, reason });
        asked = { ...job, refresh: true, again: new Set(lacking.units) };
        continue;
      }
      // What another run has put in the way of a slice may hold only some of it: what is missing then is planned anew.
      if (outrun.length === 0 || summary.leftOpen.length > open) break;
      outrun = [];
      asked = { ...job, refresh: false };
    }
    if (summary.slices > 0) addWarnings(summary.warnings, pipeline.warnings?.(job, clock.now()) ?? {});
  } finally {
    summary.seconds = (clock.now() - began) / 1000;
  }
}

/** Of what waits for the rest of a damaged file nothing came into the lake. */
function notMended({ units, damaged }: Lacking): LedgerlakeError {
  const why =
    units.length === 0
      ? 'another run has changed it meanwhile: run the same command again'
      : `it holds what could not be read again as well (${units.join(', ').slice(0, 200)}): restore the file from a copy`;
  const message = `${damaged.found}; nothing took its place, as ${why}`;
  return new LedgerlakeError('LAKE_STORE', message, { cause: damaged });
}

/** Loads a slice and counts it, or puts it back; false where another run got ahead of it. */
async function loadSlice<Upstream>(
  pipeline: Pipeline<Upstream>,
  work: Work,
  open: OpenSlice<Slice>,
  options: RunOptions<Upstream>,
  summary: PipelineSummary,
  before = 0,
): Promise<boolean> {
  const { job, upstream, signal, emit, split, judge, acceptsEmpty } = options;
  const { slice } = open;
  const { lake, refresh, account } = job;
  const place = { pipeline: pipeline.name, slice: slice.label };
  const afterwards: (() => Promise<void>)[] = [];
  const reading: Reading<Upstream> = {
    upstream,
    account,
    counts: summary,
    get priority() {
      return open.priority;
    },
    signal,
    committed: (then) => {
      afterwards.push(then);
    },
    emit: (event) => {
      emit({ ...place, ...event });
    },
  };
  const tooMuch = new LedgerlakeError('STOPPED', 'it holds far more than was expected');
  let result: SliceResult;
  let results = 0;
  emit({ event: 'slice-opened', ...place, pagesLeft: open.pagesLeft() });
  try {
    const progressed = (progress: Progress): void => {
      open.progressed(progress);
      const { pages, isWhole } = progress;
      if (!isWhole) {
        emit({ event: 'page-read', ...place, results: progress.results - results, pagesLeft: open.pagesLeft() });
        results = progress.results;
      }
      if (isWhole || pages > firstPages || (work.expected(slice) ?? 0) <= tooManyPages) return;
      if (work.recut?.(slice) === true) throw tooMuch;
    };
    result = await runSlice(pipeline, slice, reading, { lake, refresh, split, acceptsEmpty, progressed });
  } catch (error) {
    if (error === tooMuch) {
      emit({ event: 'slice-set-back', ...place, verdict: 'part', reason: messageOf(error) });
      return true;
    }
    const verdict = signal.aborted ? 'stop' : (pipeline.judge?.(error) ?? judge(error));
    if (verdict === 'stop') throw error;
    const failed = summary.leftOpen.filter(({ isAlone }) => !isAlone).length;
    const isAlone = verdict === 'known' || verdict === 'unknown';
    if (!isAlone && summary.pages === 0 && failed >= hopeless) throw error;
    const isParted = !isAlone && verdict !== 'leave' && work.part(slice, verdict === 'shorten');
    const isAgain = !isParted && verdict === 'again' && before < mostAgain;
    const parted = verdict === 'shorten' ? 'shorten' : 'part';
    const set = isAgain ? 'again' : isParted ? parted : verdict === 'known' ? 'known' : 'leave';
    emit({ event: 'slice-set-back', ...place, verdict: set, reason: messageOf(error) });
    if (isAgain) return loadSlice(pipeline, work, open, options, summary, before + 1);
    if (!isParted) summary.leftOpen.push({ label: slice.label, reason: messageOf(error), isAlone });
    return true;
  }
  for (const then of afterwards) await then();
  if (!result.taken) {
    emit({ event: 'slice-outrun', ...place });
    return false;
  }
  addResult(summary, result);
  const { files, bytes, rows } = result;
  emit({ event: 'slice-committed', ...place, rows: Object.fromEntries(rows), files, bytes, left: work.left });
  return true;
}

function addResult(summary: PipelineSummary, { files, bytes, rows, collector }: SliceResult): void {
  summary.slices++;
  summary.files += files;
  summary.bytes += bytes;
  for (const [table, count] of rows) summary.rows.set(table, (summary.rows.get(table) ?? 0) + count);
  addWarnings(summary.warnings, collector.warnings);
}

function endOf(summary: PipelineSummary): RunEvent {
  const { pipeline, slices, requests, retries, throttled, pages, rows, files, bytes, seconds } = summary;
  const counts = { slices, requests, retries, throttled, pages, rows: Object.fromEntries(rows), files, bytes, seconds };
  return { event: 'pipeline-ended', pipeline, ...counts };
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
    warnings: new Map(),
    leftOpen: [],
  };
}

function addWarnings(to: Map<string, Map<string, number>>, from: Warnings): void {
  for (const [kind, places] of Object.entries(from)) {
    const counts = to.get(kind) ?? new Map<string, number>();
    for (const [place, times] of places) counts.set(place, (counts.get(place) ?? 0) + times);
    if (counts.size > 0) to.set(kind, counts);
  }
}
