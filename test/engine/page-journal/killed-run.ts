import type { EmulatorOptions } from '../../emulator/emulator.js';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { truthOf } from '../../lake/lake-truth.js';
import { childRun } from '../run/child-run.js';
import { filesOf, globOf } from '../run/disk-lake.js';
import { unitOf, unitsIn } from '../run/kill-trials.js';
import { watchedServer, type WatchedServer } from '../run/watched-server.js';
import { runningClock } from '../../running-clock.js';

/** Rates up to 100 are worth pacing; this one makes a run of a hundred requests last a second. */
export const quota = { rate: 80, burst: 10 };

/** A busy seller's service, some of whose slices have ten pages; closed when the test ends. */
export async function busyServer(more: Partial<EmulatorOptions> = {}, seed = 3): Promise<WatchedServer> {
  const clock = runningClock('2025-06-20T12:00:00Z');
  const seller = createSeller({ seed, events: 7000, profile: 'edge-cases' }, clock);
  const server = await watchedServer(seller, clock, { latencyMs: 40, ...more });
  onTestFinished(() => server.close());
  return server;
}

/** What all runs load. */
export const range = { from: '2025-05-18', to: '2025-06-09' };

/** The command that is killed. */
function words(lake: string, { url }: WatchedServer, pipelines: readonly string[]): string[] {
  const pace = ['--rate', String(quota.rate), '--burst', String(quota.burst)];
  const days = ['--from', range.from, '--to', range.to];
  return ['backfill', ...pipelines, '--lake', lake, '--endpoint', url, '--account', 'shop', ...days, ...pace];
}

/** Runs to the end, and well. How many requests came. */
export async function ended(lake: string, server: WatchedServer): Promise<number> {
  const before = server.counts.requests();
  const { code, errors } = await childRun(words(lake, server, [])).ended;
  expect(code, errors).toBe(0);
  return server.counts.requests() - before;
}

/** What a run was at when it was killed. */
export interface Killed {
  readonly requests: number;
  /** Slices that were asked for and aren't in the lake: each had one request under way at the most. */
  readonly open: number;
  /** Pages of these in the journal. */
  readonly kept: number;
}

/** Kills a run, as `kill -9` does, at its n-th request; undefined where it came to its end before. */
export async function killedAt(
  number: number,
  lake: string,
  server: WatchedServer,
  ...pipelines: string[]
): Promise<Killed | undefined> {
  const before = server.counts.requests();
  server.asked.length = 0;
  const child = childRun(words(lake, server, pipelines));
  let requests = 0;
  server.onRequest = () => {
    if (++requests === number) child.process.kill('SIGKILL');
  };
  const { signal } = await child.ended;
  server.onRequest = () => undefined;
  // What nobody waits for any more is answered at once, and counts.
  while (server.counts.underWay > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  if (signal !== 'SIGKILL') return undefined;
  const committed = new Set(unitsIn(await filesOf(lake)));
  const open = new Set(server.asked.map(unitOf).filter((unit) => !committed.has(unit)));
  const kept = (await journalFiles(lake)).length;
  return { requests: server.counts.requests() - before, open: open.size, kept };
}

/** Paths of the pages that a lake's journal holds. */
export async function journalFiles(lake: string, account = 'shop'): Promise<string[]> {
  const folder = join(lake, '_journal', account, 'pages');
  const found = await readdir(folder, { recursive: true }).catch(() => []);
  return found.filter((name) => name.endsWith('.page')).map((name) => join(folder, name));
}

/** Requests that it takes to read the lake's slices as they are cut: full pages, and one for an empty slice. */
export async function requestsNeeded(lake: string): Promise<number> {
  const files = await filesOf(lake);
  expect(truthOf(files).faults).toEqual([]);
  const units = unitsIn(files).length;
  const database = await openDatabase();
  try {
    const counts: number[] = [];
    for (const [table, slice] of [
      ['groups', 'window_start, window_end'],
      ['events', 'window_start, window_end'],
      ['group_events', 'group_id'],
    ] as const) {
      if (![...files.keys()].some((path) => path.startsWith(`${table}/account=`))) continue;
      const rows = await database.rows(`SELECT count(*) AS n FROM (${globOf(lake, table)}) GROUP BY ${slice}`);
      counts.push(...rows.map(({ n }) => Number(n)));
    }
    return counts.reduce((sum, n) => sum + Math.ceil(n / 100), 0) + units - counts.length;
  } finally {
    database.close();
  }
}

/** What no two lakes of the same range may differ in, however their windows were cut. */
const uncut: Readonly<Record<string, string>> = {
  groups: '* EXCLUDE (window_start, window_end)',
  events: 'content_hash, event_list, posted_at, amazon_order_id, marketplace, raw, account, month',
  entries: 'event_list, posted_at, amazon_order_id, entry, path, kind, name, role, amount, currency, account, month',
  group_events: '*',
  group_entries: '*',
};

/** Rows, of all tables, that one of two lakes has and the other hasn't. */
export async function differences(
  lake: string,
  other: string,
  tables: readonly string[] = Object.keys(uncut),
): Promise<Record<string, number>> {
  const database = await openDatabase();
  const found: Record<string, number> = {};
  try {
    for (const table of tables) {
      const columns = uncut[table] ?? '*';
      const [one, two] = [lake, other].map((root) => `SELECT ${columns} FROM (${globOf(root, table)})`);
      for (const [a, b] of [
        [one, two],
        [two, one],
      ]) {
        const [row] = await database.rows(`SELECT count(*) AS n FROM (${a ?? ''} EXCEPT ALL ${b ?? ''})`);
        found[table] = (found[table] ?? 0) + Number(row?.['n']);
      }
    }
    return found;
  } finally {
    database.close();
  }
}
