import { jobValues } from '../../engine/run/load-options.js';
import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { Lake } from '../../lake/lake.js';
import { codeOf, type LedgerlakeError } from '../../core/errors.js';
import { dateOrInstant } from '../../core/numeric/instant.js';
import { summaryObject, summaryText, unbegunSummary } from './run-summary.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { dayMs, type Window } from '../../core/windows.js';
import type { SyncJob } from '../../engine/run/pipeline.js';
import { missingWindows, olderGaps } from '../../engine/slicing/sync-windows.js';
import { allowMore, freshnessOf, lagFailure, lagText, type Freshness } from './freshness.js';
import { runSettings } from '../configuration/setting-definitions.js';
import { noteLookBacks, pipelineLookBackDays, type LookBackQuestion } from './look-back.js';
import { readLookBacks } from '../../lake/upkeep/look-backs.js';
import { defaultPipelines, roles } from '../../../pipelines/all-pipelines.js';
import { windowedOf, withNeeds } from '../configuration/chosen-pipelines.js';
import { isLoadedFromApi } from '../coverage/stored-pipelines.js';
import { configuredRanges, unfinishedRanges } from '../coverage/unfinished-ranges.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { apiNames, defaultApi, type Api } from '../../sources/finances/api-names.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import type { SyncSummary } from '../results.js';
import { loadResult, withLoad, type LoadPlan } from './load.js';
import { readLoadRequest, type LoadRequest } from './load-request.js';
import type { LoadOptions } from './run-settings.js';

/** A sync in several runs, each of which continues the one before. */
export interface SyncInTurns {
  /** When the first run began, milliseconds since 1970: all runs load up to the same instant. */
  readonly began: number;
  /** Whether an earlier run has read a slice, by its label. */
  wasRead(pipeline: string, slice: string): boolean;
}

/**
 * `ledgerlake sync`: loads what is new since the newest loaded instant, reads again what may have changed since, and reports
 * the changes. Each pipeline's `Slicing` decides what it reads.
 *
 * @param turns set where the run is one of several that make up a sync; left out: the run is the whole sync
 * @throws LedgerlakeError USAGE before anything is changed; UPSTREAM_EMPTY where the answer for a window with rows
 * is empty, UPSTREAM_ACCOUNT where the answers are another account's, LAKE_LAG where the lake is older than allowed, or the
 * failure that ended the run
 */
export async function sync(
  options: LoadOptions,
  context: RunContext,
  turns?: SyncInTurns,
): Promise<CommandResult<SyncSummary>> {
  const { clock, emit } = context;
  const request = readRequest(options, turns?.began ?? clock.now());
  const { account, maxLagMs, range } = request;
  const unbegun = unbegunSummary(clock, { account, lake: options.lake, from: null, to: range.end });
  const known = (lake: Lake | undefined) => ({
    ...unbegun(),
    lag_seconds: lake === undefined ? null : lagSeconds(freshness(request, lake), clock.now()),
    lake_begun: false,
  });
  return withLoad(request, context, known, async (load) => {
    const { lake, unfinished } = load;
    const left = leftPipelines(request, lake).map(({ name }) => name);
    if (lake.snapshot.isEmpty) emit({ event: 'lake-begun', lake: options.lake });
    if (left.length > 0) emit({ event: 'api-left', account, pipelines: left, api: loadedApi(lake, account) });
    const lookBacks = await readLookBacks(lake.store, account);
    const plan = planSync(request, { lake, unfinished, lookBacks, turns });
    for (const [pipeline, windows] of plan.missing) {
      for (const gap of olderGaps(loadedWindows(lake, pipeline, account), windows)) {
        emit({ event: 'gap-left', pipeline, from: dateOrInstant(gap.start), to: dateOrInstant(gap.end) });
      }
    }

    const report = await load.run({ ...plan, failureAfter: (now) => lateness(request, plan, now) });
    const { isRead, findings, failure, serviceNow } = report;
    // Holes, or an export that failed, don't make the next run read again.
    if (isRead) await noteLookBacks(lake, account, plan.days, { ...request, lookBacks }, emit);
    const reached = freshness(request, lake, plan);
    const isIncomplete = failure !== undefined && codeOf(failure) !== 'LAKE_LAG';
    // The failure of a completed run reports the lag itself.
    const late = isIncomplete
      ? lagFailure(reached, maxLagMs, serviceNow, { remedy: 'the failure that ended this run is why' })
      : undefined;
    if (late !== undefined) emit({ event: 'lake-lags', reason: late.message });
    const found = findingsText(findings);
    const unchanged = isRead && plan.isRereading ? 'Nothing has changed in what was read again\n' : '';
    const texts = [summaryText(report), found === '' ? unchanged : found, lagText(report, reached, serviceNow)];
    return loadResult(report, texts, {
      ...summaryObject(report),
      ...findingsObject(findings),
      lag_seconds: lagSeconds(reached, serviceNow),
      lake_begun: plan.isBegun,
    });
  });
}

