import { startEmulator, type EmulatorOptions } from '../emulator/emulator.js';
import { startEmbeddedService } from '../../src/emulator/emulator.js';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/core/clock.js';
import { backfill } from '../../src/app/load/backfill.js';
import type { LoadOptions } from '../../src/app/load/run-settings.js';
import { succeeded } from './ended.js';
import type { Database } from '../../src/core/duckdb/connection.js';
import { LakeDatabase } from '../../src/app/query/lake-database.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import type { RunEvent, Emit } from '../../src/core/events/run-event.js';
import { plainLog } from '../../src/observe/log/plain-log.js';

/** A clock that stands still at an instant: who sleeps on it sleeps until it is woken by its signal. */
export function clockAt(iso: string): Clock {
  const now = Date.parse(iso);
  return {
    now: () => now,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      }),
  };
}

/** A folder of its own for the test that runs, gone when it ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A service of its own for the test that runs; its address. */
export async function serving(options: EmulatorOptions): Promise<string> {
  const server = await startEmulator(options);
  onTestFinished(() => server.close());
  return server.url;
}

/** A backfill of the synthetic seller, not throttled; the lake is to be named. */
export const defaults: LoadOptions = {
  pipelines: [],
  lake: '',
  account: undefined,
  endpoint: undefined,
  startEmbedded: startEmbeddedService,
  refresh: false,
  from: undefined,
  to: undefined,
  rate: 1000,
  burst: 1000,
  orders: undefined,
};

export interface Ran {
  readonly printed: string;
  readonly logged: string;
  readonly summary: { status: string; pipelines: Record<string, Record<string, number>> };
}

/**
 * Runs a backfill to its end; throws what it throws. `logged`: takes the log's lines, also when it does, and `told` what
 * happens.
 */
export async function ran(
  options: Partial<LoadOptions>,
  {
    clock,
    signal = new AbortController().signal,
    logged = [],
    emitted = [],
  }: { clock: Clock; signal?: AbortSignal; logged?: string[]; emitted?: RunEvent[] },
): Promise<Ran> {
  const log = plainLog((line) => logged.push(line));
  const emit: Emit = (event) => {
    emitted.push(event);
    log(event);
  };
  const { printed, summary } = await succeeded(backfill({ ...defaults, ...options }, { clock, signal, emit }));
  return { printed, logged: logged.join('\n'), summary: summary as Ran['summary'] };
}

/** Every file below a folder with the hash of its bytes, but for those under names that begin with `_`. */
export async function fileHashes(folder: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name));
    if (!entry.isFile() || /(^|\/)_/.test(path)) continue;
    hashes.set(
      path,
      createHash('sha256')
        .update(await readFile(join(folder, path)))
        .digest('hex'),
    );
  }
  return hashes;
}

/** What `fileHashes` finds, without the run and number in the names of data files, to compare with another lake. */
export async function fileContents(folder: string): Promise<string[]> {
  const hashes = [...(await fileHashes(folder))];
  return hashes.map(([path, hash]) => `${path.replace(/-\d+-[0-9a-z]+-\d+\.parquet$/, '')} ${hash}`).toSorted();
}

/**
 * DuckDB over the committed files of a lake, closed when the test ends. A query that is given needs only its own tables, and no views over
 * them.
 */
export async function database(lake: string, clock: Clock, query?: string): Promise<Database> {
  const reader = await openLakeReader(lake, clock);
  const named = reader.tables.filter(({ name }) => query === undefined || new RegExp(`\\b${name}\\b`).test(query));
  const macrosFor = query === undefined ? reader.macrosFor : () => [];
  const opened = await LakeDatabase.open({ ...reader, tables: named, macrosFor });
  onTestFinished(() => {
    opened.close();
  });
  await opened.refresh();
  return opened;
}

/** Computes views, each once: from now on a query reads the rows that they have now. Those that others read come first. */
export async function computeOnce(db: Database, views: readonly string[]): Promise<void> {
  for (const view of views) {
    await db.execute(`CREATE TABLE computed_${view} AS FROM ${view}`);
    await db.execute(`CREATE OR REPLACE VIEW ${view} AS FROM computed_${view}`);
  }
}
