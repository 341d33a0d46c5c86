import { tablesOf } from '../../core/columns/table.js';
import { emitDamage, type RunContext } from '../context.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { Emit } from '../../core/events/run-event.js';
import { exportAfterRun } from '../export/export-after-run.js';
import { tables } from '../../sources/finances/lake-tables.js';
import type { FinancesPipeline, SourceConnection } from '../../sources/finances/connect-finances.js';
import { type Findings, emptyFailure, isOtherAccount } from '../reconcile/findings.js';
import { EventRevisions } from '../reconcile/reconcile-slice.js';
import { Lake } from '../../lake/lake.js';
import {
  noteRequestedRanges,
  readRequestedRanges,
  type RequestedRange,
  type RequestedRangesNote,
} from '../../lake/upkeep/requested-ranges.js';
import { acquireLease, emitOtherRuns, type RunLease } from '../../lake/leases.js';
import { isEmpty, missingText, refuseFile } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { demoAccount, refuseMixing } from '../configuration/account.js';
import { windowedOf, withNeeds } from '../configuration/chosen-pipelines.js';
import { catalogVersion } from '../catalog-version.js';
import { resultOf, underLease, withKnown, type CommandResult } from '../command-result.js';
import { holesFailure, noteRun, type RunReport } from './run-summary.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import type { Job } from '../../engine/run/pipeline.js';
import { runPipelines } from '../../engine/run/runner.js';
import { emittingWatermarks } from './freshness.js';
import { leftOutDays, leftOutText } from '../coverage/api-days.js';
import { areRangesLoaded, unfinishedRanges } from '../coverage/unfinished-ranges.js';
import { connectPipelines, customAddress, noConnection, openUpstream } from './connections.js';
import type { LoadRequest } from './load-request.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** What a run loads. */
export interface LoadPlan {
  readonly pipelines: readonly FinancesPipeline[];
  readonly job: Job;
  /** Ranges to note as requested: the next sync can't detect that they are missing if this run leaves them open. */
  readonly requested: readonly RequestedRange[];
  /** Why a run fails that has loaded all of it; `now`: by the API's clock, milliseconds since 1970. Left out: it doesn't. */
  readonly failureAfter?: (now: number) => unknown;
}

/** What came of a load, which it has noted in the lake. */
export interface LoadReport extends RunReport {
  /** Whether a pipeline was run, all of the plan was read and no answer was refused, whatever else failed. */
  readonly isRead: boolean;
  /** What the comparison of slices that were read again has found. */
  readonly findings: Findings;
  /** The present by the API's clock: milliseconds since 1970. */
  readonly serviceNow: number;
}

const syntheticSellerText = `loading the synthetic seller ${demoAccount}, whose data is not real; use --account and --endpoint for your own account, or configure it`;

/** Concurrent slices of one pipeline where there is no quota: while one waits, another is flattened. */
const openSlices = 4;

/**
 * Opens a lake, begins a load, and releases its lease at the end. `use` runs the load.
 *
 * @param known the summary of a run that fails before it has begun; without a lake: it isn't open either
 * @throws CommandError with the failure of the run; its cause is a LedgerlakeError USAGE before anything is changed
 */
export async function withLoad<Summary extends object>(
  request: LoadRequest,
  context: RunContext,
  known: (lake: Lake | undefined) => object,
  use: (load: Load) => Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  const lake = await withKnown(openedLake(request, context), () => known(undefined));
  const loading = withWorkspace(defaultLimits, lake.store, async (workspace) => {
    const lease = await acquireLease(lake, context.clock, purposeOf(request));
    return underLease(lease, async () => use(await Load.begin(request, context, lake, lease, workspace)));
  });
  return withKnown(loading, () => known(lake));
}

/**
 * What a command says of its load: texts, of which empty ones are left out, and the summary.
 *
 * @throws CommandError with both, where the load has failed
 */
export function loadResult<Summary extends object>(
  { failure }: LoadReport,
  texts: readonly string[],
  summary: Summary,
): CommandResult<Summary> {
  return resultOf({ text: texts.filter((text) => text !== '').join('\n'), summary }, failure);
}

/** What a load is for: its pipelines are the requested ones with those that they need. */
function purposeOf({ command, account, pipelines }: LoadRequest) {
  return { command, account, pipelines: withNeeds(pipelines).map(({ name }) => name) };
}

