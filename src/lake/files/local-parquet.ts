import { sqlType, type Column, type Table } from '../../core/columns/table.js';
import type { Database, QueryOptions } from '../../core/duckdb/connection.js';
import { fileLiteral, identifier, literal, readParquet } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { FileContent } from '../../core/io/file-content.js';
import { groupBy } from '../../core/group-by.js';
import { instantBounds, statisticsJson, type ColumnStatistics } from '../../core/columns/statistics.js';

/** Maximum rows of a row group, for narrow rows: DuckDB reads a row group as one unit. */
export const mostGroupRows = 128 * 1024;

/** A Parquet file on the local disk. */
export interface LocalParquet {
  readonly path: string;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  /** Left out: the file is read for it. */
  readonly content?: FileContent;
}

/** Local Parquet files of one table as a table in SQL, with columns matched by name; `extra`: further options. */
export function rowsIn(paths: readonly string[], extra = ''): string {
  return readParquet(paths, `union_by_name = true${extra}`);
}

/**
 * The SELECT list that gives a table's columns in its order and with its types: a column that the files lack is null,
 * one that only they have follows the others.
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

/** A column that a file lacks, or that it has with another type. */
export interface Misfit {
  readonly column: Column;
  /** Its type in the file; undefined where the file lacks it. */
  readonly found: string | undefined;
}

/** The first column of a table that does not fit, of one of its Parquet files. Undefined where all fit. */
export async function misfitIn(
  database: Database,
  { columns }: Table,
  paths: readonly string[],
): Promise<Misfit | undefined> {
  const patterns = paths.map(fileLiteral).join(', ');
  const described = await database.rows(`SELECT file_name, name, duckdb_type FROM parquet_schema([${patterns}])`);
  const typesOf = groupBy(described, ({ file_name }) => String(file_name));
  for (const path of paths) {
    const types = new Map(typesOf.get(path)?.map(({ name, duckdb_type }) => [String(name), String(duckdb_type)]));
    const column = columns.find(
      ({ name, later, ...each }) => (types.get(name) ?? (later && sqlType(each))) !== sqlType(each),
    );
    if (column !== undefined) return { column, found: types.get(column.name) };
  }
  return undefined;
}

/** The column of `rowsWithSource` with the number of a row's file, as it is quoted in SQL. No table has a column of that name. */
export const sourceColumn = '"source file"';

/** Local Parquet files of one table as a table in SQL, each row with the number of its file: its index in `paths`. */
export function rowsWithSource(paths: readonly string[]): string {
  const numbers = paths.map((path, at) => `(${literal(path)}, ${at})`).join(', ');
  const named = rowsIn(paths, ", filename = 'source path'");
  return (
    `(SELECT * EXCLUDE ("source path") FROM ${named} ` +
    `JOIN (VALUES ${numbers}) AS numbered("source path", ${sourceColumn}) USING ("source path"))`
  );
}

export interface WriteOptions {
  /** The query. */
  readonly select: string;
  /** Path of the new file. */
  readonly target: string;
  readonly metadata: ReadonlyMap<string, string>;
  /** Rows of a row group. */
  readonly groupRows: number;
  /** Level of zstd, 1 to 22; left out: DuckDB's default, 3. */
  readonly compressionLevel?: number | undefined;
}

/**
 * Writes the rows of a query as one Parquet file. The same rows in the same order and the same metadata give the same bytes.
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
  // Version 2 stores columns without a dictionary as deltas or by lengths, which some engines can't read.
  const settings = ['FORMAT parquet', 'PARQUET_VERSION v1', 'COMPRESSION zstd', `ROW_GROUP_SIZE ${groupRows}`];
  if (compressionLevel !== undefined) settings.push(`COMPRESSION_LEVEL ${compressionLevel}`);
  if (pairs.length > 0) settings.push(`KV_METADATA {${pairs.join(', ')}}`);
  const [copied] = await database.rows(`COPY (${select}) TO ${literal(target)} (${settings.join(', ')})`, options);
  const rows = await countRows(database, target, 'true');
  checkRowCount(table, Number(copied?.['Count']), rows);
  return { path: target, rows, stats: await statistics(database, table, target, rows) };
}

/**
 * Compares the number of rows in a new file with the expected one.
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

/** The number of rows of a Parquet file that meet a condition in SQL. */
export async function countRows(database: Database, address: string, condition: string): Promise<number> {
  const [row] = await database.rows(`SELECT count(*) AS rows FROM ${readParquet([address])} WHERE ${condition}`);
  return Number(row?.['rows'] ?? 0);
}

/** Statistics of a Parquet file in Delta's JSON form, like those of `encodeTable`. */
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
