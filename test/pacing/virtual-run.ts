import { noRevisions } from '../lake/small-table.js';
import { startEmulator, type EmulatorOptions } from '../emulator/emulator.js';
import * as diagnostics from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/core/clock.js';
import type { Emit } from '../../src/core/events/run-event.js';
import { connectFinances } from '../../src/sources/finances/connect-finances.js';
import { plainLog } from '../../src/observe/log/plain-log.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { Lake } from '../../src/lake/lake.js';
import { openStore } from '../../src/lake/store/open-store.js';
import { choosePipelines } from '../../src/app/configuration/chosen-pipelines.js';
import type { PipelineCounts } from '../../src/engine/run/pipeline-counts.js';
import { runPipelines } from '../../src/engine/run/runner.js';
import { dayMs, months, type Window } from '../../src/core/windows.js';
import { createSeller, type Seller } from '../../src/emulator/seller/seller.js';
import { signInPath } from '../../src/serve/http/sign-in.js';
import { Secret } from '../../src/engine/auth/secret.js';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { HandClock } from '../core/clock.js';

export interface Scenario {
  readonly pipelines: readonly string[];
  /** Milliseconds that an answer takes. */
  readonly latencyMs: number;
  /** Events in 90 days, and days that are loaded. */
  readonly events: number;
  readonly days: number;
  readonly seed?: number;
  /** Default: the live service's. */
  readonly quota?: { readonly rate: number; readonly burst: number };
  readonly server?: Partial<EmulatorOptions>;
  /** Whether the service asks for access tokens. */
  readonly signsIn?: boolean;
  /** Milliseconds of real time after which an answer is given up: what keeps silent is waited for in real time. */
  readonly timeoutMs?: number;
  /** What the run and the service go by; default: one of the run's own. */
  readonly clock?: WholeClock;
  /** From 0 up to 1: spreads the attempts; default: by chance. */
  readonly random?: () => number;
  /** Takes what happens in the run. */
  readonly emit?: Emit;
  /** Whether the outcome is to have the amounts: a million of them take half a minute. */
  readonly readsAmounts?: boolean;
}

/** What a run needed, and what it would have needed at the least; times in seconds of the service's clock. */
export interface Outcome {
  readonly summaries: readonly PipelineCounts[];
  readonly failure: unknown;
  readonly seconds: number;
  readonly requests: number;
  /** Requests that full pages would take, by month or group. */
  readonly least: number;
  /** The quota's time for these; where that is longer, the time of the longest group's pages one after the other. */
  readonly bound: number;
  /** 429s that the service gave. */
  readonly throttled: number;
  /** Requests that the service found something wrong with. */
  readonly invalid: number;
  /** Requests that a fault hit. */
  readonly struck: number;
  /** Access tokens that were asked for. */
  readonly signIns: number;
  /** What was told of waiting, a line each. */
  readonly told: readonly string[];
  /** Events of the seller that the lake lacks, and such that it has too often. */
  readonly lost: number;
  readonly doubled: number;
  /** The entries of transactions, whatever shape these were answered in; none unless the scenario asks for them. */
  readonly amounts: readonly string[];
}

/** How each pipeline's operation answers, live. */
const listings: Readonly<Record<string, { readonly burst: number; readonly perPage: number; readonly table: string }>> =
  {
    'financial-events': { burst: 30, perPage: 100, table: 'events' },
    'group-events': { burst: 30, perPage: 100, table: 'group_events' },
    transactions: { burst: 10, perPage: 500, table: 'transactions' },
  };
/** When a run begins. */
export const now = '2026-07-01T12:00:00Z';

/** Milliseconds of real time without anything happening after which all that goes on is waiting for the clock … */
const quietMs = 1;