/** @throws LedgerlakeError USAGE for what makes the load impossible; nothing is changed */
async function openedLake({ options, custom, account }: LoadRequest, { clock, emit }: RunContext): Promise<Lake> {
  for (const pipeline of custom) customAddress(pipeline, account, options);
  for (const file of options.exposed ?? []) emit({ event: 'secret-exposed', file });
  const store = options.store ?? openStore(options.lake, { clock, emit, encryption: options.encryption });
  if (options.store === undefined) await refuseFile(options.lake);
  const lake = await Lake.open(store, [...tables, ...custom.flatMap(tablesOf)], clock);
  // A run that judges the age of a lake begins none: the disk of the lake may not be mounted.
  if (options.maxLag !== undefined && lake.snapshot.isEmpty && (await isEmpty(store)))
    throw usageError(missingText(options.lake));
  for (const { loaded } of custom) refuseChanged(loaded, lake.described, options.lake);
  refuseMixing(account, lake.snapshot.accounts(), options.lake);
  return lake;
}

/** A load that has begun: its lake is prepared and leased. */
export class Load {
  readonly lake: Lake;
  /** Requested ranges that earlier runs have noted, and did not load. */
  readonly unfinished: readonly RequestedRange[];
  readonly #request: LoadRequest;
  readonly #context: RunContext;
  readonly #lease: RunLease;
  readonly #revisions: EventRevisions;
  readonly #notes: readonly RequestedRangesNote[];
  /** Milliseconds since 1970. */
  readonly #startedAt: number;
  /** Seconds to add to this machine's clock, where it differs from the API's. */
  #clockOffsetSeconds: number | undefined;

