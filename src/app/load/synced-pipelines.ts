import { pipelines } from '../../../pipelines/all-pipelines.js';
import { dayMs } from '../../core/windows.js';
import { loadedWindows, windowKey } from '../../engine/slicing/window-slices.js';
import type { Job, Reading, SyncJob } from '../../engine/run/pipeline.js';
import type { Lake } from '../../lake/lake.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { isCustom } from '../../sources/custom/custom-pipeline.js';
import type { FinancesPipeline, FinancesUpstream } from '../../sources/finances/connect-finances.js';
import type { LookBack } from '../configuration/setting-definitions.js';
import type { LookBacks } from '../../lake/upkeep/look-backs.js';
import { lookBackDays } from './look-back.js';

/** A sync in several runs, each of which continues the one before. */
export interface SyncInTurns {
  /** When the first run began, milliseconds since 1970: all runs load up to the same instant. */
  readonly began: number;
  /** Whether an earlier run has read a slice, by its label. */
  wasRead(pipeline: string, slice: string): boolean;
  /** Notes the slices that a run has read and committed. */
  read(pipeline: string, slices: readonly string[]): Promise<void>;
}

export interface SyncPlan {
  /** The end of the range, milliseconds since 1970. */
  readonly end: number;
  readonly now: number;
  readonly lookBack: LookBack;
  /** Look-backs of earlier runs. */
  readonly lookBacks: LookBacks;
  /** The ranges that earlier runs or the configuration request, and that aren't loaded. */
  readonly requested: readonly RequestedRange[];
  /** Whether the run is one of several that make up a sync. */
  readonly isInTurns: boolean;
  /** Whether an earlier run of this sync has read a slice, by its label. */
  readonly wasRead: (pipeline: string, slice: string) => boolean;
}

/** The built-in pipelines that read windows, and the chosen custom pipelines that do. */
export function windowedOf(chosen: readonly FinancesPipeline[]): readonly FinancesPipeline[] {
  return [...pipelines, ...chosen.filter(isCustom)].filter(({ loadKeyKind }) => loadKeyKind === 'window');
}

/** The pipelines with the slice queue of a sync instead of a backfill's. */
export function syncedPipelines(chosen: readonly FinancesPipeline[], plan: SyncPlan): FinancesPipeline[] {
  const known = new Map<FinancesPipeline, FinancesPipeline>();
  const synced = (pipeline: FinancesPipeline): FinancesPipeline => {
    const syncJob = (job: Job): SyncJob => {
      const back = job.refresh ? pipelineLookBackDays(job.lake, job.account, pipeline, plan) : 0;
      return {
        ...job,
        now: plan.now,
        requested: plan.requested.filter((range) => range.pipeline === pipeline.name),
        lookBackFrom: job.refresh ? plan.end - back * dayMs : Infinity,
        isInTurns: plan.isInTurns,
        requestedLookBackFrom: job.refresh && typeof plan.lookBack === 'number' ? plan.end - back * dayMs : Infinity,
        wasRead: (label) => plan.wasRead(pipeline.name, label),
      };
    };
    const found = known.get(pipeline) ?? {
      ...pipeline,
      ...(pipeline.needs && { needs: pipeline.needs.map(synced) }),
      ...(pipeline.prepareSync && {
        prepare: (job: Job, reading: Reading<FinancesUpstream>) =>
          pipeline.prepareSync?.(syncJob(job), reading) ?? Promise.resolve(job),
      }),
      sliceQueue: (job) => pipeline.sync(syncJob(job)),
    };
    known.set(pipeline, found);
    return found;
  };
  return chosen.map(synced);
}

/** Days that a pipeline looks back in this run. */
export function pipelineLookBackDays(lake: Lake, account: string, pipeline: FinancesPipeline, plan: SyncPlan): number {
  const { lookBack } = plan;
  if (typeof lookBack === 'number') return lookBack;
  const { name } = pipeline;
  const noted = plan.lookBacks.get(name);
  const read = lake.loadKeys(name, account);
  const longest = Math.max(...lookBack.map((rule) => rule.days));
  const lastDone = (days: number): number | undefined => {
    // Where windows change without a re-read, recent changes prove none; windows older than the longest rule only change by one.
    const from = plan.end - (pipeline.prepareSync === undefined ? days : longest) * dayMs;
    const times = loadedWindows(lake, name, account)
      .filter(({ end }) => end > from)
      .map((window) => read.get(windowKey(window))?.readAt ?? 0);
    // The log has each window's last change: all windows were read since the oldest of these instants.
    const changed = times.length === 0 ? undefined : Math.min(...times);
    // A look-back covers every shorter one.
    const covering = [...(noted ?? [])].flatMap(([notedDays, at]) => (notedDays >= days ? at : []));
    const recorded = covering.length === 0 ? undefined : Math.max(...covering);
    if (recorded === undefined || changed === undefined) return recorded ?? changed;
    return pipeline.prepareSync === undefined ? Math.max(recorded, changed) : recorded;
  };
  return lookBackDays(lookBack, lastDone, plan.now);
}
