import { rm } from 'node:fs/promises';
import type { Table } from '../../core/columns/table.js';
import type { QueryOptions } from '../../core/duckdb/connection.js';
import { literal } from '../../core/duckdb/views.js';
import { rowsIn, writeRows, type LocalParquet } from './local-parquet.js';
import { extentOf, groupRows, rangesOf } from './ranges.js';
import type { Workspace } from './workspace.js';

export interface Sorting {
  /** Local files of the table that the rows come from. */
  readonly paths: readonly string[];
  /** A query in SQL for those of the rows that meet a condition, in order; it may leave out some. */
  readonly select: (condition: string) => string;
  readonly metadata: ReadonlyMap<string, string>;
  /** See `WriteOptions`. */
  readonly compressionLevel?: number;
}

/**
 * Writes rows of local files as one sorted Parquet file. Range by range, as DuckDB can't sort wide rows beyond its memory:
 * each becomes a file of its own first, and these are strung together then.
 *
 * @throws LedgerlakeError SQL where a query fails, PARQUET_MISMATCH where the file lacks rows
 */
export async function sortedFile(
  { database, fresh, limits: { rangeBytes } }: Workspace,
  table: Table,
  { paths, select, metadata, compressionLevel }: Sorting,
  options: QueryOptions,
): Promise<LocalParquet> {
  const extent = await extentOf(database, table, paths);
  const target = fresh();
  const rows = groupRows(extent);
  const write = (query: string) =>
    writeRows(database, table, { select: query, target, metadata, groupRows: rows, compressionLevel }, options);
  const ranges = await rangesOf(database, table, paths, extent, rangeBytes);
  if (ranges.length === 1) return write(select('true'));
  const parts: string[] = [];
  for (const range of ranges) {
    const part = fresh();
    parts.push(part);
    await database.execute(
      `COPY (${select(range)}) TO ${literal(part)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE ${rows})`,
      options,
    );
  }
  const local = await write(`SELECT * FROM ${rowsIn(parts)}`);
  for (const part of parts) await rm(part);
  return local;
}
