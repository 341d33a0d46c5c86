import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { groupEventsPipeline } from '../../../pipelines/group-events.js';
import { orderEventsPipeline } from '../../../pipelines/order-events.js';
import { groupSlices, spanOfGroup, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import { events, groupEvents, groups } from '../../sources/finances/model/tables.js';
import { listingWork } from '../../sources/finances/api-v0/slicing/listing-slicing';
import type { FinancesUpstream } from '../../sources/finances/api-v0/upstream.js';
import type { Lake } from '../../lake/lake.js';
import type { Job, Pipeline } from '../../engine/run/pipeline.js';
import { isOwn } from '../../sources/custom/own-pipeline.js';
import type { Slice } from '../../engine/run/slice.js';
import { loadedWindows, windowSlice, type WindowSlice } from '../../engine/run/window-slices.js';
import { cut, dayMs, uncovered, type Window } from '../../core/windows.js';
import { listWork, type Work } from '../../engine/run/work.js';
import { syncRange } from './coverage.js';
import { groupsToRead, isAwaited, isOpen } from './groups-again.js';
import { lookBackDays, type LookBackRule } from './look-back.js';
import type { LookBacks } from './look-back-note.js';
import { eventWindows, listingWindows } from '../../engine/slicing/sync-windows';

type Finances = Pipeline<FinancesUpstream>;

export interface SyncPlan {
  /** Up to which instant is loaded: milliseconds since 1970. */
  readonly end: number;
  readonly now: number;
  /** Looks back so many days, whatever the rules say. */
  readonly lookBack: number | undefined;
  readonly rules: readonly LookBackRule[];
  /** What earlier runs left word of. */
  readonly done: LookBacks;
  /** Whether a slice, by its label, was read in this sync already. */
  readonly wasRead: (pipeline: string, slice: string) => boolean;
}

/** Days of a window that is missing and older than those that are windows of their own. */
const daysOfOld = 7;

/** A pipeline that reads windows of dates, and the table that holds them. */
export interface Windowed {
  readonly pipeline: string;
  readonly table: string;
}

/** Pipelines of this package that read windows of dates, and users' own among those that are asked for. */
export function windowedOf(chosen: readonly Finances[]): readonly Windowed[] {
  const own = chosen.filter(isOwn).map(({ name, loaded }) => ({ pipeline: name, table: loaded.table.name }));
  return [
    { pipeline: financialEventGroups.name, table: groups.name },
    { pipeline: financialEvents.name, table: events.name },
    ...own,
  ];
}

/** The pipelines with what a sync reads in the place of what a backfill does; one that isn't known here reads what it lacks. */
export function syncedPipelines(pipelines: readonly Finances[], plan: SyncPlan): Finances[] {
  const made = new Map<Finances, Finances>();
  const synced = (pipeline: Finances): Finances => {
    const known = made.get(pipeline);
    if (known !== undefined) return known;
    const planned = workOf(pipeline, plan);
    const one: Finances = {
      ...pipeline,
      ...(pipeline.needs && { needs: pipeline.needs.map(synced) }),
      work: (job) => (job.again === undefined ? planned(job) : pipeline.work(job)),
    };
    made.set(pipeline, one);
    return one;
  };
  return pipelines.map(synced);
}

/** Days that a pipeline looks back in this run. */
export function daysBack(lake: Lake, account: string, pipeline: string, table: string, plan: SyncPlan): number {
  if (plan.lookBack !== undefined) return plan.lookBack;
  const noted = plan.done.get(pipeline);
  const read = lake.units(pipeline, table, account);
  const lastDone = (days: number): number | undefined => {
    const from = plan.end - days * dayMs;
    const times = loadedWindows(lake, pipeline, table, account)
      .filter(({ end }) => end > from)
      .map((window) => read.get(windowSlice(window).units[0] ?? '')?.lastUpdated ?? 0);
    // The log tells when each window changed last: all of them were read since the oldest of these instants.
    const changed = times.length === 0 ? undefined : Math.min(...times);
    const told = noted?.get(days);
    return told === undefined || changed === undefined ? (told ?? changed) : Math.max(told, changed);
  };
  return lookBackDays(plan.rules, lastDone, plan.now);
}

/** Where the planning is done anew, after another run got ahead, only what is missing is read. */
function workOf(pipeline: Finances, plan: SyncPlan): (job: Job) => Work {
  const { end } = plan;
  const notRead = ({ label }: Slice): boolean => !plan.wasRead(pipeline.name, label);
  const back = (job: Job, table: string) =>
    job.refresh ? end - daysBack(job.lake, job.account, pipeline.name, table, plan) * dayMs : Infinity;
  const question = (job: Job, table: string) => {
    const loaded = loadedWindows(job.lake, pipeline.name, table, job.account);
    return { loaded, range: syncRange(loaded, end), again: back(job, table) };
  };
  const missing = (job: Job, table: string, days: number) =>
    windowList(
      uncovered(question(job, table).range, question(job, table).loaded)
        .flatMap((gap) => cut(gap, days))
        .map((window) => windowSlice(window)),
    );

  const dayByDay = (table: string) => (job: Job) => {
    if (!job.refresh) return missing(job, table, 1);
    const old = (gap: Window) => cut(gap, daysOfOld);
    const windows = eventWindows(question(job, table), old);
    return windowList(windows.map(({ window, retires }) => windowSlice(window, retires)).filter(notRead));
  };

  if (isOwn(pipeline)) return dayByDay(pipeline.loaded.table.name);
  switch (pipeline.name) {
    case financialEvents.name:
      return dayByDay(events.name);
    case financialEventGroups.name:
      return (job) => {
        if (!job.refresh) return missing(job, groups.name, 31);
        const of = question(job, groups.name);
        const starts = listed(job)
          .filter((slice) => isOpen(slice) || isAwaited(slice, plan.now) || (slice.group.end ?? 0) >= of.again)
          .map(({ opened }) => opened);
        const isWanted = (window: Window) => starts.some((at) => at >= window.start && at < window.end);
        const windows = listingWindows(of, isWanted).map(({ window, retires }) => windowSlice(window, retires));
        return listingWork(windowList(windows.filter(notRead)), job, pipeline.name);
      };
    case groupEventsPipeline.name:
      return (job) => {
        const loaded = job.lake.units(pipeline.name, groupEvents.name, job.account);
        const opened = listed(job)
          .filter(({ units }) => units.some((unit) => loaded.has(unit)))
          .map((slice) => ({ start: slice.opened, end: slice.opened + 1 }));
        // As with dates: what is new, gaps of the last 90 days, and nothing before the first that is loaded.
        const first = Math.min(...opened.map(({ start }) => start));
        const newest = Math.max(...opened.map((span) => span.end));
        const range = syncRange([], end);
        const from = opened.length === 0 ? range.start : Math.max(first, Math.min(newest, range.start));
        const again = job.refresh && plan.lookBack !== undefined ? end - plan.lookBack * dayMs : Infinity;
        const slices = groupsToRead({ listed: listed(job), loaded, from, again });
        const wanted = job.refresh ? slices : slices.filter(({ units }) => !units.some((unit) => loaded.has(unit)));
        return listWork(wanted.filter(notRead), 'group', spanOfGroup);
      };
    default:
      // The orders are named, so that they are what is to be read. Of any other what it lacks.
      return (job) => pipeline.work({ ...job, refresh: job.refresh && pipeline.name === orderEventsPipeline.name });
  }
}

/** Every group that is listed. */
function listed(job: Job): GroupSlice[] {
  const range = { start: -Infinity, end: Infinity };
  return groupSlices(
    { ...job, range, refresh: true },
    groupEventsPipeline.name,
    groupEvents.name,
    financialEventGroups.name,
  );
}

function windowList(slices: readonly WindowSlice[]): Work<WindowSlice> {
  return listWork(slices, 'window', ({ window }) => window);
}
