import { readFile, stat } from 'node:fs/promises';
import type { Table } from '../../core/columns/table.js';
import { ValueSums } from '../../core/columns/value-sums.js';
import type { Database } from '../../core/duckdb/connection.js';
import { identifier } from '../../core/duckdb/views.js';
import { parquetBatches } from '../../core/parquet/wasm.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import type { Made } from './made-again.js';
import { extentOf, rangesOf } from '../../lake/files/sorted-file.js';
import { readBytes } from './unchanged-entries.js';
import type { Workspace } from '../../lake/files/workspace.js';

/**
 * Whether local files of a table hold the rows that were made, each as often, whatever their order and bytes. That they don't
 * mostly shows in what they come to; only else DuckDB is asked, which takes longer than to make them.
 */
export async function sameRows(
  { database, limits }: Workspace,
  table: Table,
  made: Made,
  stored: readonly string[],
): Promise<boolean> {
  if (made.paths.length === 0 || stored.length === 0) return made.paths.length === stored.length;
  if (await isSameFile(made.paths, stored)) return true;
  if (made.sums.differFrom(await sumsOf(table, stored))) return false;
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

async function isSameFile(
  [ours = '', ...further]: readonly string[],
  [theirs = '', ...others]: readonly string[],
): Promise<boolean> {
  if (further.length > 0 || others.length > 0 || (await stat(ours)).size !== (await stat(theirs)).size) return false;
  return (await readFile(ours)).equals(await readFile(theirs));
}

async function sumsOf(table: Table, files: readonly string[]): Promise<ValueSums> {
  const sums = new ValueSums(table);
  for (const file of files) {
    for await (const batch of parquetBatches(file, 'all', readBytes)) sums.add(batch);
  }
  return sums;
}

/** Names and types of the columns. */
async function shapeOf(database: Database, paths: readonly string[]): Promise<string> {
  const columns = await database.rows(
    `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${rowsIn(paths)}) ORDER BY column_name`,
  );
  return JSON.stringify(columns);
}
