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
import type { Store } from '../../lake/store/store.js';
import { vacuumLake } from '../../lake/upkeep/vacuum.js';
import { defaultLimits, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { demoAccount, refuseMixing } from '../configuration/account.js';
import { windowedOf, withNeeds, type ChosenPipelines } from '../configuration/chosen-pipelines.js';
import { catalogVersion } from '../catalog-version.js';
import { CommandError, underLease, type CommandResult } from '../command-result.js';
import { holesFailure, noteRun, type RunReport } from './run-summary.js';
import { refuseChanged } from '../../sources/custom/custom-table.js';
import type { Job } from '../../engine/run/pipeline.js';
import { runPipelines } from '../../engine/run/runner.js';
import { emittingWatermarks } from './freshness.js';
import { leftOutDays, leftOutText } from '../coverage/api-days.js';
import { areRangesLoaded, unfinishedRanges } from '../coverage/unfinished-ranges.js';
import { connectPipelines, customAddress, noConnection, openUpstream } from './connections.js';
import type { LoadOptions } from './run-settings.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** What a run loads. */
export interface LoadPlan {
  readonly pipelines: readonly FinancesPipeline[];
  readonly job: Job;
  /** Ranges to note as requested: the next sync can't detect that they are missing if this run leaves them open. */
  readonly requested: readonly RequestedRange[];
}

/** Which command loads what. */
interface LoadTask {
  /** The command, for the note of the run. */
  readonly command: string;
  readonly options: LoadOptions;
  readonly chosen: ChosenPipelines;
}

/** A plan that was run. `failure`: undefined where all of it is loaded and exported. */
interface RanPlan extends LoadPlan {
  /** Whether all of it was read and no answer was refused, whatever else failed. */
  readonly isRead: boolean;
  readonly summaries: RunReport['summaries'];
  readonly failure: unknown;
}

const syntheticSellerText = `loading the synthetic seller ${demoAccount}, whose data is not real; use --account and --endpoint for your own account, or configure it`;

/** Concurrent slices of one pipeline where there is no quota: while one waits, another is flattened. */
const openSlices = 4;

/**
 * Opens a lake for a load, and releases its lease at the end.
 *
 * @throws LedgerlakeError USAGE before anything is changed; what `use` throws
 */
export async function withLoad<Summary extends object>(
  task: LoadTask,
  context: RunContext,
  use: (load: Load) => Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  const store = await checkedStore(task, context);
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const load = await Load.open(task, store, workspace, context);
    return underLease(load, () => use(load));
  });
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

/** A run that loads into a lake. Its steps are called once, in this order: `begin`, `run`, `end`, `result`. */
export class Load {
  readonly lake: Lake;
  /** Requested ranges that earlier runs did not load, from `begin` on. */
  unfinished: readonly RequestedRange[] = [];
  readonly #task: LoadTask;
  readonly #context: RunContext;
  readonly #revisions: EventRevisions;
  /** The pipelines that the command requests, by name. */
  readonly #pipelines: readonly string[];
  #lease: RunLease | undefined;
  /** Milliseconds since 1970. */
  #startedAt = NaN;
  #notes: readonly RequestedRangesNote[] = [];
  /** Seconds to add to this machine's clock, where it differs from the API's. */
  #clockOffsetSeconds: number | undefined;

  private constructor(task: LoadTask, lake: Lake, revisions: EventRevisions, context: RunContext) {
    this.lake = lake;
    this.#task = task;
    this.#revisions = revisions;
    this.#pipelines = withNeeds(task.chosen.pipelines).map(({ name }) => name);
    const emit: Emit = (event) => {
      if (event.event === 'clock-differs') this.#clockOffsetSeconds = event.seconds;
      context.emit(event);
    };
    this.#context = { ...context, emit };
  }

  /** @throws LedgerlakeError USAGE for a lake that the task doesn't fit; nothing is changed */
  static async open(task: LoadTask, store: Store, workspace: Workspace, context: RunContext): Promise<Load> {
    const { options, chosen } = task;
    const { clock } = context;
    const lake = await Lake.open(store, [...tables, ...chosen.custom.flatMap(tablesOf)], clock);
    const revisions = new EventRevisions(lake, clock, workspace);
    // A run that judges the age of a lake begins none: the disk of the lake may not be mounted.
    if (options.maxLag !== undefined && lake.snapshot.isEmpty && (await isEmpty(store)))
      throw usageError(missingText(options.lake));
    for (const { loaded } of chosen.custom) refuseChanged(loaded, lake.described, options.lake);
    refuseMixing(chosen.account, lake.snapshot.accounts(), options.lake);
    return new Load(task, lake, revisions, context);
  }

  /** What the comparison of slices that were read again has found so far. */
  get findings(): Findings {
    return this.#revisions.findings;
  }

  /** The present by the API's clock: milliseconds since 1970. */
  get serviceNow(): number {
    return this.#context.clock.now() + (this.#clockOffsetSeconds ?? 0) * 1000;
  }