/** What a sync is requested to do, which doesn't depend on what is loaded. */
interface SyncRequest extends LoadRequest, Pick<LookBackQuestion, 'lookBack'> {
  /** Its pipelines, and those that they need. */
  readonly names: ReadonlySet<string>;
  /** Its pipelines with windows, whose gaps and look-backs decide. */
  readonly windowed: readonly FinancesPipeline[];
}

/** @throws LedgerlakeError USAGE */
function readRequest(options: LoadOptions, now: number): SyncRequest {
  const { lookBack = runSettings.lookBack.default } = options;
  const request = readLoadRequest('sync', options, now);
  const { pipelines } = request;
  const names = new Set(withNeeds(pipelines).map(({ name }) => name));
  return {
    ...request,
    names,
    windowed: windowedOf(pipelines).filter(({ name }) => names.has(name)),
    lookBack,
  };
}

/** The pipelines that are loaded and that a sync without named ones leaves out. */
function leftPipelines({ options, account, names }: SyncRequest, lake: Lake): readonly FinancesPipeline[] {
  const isChosen = options.pipelines.length > 0 || options.api !== undefined;
  return isChosen ? [] : loadedPipelines(lake, account).filter(({ name }) => !names.has(name));
}

/** How recent pipelines are, by default those of a sync and those that it leaves out; without a plan by what it would plan now. */
function freshness(
  request: SyncRequest,
  lake: Lake,
  plan?: SyncPlan,
  pipelines: readonly FinancesPipeline[] = [...request.windowed, ...leftPipelines(request, lake)],
): Freshness | undefined {
  const { account, range } = request;
  const dated = pipelines.filter(({ slicing }) => slicing.loadKeyKind === 'window');
  return freshnessOf(lake, account, dated, { end: range.end, requested: plan?.job.requested, missing: plan?.missing });
}

/** The failure of a sync that has loaded its plan into a lake that is older than allowed; undefined where it isn't. */
function lateness(request: SyncRequest, plan: SyncPlan, now: number): LedgerlakeError | undefined {
  const { lake } = plan.job;
  const { account, maxLagMs } = request;
  const left = leftPipelines(request, lake).map(({ name }) => name);
  const others = {
    subject: `with ${left.join(', ')}, which this sync did not load, it`,
    remedy: `add --api ${loadedApi(lake, account)}, ${allowMore}`,
  };
  return (
    lagFailure(freshness(request, lake, plan, request.windowed), maxLagMs, now, { unfinished: unfinishedOf(plan) }) ??
    lagFailure(freshness(request, lake, plan), maxLagMs, now, others)
  );
}

/** The pipeline of settlement reports, where a sync without named pipelines loads them too: always where one was taken out. */
function reportsToSync(
  lake: Lake,
  account: string,
  { pipelines, settlementReports }: LoadOptions,
  unfinished: readonly RequestedRange[],
): readonly FinancesPipeline[] {
  const isTakenOut = unfinished.some(({ pipeline }) => pipeline === roles.reports.name);
  const isRequested = isTakenOut || (settlementReports ?? isLoadedFromApi(lake, roles.reports, account));
  return isRequested && pipelines.length === 0 ? [roles.reports] : [];
}

/** What a sync loads, planned by the state of its lake. */
interface SyncPlan extends LoadPlan {
  readonly job: SyncJob;
  /** What a pipeline has to load, by its name, in order. */
  readonly missing: ReadonlyMap<string, readonly Window[]>;
  /** Days that are read again, by the pipeline's name. */
  readonly days: ReadonlyMap<string, number>;
  /** Whether any window is read that was loaded before. */
  readonly isRereading: boolean;
  /** Whether there was no lake yet. */
  readonly isBegun: boolean;
}

