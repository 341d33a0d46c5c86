import { tablesOf } from '../../core/columns/table.js';
import type { Clock } from '../../core/clock.js';
import { TokenBucket } from '../../engine/rate-limit/token-bucket.js';
import { planConcurrency, maxPages, type QuotaState } from '../../engine/run/concurrency-plan.js';
import type { BackfillJob, Basis, Forecast, LoadedVolume, ProbedPage } from '../../engine/run/pipeline.js';
import { isCustom } from '../../sources/custom/custom-pipeline.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { fileSizes, pageBytes, rawSize } from './file-estimate.js';
import type { FileTotal } from '../results.js';

/** What a backfill would do for one pipeline. */
export interface PipelinePlan {
  readonly pipeline: string;
  /** False: slices, requests and seconds are minimums, and what depends on the data is undefined. */
  readonly isKnown: boolean;
  /** What refines the estimate: a probe, or the first page of a custom pipeline; undefined: only loaded data. */
  readonly refinedBy: 'probe' | 'first page' | undefined;
  readonly slices: number;
  readonly requests: number;
  /** Time from its first request to its last answer; undefined without a quota. */
  readonly seconds: number | undefined;
  /** Events, or settlements of the pipeline that lists them. */
  readonly events: number | undefined;
  /** Bytes of the answers. */
  readonly rawBytes: number | undefined;
  readonly files: number | undefined;
  readonly fileBytes: number | undefined;
  readonly holding: LoadedVolume;
  /** The loaded days that the estimate is based on; undefined where it has another basis. */
  readonly basis: Basis | undefined;
  /** How many of the slices are for settlements that aren't listed yet. */
  readonly unlisted: number;
}

export interface Plan {
  readonly pipelines: readonly PipelinePlan[];
  readonly isKnown: boolean;
  readonly requests: number;
  /** Time until the last pipeline is done, as pipelines run concurrently; undefined without a quota. */
  readonly seconds: number | undefined;
}

/** The quota of one operation at the start of a run. */
export interface OperationQuota {
  readonly rate: number;
  readonly burst: number;
  /** The persisted `TokenBucket.state`; undefined: the bucket is full. */
  readonly state: number | undefined;
  /** Whether the quota decides the size and the concurrency of slices. */
  readonly isPaced: boolean;
}

interface PlanQuestion {
  readonly job: BackfillJob;
  readonly pipelines: readonly FinancesPipeline[];
  /** The quotas of the pipelines' operations; none for a pipeline that isn't throttled. */
  readonly quotas: ReadonlyMap<FinancesPipeline, OperationQuota>;
  readonly clock: Clock;
  /** The probed pages, by pipeline. */
  readonly probed: ReadonlyMap<string, ProbedPage>;
  /** Seconds from a request to its answer, by pipeline. */
  readonly latencies: ReadonlyMap<string, number>;
  readonly signal: AbortSignal;
}

/** Seconds of an answer without a measured latency. */
const usualLatency = 0.5;
/** Seconds of an answer that a run assumes before its first one. */
const guessedLatency = 1;

/** Concurrent slices of a pipeline: the most under a quota, and the number without pacing. */
const openSlices = { paced: 20, unpaced: 4 };

/** Estimates what a backfill would do, from the logs of the lake and the probed pages. */
export async function estimate(question: PlanQuestion): Promise<Plan> {
  const now = question.clock.now();
  const ends = new Map<string, number>();
  const plans: PipelinePlan[] = [];
  for (const pipeline of withNeeds(question.pipelines)) {
    // A pipeline starts once the pipelines that it needs are done.
    const startsAt = Math.max(now, ...(pipeline.needs ?? []).map(({ name }) => ends.get(name) ?? now));
    const plan = await estimatePipeline(pipeline, startsAt, question);
    ends.set(pipeline.name, startsAt + (plan.seconds ?? 0) * 1000);
    plans.push(plan);
  }
  const isThrottled = plans.every(({ seconds }) => seconds !== undefined);
  return {
    pipelines: plans,
    isKnown: plans.every(({ isKnown }) => isKnown),
    requests: plans.reduce((sum, { requests }) => sum + requests, 0),
    seconds: isThrottled ? (Math.max(now, ...ends.values()) - now) / 1000 : undefined,
  };
}

