import { noRevisions } from '../lake/small-table.js';
import { startEmulator } from '../emulator/emulator.js';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latestBound } from '../../src/app/configuration/range.js';
import { choosePipelines } from '../../src/app/configuration/chosen-pipelines.js';
import { EventRevisions } from '../../src/app/reconcile/reconcile-slice.js';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import type { Window } from '../../src/core/windows.js';
import type { FaultKind, Faults } from '../../src/emulator/faults/fault-settings.js';
import { Secret } from '../../src/engine/auth/secret.js';
import type { PipelineCounts } from '../../src/engine/run/pipeline-counts.js';
import { runPipelines } from '../../src/engine/run/runner.js';
import { loadedWindows } from '../../src/engine/slicing/window-slices.js';
import { missingWindows } from '../../src/engine/slicing/sync-windows.js';
import { defaultLimits, withWorkspace } from '../../src/lake/files/workspace.js';
import { Lake } from '../../src/lake/lake.js';
import { openStore } from '../../src/lake/store/open-store.js';
import { signInPath } from '../../src/serve/http/sign-in.js';
import type { Backend } from '../../src/serve/served-apis.js';
import type { BackendPage, BackendQuery } from '../../src/serve/operation/backend-page.js';
import type { TransactionBackend } from '../../src/serve/api-2024-06-19/transaction-backend.js';
import { connectFinances } from '../../src/sources/finances/connect-finances.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { syncUntil } from '../engine/run/small-run.js';
import { countedClock, movedUntil, requestsUnderWay, WholeClock } from './virtual-run.js';

export interface ShopOptions {
  /** What it sells, by the shop's clock. */
  readonly seller: (clock: WholeClock) => Backend;
  /** ISO 8601. */
  readonly now: string;
  /** A lake to begin with; left out: an empty one. */
  readonly lake?: string;
  readonly faults?: Faults;
}

/** What a run is to load. */
export interface Load {
  readonly pipelines: readonly string[];
  /** Left out: what a sync with a look-back of two days reads. */
  readonly range?: Window;
  readonly refresh?: boolean;
  readonly orders?: readonly string[];
}

export interface Shop extends AsyncDisposable {
  readonly clock: WholeClock;
  readonly folder: string;
  /** Requests that a fault hit. */
  readonly struck: (kind?: FaultKind) => number;
  /** What is sold by now. While a run is under way it is what it was when the run began. */
  readonly backend: TransactionBackend;
  /** Runs to the end, moving the clock on. */
  load(load: Load): Promise<{ summaries: readonly PipelineCounts[]; failure: unknown; emptied: number }>;
  /** A column of a table's committed rows, as text, in order. */
  texts(table: string, expression: string): Promise<string[]>;
}

const silentMs = 1000;

/** A lake and a real service over sockets, both on one clock that moves on whenever all of it waits. */
export async function openShop({ seller, now, lake, faults }: ShopOptions): Promise<Shop> {
  const clock = new WholeClock(now);
  const slow = countedClock(clock);
  let until = Infinity;
  const backend = heldStill(seller(clock), () => until);
  const { byTransaction } = backend;
  if (byTransaction === undefined) throw new Error('the seller has no transactions');
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-shop-'));
  if (lake !== undefined) await cp(lake, folder, { recursive: true });
  const quota = { rate: 0.5, burst: 10 };
  const signIn = { clientId: 'client', clientSecret: 'its secret' };
  const served = { backend, clock: slow.clock, quota, latencyMs: 50, signIn };
  const server = await startEmulator({ ...served, ...(faults && { faults }) });
  const requests = requestsUnderWay();
  const store = openStore(folder, { clock });

  async function run({ pipelines, range, refresh = false, orders = [] }: Load) {
    const connection = connectFinances({
      endpoint: server.url,
      quota,
      clock,
      random: Math.random,
      cursorLifeMs: 180_000,
      emit: () => undefined,
      transport: { headersTimeoutMs: silentMs, bodyTimeoutMs: silentMs },
      signIn: {
        account: 'shop',
        tokenEndpoint: `${server.url}${signInPath}`,
        clientId: new Secret(signIn.clientId),
        clientSecret: new Secret(signIn.clientSecret),
        refreshToken: new Secret('a refresh token'),
      },
    });
    const chosen = choosePipelines(pipelines, orders.length > 0);
    try {
      return await withWorkspace(defaultLimits, store, async (workspace) => {
        const isCompared = refresh || range === undefined;
        const opened = await Lake.open(store, tables, clock);
        const revisions = new EventRevisions(opened, clock, workspace);
        const end = latestBound(clock.now());
        const loaded = loadedWindows(opened, 'transactions', 'shop');
        const kind = range === undefined ? syncUntil(end, clock.now()) : ({ kind: 'backfill' } as const);
        const { summaries, failure } = await runPipelines(chosen, {
          job: {
            ...kind,
            account: 'shop',
            lake: opened,
            orders,
            refresh: isCompared,
            range: range ?? { start: missingWindows(loaded, end)[0]?.start ?? end, end },
          },
          upstream: connection.upstream,
          clock,
          signal: new AbortController().signal,
          emit: () => undefined,
          openSlices: 4,
          revisions: isCompared ? revisions : noRevisions,
        });
        return { summaries, failure, emptied: revisions.findings.emptied.length };
      });
    } finally {
      await connection.close();
    }
  }

  return {
    clock,
    folder,
    backend: byTransaction,
    struck: (kind) => server.counts.faults(kind),
    load: async (load) => {
      until = clock.now();
      return movedUntil(run(load), clock, silentMs * 1.5, () => requests.count() > slow.sleeping());
    },
    texts: async (table, expression) => {
      const opened = await Lake.open(store, tables, clock);
      const database = await openDatabase();
      try {
        const files = (opened.fileAddresses().get(table) ?? []).map((file) => `'${file}'`).join(', ');
        if (files === '') return [];
        const sql = `SELECT (${expression})::VARCHAR AS text FROM read_parquet([${files}], hive_partitioning = false)`;
        return (await database.rows(sql)).map(({ text }) => String(text)).toSorted();
      } finally {
        database.close();
      }
    },
    [Symbol.asyncDispose]: async () => {
      requests.stop();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A backend that shows nothing of what happens later than an instant. */
function heldStill(backend: Backend, until: () => number): Backend {
  const { byTransaction } = backend;
  const at = (query: BackendQuery) => ({ ...query, asOf: Math.min(query.asOf, until()) });
  return {
    ...backend,
    byTransaction: byTransaction && {
      transactions: (question, query) => byTransaction.transactions(question, at(query)),
      summaries: (question, query) => byTransaction.summaries(question, at(query)),
      payouts: (question, query) => byTransaction.payouts(question, at(query)),
    },
  };
}

/** Everything that a backend has for a question, as JSON, in the order of their bytes. */
export async function allOf(ask: (query: BackendQuery) => Promise<BackendPage>, asOf: number): Promise<string[]> {
  const { items } = await ask({ cursor: undefined, limit: 1e6, asOf });
  return items.map(({ json }) => json).toSorted();
}

/** All of the transactions of a range. */
export function postedIn({ start, end }: Window) {
  const any = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
  return { ...any, range: { start, end } };
}
