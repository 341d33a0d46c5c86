import type { Clock } from '../clock.js';
import { LedgerlakeError } from '../errors.js';
import { connectFinances } from '../finances/connect.js';
import { readEndpoint } from '../finances/endpoint.js';
import { tables } from '../finances/tables.js';
import type { FinancesUpstream } from '../finances/upstream.js';
import { Lake } from '../lake/lake.js';
import { holdLease } from '../lake/leases.js';
import { sweepLake } from '../lake/sweep.js';
import { openStore } from '../lake/open-store.js';
import { splitter } from '../maintenance/split.js';
import { readAccount, refuseMixing } from '../options/account.js';
import { readOrders } from '../options/orders.js';
import { choosePipelines } from '../options/pipelines.js';
import { readRange, type RangeOptions } from '../options/range.js';
import { runLog } from '../output/run-log.js';
import { nextSteps, summaryJson, summaryText, type RunReport } from '../output/run-summary.js';
import type { Pipeline } from '../run/pipeline.js';
import { runPipelines } from '../run/runner.js';
import { createSeller } from '../seller/seller.js';
import { startService } from '../service/server.js';
import { noteRun } from './note-run.js';
import type { CommandContext } from './context.js';

export interface BackfillOptions extends RangeOptions {
  /** Names; empty for the default set. */
  readonly pipelines: readonly string[];
  readonly lake: string;
  readonly account: string | undefined;
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
  readonly refresh: boolean;
  /** Requests a second and at once, as long as the upstream says nothing else. */
  readonly rate: number;
  readonly burst: number;
  /** The text of the file with order ids, and its name. */
  readonly orders: { readonly text: string; readonly source: string } | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
}

/** The made-up seller behind the embedded service: about 20,000 events in 90 days. */
const embeddedSeller = { seed: 1, events: 20_000 };

/** Slices of one pipeline that are read at once: while one waits for an answer, another's pages are flattened. */
const openSlices = 4;

/**
 * `ledgerlake backfill`: loads what the lake lacks of a date range, and prints a summary.
 *
 * @throws LedgerlakeError USAGE before anything is touched, or the failure that ended the run, its summary printed
 */
export async function backfill(options: BackfillOptions, context: CommandContext): Promise<void> {
  const { clock, signal, print, log } = context;
  const pipelines = choosePipelines(options.pipelines, options.orders !== undefined);
  const orders = options.orders === undefined ? [] : readOrders(options.orders.text, options.orders.source);
  const range = readRange(options, clock.now());
  const account = readAccount(options.account, options.endpoint);
  if (options.endpoint !== undefined) readEndpoint(options.endpoint);

  const lake = await Lake.open(openStore(options.lake, { clock }), tables, clock);
  refuseMixing(account, lake.accounts(), options.lake);
  const lease = await holdLease(lake.store, clock);
  // Once the lease is held nothing is forgotten any more: what was until then, the plan must know.
  await lake.refresh();
  const began = clock.now();
  const run = (upstream: FinancesUpstream, chosen: readonly Pipeline<FinancesUpstream>[]) =>
    runPipelines(chosen, {
      job: { account, range, lake, refresh: options.refresh, orders },
      upstream,
      clock,
      signal,
      events: runLog(log, options.verbose),
      openSlices,
      split: splitter(lake, clock),
    });
  try {
    const { summaries, failure } = await withUpstream(options, clock, (upstream) => run(upstream, pipelines));
    if (failure === undefined) await sweepLake(lake, lease, clock);
    const seconds = (clock.now() - began) / 1000;
    const report: RunReport = { account, range, lake: options.lake, seconds, summaries, failure };
    const note = { command: 'backfill', startedAt: began, endedAt: clock.now(), endpoint: options.endpoint };
    await noteRun(lake.store, report, note, log);
    print(summaryText(report));
    if (failure === undefined) print(nextSteps(report));
    if (options.json) print(summaryJson(report));
    if (failure !== undefined) throw failure instanceof LedgerlakeError ? failure : asError(failure);
  } finally {
    await lease.release();
  }
}

/** Runs with the upstream at an address, or with the embedded service, which is started for the run and not throttled. */
async function withUpstream<T>(
  { endpoint, rate, burst }: BackfillOptions,
  clock: Clock,
  use: (upstream: FinancesUpstream) => Promise<T>,
): Promise<T> {
  const service =
    endpoint === undefined ? await startService({ ledger: createSeller(embeddedSeller, clock), clock }) : undefined;
  const connection = connectFinances({
    endpoint: endpoint ?? service?.url ?? '',
    quota: service === undefined ? { rate, burst } : undefined,
    clock,
  });
  try {
    return await use(connection.upstream);
  } finally {
    await connection.close();
    await service?.close();
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
