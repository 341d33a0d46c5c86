import { withNeeds } from '../configuration/pipelines.js';
import type { OperationName } from '../../sources/finances/api-v0/operations.js';
import type { FinancesUpstream } from '../../sources/finances/api-v0/upstream.js';
import type { Job, Pipeline } from '../../engine/run/pipeline.js';
import { nothingKnown } from '../../engine/slicing/volume-estimate';
import { fileSizes } from './file-sizes.js';
import type { Held } from './holdings.js';
import { latencyOf, type Learned } from './learned.js';
import { outlookOf } from './pipeline-outlook.js';
import { played, type PlayedQuota } from './played.js';
import { pageBytes, rawSize } from './raw-size.js';

/** What a backfill would do for one pipeline. */
export interface PipelinePlan {
  readonly pipeline: string;
  /** False: slices, requests and seconds are the least that it can be, and what hangs on the data is undefined. */
  readonly isKnown: boolean;
  readonly slices: number;
  readonly requests: number;
  /** From its first request to its last answer; undefined without a quota. */
  readonly seconds: number | undefined;
  /** Events, or settlements of the pipeline that lists them. */
  readonly events: number | undefined;
  /** Bytes of the answers. */
  readonly rawBytes: number | undefined;
  readonly files: number | undefined;
  readonly fileBytes: number | undefined;
  readonly held: Held;
  /** Of the slices those for settlements that nobody has listed yet; 0 where there are none. */
  readonly unlisted: number;
}

export interface Plan {
  readonly pipelines: readonly PipelinePlan[];
  readonly isKnown: boolean;
  readonly requests: number;
  /** Until the longest pipeline is done, as they run side by side; undefined without a quota. */
  readonly seconds: number | undefined;
}

export interface PlanQuestion {
  readonly job: Job;
  readonly pipelines: readonly Pipeline<FinancesUpstream>[];
  /** Of what a pipeline asks; undefined: not throttled. */
  readonly quotaOf: (pipeline: Pipeline<FinancesUpstream>) => PlayedQuota | undefined;
  /** Whether slices are cut and opened by the quota. */
  readonly isPaced: (pipeline: Pipeline<FinancesUpstream>) => boolean;
  readonly tokenLifeMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** What was asked of the service for the plan's sake. */
  readonly learned: Learned;
  readonly signal: AbortSignal;
}

/** What a backfill would do, from the logs of the lake and what was learned: each pipeline is played through. */
export async function planLake(question: PlanQuestion): Promise<Plan> {
  const { now } = question;
  const ends = new Map<string, number>();
  const plans: PipelinePlan[] = [];
  for (const pipeline of withNeeds(question.pipelines)) {
    // Begins when all that it needs is loaded.
    const startsAt = Math.max(now, ...(pipeline.needs ?? []).map(({ name }) => ends.get(name) ?? now));
    const { plan, endsAt } = await planPipeline(pipeline, startsAt, question);
    ends.set(pipeline.name, endsAt);
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

async function planPipeline(
  pipeline: Pipeline<FinancesUpstream>,
  startsAt: number,
  { job, learned, now, isPaced: isPacedOf, quotaOf, tokenLifeMs, signal }: PlanQuestion,
): Promise<{ plan: PipelinePlan; endsAt: number }> {
  const { lake, account } = job;
  const { name, tables } = pipeline;
  const main = tables.at(-1)?.name ?? '';
  const isPaced = isPacedOf(pipeline);
  const outlook = outlookOf(pipeline, { job: { ...job, isPaced }, learned, now });
  const { work, expectation, isListed, isCounted } = outlook;
  const isDone = work.left === '' && isListed;
  const quota = quotaOf(pipeline);
  const sizes = fileSizes(lake, name, tables, account);
  const isKnown = isDone || (isListed && expectation !== undefined);
  let files = 0;
  let fileBytes = 0;
  const { slices, requests, results, endsAt } = await played(
    work,
    (isKnown ? expectation : undefined) ?? nothingKnown,
    {
      quota,
      isPaced,
      startsAt,
      // While the first answer is on its way more slices are opened blindly: answers at once make it the least.
      latency: isKnown ? latencyOf(learned, name) : 0,
      tokenLifeMs,
      signal,
      read: (expected) => {
        const made = sizes?.(expected);
        files += made?.files ?? 0;
        fileBytes += made?.bytes ?? 0;
      },
    },
  );
  const isSized = isDone || (isKnown && isCounted && sizes !== undefined);
  const perResult = isSized && !isDone ? await rawSize(lake, name, main, account, signal) : 0;
  return {
    endsAt,
    plan: {
      pipeline: name,
      isKnown,
      slices,
      requests,
      seconds: quota && (endsAt - startsAt) / 1000,
      events: isDone || (isKnown && isCounted) ? Math.round(results) : undefined,
      rawBytes: isSized && perResult !== undefined ? Math.round(results * perResult + requests * pageBytes) : undefined,
      files: isSized ? Math.round(files) : undefined,
      fileBytes: isSized ? Math.round(fileBytes) : undefined,
      held: outlook.held,
      unlisted: outlook.unlisted,
    },
  };
}

/** The operation that a pipeline of the finances reads: the one whose pace it asks for. */
export function operationOf(pipeline: Pipeline<FinancesUpstream>): OperationName {
  let operation: OperationName = 'ListFinancialEvents';
  pipeline.pace({
    pages: () => {
      throw new Error('nothing is asked of the service');
    },
    begun: () => [],
    pace: (name) => {
      operation = name;
      return undefined;
    },
  });
  return operation;
}
