import { rm } from 'node:fs/promises';
import type { Table } from '../../core/columns/table.js';
import type { QueryOptions, Database } from '../../core/duckdb/connection.js';
import { literal, fileLiteral, identifier } from '../../core/duckdb/literals.js';
import { mostGroupRows, rowsIn, copyRows, type LocalParquet } from './local-parquet.js';
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
    const part = newPath();
    rangePaths.push(part);
    await database.execute(
      `COPY (${select(range)}) TO ${literal(part)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE ${rows})`,
      options,
    );
  }
  const local = await write(`SELECT * FROM ${rowsIn(rangePaths)}`);
  for (const part of rangePaths) await rm(part);
  return local;
}

/** What DuckDB takes for a value however short it is. */
const leastValueBytes = 16;

/**
 * Bytes of a row group where rows are wide. DuckDB unpacks the whole of a column's part in a group to get at one `raw`:
 * an order's events come three times as fast out of groups of this size as out of four times larger ones.
 */
const mostGroupBytes = 16_000_000;
/** Bytes of a row group in memory while it is written. */
const mostGroupMemory = 64_000_000;
/** DuckDB counts rows by so many. */
const vectorRows = 2048;

/** How large some files' rows are once they are read. */
export interface Extent {
  readonly rows: number;
  readonly bytes: number;
  /** As the files have them, unpacked. */
  readonly storedBytes: number;
}

/** How large the rows of local Parquet files of a table are, by what the files say. */
export async function extentOf(database: Database, { columns }: Table, paths: readonly string[]): Promise<Extent> {
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
 * Rows a row group: fewer where they are wide, because a group is in memory while it is written, and its columns are
 * unpacked as a whole when something of them is read.
 */
export function groupRows({ rows, bytes, storedBytes }: Extent): number {
  if (bytes === 0) return mostGroupRows;
  const fitting = rows * Math.min(mostGroupMemory / bytes, mostGroupBytes / storedBytes);
  return Math.min(mostGroupRows, Math.max(vectorRows, Math.floor(fitting / vectorRows) * vectorRows));
}

/**
 * Conditions in SQL that part the rows of local files of a table into ranges of the column that they are sorted by, one
 * behind the other and each of about `rangeBytes`. Every row meets exactly one of them.
 */
export async function rangesOf(
  database: Database,
  table: Table,
  paths: readonly string[],
  { rows, bytes }: Extent,
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
 * The columns that rows of a main table are sorted by, behind those that it names itself, as far as it has them: by time, then by what was read,
 * then by order of receipt. That is the order of a slice's own file too.
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

/** The column by which files of a table are laid side by side; undefined where it has none of them. */
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

export function hasColumn(table: Table, column: string): boolean {
  return table.columns.some(({ name }) => name === column);
}