/** Plans what pipelines load and read again. */
function planSync(
  { options, pipelines: chosen, account, names, windowed, lookBack, now, range }: SyncRequest,
  {
    lake,
    unfinished,
    lookBacks,
    turns,
  }: {
    readonly lake: Lake;
    readonly unfinished: readonly RequestedRange[];
    readonly lookBacks: LookBackQuestion['lookBacks'];
    readonly turns: SyncInTurns | undefined;
  },
): SyncPlan {
  const pipelines = [...chosen, ...reportsToSync(lake, account, options, unfinished)];
  const { end } = range;
  // Without `from`, in an option or a setting, its start is a default.
  const configured = options.from === undefined ? [] : configuredRanges(lake, account, [...names], range);
  const requested = [...unfinished, ...configured];
  const missing = new Map<string, readonly Window[]>();
  const days = new Map<string, number>();
  let isRereading = false;
  for (const pipeline of windowed) {
    const { name } = pipeline;
    const loaded = loadedWindows(lake, name, account);
    const daysBack = pipelineLookBackDays(lake, account, pipeline, { lookBack, lookBacks, end, now });
    missing.set(name, missingWindows(loaded, end, requested, name));
    days.set(name, daysBack);
    isRereading ||= loaded.length > 0 && daysBack > 0;
  }
  // Of few days all that the service keeps is read.
  for (const { name, keptDays } of pipelines) if (keptDays !== undefined) days.set(name, keptDays);
  const job: SyncJob = {
    ...jobValues(options),
    kind: 'sync',
    account,
    lake,
    refresh: true,
    now,
    range: { start: Math.min(end, ...[...missing.values()].flatMap(([first]) => first?.start ?? [])), end },
    lookBackFrom: (pipeline) => end - (days.get(pipeline) ?? 0) * dayMs,
    requestedLookBackFrom: typeof lookBack === 'number' ? end - lookBack * dayMs : Infinity,
    requested,
    wasRead: turns && ((pipeline, slice) => turns.wasRead(pipeline, slice)),
  };
  const initial = initialRanges(pipelines, job, missing);
  const isBegun = lake.snapshot.isEmpty;
  return { pipelines, job, requested: [...configured, ...initial], missing, days, isRereading, isBegun };
}

/** The pipelines of a sync that have not loaded each requested settlement. */
function unfinishedOf({ pipelines, job: { lake, account, requested } }: SyncPlan): readonly string[] {
  const names = new Set(pipelines.map(({ name }) => name));
  const ranges = requested.filter(({ pipeline, loadKey }) => loadKey !== undefined && names.has(pipeline));
  return [...new Set(unfinishedRanges(lake, [{ account, ranges }]).map(({ pipeline }) => pipeline))];
}

/**
 * The ranges of pipelines without a load. They are noted because, once some of such a range is loaded, nothing else shows that
 * windows before it are missing.
 */
function initialRanges(
  chosen: readonly FinancesPipeline[],
  { lake, account, range, requested }: SyncJob,
  missing: SyncPlan['missing'],
): RequestedRange[] {
  return withNeeds(chosen).flatMap((pipeline): RequestedRange[] => {
    const { name, slicing } = pipeline;
    const { loadKeyKind, coverage } = slicing;
    const isBegun =
      loadKeyKind === 'window'
        ? loadedWindows(lake, name, account).length > 0
        : lake.snapshot.keysOf(account, name).size > 0;
    if (coverage === undefined || isBegun) return [];
    const windows = missing.get(name) ?? missingWindows([], range.end, requested, name);
    return windows.map((window) => ({ command: 'sync', pipeline: name, ...window }));
  });
}

/** The default pipelines of both APIs that are loaded. */
function loadedPipelines(lake: Lake, account: string): readonly FinancesPipeline[] {
  return defaultPipelines.both.filter(({ name }) => lake.snapshot.keysOf(account, name).size > 0);
}

/** The API whose sync loads all that is loaded, other than the default one. */
function loadedApi(lake: Lake, account: string): Api {
  const loaded = loadedPipelines(lake, account);
  const loadsAll = (api: Api) => loaded.every((pipeline) => defaultPipelines[api].includes(pipeline));
  return apiNames.find((name) => name !== defaultApi && loadsAll(name)) ?? 'both';
}

function lagSeconds(freshness: Freshness | undefined, now: number): number | null {
  return freshness === undefined ? null : Math.round((now - freshness.coveredTo) / 1000);
}
