import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { Lake } from '../../lake/lake.js';
import { codeOf, messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { latestBound } from '../configuration/range.js';
import { provisionalSummary } from '../provisional-summary.js';
import { summaryObject, summaryText } from './run-summary.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import type { Window } from '../../core/windows.js';
import { instantText } from '../command-text.js';
import { mainTable } from '../../engine/slicing/slicing.js';
import { olderGaps, syncRange } from '../../engine/slicing/sync-windows.js';
import { lagFailure, lagText, lakeCoveredTo, readMaxLag } from '../sync/freshness.js';
import { defaultLookBack, type LookBackRule, readLookBacks, writeLookBacks } from '../sync/look-back.js';
import {
  pipelineLookBackDays,
  syncedPipelines,
  windowedOf,
  type SyncPlan,
  type SyncInTurns,
} from '../sync/synced-pipelines.js';
import { defaultPipelines } from '../../../pipelines/all-pipelines.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { RunContext } from '../context.js';
import { readJob } from './load-job.js';
import { load, type Loaded, type LoadOptions } from './load.js';

export interface SyncOptions extends LoadOptions {
  /** Days that are read again, whatever the schedule says; undefined: what the schedule says. */
  readonly lookBack: number | undefined;
  /** How old the lake may be after the run, such as `2h`; undefined: as old as it gets. */
  readonly maxLag: string | undefined;
  readonly rules?: readonly LookBackRule[];
  /** This run is one of several that make a sync; left out: it is all of it. */
  readonly inTurns?: SyncInTurns;
}

/**
 * `ledgerlake sync`: loads what is new since the newest loaded instant, reads again what may have changed since, and reports
 * what has. Each pipeline's `sync` decides what that is.
 *
 * @throws LedgerlakeError USAGE before anything is touched, UPSTREAM_EMPTY where a window came back empty that held rows,
 * UPSTREAM_ACCOUNT where the answers are another account's,
 * LAKE_LAG where the lake is older than it may be, or the failure that ended the run, its summary printed
 */
export async function sync(options: SyncOptions, context: RunContext): Promise<void> {
  const { clock, emit } = context;
  const { inTurns } = options;
  const job = readJob(options);
  const { account, pipelines: chosen, marginMinutes } = job;
  const maxLagMs = readMaxLag(options.maxLag, marginMinutes);
  const now = inTurns?.began ?? clock.now();
  const end = latestBound(now, marginMinutes);
  const names = new Set(withNeeds(chosen).map(({ name }) => name));
  const windowed = windowedOf(chosen).filter(({ name }) => names.has(name));
  let planned = unplanned(options, now, end);
  let opened: Lake | undefined;
  const covered = (lake: Lake) => lakeCoveredTo(lake, account, windowed, planned.ranges, end);
  const known = provisionalSummary({ account, lake: options.lake, from: null, to: end }, clock);
  context.setProvisionalSummary?.(() => ({
    ...known(),
    ...(planned.ranges.size > 0 && { from: isoInstant(startOf(planned)) }),
    lag_seconds: opened === undefined ? null : lagSeconds(covered(opened), clock.now()),
  }));

  const read = new Map<string, string[]>();
  await load(
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
        planned = await planSync(lake, account, windowed, { ...planned.plan, unfinished }, emit);
        return {
          pipelines: syncedPipelines(chosen, planned.plan),
          range: { start: startOf(planned), end },
          asked: initialRanges(lake, account, chosen, planned),
        };
      },
      judge: (lake) => lagFailure(covered(lake), maxLagMs, clock.now()),
      present: async (loaded) => {
        for (const [pipeline, slices] of read) {
          // Some wait for the rest of a damaged file, and aren't in the lake: all are read again.
          if (loaded.lake.missingLoads(pipeline, account) === undefined) await inTurns?.read(pipeline, slices);
        }
        await presentSync(loaded, { planned, covered: covered(loaded.lake), maxLagMs }, context);
      },
    },
    inTurns === undefined ? context : { ...context, emit: collectingSlices(read, emit) },
  );
}

/** What a sync reads, once it knows its lake. */
interface PlannedSync {
  readonly plan: SyncPlan;
  /** What is loaded, by pipeline. */
  readonly ranges: ReadonlyMap<string, Window>;
  /** Days that are read again, by pipeline. */
  readonly days: ReadonlyMap<string, number>;
  /** Whether any of it has been read before. */
  readonly isRereading: boolean;
}

/** A sync that doesn't know its lake yet. */
function unplanned({ lookBack, rules = defaultLookBack, inTurns }: SyncOptions, now: number, end: number): PlannedSync {
  const plan: SyncPlan = {
    ...{ end, now, lookBack, rules, isInTurns: inTurns !== undefined },
    lookBacks: new Map(),
    unfinished: [],
    wasRead: (pipeline, slice) => inTurns?.wasRead(pipeline, slice) === true,
  };
  return { plan, ranges: new Map(), days: new Map(), isRereading: false };
}

