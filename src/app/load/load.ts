import { emitDamage, emitOtherRuns, type RunContext } from '../context.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { tuneForSeconds } from '../../core/v8-flags.js';
import type { Emit } from '../../core/events/run-event.js';
import { exportAfterRun, type ExportOptions } from '../export/export-after-run.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { noUpstream, type FinancesPipeline, type FinancesUpstream } from '../../sources/finances/connect-finances.js';
import { verdictOn } from '../../sources/finances/selling-partner/refusals.js';
import { type Findings, emptyFailure, isOtherAccount } from '../reconcile/findings.js';
import { EventRevisions } from '../reconcile/reconcile-slice.js';
import { begunTables, describeTables, describedTables } from '../../lake/table-descriptions.js';
import { Lake } from '../../lake/lake.js';
import { noteAskedRanges, readAskedRanges, type AskedRange } from '../../lake/upkeep/asked-ranges.js';
import { acquireLease } from '../../lake/upkeep/leases.js';
import { refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { splitter } from '../maintenance/split.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';
import { demoAccount, refuseMixing } from '../configuration/account.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { noteRun, type RunReport } from './run-summary.js';
import { refuseChanged, withLaterColumns } from '../../sources/custom/custom-table.js';
import { runPipelines } from '../../engine/run/runner.js';
import type { Window } from '../../core/windows.js';
import { emittingWatermarks } from '../sync/freshness.js';
import { leftOutDays, leftOutText } from '../query/left-out-days.js';
import { isLoaded, unfinishedRanges } from '../verify/checks/unfinished-ranges.js';
import { windowedOf } from '../sync/synced-pipelines.js';
import {
  customAddress,
  noUncommittedPages,
  withCustomConnections,
  withUpstream,
  type UncommittedPages,
  type UpstreamOptions,
} from './connections.js';
import { mainTable } from '../../engine/slicing/slicing.js';
import type { CustomPipeline } from '../../sources/custom/custom-pipeline.js';
import type { LoadJob, JobOptions } from './load-job.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** What `backfill` and `sync` have in common. */
export interface LoadOptions extends UpstreamOptions, JobOptions, Pick<ExportOptions, 'export'> {
  /** Takes it that what held rows is empty now. */
  readonly acceptEmpty?: boolean;
  /** How many hours files stay that the run replaces; undefined: as the lake has it. */
  readonly retentionHours?: number | undefined;
  /** Files with secrets that everybody on this machine can read. */
  readonly exposed?: readonly string[] | undefined;
  /** In the place of the one that `lake` names. */
  readonly store?: Store;
}

/** What is to be loaded. */
interface LoadPlan {
  readonly pipelines: readonly FinancesPipeline[];
  readonly range: Window;
  /** Ranges whose absence the next sync could not notice, should this run leave them open. */
  readonly asked: readonly AskedRange[];
}

/** A run that has ended. */
interface Loaded {
  readonly lake: Lake;
  readonly report: RunReport;
  readonly findings: Findings;
}

interface Load {
  /** Which command it is, for the note that the run leaves. */
  readonly command: string;
  readonly options: LoadOptions;
  readonly job: LoadJob;
  /** Whether something that the lake holds is read again. */
  readonly refresh: boolean;
  /** Takes the lake as soon as it is open. */
  readonly opened?: (lake: Lake) => void;
  /** What to load, given the lake as it is once the run holds its lease, and what earlier runs were asked for and isn't loaded. */
  readonly plan: (lake: Lake, unfinished: readonly AskedRange[]) => LoadPlan | Promise<LoadPlan>;
  /** What is wrong with the lake after a run that came to its end; undefined where nothing is. */
  readonly judge?: (lake: Lake) => LedgerlakeError | undefined;
  /** Prints what came of the run, which may have failed. */
  readonly present: (loaded: Loaded) => void | Promise<void>;
}

const syntheticSellerText = `loading the made-up seller ${demoAccount}, whose data is not real; use --account and --endpoint for your own account, or configure it`;

/** Slices of one pipeline that are open at once where there is no quota: while one waits, another is flattened. */
const openSlices = 4;

/**
 * Loads into a lake: opens it, holds a lease on it, runs the pipelines, sweeps, and notes the run.
 *
 * @throws LedgerlakeError USAGE before anything is touched, or the failure that ended the run, reported by then
 */
export async function load(
  { command, options, job, refresh, opened, plan, judge, present }: Load,
  context: RunContext,
): Promise<void> {
  const { clock, signal, closing, emit } = context;
  const { account, custom, orders } = job;
  for (const pipeline of custom) customAddress(pipeline, account, options);
  for (const file of options.exposed ?? []) emit({ event: 'secret-exposed', file });
  const store = options.store ?? openStore(options.lake, { clock });
  if (options.store === undefined) await refuseFile(options.lake);
  const described = await describedTables(store);
  const kept = custom.length === 0 ? [] : await begunTables(store, described);
  for (const { loaded } of custom) refuseChanged(loaded, kept, options.lake);
  const customTables = custom.flatMap((pipeline) => pipeline.tables);

  const comparing = { refresh, acceptEmpty: options.acceptEmpty === true, clock, store };
  await withRevisions(comparing, async (revisions) => {
    const lake = await Lake.open(store, [...tables, ...customTables], clock, revisions, described);
    refuseMixing(account, lake.accounts(), options.lake);
    opened?.(lake);
    const asked = withNeeds(job.pipelines).map(({ name }) => name);
    const lease = await acquireLease(lake.store, clock, { command, account, pipelines: asked });
    try {
      emitOtherRuns(lease, account, emit);
      // Once the lease is held nothing is forgotten any more: what was until then, the plan must know.
      await lake.refresh();
      // What a run that died has committed is noted nowhere yet.
      await lake.noteVersions();
      await lake.setRetention(options.retentionHours);
      await describeTables(lake.store, withLaterColumns(customTables, kept));
      tuneForSeconds();
      const began = clock.now();
      const notes = await readAskedRanges(lake.store, account, (file) => {
        emit({ event: 'note-passed-over', file });
      });
      const unfinished = unfinishedRanges(lake, notes);
      const { pipelines, range, asked: toNote } = await plan(lake, unfinished);
      await noteAskedRanges(lake.store, account, lease.id, toNote, notes);
      emit({
        ...{ event: 'run-started', command, account, lake: options.lake },
        pipelines: withNeeds(pipelines).map(({ name }) => name),
        ...{ from: isoInstant(range.start), to: isoInstant(range.end) },
      });
      if (options.endpoint === undefined && !job.isCustomOnly) emit({ event: 'message', message: syntheticSellerText });
      emitDamage(lake, emit);
      const emitWithWatermarks = emittingWatermarks(
        lake,
        account,
        windowedOf(pipelines),
        { end: range.end, unfinished },
        emit,
      );
      const run = (upstream: FinancesUpstream, connected: readonly FinancesPipeline[]) =>
        runPipelines(connected, {
          job: { account, range, lake, orders, refresh },
          upstream,
          clock,
          signal,
          closing,
          emit: emitWithWatermarks,
          openSlices,
          judge: verdictOn,
          split: splitter(lake, clock),
          acceptsEmpty: options.acceptEmpty === true,
        });
      const isProven = (pipeline: CustomPipeline) =>
        lake.files(pipeline.name, mainTable(pipeline).name, account).length > 0;
      const connectionContext = { clock, emit, isProven };
      const loadFrom = (upstream: FinancesUpstream, pages: UncommittedPages) =>
        withCustomConnections(pipelines, options, account, connectionContext, async (connected, customPages) => {
          const ran = await run(upstream, connected);
          for (const of of [pages, customPages]) {
            if (ran.failure === undefined) await of.sweep();
            // Else the next run would take them for the answers of this account.
            else if (isOtherAccount(ran.failure)) await of.clear();
          }
          return ran;
        });
      const { summaries, failure: broken } = job.isCustomOnly
        ? await loadFrom(noUpstream, noUncommittedPages)
        : await withUpstream(options, account, context, loadFrom);
      if (broken === undefined) {
        await vacuumLake(lake, lease, { clock, emit, account });
        lease.cleared();
      }
      const unexported = await exportAfterRun(lake, options, context);
      const findings = revisions?.findings ?? { changes: [], emptied: [], uncompared: [] };
      const failure = broken ?? emptyFailure(findings) ?? unexported ?? judge?.(lake);
      const seconds = (clock.now() - began) / 1000;
      const report: RunReport = { account, range, lake: options.lake, seconds, summaries, failure };
      const { endpoint, isEndpointConfigured } = options;
      const note = { command, startedAt: began, endedAt: clock.now(), endpoint, isEndpointConfigured, asked };
      await noteRun(lake.store, report, note, emit);
      if (notes.length + toNote.length > 0) await removeLoadedNotes(lake, account, emit);
      emit({ event: 'run-ended', status: failure === undefined ? 'done' : 'failed', seconds });
      // What a run that was stopped has left out it is going to load.
      const leftOut = failure === undefined ? leftOutDays(lake, account) : undefined;
      if (leftOut !== undefined) emit({ event: 'days-left-out', account, reason: leftOutText(leftOut) });
      await present({ lake, report, findings });
      if (failure !== undefined) throw failure instanceof LedgerlakeError ? failure : asError(failure);
    } finally {
      await lease.release();
    }
  });
}

/** Removes the notes of what runs were asked for where all of it is loaded by now. */
async function removeLoadedNotes(lake: Lake, account: string, emit: Emit): Promise<void> {
  try {
    for (const note of await readAskedRanges(lake.store, account, () => undefined)) {
      if (isLoaded(lake, note)) await lake.store.remove(note.path);
    }
  } catch (error) {
    emit({ event: 'note-not-written', note: 'asked', reason: messageOf(error) });
  }
}

/** Where nothing is read again there is nothing to compare. */
async function withRevisions(
  { refresh, acceptEmpty, clock, store }: { refresh: boolean; acceptEmpty: boolean; clock: Clock; store: Store },
  use: (revisions: EventRevisions | undefined) => Promise<void>,
): Promise<void> {
  if (!refresh) return use(undefined);
  return withWorkspace(defaultLimits, store, (workspace) => use(new EventRevisions(workspace, { clock, acceptEmpty })));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