async function estimatePipeline(
  pipeline: FinancesPipeline,
  startsAt: number,
  { job, probed, latencies, quotas, clock, signal }: PlanQuestion,
): Promise<PipelinePlan> {
  const { lake, account } = job;
  const { name, main } = pipeline;
  const quota = quotas.get(pipeline);
  const isPaced = quota?.isPaced === true;
  const forecast = pipeline.slicing.forecast({ job: { ...job, isPaced }, now: clock.now(), probed });
  const isDone = forecast.queue.left === '' && forecast.isComplete;
  const isKnown = isDone || (forecast.isComplete && forecast.expectation !== undefined);
  const clockAtStart: Clock = { now: () => startsAt, sleep: (ms, stop) => clock.sleep(ms, stop) };
  const level = quota && new TokenBucket({ ...quota, clock: clockAtStart }).level();
  const found = quota && { rate: quota.rate, burst: quota.burst, level: level ?? quota.burst };
  const sizes = fileSizes(lake, name, tablesOf(pipeline), account);
  const { slices, requests, longest, results, files } = volumeOf(
    isKnown ? forecast : { ...forecast, expectation: undefined },
    isPaced ? found : undefined,
    sizes,
  );
  const isSized = isDone || (isKnown && results !== undefined && files !== undefined);
  const perResult = isSized && !isDone ? await rawSize(lake, name, main.name, account, signal) : 0;
  // No latency gives the minimum.
  const latency = isKnown ? (latencies.get(name) ?? meanOf(latencies) ?? usualLatency) : 0;
  const atOnce = Math.min(slices, isPaced ? openSlices.paced : openSlices.unpaced);
  return {
    pipeline: name,
    isKnown,
    refinedBy: isCustom(pipeline) ? 'first page' : pipeline.slicing.probes && 'probe',
    slices,
    requests,
    seconds: found && secondsFor({ requests, longest, atOnce }, found, latency),
    events: isDone || isKnown ? rounded(results) : undefined,
    rawBytes:
      isSized && perResult !== undefined ? Math.round((results ?? 0) * perResult + requests * pageBytes) : undefined,
    files: isSized ? Math.round(files?.files ?? 0) : undefined,
    fileBytes: isSized ? Math.round(files?.bytes ?? 0) : undefined,
    holding: forecast.loaded,
    basis: isKnown && !isDone && !probed.has(name) ? forecast.expectation?.basis : undefined,
    unlisted: forecast.unlisted,
  };
}

interface Volume {
  readonly slices: number;
  readonly requests: number;
  /** Requests of the largest slice. */
  readonly longest: number;
  /** Undefined where only the number of requests is known. */
  readonly results: number | undefined;
  /** Undefined where the lake has no file of the pipeline. */
  readonly files: FileTotal | undefined;
}

/** Cuts the range into slices as a run does at its start, and adds up their expected pages, results and files. */
function volumeOf(
  { queue, expectation }: Forecast,
  quota: QuotaState | undefined,
  sizes: ((results: number) => FileTotal) | undefined,
): Volume {
  const stretches = queue.stretches() ?? [];
  const opening =
    quota !== undefined && stretches.length > 0
      ? planConcurrency({ open: [], stretches, quota, latency: guessedLatency })
      : undefined;
  const sum = { slices: 0, pages: 0, longest: 0, results: 0, files: 0, bytes: 0 };
  let isCounted = true;
  for (let slice; (slice = queue.next(opening?.pages ?? maxPages)) !== undefined;) {
    // Without an expectation a slice takes one request.
    const results = expectation === undefined ? 0 : expectation.results(slice);
    const pages = expectation?.pages(slice) ?? 1;
    isCounted &&= results !== undefined;
    const expected = results ?? 0;
    queue.learn(slice, { pages, results: expected, reach: undefined, isWhole: true });
    const { files = 0, bytes = 0 } = sizes?.(expected) ?? {};
    sum.slices++;
    sum.pages += pages;
    sum.longest = Math.max(sum.longest, pages);
    sum.results += expected;
    sum.files += files;
    sum.bytes += bytes;
  }
  return {
    slices: sum.slices,
    requests: Math.round(sum.pages),
    longest: sum.longest,
    results: isCounted ? sum.results : undefined,
    files: sizes && { files: sum.files, bytes: sum.bytes },
  };
}

/** The time of the quota, or of the answers where they take longer: a slice's pages are requested one after the other. */
function secondsFor(
  { requests, longest, atOnce }: { readonly requests: number; readonly longest: number; readonly atOnce: number },
  { rate, level }: QuotaState,
  latency: number,
): number {
  if (requests === 0) return 0;
  const ofQuota = Math.max(0, requests - level) / rate + latency;
  return Math.max(ofQuota, latency * longest, (latency * requests) / atOnce);
}

function rounded(value: number | undefined): number | undefined {
  return value && Math.round(value);
}

function meanOf(latencies: ReadonlyMap<string, number>): number | undefined {
  const known = [...latencies.values()];
  return known.length === 0 ? undefined : known.reduce((sum, seconds) => sum + seconds, 0) / known.length;
}
