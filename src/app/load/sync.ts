import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { Lake } from '../../lake/lake.js';
import { codeOf, messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { latestBound, readDateRange } from '../configuration/range.js';
import { withProvisionalSummary } from '../provisional-summary.js';
import { summaryObject, summaryText } from './run-summary.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import type { Window } from '../../core/windows.js';
import { missingWindows, olderGaps } from '../../engine/slicing/sync-windows.js';
import { freshnessOf, lagFailure, lagText, readMaxLag, type Freshness } from './freshness.js';
import { runSettings } from '../configuration/setting-definitions.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { readLookBacks, writeLookBacks } from './look-back.js';
import {
  pipelineLookBackDays,
  syncedPipelines,
  windowedOf,
  type SyncPlan,
  type SyncInTurns,
} from './synced-pipelines.js';
import { defaultPipelines } from '../../../pipelines/all-pipelines.js';
import { settlementReportsPipeline } from '../../../pipelines/settlement-reports.js';
import { keptReportDays } from '../../sources/finances/settlement-reports/report-operations.js';
import { areReportsLoaded } from '../../sources/finances/settlement-reports/report-slicing.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { configuredRanges } from '../coverage/unfinished-ranges.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { apiNames, defaultApi, type Api } from '../../sources/finances/finances-apis.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import type { SyncSummary } from '../results.js';
import { readJob } from './load-job.js';
import { load, type Loaded, type LoadOptions } from './load.js';

export interface SyncOptions extends LoadOptions, OptionalSettings<'from' | 'lookBackRules' | 'settlementReports'> {
  /** Set where the run is one of several that make up a sync; left out: the run is the whole sync. */
  readonly inTurns?: SyncInTurns;
}

/**
 * `ledgerlake sync`: loads what is new since the newest loaded instant, reads again what may have changed since, and reports
 * the changes. Each pipeline's `sync` decides what it reads.
 *
 * @throws LedgerlakeError USAGE before anything is changed; FailedRun with UPSTREAM_EMPTY where the answer for a window with rows
 * is empty, UPSTREAM_ACCOUNT where the answers are another account's, LAKE_LAG where the lake is older than allowed, or the
 * failure that ended the run
 */
export async function sync(options: SyncOptions, given: RunContext): Promise<CommandResult<SyncSummary>> {
  const { clock } = given;
  const { inTurns } = options;
  const job = readJob(options);
  const { account, pipelines: named, marginMinutes } = job;
  const maxLagMs = readMaxLag(options.maxLag, marginMinutes);
  const now = inTurns?.began ?? clock.now();
  const end = latestBound(now, marginMinutes);
  const from =
    options.from === undefined ? undefined : readDateRange({ from: options.from, to: undefined, marginMinutes }, now);
  const names = new Set(withNeeds(named).map(({ name }) => name));
  const windowed = windowedOf(named).filter(({ name }) => names.has(name));
  let planned = unplanned(options, now, end);
  let opened: Lake | undefined;
  const freshness = (lake: Lake) =>
    freshnessOf(lake, account, windowed, (name, loaded) => planned.missing.get(name) ?? missingWindows(loaded, end));
  const known = { account, lake: options.lake, from: null, to: end };
  const context = withProvisionalSummary(given, known, () => ({
    ...(planned.missing.size > 0 && { from: isoInstant(startOf(planned)) }),
    lag_seconds: opened === undefined ? null : lagSeconds(freshness(opened), clock.now()),
  }));
  const { emit } = context;
  const committed = new Map<string, string[]>();
  return load(
    {
      command: 'sync',
      options,
      job,
      refresh: true,
      opened: (lake) => {
        opened = lake;
      },
      plan: async (lake, unfinished) => {
        if (options.pipelines.length === 0 && options.api === undefined)
          emitUnsyncedPipelines(lake, account, names, emit);
        const configured = from === undefined ? [] : await configuredRanges(lake, account, [...names], from);
        const requested = [...unfinished, ...configured];
        planned = await planSync(lake, account, windowed, { ...planned.plan, unfinished: requested }, emit);
        const chosen = [...named, ...reportsToSync(lake, account, options)];
        if (chosen.includes(settlementReportsPipeline)) {
          // It reads all that the service keeps.
          const days = new Map([...planned.days, [settlementReportsPipeline.name, keptReportDays]]);
          planned = { ...planned, days };
        }
        return {
          pipelines: syncedPipelines(chosen, planned.plan),
          range: { start: startOf(planned), end },
          asked: [...configured, ...initialRanges(lake, account, chosen, planned)],
          unfinished: requested,
        };
      },
      judge: (lake, serviceNow) => lagFailure(freshness(lake), maxLagMs, serviceNow),
      result: async (loaded) => {
        for (const [pipeline, slices] of committed) await inTurns?.read(pipeline, slices);
        return endSync(loaded, { planned, freshness: freshness(loaded.lake), maxLagMs }, emit);
      },
    },
    inTurns === undefined ? context : { ...context, emit: collectingSlices(committed, emit) },
  );
}

/** The pipeline of settlement reports, where a sync without named pipelines loads them too. */
function reportsToSync(
  lake: Lake,
  account: string,
  { pipelines, settlementReports }: SyncOptions,
): readonly FinancesPipeline[] {
  const isAsked = settlementReports ?? areReportsLoaded(lake, account);
  return isAsked && pipelines.length === 0 ? [settlementReportsPipeline] : [];
}

/** What a sync reads, planned by the state of its lake. */
interface PlannedSync {
  readonly plan: SyncPlan;
  /** What a pipeline has to load, by its name, in order. */
  readonly missing: ReadonlyMap<string, readonly Window[]>;
  /** Days that are read again, by the pipeline's name. */
  readonly days: ReadonlyMap<string, number>;
  /** Whether any window is read that was loaded before. */
  readonly isRereading: boolean;
}

/** A sync before its lake is open. */
function unplanned(
  { lookBack, lookBackRules: rules = runSettings.lookBack.default, inTurns }: SyncOptions,
  now: number,
  end: number,
): PlannedSync {
  const plan: SyncPlan = {
    ...{ end, now, lookBack, rules, isInTurns: inTurns !== undefined },
    lookBacks: new Map(),
    unfinished: [],
    wasRead: (pipeline, slice) => inTurns?.wasRead(pipeline, slice) === true,
  };
  return { plan, missing: new Map(), days: new Map(), isRereading: false };
}

/** Plans what windowed pipelines load and read again, and reports the gaps that remain. */
async function planSync(
  lake: Lake,
  account: string,
  windowed: readonly FinancesPipeline[],
  initial: SyncPlan,
  emit: Emit,
): Promise<PlannedSync> {
  const plan = { ...initial, lookBacks: await readLookBacks(lake.store, account) };
  const missing = new Map<string, readonly Window[]>();
  const days = new Map<string, number>();
  let isRereading = false;
  for (const pipeline of windowed) {
    const { name } = pipeline;
    const loaded = loadedWindows(lake, name, account);
    const asked = plan.unfinished.filter((range) => range.pipeline === name);
    const windows = missingWindows(loaded, plan.end, asked);
    const lookBack = pipelineLookBackDays(lake, account, pipeline, plan);
    missing.set(name, windows);
    days.set(name, lookBack);
    isRereading ||= loaded.length > 0 && lookBack > 0;
    for (const gap of olderGaps(loaded, windows)) {
      emit({ event: 'gap-left', pipeline: name, from: dateOrInstant(gap.start), to: dateOrInstant(gap.end) });
    }
  }
  return { plan, missing, days, isRereading };
}

function startOf({ plan, missing }: PlannedSync): number {
  return Math.min(plan.end, ...[...missing.values()].flatMap(([first]) => first?.start ?? []));
}

function lagSeconds(freshness: Freshness | undefined, now: number): number | null {
  return freshness === undefined ? null : Math.round((now - freshness.coveredTo) / 1000);
}

interface SyncEnd {
  readonly planned: PlannedSync;
  readonly freshness: Freshness | undefined;
  readonly maxLagMs: number | undefined;
}

/** Notes the look-backs of a sync. Returns its result. */
async function endSync(
  { lake, report, findings, now }: Loaded,
  { planned, freshness, maxLagMs }: SyncEnd,
  emit: Emit,
): Promise<CommandResult<SyncSummary>> {
  // A refused empty answer counts as read, and so does a run whose lake is older than allowed.
  const isRead = report.summaries.length > 0 && !isIncomplete(report.failure);
  if (isRead) await noteLookBacks(lake, report.account, planned, emit);
  const found = findingsText(findings);
  const unchanged = isRead && planned.isRereading ? 'Nothing has changed in what was read again\n' : '';
  const texts = [summaryText(report), found === '' ? unchanged : found, lagText(report, freshness, now)];
  // The failure of a completed run reports the lag itself.
  const late = isIncomplete(report.failure)
    ? lagFailure(freshness, maxLagMs, now, { remedy: 'the failure that ended this run is why' })
    : undefined;
  if (late !== undefined) emit({ event: 'lake-lags', reason: late.message });
  return {
    text: texts.filter((text) => text !== '').join('\n'),
    summary: { ...summaryObject(report), ...findingsObject(findings), lag_seconds: lagSeconds(freshness, now) },
  };
}

/**
 * The ranges of pipelines without a load. They are noted because, once some of such a range is loaded, nothing else shows that
 * windows before it are missing.
 */
function initialRanges(
  lake: Lake,
  account: string,
  chosen: readonly FinancesPipeline[],
  { plan: { unfinished, end }, missing }: PlannedSync,
): RequestedRange[] {
  return withNeeds(chosen).flatMap((pipeline): RequestedRange[] => {
    const { name, loadKeyKind, coverage } = pipeline;
    const isBegun =
      loadKeyKind === 'window' ? loadedWindows(lake, name, account).length > 0 : lake.loadKeys(name, account).size > 0;
    if (coverage === undefined || isBegun) return [];
    const asked = unfinished.filter((range) => range.pipeline === name);
    const windows = missing.get(name) ?? missingWindows([], end, asked);
    return windows.map((window) => ({ command: 'sync', pipeline: name, ...window }));
  });
}

/** Warns of loaded pipelines that this sync does not load, as they are not of its API. */
function emitUnsyncedPipelines(lake: Lake, account: string, names: ReadonlySet<string>, emit: Emit): void {
  const isLoaded = (pipeline: FinancesPipeline) => lake.loadKeys(pipeline.name, account).size > 0;
  const loaded = defaultPipelines.both.filter(isLoaded);
  const unsynced = loaded.flatMap(({ name }) => (names.has(name) ? [] : [name]));
  const loadsAll = (api: Api) => loaded.every((pipeline) => defaultPipelines[api].includes(pipeline));
  const api = apiNames.find((name) => name !== defaultApi && loadsAll(name)) ?? 'both';
  if (unsynced.length > 0) emit({ event: 'api-left', account, pipelines: unsynced, api });
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

/** Notes the look-backs of this run; a look-back covers every shorter one. */
async function noteLookBacks(
  lake: Lake,
  account: string,
  { plan: { lookBacks: earlier, rules, now }, days }: PlannedSync,
  emit: Emit,
): Promise<void> {
  const lookBacks = new Map(earlier);
  for (const [pipeline, back] of days) {
    const reached = rules.filter((rule) => rule.everyDays > 0 && rule.days <= back);
    if (reached.length === 0) continue;
    const noted = reached.map(({ days: reachedDays }) => [reachedDays, now] as const);
    lookBacks.set(pipeline, new Map([...(lookBacks.get(pipeline) ?? []), ...noted]));
  }
  try {
    await writeLookBacks(lake.store, account, lookBacks);
  } catch (error) {
    emit({ event: 'note-not-written', note: 'look-back', reason: messageOf(error) });
  }
}
