import type { Clock } from '../clock.js';
import { LedgerlakeError } from '../errors.js';
import { verdictOn } from '../finances/connect.js';
import { readEndpoint } from '../finances/endpoint.js';
import { tables } from '../finances/tables.js';
import type { FinancesUpstream } from '../finances/upstream.js';
import type { Findings } from '../history/changes.js';
import { EventRevisions } from '../history/event-revisions.js';
import { emptyFailure } from '../history/findings-text.js';
import { Lake } from '../lake/lake.js';
import { holdLease } from '../lake/leases.js';
import { openStore } from '../lake/open-store.js';
import type { Store } from '../lake/store.js';
import { sweepLake } from '../lake/sweep.js';
import { splitter } from '../maintenance/split.js';
import { defaultLimits, withWorkspace } from '../maintenance/workspace.js';
import { readAccount, refuseMixing } from '../options/account.js';
import { runLog } from '../output/run-log.js';
import type { RunReport } from '../output/run-summary.js';
import type { Pipeline } from '../run/pipeline.js';
import { runPipelines } from '../run/runner.js';
import type { Window } from '../run/windows.js';
import { withUpstream, type UpstreamOptions } from './connected.js';
import type { CommandContext } from './context.js';
import { noteRun } from './note-run.js';

/** What `backfill` and `sync` have in common. */
export interface LoadOptions extends UpstreamOptions {
  readonly account: string | undefined;
  /** Takes it that what held rows is empty now. */
  readonly acceptEmpty?: boolean;
  readonly json: boolean;
  readonly verbose: boolean;
  /** In the place of the one that `lake` names. */
  readonly store?: Store;
}

/** What is to be loaded. */
export interface LoadPlan {
  readonly pipelines: readonly Pipeline<FinancesUpstream>[];
  readonly range: Window;
  readonly orders: readonly string[];
  /** Whether something that the lake holds is read again. */
  readonly refresh: boolean;
}

/** A run that has ended. */
export interface Loaded {
  readonly lake: Lake;
  readonly report: RunReport;
  readonly findings: Findings;
}

export interface Load {
  /** Which command it is, for the note that the run leaves. */
  readonly command: string;
  readonly options: LoadOptions;
  readonly refresh: boolean;
  /** What to load, given the lake as it is once the run holds its lease. */
  readonly plan: (lake: Lake, account: string) => LoadPlan | Promise<LoadPlan>;
  /** What is wrong with the lake after a run that came to its end; undefined where nothing is. */
  readonly judge?: (lake: Lake, account: string) => LedgerlakeError | undefined;
  /** Tells of the run, which may have failed. */
  readonly tell: (loaded: Loaded) => void | Promise<void>;
}

/** Slices of one pipeline that are open at once where there is no quota: while one waits, another is flattened. */
const openSlices = 4;

/**
 * Loads into a lake: opens it, holds a lease on it, runs the pipelines, sweeps, and leaves word of the run.
 *
 * @throws LedgerlakeError USAGE before anything is touched, or the failure that ended the run, told by then
 */
export async function load(
  { command, options, refresh, plan, judge, tell }: Load,
  context: CommandContext,
): Promise<void> {
  const { clock, signal, log } = context;
  const account = readAccount(options.account, options.endpoint);
  if (options.endpoint !== undefined) readEndpoint(options.endpoint);

  await withRevisions(refresh, options.acceptEmpty === true, clock, async (revisions) => {
    const lake = await Lake.open(options.store ?? openStore(options.lake, { clock }), tables, clock, revisions);
    refuseMixing(account, lake.accounts(), options.lake);
    const lease = await holdLease(lake.store, clock);
    try {
      // Once the lease is held nothing is forgotten any more: what was until then, the plan must know.
      await lake.refresh();
      const began = clock.now();
      const { pipelines, range, ...job } = await plan(lake, account);
      const run = (upstream: FinancesUpstream, chosen: readonly Pipeline<FinancesUpstream>[]) =>
        runPipelines(chosen, {
          job: { account, range, lake, ...job },
          upstream,
          clock,
          signal,
          events: runLog(log, options.verbose),
          openSlices,
          judge: verdictOn,
          split: splitter(lake, clock),
          acceptsEmpty: options.acceptEmpty === true,
        });
      const { summaries, failure: broken } = await withUpstream(options, account, context, async (upstream, sweep) => {
        const ran = await run(upstream, pipelines);
        if (ran.failure === undefined) await sweep();
        return ran;
      });
      if (broken === undefined) await sweepLake(lake, lease, clock);
      const findings = revisions?.findings ?? { changes: [], emptied: [], uncompared: [] };
      const failure = broken ?? emptyFailure(findings) ?? judge?.(lake, account);
      const seconds = (clock.now() - began) / 1000;
      const report: RunReport = { account, range, lake: options.lake, seconds, summaries, failure };
      const note = { command, startedAt: began, endedAt: clock.now(), endpoint: options.endpoint };
      await noteRun(lake.store, report, note, log);
      await tell({ lake, report, findings });
      if (failure !== undefined) throw failure instanceof LedgerlakeError ? failure : asError(failure);
    } finally {
      await lease.release();
    }
  });
}

/** Where nothing is read again there is nothing to compare. */
async function withRevisions(
  refresh: boolean,
  acceptEmpty: boolean,
  clock: Clock,
  use: (revisions: EventRevisions | undefined) => Promise<void>,
): Promise<void> {
  if (!refresh) return use(undefined);
  return withWorkspace(defaultLimits, (workspace) => use(new EventRevisions(workspace, { clock, acceptEmpty })));
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