/** Plans what pipelines with dates load and read again, and reports the gaps that stay. */
async function planSync(
  lake: Lake,
  account: string,
  windowed: readonly FinancesPipeline[],
  begun: SyncPlan,
  emit: Emit,
): Promise<PlannedSync> {
  const plan = { ...begun, lookBacks: await readLookBacks(lake.store, account) };
  const ranges = new Map<string, Window>();
  const days = new Map<string, number>();
  let isRereading = false;
  for (const one of windowed) {
    const { name: pipeline } = one;
    const loaded = loadedWindows(lake, pipeline, mainTable(one).name, account);
    const asked = plan.unfinished.filter((range) => range.pipeline === pipeline);
    const range = syncRange(loaded, plan.end, asked);
    const lookBack = pipelineLookBackDays(lake, account, one, plan);
    ranges.set(pipeline, range);
    days.set(pipeline, lookBack);
    isRereading ||= loaded.length > 0 && lookBack > 0;
    for (const gap of olderGaps(loaded, range, asked)) {
      emit({ event: 'gap-left', pipeline, from: instantText(gap.start), to: instantText(gap.end) });
    }
  }
  return { plan, ranges, days, isRereading };
}

function startOf({ plan, ranges }: PlannedSync): number {
  return Math.min(plan.end, ...[...ranges.values()].map(({ start }) => start));
}

function lagSeconds(covered: number | undefined, now: number): number | null {
  return covered === undefined ? null : Math.round((now - covered) / 1000);
}

interface SyncEnd {
  readonly planned: PlannedSync;
  /** Up to which instant the lake holds everything. */
  readonly covered: number | undefined;
  readonly maxLagMs: number | undefined;
}

/** Notes the look-backs of a sync, and prints what came of it. */
async function presentSync(
  { lake, report, findings }: Loaded,
  { planned, covered, maxLagMs }: SyncEnd,
  { clock, emit, print, printJson }: RunContext,
): Promise<void> {
  // A window that came back empty was looked at as well; what the lake's age is has nothing to do with it.
  const isRead = report.summaries.length > 0 && !isBroken(report.failure);
  if (isRead) await noteLookBacks(lake, report.account, planned, emit);
  print(summaryText(report));
  const found = findingsText(findings);
  if (found !== '') print(found);
  else if (isRead && planned.isRereading) print('Nothing has changed in what was read again\n');
  const lag = lagText(covered, clock.now());
  if (lag !== '') print(lag);
  // Of a run that came to its end the failure itself says so.
  const late = isBroken(report.failure)
    ? lagFailure(covered, maxLagMs, clock.now(), { remedy: 'the failure that ended this run is why' })
    : undefined;
  if (late !== undefined) emit({ event: 'lake-lags', reason: late.message });
  printJson(summaryObject(report, { ...findingsObject(findings), lag_seconds: lagSeconds(covered, clock.now()) }));
}

/**
 * The ranges of pipelines of which nothing is loaded. They are noted: once some of such a range is loaded, nothing else shows what
 * lacks before it.
 */
function initialRanges(
  lake: Lake,
  account: string,
  chosen: readonly FinancesPipeline[],
  { plan: { unfinished, end }, ranges }: PlannedSync,
): RequestedRange[] {
  return withNeeds(chosen).flatMap((pipeline): RequestedRange[] => {
    const { name, loadKey, coverage } = pipeline;
    const table = mainTable(pipeline).name;
    const isBegun =
      loadKey === 'window'
        ? loadedWindows(lake, name, table, account).length > 0
        : lake.loadKeys(name, table, account).size > 0;
    if (coverage === undefined || isBegun) return [];
    const asked = unfinished.filter((range) => range.pipeline === name);
    return [{ command: 'sync', pipeline: name, ...(ranges.get(name) ?? syncRange([], end, asked)) }];
  });
}

/** Warns of loaded pipelines that neither the default API nor an option makes this sync load. */
function emitUnsyncedPipelines(lake: Lake, account: string, names: ReadonlySet<string>, emit: Emit): void {
  const isLoaded = (pipeline: FinancesPipeline) =>
    lake.loadKeys(pipeline.name, mainTable(pipeline).name, account).size > 0;
  const loaded = defaultPipelines.both.filter(isLoaded);
  const unsynced = loaded.flatMap(({ name }) => (names.has(name) ? [] : [name]));
  const isOfV0 = loaded.some((pipeline) => !defaultPipelines['2024-06-19'].includes(pipeline));
  if (unsynced.length > 0)
    emit({ event: 'api-left', account, pipelines: unsynced, api: isOfV0 ? 'both' : '2024-06-19' });
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

/** Whether a run ended before it was done. */
function isBroken(failure: unknown): boolean {
  return failure !== undefined && codeOf(failure) !== 'LAKE_LAG';
}

/** Notes how far back was read, which covers every shorter look-back as well. */
async function noteLookBacks(
  lake: Lake,
  account: string,
  { plan: { lookBacks: done, rules, now }, days }: PlannedSync,
  emit: Emit,
): Promise<void> {
  const lookBacks = new Map(done);
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