/** Loads a range from a real service over sockets, both on one clock that is moved on whenever all of it waits. */
export async function virtualRun(scenario: Scenario): Promise<Outcome> {
  const {
    pipelines,
    latencyMs,
    events,
    days,
    seed = 1,
    timeoutMs = 60_000,
    clock = new WholeClock(now),
    random = Math.random,
    emit = () => undefined,
    readsAmounts = false,
  } = scenario;
  const chosenListings = pipelines.map((name) => listings[name]).filter((listing) => listing !== undefined);
  const { burst, perPage } = chosenListings[0] ?? { burst: 30, perPage: 100 };
  const { quota = { rate: 0.5, burst } } = scenario;
  const seller = createSeller(
    { seed, events: Math.round((events * (days + 60)) / 90), days: days + 60, profile: 'edge-cases' },
    clock,
  );
  const today = Math.floor(clock.now() / dayMs) * dayMs;
  // A group that is still open has more events whenever it is asked for, and a deferred sale another status.
  const isSettled = pipelines.includes('group-events') || pipelines.includes('transactions');
  const end = isSettled ? today - 20 * dayMs : clock.now() - 5 * 60_000;
  const range = { start: today - days * dayMs, end };
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-pacing-'));
  const slow = countedClock(clock);
  const client = { clientId: 'client', clientSecret: 'its secret' };
  const server = await startEmulator({
    backend: seller,
    clock: slow.clock,
    quota,
    latencyMs,
    ...(scenario.signsIn === true && { signIn: client }),
    ...scenario.server,
  });
  const requests = requestsUnderWay();
  const store = openStore(folder, { clock });
  const told: string[] = [];
  const connection = connectFinances({
    endpoint: server.url,
    quota,
    clock,
    random,
    ...(scenario.signsIn === true && {
      signIn: {
        account: 'shop',
        tokenEndpoint: `${server.url}${signInPath}`,
        clientId: new Secret(client.clientId),
        clientSecret: new Secret(client.clientSecret),
        refreshToken: new Secret('a refresh token'),
      },
    }),
    emit: plainLog((line) => told.push(line)),
    cursorLifeMs: scenario.server?.tokenLifeMs ?? 180_000,
    transport: { headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs },
  });
  try {
    const lake = await Lake.open(store, tables, clock);
    const began = clock.now();
    const run = runPipelines(choosePipelines(pipelines, false), {
      job: { kind: 'backfill', account: 'shop', range, lake, refresh: false, orders: [] },
      upstream: connection.upstream,
      clock,
      signal: new AbortController().signal,
      emit,
      openSlices: 4,
      revisions: noRevisions,
    });
    // Where requests are on their way that nobody answers, until they are given up.
    const isTalking = (): boolean => requests.count() > slow.sleeping();
    const { summaries, failure } = await movedUntil(run, clock, timeoutMs * 1.5, isTalking);
    const chosen = summaries.filter(({ pipeline }) => pipelines.includes(pipeline));
    const counts = await countsOf(seller, pipelines, range, clock.now());
    const least = counts.reduce((sum, events) => sum + Math.max(1, Math.ceil(events.length / perPage)), 0);
    return {
      summaries,
      failure,
      seconds: (clock.now() - began) / 1000,
      requests: chosen.reduce((sum, { requests }) => sum + requests, 0),
      least,
      bound: Math.max(
        Math.max(0, least - quota.burst) / quota.rate + latencyMs / 1000,
        pipelines.includes('group-events') ? (longestChain(counts) + 1) * (latencyMs / 1000) : 0,
      ),
      throttled: server.counts.requests(undefined, 429),
      invalid: server.counts.requests(undefined, 400),
      struck: server.counts.faults(),
      signIns: server.counts.requests('SignIn'),
      told,
      ...(await differences(lake, chosenListings, counts.flat())),
      amounts: readsAmounts ? await amountsOf(lake) : [],
    };
  } finally {
    requests.stop();
    await connection.close();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Moves the clock to the next sleeper whenever nothing else goes on, until the work is done. */
export async function movedUntil<T>(
  work: Promise<T>,
  clock: HandClock,
  stuckMs: number,
  areRequestsOpen: () => boolean,
): Promise<T> {
  const over = new AbortController();
  void work
    .catch(() => undefined)
    .finally(() => {
      over.abort();
    });
  while (!over.signal.aborted) {
    let since = performance.now();
    let asleep = -1;
    // What sockets, files and, where nobody sleeps, other threads are waited for with leaves the core to others.
    let isWaiting = false;
    for (let quiet = 0; quiet < quietMs;) {
      await new Promise((resolve) => (isWaiting ? setTimeout(resolve, 1) : setImmediate(resolve)));
      const isBusy = areFilesBusy();
      const isTalking = areRequestsOpen();
      isWaiting = isBusy || isTalking || clock.nextWake === undefined;
      const waited = performance.now() - since;
      if (isBusy || clock.sleeping !== asleep || (isTalking && waited < stuckMs && asleep !== -1)) {
        if (!isTalking || clock.sleeping !== asleep) since = performance.now();
        quiet = 0;
      } else quiet = waited;
      asleep = clock.sleeping;
    }
    if (clock.nextWake !== undefined) await clock.advanceTo(clock.nextWake);
  }
  return work;
}

/** Whether this process waits for a file system: a disk may take longer than any time that is called quiet. */
function areFilesBusy(): boolean {
  return process.getActiveResourcesInfo().some((resource) => /^(FSReq|CloseReq)/.test(resource));
}

/** A clock of whole milliseconds, as a machine's is. */
export class WholeClock extends HandClock {
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Math.ceil(ms), signal);
  }
}

