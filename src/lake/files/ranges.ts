import type { Table } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { fileLiteral, identifier, literal } from '../../core/duckdb/views.js';
import { rowsIn } from './local-parquet.js';
import { leadingColumn } from './row-order.js';

/** What DuckDB takes for a value however short it is. */
const leastValueBytes = 16;

/** Rows of a row group where rows are narrow, as in the files of slices. */
const mostGroupRows = 128 * 1024;
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
 * Rows a row group: fewer where they are wide, because a group is held in memory while it is written, and its columns are
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