  private constructor(
    request: LoadRequest,
    context: RunContext,
    lake: Lake,
    lease: RunLease,
    workspace: Workspace,
    notes: readonly RequestedRangesNote[],
    startedAt: number,
  ) {
    this.lake = lake;
    this.unfinished = unfinishedRanges(lake, notes);
    this.#request = request;
    this.#context = {
      ...context,
      emit: (event) => {
        if (event.event === 'clock-differs') this.#clockOffsetSeconds = event.seconds;
        context.emit(event);
      },
    };
    this.#lease = lease;
    this.#revisions = new EventRevisions(lake, context.clock, workspace);
    this.#notes = notes;
    this.#startedAt = startedAt;
  }

  /** Prepares the lake. */
  static async begin(
    request: LoadRequest,
    context: RunContext,
    lake: Lake,
    lease: RunLease,
    workspace: Workspace,
  ): Promise<Load> {
    const { options, account, custom } = request;
    const { clock, emit } = context;
    emitOtherRuns(lease, account, emit);
    // The lease keeps other runs from forgetting rows; the plan must know what was forgotten before.
    await lake.refresh();
    // What a run committed that was killed.
    await lake.publish();
    await lake.setRetention(options.retentionHours);
    // Columns that the tables of the custom pipelines have gained.
    await lake.growTables(custom.flatMap(tablesOf));
    tuneForComputation();
    const startedAt = clock.now();
    const notes = await readRequestedRanges(lake.store, account, (file) => {
      emit({ event: 'note-passed-over', file });
    });
    return new Load(request, context, lake, lease, workspace, notes, startedAt);
  }

  /**
   * Notes the requested ranges of a plan, runs its pipelines, vacuums, exports, and notes the run.
   *
   * @throws LedgerlakeError USAGE before the first request
   */
  async run(plan: LoadPlan): Promise<LoadReport> {
    const { lake } = this;
    const { command, options, account, isCustomOnly } = this.#request;
    const { emit } = this.#context;
    await noteRequestedRanges(lake.store, account, lake.run, plan.requested, this.#notes);
    emit({
      event: 'run-started',
      run: lake.run,
      command,
      account,
      lake: options.lake,
      pipelines: withNeeds(plan.pipelines).map(({ name }) => name),
      from: isoInstant(plan.job.range.start),
      to: isoInstant(plan.job.range.end),
    });
    if (options.endpoint === undefined && !isCustomOnly) emit({ event: 'message', message: syntheticSellerText });
    emitDamage(lake, emit);
    const ran = await this.#runPipelines(plan);
    const { findings } = this.#revisions;
    const refused = emptyFailure(findings);
    const unvacuumed = ran.failure === undefined ? await this.#vacuum().catch((error: unknown) => error) : undefined;
    const unexported = await exportAfterRun(lake, options, this.#context);
    // Failures are ranked here, and for imports in the same order: what stopped the run first, then what it left undone, last what it could not read.
    const failure =
      ran.failure ??
      refused ??
      unvacuumed ??
      unexported ??
      plan.failureAfter?.(this.#serviceNow()) ??
      holesFailure(ran.summaries);
    const report = await this.#end(plan, { ...ran, failure });
    const isRead = ran.summaries.length > 0 && ran.failure === undefined && refused === undefined;
    return { ...report, isRead, findings, serviceNow: this.#serviceNow() };
  }

  /** The present by the API's clock: milliseconds since 1970. */
  #serviceNow(): number {
    return this.#context.clock.now() + (this.#clockOffsetSeconds ?? 0) * 1000;
  }

  async #vacuum(): Promise<void> {
    const { clock, emit } = this.#context;
    await vacuumLake(this.lake, this.#lease, { clock, emit, account: this.#request.account });
    this.#lease.cleared();
  }

  /**
   * Runs the pipelines with their APIs connected, and removes the saved pages that the next run does not need.
   *
   * @throws LedgerlakeError USAGE before the first request
   */
  async #runPipelines({ pipelines, job, requested }: LoadPlan): ReturnType<typeof runPipelines> {
    const { lake } = this;
    const { options, account, isCustomOnly } = this.#request;
    const { clock, signal, closing, emit } = this.#context;
    let ran: Awaited<ReturnType<typeof runPipelines>> | undefined;
    const until = { end: job.range.end, requested: [...this.unfinished, ...requested] };
    // A service that can't be reached is down then, as its address is probably right.
    const hasAnswered = pipelines.some(({ name }) =>
      [...lake.snapshot.keysOf(account, name).values()].some(({ origin }) => origin === 'api'),
    );
    const emitWithWatermarks = emittingWatermarks(lake, account, windowedOf(pipelines), until, emit);
    const connections: Pick<SourceConnection, 'sweep' | 'clear' | 'close'>[] = [];
    try {
      const finances = isCustomOnly ? noConnection : await openUpstream(options, account, { clock, emit, hasAnswered });
      connections.push(finances);
      const connected = await connectPipelines(pipelines, options, account, { clock, emit, lake });
      connections.push(connected);
      ran = await runPipelines(connected.pipelines, {
        job,
        upstream: finances.upstream,
        clock,
        signal,
        closing,
        emit: emitWithWatermarks,
        openSlices,
        revisions: this.#revisions,
      });
      for (const connection of connections) {
        if (ran.failure === undefined) await connection.sweep();
        // The next run would use the pages as answers for this account.
        else if (isOtherAccount(ran.failure)) await connection.clear();
      }
      return ran;
    } catch (error) {
      if (ran === undefined && error instanceof LedgerlakeError && error.exitCode === 2) throw error;
      return { summaries: ran?.summaries ?? [], failure: ran?.failure ?? error };
    } finally {
      await Promise.all(connections.map((connection) => connection.close()));
    }
  }

  /** Notes the run in the lake, and reports its end. */
  async #end(
    { job, requested }: LoadPlan,
    { summaries, failure }: Pick<RunReport, 'summaries' | 'failure'>,
  ): Promise<RunReport> {
    const { lake } = this;
    const { command, account, pipelines } = purposeOf(this.#request);
    const { lake: location, endpoint, isEndpointConfigured } = this.#request.options;
    const { clock, emit } = this.#context;
    const times = { startedAt: this.#startedAt, endedAt: clock.now(), clockOffsetSeconds: this.#clockOffsetSeconds };
    // Only the summary of a run that loaded nothing has it.
    const isIdle = summaries.every(({ slices }) => slices === 0);
    const report: RunReport = {
      account,
      run: lake.run,
      range: job.range,
      lake: location,
      forgottenBefore: isIdle ? lake.snapshot.forgottenBefore(account) : undefined,
      seconds: (times.endedAt - times.startedAt) / 1000,
      summaries,
      failure,
      catalog: catalogVersion(lake),
    };
    await noteRun(
      lake.store,
      report,
      { command, ...times, endpoint, isEndpointConfigured, requested: pipelines },
      emit,
    );
    if (this.#notes.length + requested.length > 0) await removeLoadedNotes(lake, account, emit);
    emit({ event: 'run-ended', status: failure === undefined ? 'done' : 'failed', seconds: report.seconds });
    // A run that failed loads the days that it left out when it runs again.
    const leftOut = failure === undefined ? leftOutDays(lake, account) : undefined;
    if (leftOut !== undefined) emit({ event: 'days-left-out', account, reason: leftOutText(leftOut) });
    return report;
  }
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
