import { cp, mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { systemClock, type Clock } from '../../src/core/clock.js';
import { backfill } from '../../src/app/load/backfill.js';
import { compact } from '../../src/app/maintenance/compact-lake.js';
import type { RunContext } from '../../src/app/context.js';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import type { LakeFiles } from '../../src/core/duckdb/views.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { startApiServer } from '../../src/serve/http/server.js';
import { fileLiteral, literal } from '../../src/core/duckdb/literals.js';

/** The bench's day, so that the same seed gives the same lake. */
const clock: Clock = { ...systemClock, now: () => Date.parse('2026-03-15T12:00:00Z') };
const context: RunContext = {
  clock,
  signal: new AbortController().signal,
  emit: () => undefined,
};

/** Loads 90 days of a synthetic seller as a first backfill does, from a service that isn't throttled. */
export async function landedLake(lake: string, events: number, seed: number): Promise<void> {
  const server = await startApiServer({ backend: createSeller({ seed, events, profile: 'edge-cases' }, clock), clock });
  const range = { from: undefined, to: undefined, refresh: false, pipelines: [], orders: undefined };
  const upstream = { endpoint: server.url, account: 'shop', rate: 1e6, burst: 1e6 };
  await backfill({ lake, ...range, ...upstream }, context);
  await server.close();
}

/** A copy of a lake, compacted. */
export async function compactedLake(landed: string, lake: string): Promise<void> {
  await cp(landed, lake, { recursive: true });
  await compact({ lake, pipelines: [], account: undefined }, context);
}

/** The files of a lake by table. */
export async function filesOf(lake: string): Promise<LakeFiles> {
  return (await openLakeReader(lake, clock)).lakeFiles();
}

/** DuckDB's own copy of a lake's files: the same rows in the same order, written as it writes zstd by itself. */
export async function duckdbCopy(lake: string, folder: string): Promise<LakeFiles> {
  const database = await openDatabase();
  const copies = new Map<string, string[]>();
  for (const [table, files] of await filesOf(lake)) {
    for (const file of files) {
      const copy = join(folder, relative(lake, file));
      await mkdir(dirname(copy), { recursive: true });
      const rows = `SELECT * FROM read_parquet(${fileLiteral(file)}, hive_partitioning = false)`;
      await database.execute(`COPY (${rows}) TO ${literal(copy)} (FORMAT parquet, COMPRESSION zstd)`);
      copies.set(table, [...(copies.get(table) ?? []), copy]);
    }
  }
  database.close();
  return copies;
}
