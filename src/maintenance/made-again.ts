import { readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { deltaStatistics } from '../columns/statistics.js';
import type { Table } from '../columns/table.js';
import type { Database, QueryOptions } from '../duckdb/connection.js';
import { keyValues } from '../duckdb/rewritten-file.js';
import { identifier } from '../duckdb/views.js';
import type { Add } from '../lake/actions.js';
import { unitsOf } from '../lake/file-tags.js';
import { parquetFile } from '../parquet/wasm.js';
import { fileMetadata } from '../run/slice-stream.js';
import { entriesAgain } from './entries-again.js';
import { bytesOf, rowsIn, type LocalParquet } from './local-parquet.js';
import { addNets, type NetSums } from './merged-tags.js';
import { extentOf, rangesOf } from './ranges.js';
import { sortedFile } from './sorted-file.js';
import { labelOf } from './unit-rows.js';
import type { Workspace } from './workspace.js';

/** The entries of one file of events, made again, as local files. */
export interface Made {
  /** Local Parquet files, in order; none where no event has an amount. */
  readonly paths: readonly string[];
  readonly events: number;
  readonly rows: number;
  readonly net: NetSums;
  /** All of it as one Parquet file; undefined where there is no row. */
  bytes(): Promise<Uint8Array | undefined>;
  /** Its statistics in Delta's JSON form. */
  stats(): Promise<string>;
}

/**
 * Makes the entries of a file of events again, whose commit is `main` and whose local copy is `path`: in batches, so that
 * memory doesn't grow with the file.
 */
export async function madeAgain(
  workspace: Workspace,
  table: Table,
  main: Add,
  path: string,
  options: QueryOptions,
): Promise<Made> {
  const { database, keep, limits } = workspace;
  const metadata = await metadataLike(database, main, path);
  const paths: string[] = [];
  const nets: NetSums[] = [];
  let rows = 0;
  let events = 0;
  let stats = '';
  for await (const batch of entriesAgain(database, table, path, limits.rawBytes, options)) {
    events += batch.events;
    rows += batch.rows.numRows;
    nets.push(batch.net);
    if (batch.rows.numRows === 0) continue;
    paths.push(await keep(await parquetFile(table, [batch.rows], metadata)));
    stats = deltaStatistics(table, batch.rows);
  }
  let joined: Promise<LocalParquet> | undefined;
  const single = paths.length === 1 ? paths[0] : undefined;
  const join = () =>
    (joined ??= sortedFile(
      workspace,
      table,
      {
        paths,
        metadata,
        select: (range) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`,
      },
      options,
    ));
  return {
    paths,
    events,
    rows,
    net: addNets(nets),
    bytes: async () => {
      if (single !== undefined) return readFile(single);
      return paths.length === 0 ? undefined : bytesOf(await join());
    },
    stats: async () => (single === undefined ? (await join()).stats : stats),
  };
}

/** The metadata that the file's own slice gave it, by this version of the program. */
async function metadataLike(database: Database, main: Add, path: string): Promise<ReadonlyMap<string, string>> {
  const pairs = new Map(await keyValues(database, path));
  const told: unknown = JSON.parse(pairs.get('ledgerlake') ?? '{}');
  const { window = labelOf(unitsOf(main)) } = told as { window?: string };
  return fileMetadata(main.tags?.['pipeline'] ?? '', main.tags?.['account'] ?? '', window);
}

/** Whether local files of a table hold the rows that were made, each as often, whatever their order and bytes. */
export async function sameRows(
  { database, limits }: Workspace,
  table: Table,
  made: Made,
  stored: readonly string[],
): Promise<boolean> {
  if (made.paths.length === 0 || stored.length === 0) return made.paths.length === stored.length;
  if (made.paths.length === 1 && stored.length === 1) {
    const [ours, theirs] = await Promise.all([...made.paths, ...stored].map(hashOf));
    if (ours === theirs) return true;
  }
  if ((await shapeOf(database, made.paths)) !== (await shapeOf(database, stored))) return false;
  const columns = table.columns.map(({ name }) => identifier(name)).join(', ');
  const extent = await extentOf(database, table, made.paths);
  for (const range of await rangesOf(database, table, made.paths, extent, limits.rangeBytes)) {
    const rows = (paths: readonly string[], sign: number) =>
      `SELECT ${columns}, ${sign} AS sign_ FROM ${rowsIn(paths)} WHERE ${range}`;
    const [odd] = await database.rows(
      `SELECT 1 AS odd FROM (${rows(made.paths, 1)} UNION ALL ${rows(stored, -1)}) ` +
        `GROUP BY ${columns} HAVING sum(sign_) <> 0 LIMIT 1`,
    );
    if (odd !== undefined) return false;
  }
  return true;
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** Names and types of the columns. */
async function shapeOf(database: Database, paths: readonly string[]): Promise<string> {
  const columns = await database.rows(
    `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${rowsIn(paths)}) ORDER BY column_name`,
  );
  return JSON.stringify(columns);
}
