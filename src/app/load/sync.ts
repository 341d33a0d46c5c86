import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { Lake } from '../../lake/lake.js';
import { codeOf, messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { latestBound, readDateRange } from '../configuration/range.js';
import { summaryObject, summaryText } from './run-summary.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { dayMs, type Window } from '../../core/windows.js';
import { readLoadOptions } from '../../engine/run/load-options.js';
import type { SyncJob } from '../../engine/run/pipeline.js';
import { missingWindows, olderGaps, requestedOf } from '../../engine/slicing/sync-windows.js';
import { allowMore, freshnessOf, lagFailure, lagText, readMaxLag, type Freshness } from './freshness.js';
import { runSettings, type LookBack } from '../configuration/setting-definitions.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { pipelineLookBackDays } from './look-back.js';
import { readLookBacks, writeLookBacks, type LookBacks } from '../../lake/upkeep/look-backs.js';
import { defaultPipelines, roles } from '../../../pipelines/all-pipelines.js';
import { readChosenPipelines, windowedOf, withNeeds } from '../configuration/chosen-pipelines.js';
import { isLoadedFromApi } from '../coverage/stored-pipelines.js';
import { configuredRanges } from '../coverage/unfinished-ranges.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { apiNames, defaultApi, type Api } from '../../sources/finances/api-names.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import type { SyncSummary } from '../results.js';
import { load, type Loaded, type LoadOptions, type LoadPlan } from './load.js';

/** A sync in several runs, each of which continues the one before. */
export interface SyncInTurns {
  /** When the first run began, milliseconds since 1970: all runs load up to the same instant. */
  readonly began: number;
  /** Whether an earlier run has read a slice, by its label. */
  wasRead(pipeline: string, slice: string): boolean;
  /** Notes the slices that a run has read and committed. */
  read(pipeline: string, slices: readonly string[]): Promise<void>;
}

export interface SyncCommand extends LoadOptions, OptionalSettings<'from' | 'lookBack' | 'settlementReports'> {
  /** Set where the run is one of several that make up a sync; left out: the run is the whole sync. */
  readonly inTurns?: SyncInTurns;
}

/**
 * `ledgerlake sync`: loads what is new since the newest loaded instant, reads again what may have changed since, and reports
 * the changes. Each pipeline's `Slicing` decides what it reads.
 *
 * @throws LedgerlakeError USAGE before anything is changed; UPSTREAM_EMPTY where the answer for a window with rows
 * is empty, UPSTREAM_ACCOUNT where the answers are another account's, LAKE_LAG where the lake is older than allowed, or the
 * failure that ended the run
 */
export async function sync(options: SyncCommand, context: RunContext): Promise<CommandResult<SyncSummary>> {
  const { clock, emit } = context;
  const { inTurns, lookBack = runSettings.lookBack.default } = options;
  const chosen = readChosenPipelines(options);
  const { account, pipelines: named, marginMinutes } = chosen;
  const maxLagMs = readMaxLag(options.maxLag, marginMinutes);
  const now = inTurns?.began ?? clock.now();
  const end = latestBound(now, marginMinutes);
  const from =
    options.from === undefined ? undefined : readDateRange({ from: options.from, to: undefined, marginMinutes }, now);
  const names = new Set(withNeeds(named).map(({ name }) => name));
  const windowed = windowedOf(named).filter(({ name }) => names.has(name));
  const isChosen = options.pipelines.length > 0 || options.api !== undefined;
  const left = (lake: Lake): LeftPipelines => (isChosen ? nothingLeft : leftPipelines(lake, account, names));
  const freshnessFor = (lake: Lake, plan: SyncLoad | undefined, pipelines: readonly FinancesPipeline[]) =>
    freshnessOf(lake, account, pipelines, (name, loaded) => {
      const requested = requestedOf(plan?.job.requested ?? [], name);
      return plan?.missing.get(name) ?? missingWindows(loaded, end, requested);
    });
  const freshness = (lake: Lake, plan: SyncLoad | undefined) => {
    const dated = left(lake).pipelines.filter(({ slicing }) => slicing.loadKeyKind === 'window');
    return freshnessFor(lake, plan, [...windowed, ...dated]);
  };
  const committed = new Map<string, string[]>();
  return load<SyncSummary, SyncLoad>(
    {
      command: 'sync',
      options,
      chosen,
      bounds: { from: null, to: end },
      failedMembers: ({ lake, plan }) => ({
        ...(plan !== undefined && plan.missing.size > 0 && { from: isoInstant(plan.job.range.start) }),
        lag_seconds: lake === undefined ? null : lagSeconds(freshness(lake, plan), clock.now()),
        lake_begun: plan?.isBegun ?? false,
      }),
      plan: async (lake, unfinished) => {
        if (lake.snapshot.isEmpty) emit({ event: 'lake-begun', lake: options.lake });
        const { pipelines: unsynced, api } = left(lake);
        if (unsynced.length > 0) emit({ event: 'api-left', account, pipelines: unsynced.map(({ name }) => name), api });
        const configured = from === undefined ? [] : configuredRanges(lake, account, [...names], from);
        const loaded = [...named, ...reportsToSync(lake, account, options, unfinished)];
        const lookBacks = await readLookBacks(lake.store, account);
        const given: SyncQuestion['given'] = {
          ...readLoadOptions('sync', (name) => options[name]),
          kind: 'sync',
          account,
          lake,
          refresh: true,
          now,
          requestedLookBackFrom: typeof lookBack === 'number' ? end - lookBack * dayMs : Infinity,
          requested: [...unfinished, ...configured],
          isInTurns: inTurns !== undefined,
          wasRead: (pipeline, slice) => inTurns?.wasRead(pipeline, slice) === true,
        };
        return planSync({ windowed, chosen: loaded, configured, given, end, lookBack, lookBacks }, emit);
      },
      judge: (lake, plan, serviceNow) => {
        const { api, pipelines } = left(lake);
        const unsynced = pipelines.map(({ name }) => name).join(', ');
        const about = {
          subject: `with ${unsynced}, which this sync did not load, it`,
          remedy: `add --api ${api}, ${allowMore}`,
        };
        const loads = new Set(plan.pipelines.map(({ name }) => name));
        const lacking = plan.job.requested.filter(
          ({ pipeline, loadKey }) =>
            loadKey !== undefined && loads.has(pipeline) && !lake.snapshot.keysOf(account, pipeline).has(loadKey),
        );
        const unfinished = [...new Set(lacking.map(({ pipeline }) => pipeline))];
        return (
          lagFailure(freshnessFor(lake, plan, windowed), maxLagMs, serviceNow, { unfinished }) ??
          lagFailure(freshness(lake, plan), maxLagMs, serviceNow, about)
        );
      },
      result: async (loaded) => {
        for (const [pipeline, slices] of committed) await inTurns?.read(pipeline, slices);
        return endSync(loaded, freshness(loaded.lake, loaded.plan), maxLagMs, emit);
      },
    },
    inTurns === undefined ? context : { ...context, emit: collectingSlices(committed, emit) },
  );
}

/** The pipeline of settlement reports, where a sync without named pipelines loads them too: always where one was taken out. */
function reportsToSync(
  lake: Lake,
  account: string,
  { pipelines, settlementReports }: SyncCommand,
  unfinished: readonly RequestedRange[],
): readonly FinancesPipeline[] {
  const isTakenOut = unfinished.some(({ pipeline }) => pipeline === roles.reports.name);
  const isRequested = isTakenOut || (settlementReports ?? isLoadedFromApi(lake, roles.reports, account));
  return isRequested && pipelines.length === 0 ? [roles.reports] : [];
}

/** What a sync loads, planned by the state of its lake. */
interface SyncLoad extends LoadPlan {
  readonly job: SyncJob;
  readonly lookBack: LookBack;
  /** Look-backs of earlier runs. */
  readonly lookBacks: LookBacks;
  /** What a pipeline has to load, by its name, in order. */
  readonly missing: ReadonlyMap<string, readonly Window[]>;
  /** Days that are read again, by the pipeline's name. */
  readonly days: ReadonlyMap<string, number>;
  /** Whether any window is read that was loaded before. */
  readonly isRereading: boolean;
  /** Whether there was no lake yet. */
  readonly isBegun: boolean;
}

interface SyncQuestion extends Pick<SyncLoad, 'lookBack' | 'lookBacks'> {
  /** Pipelines with windows, whose gaps and look-backs decide. */
  readonly windowed: readonly FinancesPipeline[];
  /** The pipelines that this run loads. */
  readonly chosen: readonly FinancesPipeline[];
  /** Ranges that the command line or the configuration requests. */
  readonly configured: readonly RequestedRange[];
  /** The job as far as it doesn't depend on what is loaded. */
  readonly given: Omit<SyncJob, 'range' | 'lookBackFrom'>;
  /** The end of the range, milliseconds since 1970. */
  readonly end: number;
}

/** Plans what pipelines load and read again, and reports the gaps that remain. */
function planSync(question: SyncQuestion, emit: Emit): SyncLoad {
  const { windowed, chosen, configured, given, end, lookBack, lookBacks } = question;
  const { account, lake, now, requested } = given;
  const missing = new Map<string, readonly Window[]>();
  const days = new Map<string, number>();
  let isRereading = false;
  for (const pipeline of windowed) {
    const { name } = pipeline;
    const loaded = loadedWindows(lake, name, account);
    const windows = missingWindows(loaded, end, requestedOf(requested, name));
    const daysBack = pipelineLookBackDays(lake, account, pipeline, { lookBack, lookBacks, end, now });
    missing.set(name, windows);
    days.set(name, daysBack);
    isRereading ||= loaded.length > 0 && daysBack > 0;
    for (const gap of olderGaps(loaded, windows)) {
      emit({ event: 'gap-left', pipeline: name, from: dateOrInstant(gap.start), to: dateOrInstant(gap.end) });
    }
  }
  const lookBackFrom = (pipeline: string) => end - (days.get(pipeline) ?? 0) * dayMs;
  // Of few days all that the service keeps is read.
  for (const { name, keptDays } of chosen) if (keptDays !== undefined) days.set(name, keptDays);
  const start = Math.min(end, ...[...missing.values()].flatMap(([first]) => first?.start ?? []));
  const job: SyncJob = { ...given, range: { start, end }, lookBackFrom };
  return {
    pipelines: chosen,
    job,
    lookBack,
    lookBacks,
    missing,
    days,
    isRereading,
    isBegun: lake.snapshot.isEmpty,
    requested: [...configured, ...initialRanges(chosen, job, missing)],
  };
}

function lagSeconds(freshness: Freshness | undefined, now: number): number | null {
  return freshness === undefined ? null : Math.round((now - freshness.coveredTo) / 1000);
}

/** Notes the look-backs of a sync. Returns its result. */
async function endSync(
  { lake, plan, report, findings, now }: Loaded<SyncLoad>,
  freshness: Freshness | undefined,
  maxLagMs: number | undefined,
  emit: Emit,
): Promise<CommandResult<SyncSummary>> {
  // A refused empty answer counts as read, and so does a run whose lake is older than allowed.
  const isRead = report.summaries.length > 0 && !isIncomplete(report.failure);
  if (isRead) await noteLookBacks(lake, report.account, plan, emit);
  const found = findingsText(findings);
  const unchanged = isRead && plan.isRereading ? 'Nothing has changed in what was read again\n' : '';
  const texts = [summaryText(report), found === '' ? unchanged : found, lagText(report, freshness, now)];
  // The failure of a completed run reports the lag itself.
  const late = isIncomplete(report.failure)
    ? lagFailure(freshness, maxLagMs, now, { remedy: 'the failure that ended this run is why' })
    : undefined;
  if (late !== undefined) emit({ event: 'lake-lags', reason: late.message });
  return {
    text: texts.filter((text) => text !== '').join('\n'),
    summary: {
      ...summaryObject(report),
      ...findingsObject(findings),
      lag_seconds: lagSeconds(freshness, now),
      lake_begun: plan.isBegun,
    },
  };
}

/**
 * The ranges of pipelines without a load. They are noted because, once some of such a range is loaded, nothing else shows that
 * windows before it are missing.
 */
function initialRanges(
  chosen: readonly FinancesPipeline[],
  { lake, account, range, requested }: SyncJob,
  missing: SyncLoad['missing'],
): RequestedRange[] {
  return withNeeds(chosen).flatMap((pipeline): RequestedRange[] => {
    const { name, slicing } = pipeline;
    const { loadKeyKind, coverage } = slicing;
    const isBegun =
      loadKeyKind === 'window'
        ? loadedWindows(lake, name, account).length > 0
        : lake.snapshot.keysOf(account, name).size > 0;
    if (coverage === undefined || isBegun) return [];
    const windows = missing.get(name) ?? missingWindows([], range.end, requestedOf(requested, name));
    return windows.map((window) => ({ command: 'sync', pipeline: name, ...window }));
  });
}

/** Pipelines that are loaded, and that a sync leaves out, as they are of another API. */
interface LeftPipelines {
  readonly pipelines: readonly FinancesPipeline[];
  /** The API whose sync loads all of them. */
  readonly api: Api;
}

const nothingLeft: LeftPipelines = { pipelines: [], api: 'both' };

/** @param names of the pipelines that the sync loads */
function leftPipelines(lake: Lake, account: string, names: ReadonlySet<string>): LeftPipelines {
  const loaded = defaultPipelines.both.filter(({ name }) => lake.snapshot.keysOf(account, name).size > 0);
  const loadsAll = (api: Api) => loaded.every((pipeline) => defaultPipelines[api].includes(pipeline));
  const api = apiNames.find((name) => name !== defaultApi && loadsAll(name)) ?? 'both';
  return { pipelines: loaded.filter(({ name }) => !names.has(name)), api };
}

/** Emits each event, and collects the committed slices by pipeline. */
function collectingSlices(slices: Map<string, string[]>, emit: Emit): Emit {
  return (event) => {
    emit(event);
    if (event.event !== 'slice-committed') return;
    const { pipeline, slice } = event;
    const committed = slices.get(pipeline) ?? [];
    committed.push(slice);
    slices.set(pipeline, committed);
  };
}

/** Whether a run failed before it was complete. */
function isIncomplete(failure: unknown): boolean {
  return failure !== undefined && codeOf(failure) !== 'LAKE_LAG';
}

/** Notes the look-backs of this run. */
async function noteLookBacks(
  lake: Lake,
  account: string,
  { job: { now }, lookBacks: earlier, lookBack, days }: SyncLoad,
  emit: Emit,
): Promise<void> {
  const lookBacks = new Map(earlier);
  for (const [pipeline, back] of days) {
    const reached =
      typeof lookBack === 'number'
        ? [lookBack]
        : lookBack.flatMap((rule) => (rule.everyDays > 0 && rule.days <= back ? rule.days : []));
    if (reached.length === 0) continue;
    const noted = reached.map((reachedDays) => [reachedDays, now] as const);
    lookBacks.set(pipeline, new Map([...(lookBacks.get(pipeline) ?? []), ...noted]));
  }
  try {
    await writeLookBacks(lake.store, account, lookBacks);
  } catch (error) {
    emit({ event: 'note-not-written', note: 'look-back', reason: messageOf(error) });
  }
}