/** A clock that tells how many sleep by it. */
export function countedClock(clock: HandClock): { readonly clock: Clock; readonly sleeping: () => number } {
  let sleeping = 0;
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    sleeping++;
    return clock.sleep(ms, signal).finally(() => {
      sleeping--;
    });
  };
  return { clock: { now: () => clock.now(), sleep }, sleeping: () => sleeping };
}

/** Requests of this process that have no whole answer yet, as undici tells of them. */
export function requestsUnderWay(): { readonly count: () => number; readonly stop: () => void } {
  let count = 0;
  const begun = (): void => {
    count++;
  };
  const ended = (): void => {
    count--;
  };
  const channels = [
    ['undici:request:create', begun],
    ['undici:request:trailers', ended],
    ['undici:request:error', ended],
  ] as const;
  for (const [name, told] of channels) diagnostics.subscribe(name, told);
  return {
    count: () => count,
    stop: () => {
      for (const [name, told] of channels) diagnostics.unsubscribe(name, told);
    },
  };
}

/** The events and transactions that the seller has, by month and by group. */
async function countsOf(
  seller: Seller,
  pipelines: readonly string[],
  range: Window,
  asOf: number,
): Promise<(readonly string[])[]> {
  const all = { cursor: undefined, limit: 1e6, asOf };
  const counts: string[][] = [];
  if (pipelines.includes('financial-events')) {
    for (const { start, end } of months(range)) {
      const { items } = await seller.events({ start, end }, all);
      counts.push(items.map(({ json }) => json));
    }
  }
  if (pipelines.includes('transactions')) {
    const any = { status: undefined, marketplaceId: undefined, orderId: undefined, groupId: undefined };
    for (const { start, end } of months(range)) {
      const question = { ...any, range: { start, end } };
      const page = await seller.byTransaction?.transactions(question, all);
      counts.push((page?.items ?? []).map(({ json }) => json));
    }
  }
  if (pipelines.includes('group-events')) {
    const groups = await seller.groups({ start: range.start, end: range.end }, all);
    for (const { json } of groups.items) {
      const { FinancialEventGroupId: id } = JSON.parse(json) as { FinancialEventGroupId: string };
      const page = await seller.eventsOfGroup(id, all);
      counts.push((page?.items ?? []).map((item) => item.json));
    }
  }
  return counts;
}

/** Pages of the largest group, which are read one after the other, behind the page of the listing. */
function longestChain(counts: readonly (readonly string[])[]): number {
  return Math.max(0, ...counts.map((events) => Math.ceil(events.length / 100)));
}

/** What the lake holds, as DuckDB reads it, against what the seller has, as multisets of bytes. */
async function differences(
  lake: Lake,
  listings: readonly { readonly table: string }[],
  owned: readonly string[],
): Promise<Pick<Outcome, 'lost' | 'doubled'>> {
  await lake.refresh();
  const left = new Map<string, number>();
  for (const raw of owned) left.set(raw, (left.get(raw) ?? 0) + 1);
  const files = lake.fileAddresses();
  const database = await openDatabase();
  try {
    for (const { table } of listings) {
      for (const file of files.get(table) ?? []) {
        const rows = await database.rows(`SELECT raw FROM read_parquet('${file}', hive_partitioning = false)`);
        for (const { raw } of rows) left.set(String(raw), (left.get(String(raw)) ?? 0) - 1);
      }
    }
  } finally {
    database.close();
  }
  const counts = [...left.values()];
  return {
    lost: counts.reduce((sum, count) => sum + Math.max(0, count), 0),
    doubled: counts.reduce((sum, count) => sum + Math.max(0, -count), 0),
  };
}

async function amountsOf(lake: Lake): Promise<readonly string[]> {
  const names = ['transaction_id', 'status', 'posted_at', 'breakdown', 'item', 'sku', 'role', 'amount', 'currency'];
  const columns = names.map((name) => `coalesce(CAST(${name} AS VARCHAR), 'null')`);
  const amounts: string[] = [];
  const database = await openDatabase();
  try {
    for (const file of lake.fileAddresses().get('transaction_entries') ?? []) {
      const rows = await database.rows(
        `SELECT concat_ws(' ', ${columns.join(', ')}) AS entry FROM read_parquet('${file}', hive_partitioning = false)`,
      );
      for (const { entry } of rows) amounts.push(String(entry));
    }
  } finally {
    database.close();
  }
  return amounts.toSorted();
}
