import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { Lake } from '../../lake/lake.js';
import { messageOf } from '../../core/errors.js';
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
import type { AskedRange } from '../../lake/upkeep/asked-ranges.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { RunContext } from '../context.js';
import { readJob } from './load-job.js';
import { load, type LoadOptions } from './load.js';

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
  const { clock, print, printJson, emit } = context;
  const { inTurns } = options;
  const job = readJob(options);
  const { account, pipelines: chosen, marginMinutes } = job;
  const maxLagMs = readMaxLag(options.maxLag, marginMinutes);
  const now = inTurns?.began ?? clock.now();
  const end = latestBound(now, marginMinutes);
  const names = new Set(chosen.flatMap(({ name, needs = [] }) => [name, ...needs.map((needed) => needed.name)]));
  const used = windowedOf(chosen).filter(({ name }) => names.has(name));
  const ranges = new Map<string, Window>();
  const days = new Map<string, number>();
  let plan: SyncPlan = {
    end,
    now,
    lookBack: options.lookBack,
    rules: options.rules ?? defaultLookBack,
    lookBacks: new Map(),
    unfinished: [],
    isInTurns: inTurns !== undefined,
    wasRead: (pipeline, slice) => inTurns?.wasRead(pipeline, slice) === true,
  };
  const read = new Map<string, string[]>();
  /** Whether any of it has been read before. */
  let isRereading = false;
  const covered = (lake: Lake) => lakeCoveredTo(lake, account, used, ranges, end);
  const lagSeconds = (lake: Lake): number | null => {
    const at = covered(lake);
    return at === undefined ? null : Math.round((clock.now() - at) / 1000);
  };
  let opened: Lake | undefined;
  const startOf = (): number => Math.min(end, ...[...ranges.values()].map(({ start }) => start));
  const known = provisionalSummary({ account, lake: options.lake, from: null, to: end }, clock);
  context.setProvisionalSummary?.(() => ({
    ...known(),
    ...(ranges.size > 0 && { from: isoInstant(startOf()) }),
    lag_seconds: opened === undefined ? null : lagSeconds(opened),
  }));

  await load(
    {
      command: 'sync',
      options,
      job,
      refresh: true,
      plan: async (lake, unfinished) => {
        if (options.pipelines.length === 0 && options.api === undefined)
          emitUnsyncedPipelines(lake, account, names, emit);
        plan = { ...plan, unfinished, lookBacks: await readLookBacks(lake.store, account) };
        for (const windowed of used) {
          const { name: pipeline } = windowed;
          const loaded = loadedWindows(lake, pipeline, mainTable(windowed).name, account);
          const asked = unfinished.filter((range) => range.pipeline === pipeline);
          const range = syncRange(loaded, end, asked);
          ranges.set(pipeline, range);
          days.set(pipeline, pipelineLookBackDays(lake, account, windowed, plan));
          isRereading ||= loaded.length > 0 && (days.get(pipeline) ?? 0) > 0;
          for (const gap of olderGaps(loaded, range, asked)) {
            emit({ event: 'gap-left', pipeline, from: instantText(gap.start), to: instantText(gap.end) });
          }
        }
        const loadState = { lake, account, ranges, unfinished, end };
        return {
          pipelines: syncedPipelines(chosen, plan),
          range: { start: startOf(), end },
          asked: initialRanges(chosen, loadState),
        };
      },
      opened: (lake) => {
        opened = lake;
      },
      judge: (lake) => lagFailure(covered(lake), maxLagMs, clock.now()),
      present: async ({ lake, report, findings }) => {
        for (const [pipeline, slices] of read) {
          // Some wait for the rest of a damaged file, and aren't in the lake: all are read again.
          if (lake.missingLoads(pipeline, report.account) === undefined) await inTurns?.read(pipeline, slices);
        }
        const at = covered(lake);
        // A window that came back empty was looked at as well; what the lake's age is has nothing to do with it.
        const isRead = report.summaries.length > 0 && !isBroken(report.failure);
        if (isRead) await noteLookBacks(lake, report.account, plan, days, emit);
        print(summaryText(report));
        const found = findingsText(findings);
        if (found !== '') print(found);
        else if (isRead && isRereading) print('Nothing has changed in what was read again\n');
        const lag = lagText(at, clock.now());
        if (lag !== '') print(lag);
        // Of a run that came to its end the failure itself says so.
        const late = isBroken(report.failure)
          ? lagFailure(at, maxLagMs, clock.now(), { remedy: 'the failure that ended this run is why' })
          : undefined;
        if (late !== undefined) emit({ event: 'lake-lags', reason: late.message });
        printJson(summaryObject(report, { ...findingsObject(findings), lag_seconds: lagSeconds(lake) }));
      },
    },
    inTurns === undefined ? context : { ...context, emit: collectingSlices(read, emit) },
  );
}

/**
 * What a sync is asked for of pipelines of which nothing is loaded: once some of it is, what lies before that could be told by
 * nothing else.
 */
function initialRanges(
  chosen: readonly FinancesPipeline[],
  {
    lake,
    account,
    ranges,
    unfinished,
    end,
  }: {
    readonly lake: Lake;
    readonly account: string;
    readonly ranges: ReadonlyMap<string, Window>;
    readonly unfinished: readonly AskedRange[];
    readonly end: number;
  },
): AskedRange[] {
  return withNeeds(chosen).flatMap((pipeline): AskedRange[] => {
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

/** Whether a run didn't come to its end. */
function isBroken(failure: unknown): boolean {
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  return failure !== undefined && code !== 'LAKE_LAG';
}

/** Notes how far back was read, which covers every shorter look-back as well. */
async function noteLookBacks(
  lake: Lake,
  account: string,
  { lookBacks: done, rules, now }: SyncPlan,
  days: ReadonlyMap<string, number>,
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
