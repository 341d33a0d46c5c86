import type { AddedFile } from '../delta/file-tags.js';
import { readFile } from 'node:fs/promises';
import { sqlType, type Table } from '../../core/columns/table.js';
import type { Database, QueryOptions } from '../../core/duckdb/connection.js';
import { identifier, literal, readParquet } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import { instantBounds, statisticsJson, type ColumnStatistics } from '../../core/columns/statistics.js';

/** Rows of a row group where rows are narrow: what DuckDB reads as one unit. */
export const mostGroupRows = 128 * 1024;

/** A Parquet file on the local disk. */
export interface LocalParquet {
  readonly path: string;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  /** What is in it, where that is known; left out: it is read for it. */
  readonly content?: AddedFile['content'];
}

/** Local Parquet files of one table as a table in SQL, columns by their names; `extra` are further options. */
export function rowsIn(paths: readonly string[], extra = ''): string {
  return readParquet(paths, `union_by_name = true${extra}`);
}

/**
 * What to select of a table's files so that the columns come in the table's order and with its types: one that the
 * files don't have is null, one that only they have comes behind the others.
 */
export async function columnList(
  database: Database,
  { columns }: Table,
  paths: readonly string[],
  prefix = '',
): Promise<string> {
  const described = await database.rows(`SELECT column_name FROM (DESCRIBE SELECT * FROM ${rowsIn(paths)})`);
  const stored = new Set(described.map((row) => String(row['column_name'])));
  const known = columns.map((column) => {
    const { name } = column;
    const value = stored.has(name) ? `${prefix}${identifier(name)}` : 'NULL';
    return `CAST(${value} AS ${sqlType(column)}) AS ${identifier(name)}`;
  });
  const names = new Set(columns.map(({ name }) => name));
  const more = [...stored].filter((name) => !names.has(name)).map((name) => `${prefix}${identifier(name)}`);
  return [...known, ...more].join(', ');
}

export interface WriteOptions {
  /** In SQL. */
  readonly select: string;
  /** Name of the new file. */
  readonly target: string;
  readonly metadata: ReadonlyMap<string, string>;
  /** Rows a row group. */
  readonly groupRows: number;
  /** Of zstd, 1 to 22; left out: DuckDB's own, 3. */
  readonly compressionLevel?: number | undefined;
}

/**
 * Writes the rows of a query as one Parquet file. The same rows in the same order and the same metadata give the same
 * bytes.
 *
 * @throws LedgerlakeError SQL where the query fails, PARQUET_MISMATCH where the file lacks rows
 */
export async function copyRows(
  database: Database,
  table: Table,
  { select, target, metadata, groupRows, compressionLevel }: WriteOptions,
  options: QueryOptions = {},
): Promise<LocalParquet> {
  const pairs = [...metadata].map(([key, value]) => `${literal(key)}: ${literal(value)}`);
  // With version 2 what has no dictionary is stored as differences or by lengths, as slices store it.
  const settings = ['FORMAT parquet', 'PARQUET_VERSION v2', 'COMPRESSION zstd', `ROW_GROUP_SIZE ${groupRows}`];
  if (compressionLevel !== undefined) settings.push(`COMPRESSION_LEVEL ${compressionLevel}`);
  if (pairs.length > 0) settings.push(`KV_METADATA {${pairs.join(', ')}}`);
  const [copied] = await database.rows(`COPY (${select}) TO ${literal(target)} (${settings.join(', ')})`, options);
  const rows = await countRows(database, target, 'true');
  checkRowCount(table, Number(copied?.['Count']), rows);
  return { path: target, rows, stats: await statistics(database, table, target, rows) };
}

/**
 * Holds the rows of a new file against those that it was made from.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH
 */
export function checkRowCount({ name }: Table, expected: number, found: number): void {
  if (found === expected) return;
  throw new LedgerlakeError(
    'PARQUET_MISMATCH',
    `expected ${expected} rows in the new file for ${name}, it has ${found}; nothing was committed`,
  );
}

/** The file's bytes. */
export async function bytesOf({ path }: LocalParquet): Promise<Uint8Array> {
  return readFile(path);
}

/** How many rows of a Parquet file meet a condition in SQL. */
export async function countRows(database: Database, address: string, condition: string): Promise<number> {
  const [row] = await database.rows(`SELECT count(*) AS rows FROM ${readParquet([address])} WHERE ${condition}`);
  return Number(row?.['rows'] ?? 0);
}

/** Statistics of a Parquet file in Delta's JSON form, as `deltaStatistics` has them of a batch. */
export async function statistics(database: Database, table: Table, address: string, rows: number): Promise<string> {
  const filtered = table.columns.filter((column) => column.filtered === true);
  const selected = filtered.flatMap(({ name, type }, at) => {
    const column = identifier(name);
    const value = type === 'instant' ? `epoch_us(${column})` : column;
    return [
      `min(${value}) AS min${at}`,
      `max(${value}) AS max${at}`,
      `count(*) FILTER (${column} IS NULL) AS nulls${at}`,
    ];
  });
  const [found = {}] =
    selected.length === 0 ? [] : await database.rows(`SELECT ${selected.join(', ')} FROM ${readParquet([address])}`);
  const columns = new Map<string, ColumnStatistics>();
  for (const [at, column] of filtered.entries()) {
    const nulls = Number(found[`nulls${at}`] ?? 0);
    const [min = null, max = null] = [found[`min${at}`], found[`max${at}`]];
    if (min === null || max === null) columns.set(column.name, { nulls });
    else if (column.type === 'instant') columns.set(column.name, { ...instantBounds(BigInt(min), BigInt(max)), nulls });
    else columns.set(column.name, { min: String(min), max: String(max), nulls });
  }
  return statisticsJson(rows, columns);
}
