import { tablesOf, type Table } from '../../core/columns/table.js';
import { emitDamage, type RunContext } from '../context.js';
import { messageOf, usageError, type LedgerlakeError } from '../../core/errors.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { Emit } from '../../core/events/run-event.js';
import { exportAfterRun } from '../export/export-after-run.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import { verdictOn } from '../../sources/finances/selling-partner/refusals.js';
import { type Findings, emptyFailure, isOtherAccount } from '../reconcile/findings.js';
import { EventRevisions } from '../reconcile/reconcile-slice.js';
import { Lake } from '../../lake/lake.js';
import { noteRequestedRanges, readRequestedRanges, type RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { acquireLease, emitOtherRuns, type RunLease } from '../../lake/leases.js';
import { isEmpty, missingText, refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { demoAccount, refuseMixing } from '../configuration/account.js';
import { windowedOf, withNeeds, type ChoiceOptions, type ChosenPipelines } from '../configuration/chosen-pipelines.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { catalogVersion } from '../catalog-version.js';
import { fail, underLease, type CommandResult } from '../command-result.js';
import { holesFailure, noteRun, type RunReport } from './run-summary.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import type { LoadValues } from '../../engine/run/load-options.js';
import type { Job } from '../../engine/run/pipeline.js';
import { runPipelines } from '../../engine/run/runner.js';
import { emittingWatermarks } from './freshness.js';
import { withFailedResult } from '../failed-result.js';
import { leftOutDays, leftOutText } from '../coverage/api-days.js';
import { areRangesLoaded, unfinishedRanges } from '../coverage/unfinished-ranges.js';
import { connectPipelines, customAddress, noConnection, openUpstream, type UpstreamOptions } from './connections.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** What `backfill` and `sync` have in common. */
export interface LoadOptions
  extends UpstreamOptions, ChoiceOptions, LoadValues, OptionalSettings<'retentionHours' | 'export' | 'encryption'> {
  /** Files with secrets that every user of this machine can read. */
  readonly exposed?: readonly string[] | undefined;
  /** Used instead of the store that `lake` names. */
  readonly store?: Store;
}

/** What a run loads. */
export interface LoadPlan {
  readonly pipelines: readonly FinancesPipeline[];
  readonly job: Job;
  /** Ranges to note as requested: the next sync can't detect that they are missing if this run leaves them open. */
  readonly requested: readonly RequestedRange[];
}

/** How far a run has come: what isn't known yet is left out. */
interface LoadProgress<Plan extends LoadPlan> {
  lake?: Lake;
  plan?: Plan;
}

/** A run that has ended. */
export interface Loaded<Plan extends LoadPlan> extends Readonly<Required<LoadProgress<Plan>>> {
  readonly report: RunReport;
  readonly findings: Findings;
  /** The instant of its end by the API's clock: milliseconds since 1970. */
  readonly now: number;
}

/** Which command loads what. */
interface LoadTask {
  /** The command, for the note of the run. */
  readonly command: string;
  readonly options: LoadOptions;
  readonly chosen: ChosenPipelines;
}

interface LoadRequest<Summary extends object, Plan extends LoadPlan> extends LoadTask {
  /** The range as far as it is known before the lake is open, in milliseconds since 1970. */
  readonly bounds: { readonly from: number | null; readonly to: number };
  /** Further members of the summary of a run that has no result. */
  readonly failedMembers?: (progress: Readonly<LoadProgress<Plan>>) => Readonly<Record<string, unknown>>;
  /** Decides what to load. Called once the run has its lease, with the requested ranges that earlier runs did not load. */
  readonly plan: (lake: Lake, unfinished: readonly RequestedRange[]) => Plan | Promise<Plan>;
  /** The failure of a run that completed, by the state of its lake at an instant of the API's clock; undefined: none. */
  readonly judge?: (lake: Lake, plan: Plan, now: number) => LedgerlakeError | undefined;
  /** The result of the run, which may have failed. */
  readonly result: (loaded: Loaded<Plan>) => CommandResult<Summary> | Promise<CommandResult<Summary>>;
}

const syntheticSellerText = `loading the synthetic seller ${demoAccount}, whose data is not real; use --account and --endpoint for your own account, or configure it`;

/** Concurrent slices of one pipeline where there is no quota: while one waits, another is flattened. */
const openSlices = 4;

/**
 * Loads into a lake: opens it, acquires a lease, runs the pipelines, vacuums, and notes the run.
 *
 * @throws LedgerlakeError USAGE before anything is changed; the failure of the run
 */
export async function load<Summary extends object, Plan extends LoadPlan>(
  request: LoadRequest<Summary, Plan>,
  given: RunContext,
): Promise<CommandResult<Summary>> {
  const { options, chosen, bounds, failedMembers } = request;
  const load: ActiveLoad<Summary, Plan> = { ...request, progress: {} };
  const known = { account: chosen.account, lake: options.lake, ...bounds };
  const context = withFailedResult(given, known, () => failedMembers?.(load.progress) ?? {});
  const store = await checkedStore(request, context);
  return withWorkspace(defaultLimits, store, (workspace) => loadInto(store, workspace, load, context));
}

/** A load that has begun. */
interface ActiveLoad<Summary extends object, Plan extends LoadPlan> extends LoadRequest<Summary, Plan> {
  readonly progress: LoadProgress<Plan>;
}

/** @throws LedgerlakeError USAGE for what makes the load impossible, before anything is changed */
async function checkedStore({ options, chosen }: LoadTask, { clock, emit }: RunContext): Promise<Store> {
  const { custom, account } = chosen;
  for (const pipeline of custom) customAddress(pipeline, account, options);
  for (const file of options.exposed ?? []) emit({ event: 'secret-exposed', file });
  const store = options.store ?? openStore(options.lake, { clock, emit, encryption: options.encryption });
  if (options.store === undefined) await refuseFile(options.lake);
  return store;
}

async function loadInto<Summary extends object, Plan extends LoadPlan>(
  store: Store,
  workspace: Workspace,
  load: ActiveLoad<Summary, Plan>,
  context: RunContext,
): Promise<CommandResult<Summary>> {
  const { command, options, chosen, progress, judge } = load;
  const { account } = chosen;
  const { clock } = context;
  let clockOffsetSeconds: number | undefined;
  const emit: Emit = (event) => {
    if (event.event === 'clock-differs') clockOffsetSeconds = event.seconds;
    context.emit(event);
  };
  const serviceNow = (): number => clock.now() + (clockOffsetSeconds ?? 0) * 1000;
  const customTables = chosen.custom.flatMap(tablesOf);
  const lake = await Lake.open(store, [...tables, ...customTables], clock);
  const revisions = new EventRevisions(lake, clock, workspace);
  // A run that judges the age of a lake begins none: the disk of the lake may not be mounted.
  if (options.maxLag !== undefined && lake.snapshot.isEmpty && (await isEmpty(store)))
    throw usageError(missingText(options.lake));
  for (const { loaded } of chosen.custom) refuseChanged(loaded, lake.described, options.lake);
  refuseMixing(account, lake.snapshot.accounts(), options.lake);
  progress.lake = lake;
  const pipelines = withNeeds(chosen.pipelines).map(({ name }) => name);
  const lease = await acquireLease(lake, clock, { command, account, pipelines });
  return underLease(lease, context.setFailedResult, async () => {
    emitOtherRuns(lease, account, emit);
    await prepareLake(lake, customTables, options);
    tuneForComputation();
    const startedAt = clock.now();
    const { plan, requested, hasNotes } = await startRun(lake, lease, load, context);
    const ran = await runConnected(lake, revisions, { ...plan, requested }, load, { ...context, emit });
    if (ran.failure === undefined) {
      await vacuumLake(lake, lease, { clock, emit, account });
      lease.cleared();
    }
    const unexported = await exportAfterRun(lake, options, context);
    const { findings } = revisions;
    const failure =
      ran.failure ??
      emptyFailure(findings) ??
      unexported ??
      judge?.(lake, plan, serviceNow()) ??
      holesFailure(ran.summaries);
    const endedAt = clock.now();
    const seconds = (endedAt - startedAt) / 1000;
    // Only the summary of a run that loaded nothing has it.
    const isIdle = ran.summaries.every(({ slices }) => slices === 0);
    const forgottenBefore = isIdle ? lake.snapshot.forgottenBefore(account) : undefined;
    const of = { account, run: lease.id, range: plan.job.range, lake: options.lake, forgottenBefore };
    const report: RunReport = { ...of, seconds, summaries: ran.summaries, failure, catalog: catalogVersion(lake) };
    const { endpoint, isEndpointConfigured } = options;
    const note = {
      command,
      startedAt,
      endedAt,
      endpoint,
      isEndpointConfigured,
      requested: pipelines,
      clockOffsetSeconds,
    };
    await noteRun(lake.store, report, note, emit);
    if (hasNotes) await removeLoadedNotes(lake, account, emit);
    emitEnd(lake, report, emit);
    const result = await load.result({ lake, plan, report, findings, now: serviceNow() });
    if (failure !== undefined) fail(failure, result, context.setFailedResult);
    return result;
  });
}

/** Refreshes the lake under the lease, and adds the columns that the tables of the custom pipelines have gained. */
async function prepareLake(lake: Lake, customTables: readonly Table[], { retentionHours }: LoadOptions): Promise<void> {
  // The lease keeps other runs from forgetting rows; the plan must know what was forgotten before.
  await lake.refresh();
  // What a run committed that was killed.
  await lake.publish();
  await lake.setRetention(retentionHours);
  await lake.growTables(customTables);
}

/** Plans the load, notes the requested ranges, and reports the start of the run. */
async function startRun<Plan extends LoadPlan>(
  lake: Lake,
  lease: RunLease,
  { command, options, chosen, plan: planOf, progress }: ActiveLoad<object, Plan>,
  { emit }: RunContext,
): Promise<{
  readonly plan: Plan;
  /** The ranges that this run or earlier ones were requested to load, as far as they weren't loaded when it began. */
  readonly requested: readonly RequestedRange[];
  /** Whether the lake has notes of requested ranges. */
  readonly hasNotes: boolean;
}> {
  const { account } = chosen;
  const notes = await readRequestedRanges(lake.store, account, (file) => {
    emit({ event: 'note-passed-over', file });
  });
  const unfinished = unfinishedRanges(lake, notes);
  const plan = await planOf(lake, unfinished);
  progress.plan = plan;
  await noteRequestedRanges(lake.store, account, lease.id, plan.requested, notes);
  emit({
    event: 'run-started',
    run: lease.id,
    command,
    account,
    lake: options.lake,
    pipelines: withNeeds(plan.pipelines).map(({ name }) => name),
    from: isoInstant(plan.job.range.start),
    to: isoInstant(plan.job.range.end),
  });
  if (options.endpoint === undefined && !chosen.isCustomOnly) emit({ event: 'message', message: syntheticSellerText });
  emitDamage(lake, emit);
  return {
    plan,
    requested: [...unfinished, ...plan.requested],
    hasNotes: notes.length + plan.requested.length > 0,
  };
}

/** Runs the pipelines with their APIs connected, and removes the saved pages that the next run does not need. */
async function runConnected(
  lake: Lake,
  revisions: EventRevisions,
  { pipelines, job, requested }: LoadPlan,
  { options, chosen: { isCustomOnly } }: LoadTask,
  { clock, signal, closing, emit }: RunContext,
): ReturnType<typeof runPipelines> {
  const { account } = job;
  const until = { end: job.range.end, requested };
  // A service that can't be reached is down then, as its address is probably right.
  const hasAnswered = pipelines.some(({ name }) =>
    [...lake.snapshot.keysOf(account, name).values()].some(({ origin }) => origin === 'api'),
  );
  const emitWithWatermarks = emittingWatermarks(lake, account, windowedOf(pipelines), until, emit);
  const finances = isCustomOnly ? noConnection : await openUpstream(options, account, { clock, emit, hasAnswered });
  try {
    const connected = await connectPipelines(pipelines, options, account, { clock, emit, lake });
    try {
      const ran = await runPipelines(connected.pipelines, {
        job,
        upstream: finances.upstream,
        clock,
        signal,
        closing,
        emit: emitWithWatermarks,
        openSlices,
        judge: verdictOn,
        revisions,
      });
      for (const connection of [finances, connected]) {
        if (ran.failure === undefined) await connection.sweep();
        // The next run would use the pages as answers for this account.
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
  // A run that failed loads the days that it left out when it runs again.
  const leftOut = failure === undefined ? leftOutDays(lake, account) : undefined;
  if (leftOut !== undefined) emit({ event: 'days-left-out', account, reason: leftOutText(leftOut) });
}

/** Removes the notes of requested ranges that are loaded by now. */
async function removeLoadedNotes(lake: Lake, account: string, emit: Emit): Promise<void> {
  try {
    for (const note of await readRequestedRanges(lake.store, account, () => undefined)) {
      if (areRangesLoaded(lake, note)) await lake.store.remove(note.path);
    }
  } catch (error) {
    emit({ event: 'note-not-written', note: 'requested-ranges', reason: messageOf(error) });
  }
}