  /** Acquires the lease, and prepares the lake. */
  async begin(): Promise<void> {
    const { command, options, chosen } = this.#task;
    const { account, custom } = chosen;
    const { clock, emit } = this.#context;
    this.#lease = await acquireLease(this.lake, clock, { command, account, pipelines: this.#pipelines });
    emitOtherRuns(this.#lease, account, emit);
    // The lease keeps other runs from forgetting rows; the plan must know what was forgotten before.
    await this.lake.refresh();
    // What a run committed that was killed.
    await this.lake.publish();
    await this.lake.setRetention(options.retentionHours);
    // Columns that the tables of the custom pipelines have gained.
    await this.lake.growTables(custom.flatMap(tablesOf));
    tuneForComputation();
    this.#startedAt = clock.now();
    this.#notes = await readRequestedRanges(this.lake.store, account, (file) => {
      emit({ event: 'note-passed-over', file });
    });
    this.unfinished = unfinishedRanges(this.lake, this.#notes);
  }

  /** Notes the requested ranges of a plan, runs its pipelines, vacuums and exports. */
  async run(plan: LoadPlan): Promise<RanPlan> {
    const { lake } = this;
    const { command, options, chosen } = this.#task;
    const { emit } = this.#context;
    const { account } = chosen;
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
    if (options.endpoint === undefined && !chosen.isCustomOnly)
      emit({ event: 'message', message: syntheticSellerText });
    emitDamage(lake, emit);
    const requested = [...this.unfinished, ...plan.requested];
    const ran = await runConnected(lake, this.#revisions, { ...plan, requested }, this.#task, this.#context);
    const refused = emptyFailure(this.findings);
    const isRead = ran.failure === undefined && refused === undefined;
    const unvacuumed = ran.failure === undefined ? await this.#vacuum() : undefined;
    const unexported = await exportAfterRun(lake, options, this.#context);
    return { ...plan, ...ran, isRead, failure: ran.failure ?? refused ?? unvacuumed ?? unexported };
  }

  /** Returns why it failed: what the run has committed stays. */
  async #vacuum(): Promise<unknown> {
    if (this.#lease === undefined) return undefined;
    const { clock, emit } = this.#context;
    try {
      await vacuumLake(this.lake, this.#lease, { clock, emit, account: this.#task.chosen.account });
      this.#lease.cleared();
    } catch (error) {
      return error;
    }
    return undefined;
  }

  /** Notes the run in the lake, and reports its end. `failure`: that of the plan, or what else makes the run a failed one. */
  async end({ job, requested, summaries }: RanPlan, failure: unknown): Promise<RunReport> {
    const { lake } = this;
    const { command, options, chosen } = this.#task;
    const { clock, emit } = this.#context;
    const { account } = chosen;
    const startedAt = this.#startedAt;
    const endedAt = clock.now();
    // Only the summary of a run that loaded nothing has it.
    const isIdle = summaries.every(({ slices }) => slices === 0);
    const report: RunReport = {
      account,
      run: lake.run,
      range: job.range,
      lake: options.lake,
      forgottenBefore: isIdle ? lake.snapshot.forgottenBefore(account) : undefined,
      seconds: (endedAt - startedAt) / 1000,
      summaries,
      failure: failure ?? holesFailure(summaries),
      catalog: catalogVersion(lake),
    };
    const { endpoint, isEndpointConfigured } = options;
    const times = { startedAt, endedAt, clockOffsetSeconds: this.#clockOffsetSeconds };
    const note = { command, ...times, endpoint, isEndpointConfigured, requested: this.#pipelines };
    await noteRun(lake.store, report, note, emit);
    if (this.#notes.length + requested.length > 0) await removeLoadedNotes(lake, account, emit);
    emitEnd(lake, report, emit);
    return report;
  }

  /**
   * The result of the run: the texts that aren't empty, and the summary.
   *
   * @throws the failure of the run, which then has the result
   */
  result<Summary extends object>(
    { failure }: RunReport,
    texts: readonly string[],
    summary: Summary,
  ): CommandResult<Summary> {
    const result = { text: texts.filter((text) => text !== '').join('\n'), summary };
    if (failure !== undefined) throw new CommandError(failure, result);
    return result;
  }

  /** Releases the lease. */
  async release(): Promise<void> {
    await this.#lease?.release();
  }
}

/**
 * Runs the pipelines with their APIs connected, and removes the saved pages that the next run does not need.
 *
 * @throws LedgerlakeError USAGE before the first request
 */
async function runConnected(
  lake: Lake,
  revisions: EventRevisions,
  { pipelines, job, requested }: LoadPlan,
  { options, chosen: { isCustomOnly } }: LoadTask,
  { clock, signal, closing, emit }: RunContext,
): ReturnType<typeof runPipelines> {
  const { account } = job;
  let ran: Awaited<ReturnType<typeof runPipelines>> | undefined;
  const until = { end: job.range.end, requested };
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
      revisions,
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
