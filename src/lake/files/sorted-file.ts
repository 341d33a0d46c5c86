import { rm } from 'node:fs/promises';
import { hasColumn, type Table } from '../../core/columns/table.js';
import type { QueryOptions, Database } from '../../core/duckdb/connection.js';
import { literal, fileLiteral, identifier } from '../../core/duckdb/literals.js';
import { mostGroupRows, rowsIn, copyRows, type LocalParquet } from './local-parquet.js';
import type { Workspace } from './workspace.js';

export interface Sorting {
  /** Local files of the table with the rows. */
  readonly paths: readonly string[];
  /** Returns a query for the rows that meet a condition, in order; it may leave out some. */
  readonly select: (condition: string) => string;
  readonly metadata: ReadonlyMap<string, string>;
  /** See `WriteOptions`. */
  readonly compressionLevel?: number;
}

/**
 * Writes rows of local files as one sorted Parquet file. Ranges are sorted into separate files, which are then
 * concatenated, because DuckDB can't sort wide rows beyond its memory.
 *
 * @throws LedgerlakeError SQL where a query fails, PARQUET_MISMATCH where the file lacks rows
 */
export async function sortedFile(
  { database, newPath, limits: { rangeBytes } }: Workspace,
  table: Table,
  { paths, select, metadata, compressionLevel }: Sorting,
  options: QueryOptions,
): Promise<LocalParquet> {
  const extent = await extentOf(database, table, paths);
  const target = newPath();
  const rows = groupRows(extent);
  const write = (query: string) =>
    copyRows(database, table, { select: query, target, metadata, groupRows: rows, compressionLevel }, options);
  const ranges = await rangesOf(database, table, paths, extent, rangeBytes);
  if (ranges.length === 1) return write(select('true'));
  const rangePaths: string[] = [];
  for (const range of ranges) {
    const rangePath = newPath();
    rangePaths.push(rangePath);
    await database.execute(
      `COPY (${select(range)}) TO ${literal(rangePath)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE ${rows})`,
      options,
    );
  }
  const local = await write(`SELECT * FROM ${rowsIn(rangePaths)}`);
  for (const rangePath of rangePaths) await rm(rangePath);
  return local;
}

/** Minimum bytes of a value in DuckDB. */
const leastValueBytes = 16;

/**
 * Maximum bytes of a row group, for wide rows. DuckDB decompresses a whole column chunk to read one `raw`: an order's
 * events are read three times as fast from groups of this size as from four times larger ones.
 */
const mostGroupBytes = 16_000_000;
/** Bytes of a row group in memory while it is written. */
const mostGroupMemory = 64_000_000;
/** Rows of a DuckDB vector. */
const vectorRows = 2048;

/** The size of files' rows. */
export interface RowSizes {
  readonly rows: number;
  readonly bytes: number;
  /** Uncompressed bytes in the files. */
  readonly storedBytes: number;
}

/** The size of the rows of a table's local Parquet files, by their metadata. */
export async function extentOf(database: Database, { columns }: Table, paths: readonly string[]): Promise<RowSizes> {
  const list = `[${paths.map(fileLiteral).join(', ')}]`;
  const [counted] = await database.rows(`SELECT sum(num_rows)::BIGINT AS rows FROM parquet_file_metadata(${list})`);
  const [sized] = await database.rows(
    `SELECT sum(total_uncompressed_size)::BIGINT AS bytes FROM parquet_metadata(${list})`,
  );
  const rows = Number(counted?.['rows'] ?? 0);
  const storedBytes = Number(sized?.['bytes'] ?? 0);
  return { rows, bytes: Math.max(storedBytes, rows * columns.length * leastValueBytes), storedBytes };
}

/**
 * Rows of a row group: fewer for wide rows, because a group is in memory while it is written, and its column chunks are
 * decompressed as a whole when they are read.
 */
export function groupRows({ rows, bytes, storedBytes }: RowSizes): number {
  if (bytes === 0) return mostGroupRows;
  const fitting = rows * Math.min(mostGroupMemory / bytes, mostGroupBytes / storedBytes);
  return Math.min(mostGroupRows, Math.max(vectorRows, Math.floor(fitting / vectorRows) * vectorRows));
}

/**
 * Conditions in SQL that divide the rows of local files into consecutive ranges of the leading sort column, each of
 * about `rangeBytes`. Every row meets exactly one condition.
 */
export async function rangesOf(
  database: Database,
  table: Table,
  paths: readonly string[],
  { rows, bytes }: RowSizes,
  rangeBytes: number,
): Promise<readonly string[]> {
  const leading = leadingColumn(table);
  const count = Math.ceil(bytes / rangeBytes);
  if (leading === undefined || count < 2) return ['true'];
  const column = identifier(leading);
  const found = await database.rows(
    `SELECT DISTINCT CAST(value AS VARCHAR) AS bound, value FROM (SELECT ${column} AS value, row_number() OVER (ORDER BY ${column}) AS n_ ` +
      `FROM ${rowsIn(paths)} WHERE ${column} IS NOT NULL) WHERE n_ % ${Math.ceil(rows / count)} = 0 ORDER BY value`,
  );
  const bounds = found.map(({ bound }) => literal(String(bound)));
  const [first] = bounds;
  if (first === undefined) return ['true'];
  const middle = bounds.slice(1).map((bound, at) => `${column} >= ${bounds[at] ?? ''} AND ${column} < ${bound}`);
  return [`${column} < ${first}`, ...middle, `(${column} >= ${bounds.at(-1) ?? ''} OR ${column} IS NULL)`];
}

/**
 * The sort columns of main tables, after those of the table's `sort`, as far as a table has them: by time, then by load
 * key, then by order of receipt. It is also the order of a slice's file.
 */
const sortColumns = [
  'effective_at',
  'started_at',
  'group_id',
  'window_start',
  'requested_order_id',
  'position',
  'event_id',
] as const;

/** The leading sort column of a table; undefined where it has none. */
export function leadingColumn(table: Table): string | undefined {
  return orderOf(table)[0];
}

/** The columns behind ORDER BY for a main table. */
export function mainOrder(table: Table): string {
  return orderOf(table)
    .map((name) => `${identifier(name)} NULLS LAST`)
    .join(', ');
}

function orderOf(table: Table): readonly string[] {
  return [...new Set([...(table.sort ?? []), ...sortColumns.filter((name) => hasColumn(table, name))])];
}
