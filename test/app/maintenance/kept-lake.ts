import { createHash } from 'node:crypto';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { CommandResult } from '../../../src/app/command-result.js';
import type { Clock } from '../../../src/core/clock.js';
import { compact, type CompactOptions } from '../../../src/app/maintenance/compact-lake.js';
import { rebuild, type RebuildOptions } from '../../../src/app/maintenance/rebuild-lake.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import { succeeded } from '../ended.js';
import { ran, temporaryFolder } from '../lake-run.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

/** A clock that goes on by a second each time that it is read, so that what comes later is later. */
export function steppingClock(iso = '2026-03-15T12:00:00Z'): Clock {
  let now = Date.parse(iso);
  return {
    now: () => (now += 1000),
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      }),
  };
}

export const dates = { from: '2026-01-24', to: '2026-03-10' };

/** A synthetic seller behind a service, for the tests of one file: call `close` behind the last. */
export async function sellerServer(clock: Clock, events = 300): Promise<{ endpoint: string; close(): Promise<void> }> {
  const seller = createSeller({ seed: 7, events, profile: 'edge-cases' }, clock);
  const server = await startApiServer({ backend: seller, clock });
  return { endpoint: server.url, close: () => server.close() };
}

/** A copy of a lake for the test that runs. */
export async function copied(lake: string): Promise<string> {
  const copy = join(await temporaryFolder(), 'lake');
  await cp(lake, copy, { recursive: true });
  return copy;
}

export interface Kept {
  readonly printed: string;
  readonly summary: { status: string; pipelines: Record<string, Record<string, number>> };
}

const defaults = { pipelines: [], account: undefined };

async function kept(command: Promise<CommandResult>): Promise<Kept> {
  const { printed, summary } = await succeeded(command);
  return { printed, summary: summary as Kept['summary'] };
}

export interface RunWith {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** Runs `compact` to its end; throws what it throws. */
export function compacted(
  options: Partial<CompactOptions> & { lake: string },
  { clock, signal = new AbortController().signal, log = () => undefined }: RunWith,
): Promise<Kept> {
  return kept(compact({ ...defaults, ...options }, { clock, signal, emit: plainLog(log, { verbose: true }) }));
}

/** Runs `rebuild` to its end; throws what it throws. */
export function rebuilt(
  options: Partial<RebuildOptions> & { lake: string },
  { clock, signal = new AbortController().signal, log = () => undefined }: RunWith,
): Promise<Kept> {
  return kept(rebuild({ ...defaults, ...options }, { clock, signal, emit: plainLog(log, { verbose: true }) }));
}

/** Runs `backfill` against a service with the dates of these tests. */
export function loaded(lake: string, endpoint: string, clock: Clock, options: Parameters<typeof ran>[0] = {}) {
  return ran({ lake, endpoint, account: 'shop', ...dates, ...options }, { clock });
}

/** What the tables of a lake hold now, kept to compare with what they hold later. */
export interface Contents {
  /** Rows that a table has lost or come to hold since, by table, where it has; `of`: in another lake instead. */
  differences(of?: string): Promise<Record<string, number>>;
  /** A query of what they hold at the time of the last comparison. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export async function contentsOf(store: Store | string, clock: Clock): Promise<Contents> {
  const place = typeof store === 'string' ? openStore(store) : store;
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const isSeen = new Set<string>();
  const look = async (at: Store) => {
    const files = (await Lake.open(at, tables, clock)).fileAddresses();
    const filled = lakeTables.filter(({ name }) => files.has(name) || isSeen.has(name));
    await createViews(database, filled, files);
    for (const { name } of filled) isSeen.add(name);
    return files;
  };
  const held = await look(place);
  for (const name of held.keys()) await database.execute(`CREATE TABLE was_${name} AS SELECT * FROM ${name}`);
  return {
    differences: async (of) => {
      const now = await look(of === undefined ? place : openStore(of));
      const differences: Record<string, number> = {};
      for (const name of now.keys()) expect([...held.keys()]).toContain(name);
      for (const name of held.keys()) {
        const [was, is] = [`SELECT * FROM was_${name}`, `SELECT * FROM ${name}`];
        const [row] = await database.rows(
          `SELECT (SELECT count(*) FROM (${was} EXCEPT ALL ${is})) + (SELECT count(*) FROM (${is} EXCEPT ALL ${was})) AS odd`,
        );
        if (row?.['odd'] !== 0n) differences[name] = Number(row?.['odd']);
      }
      return differences;
    },
    rows: (sql) => database.rows(sql),
  };
}

/** Every file below a folder, logs too, with the hash of its bytes; leases come and go. */
export async function everyHash(folder: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    hashes.set(
      relative(folder, path),
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    );
  }
  return hashes;
}

/** The data files of a lake's folders, as a reader without the log would take them. */
export async function dataFiles(folder: string, table: string): Promise<string[]> {
  const files = await readdir(join(folder, table), { recursive: true });
  return files.filter((file) => file.endsWith('.parquet') && !file.includes('_delta_log')).toSorted();
}
