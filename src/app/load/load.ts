import { emitDamage, emitOtherRuns, type RunContext } from '../context.js';
import type { Table } from '../../core/columns/table.js';
import { messageOf, type LedgerlakeError } from '../../core/errors.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { Emit } from '../../core/events/run-event.js';
import { exportAfterRun, type ExportOptions } from '../export/export-after-run.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { verdictOn } from '../../sources/finances/selling-partner/refusals.js';
import { type Findings, emptyFailure, isOtherAccount } from '../reconcile/findings.js';
import { EventRevisions } from '../reconcile/reconcile-slice.js';
import { tablesOfLoadedPipelines, describeTables, describedTables } from '../../lake/table-descriptions.js';
import { Lake } from '../../lake/lake.js';
import { noteRequestedRanges, readRequestedRanges, type RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { acquireLease, type RunLease } from '../../lake/upkeep/leases.js';
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
import { connectPipelines, customAddress, noConnection, openUpstream, type UpstreamOptions } from './connections.js';
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
  readonly asked: readonly RequestedRange[];
}

/** A run that has ended. */
export interface Loaded {
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
  readonly plan: (lake: Lake, unfinished: readonly RequestedRange[]) => LoadPlan | Promise<LoadPlan>;
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
export async function load(request: Load, context: RunContext): Promise<void> {
  const target = await checkedTarget(request, context);
  // Where nothing is read again there is nothing to compare.
  if (!request.refresh) return loadInto(target, undefined, request, context);
  const comparing = { clock: context.clock, acceptEmpty: request.options.acceptEmpty === true };
  await withWorkspace(defaultLimits, target.store, (workspace) =>
    loadInto(target, new EventRevisions(workspace, comparing), request, context),
  );
}

/** The lake that a load writes to, and the tables of custom pipelines in it. */
interface Target {
  readonly store: Store;
  /** Those that the lake describes. */
  readonly described: readonly Table[];
  /** Those of them that hold something; none where no custom pipeline is asked for. */
  readonly begun: readonly Table[];
  /** Those of the custom pipelines that are asked for. */
  readonly asked: readonly Table[];
}

/** Throws a USAGE error for what makes the load impossible, before anything is touched. */
async function checkedTarget({ options, job }: Load, { clock, emit }: RunContext): Promise<Target> {
  const { custom, account } = job;
  for (const pipeline of custom) customAddress(pipeline, account, options);
  for (const file of options.exposed ?? []) emit({ event: 'secret-exposed', file });
  const store = options.store ?? openStore(options.lake, { clock });
  if (options.store === undefined) await refuseFile(options.lake);
  const described = await describedTables(store);
  const begun = custom.length === 0 ? [] : await tablesOfLoadedPipelines(store, described);
  for (const { loaded } of custom) refuseChanged(loaded, begun, options.lake);
  return { store, described, begun, asked: custom.flatMap((pipeline) => pipeline.tables) };
}

async function loadInto(
  target: Target,
  revisions: EventRevisions | undefined,
  request: Load,
  context: RunContext,
): Promise<void> {
  const { command, options, job } = request;
  const { account } = job;
  const { clock, emit } = context;
  const lake = await Lake.open(target.store, [...tables, ...target.asked], clock, revisions, target.described);
  refuseMixing(account, lake.accounts(), options.lake);
  request.opened?.(lake);
  const pipelines = withNeeds(job.pipelines).map(({ name }) => name);
  const lease = await acquireLease(lake.store, clock, { command, account, pipelines });
  try {
    emitOtherRuns(lease, account, emit);
    await prepareLake(lake, target, options);
    tuneForComputation();
    const startedAt = clock.now();
    const begun = await begin(lake, lease, request, context);
    const ran = await runConnected(lake, begun, request, context);
    if (ran.failure === undefined) {
      await vacuumLake(lake, lease, { clock, emit, account });
      lease.cleared();
    }
    const unexported = await exportAfterRun(lake, options, context);
    const findings = revisions?.findings ?? { changes: [], emptied: [], uncompared: [] };
    const failure = ran.failure ?? emptyFailure(findings) ?? unexported ?? request.judge?.(lake);
    const endedAt = clock.now();
    const { range } = begun.plan;
    const seconds = (endedAt - startedAt) / 1000;
    const report: RunReport = { account, range, lake: options.lake, seconds, summaries: ran.summaries, failure };
    const { endpoint, isEndpointConfigured } = options;
    const note = { command, startedAt, endedAt, endpoint, isEndpointConfigured, asked: pipelines };
    await noteRun(lake.store, report, note, emit);
    if (begun.hasNotes) await removeLoadedNotes(lake, account, emit);
    emitEnd(lake, report, emit);
    await request.present({ lake, report, findings });
    if (failure !== undefined) throw asError(failure);
  } finally {
    await lease.release();
  }
}

/** Reads the lake as it is once the lease is held, and writes what its tables lack. */
async function prepareLake(lake: Lake, { asked, begun }: Target, { retentionHours }: LoadOptions): Promise<void> {
  // Once the lease is held nothing is forgotten any more: what was until then, the plan must know.
  await lake.refresh();
  // What a run that died has committed is noted nowhere yet.
  await lake.noteVersions();
  await lake.setRetention(retentionHours);
  await describeTables(lake.store, withLaterColumns(asked, begun));
}

/** What a load has to do, once it is noted. */
interface Begun {
  readonly plan: LoadPlan;
  /** What earlier runs were asked for, and isn't loaded. */
  readonly unfinished: readonly RequestedRange[];
  /** Whether the lake has notes of what runs were asked for. */
  readonly hasNotes: boolean;
}

/** Plans the load, notes what it is asked for, and reports its start. */
async function begin(
  lake: Lake,
  lease: RunLease,
  { command, options, job, plan: planOf }: Load,
  { emit }: RunContext,
): Promise<Begun> {
  const { account } = job;
  const notes = await readRequestedRanges(lake.store, account, (file) => {
    emit({ event: 'note-passed-over', file });
  });
  const unfinished = unfinishedRanges(lake, notes);
  const plan = await planOf(lake, unfinished);
  await noteRequestedRanges(lake.store, account, lease.id, plan.asked, notes);
  emit({
    ...{ event: 'run-started', command, account, lake: options.lake },
    pipelines: withNeeds(plan.pipelines).map(({ name }) => name),
    ...{ from: isoInstant(plan.range.start), to: isoInstant(plan.range.end) },
  });
  if (options.endpoint === undefined && !job.isCustomOnly) emit({ event: 'message', message: syntheticSellerText });
  emitDamage(lake, emit);
  return { plan, unfinished, hasNotes: notes.length + plan.asked.length > 0 };
}

/** Runs the pipelines with their APIs connected, and forgets the pages that the next run has no use for. */
async function runConnected(
  lake: Lake,
  { plan: { pipelines, range }, unfinished }: Begun,
  { options, job, refresh }: Load,
  { clock, signal, closing, emit }: RunContext,
): ReturnType<typeof runPipelines> {
  const { account, orders } = job;
  const until = { end: range.end, unfinished };
  const emitWithWatermarks = emittingWatermarks(lake, account, windowedOf(pipelines), until, emit);
  const finances = job.isCustomOnly ? noConnection : await openUpstream(options, account, { clock, emit });
  try {
    const connected = await connectPipelines(pipelines, options, account, { clock, emit, lake });
    try {
      const ran = await runPipelines(connected.pipelines, {
        job: { account, range, lake, orders, refresh },
        upstream: finances.upstream,
        clock,
        signal,
        closing,
        emit: emitWithWatermarks,
        openSlices,
        judge: verdictOn,
        split: splitter(lake, clock),
        acceptsEmpty: options.acceptEmpty === true,
      });
      for (const connection of [finances, connected]) {
        if (ran.failure === undefined) await connection.sweep();
        // Else the next run would take them for the answers of this account.
        else if (isOtherAccount(ran.failure)) await connection.clear();
      }
      return ran;
    } finally {
      await connected.close();
    }
  } finally {
    await finances.close();
  }
}

function emitEnd(lake: Lake, { account, failure, seconds }: RunReport, emit: Emit): void {
  emit({ event: 'run-ended', status: failure === undefined ? 'done' : 'failed', seconds });
  // What a run that was stopped has left out it is going to load.
  const leftOut = failure === undefined ? leftOutDays(lake, account) : undefined;
  if (leftOut !== undefined) emit({ event: 'days-left-out', account, reason: leftOutText(leftOut) });
}

/** Removes the notes of what runs were asked for where all of it is loaded by now. */
async function removeLoadedNotes(lake: Lake, account: string, emit: Emit): Promise<void> {
  try {
    for (const note of await readRequestedRanges(lake.store, account, () => undefined)) {
      if (isLoaded(lake, note)) await lake.store.remove(note.path);
    }
  } catch (error) {
    emit({ event: 'note-not-written', note: 'asked', reason: messageOf(error) });
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
