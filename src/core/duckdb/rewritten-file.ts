import { readFile } from 'node:fs/promises';
import { statisticsJson, type ColumnStatistics } from '../columns/statistics.js';
import type { Column, Table } from '../columns/table.js';
import { LedgerlakeError } from '../errors.js';
import type { Cell } from '../text/rows.js';
import type { Database } from './connection.js';
import { fileLiteral, identifier, literal, readParquet } from './views.js';
import { isoInstant } from '../numeric/instant.js';

/** Rows a row group: what DuckDB reads as one unit. */
const rowGroupRows = 128 * 1024;

/** A Parquet file made from another. */
export interface RewrittenFile {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
}

/**
 * Copies the rows of a Parquet file that meet a condition, in their order, into a new file with the same columns and
 * key-value metadata.
 *
 * @param source address of the file
 * @param target name of the new file on the local disk, which the caller removes
 * @param condition in SQL
 * @param metadata gives the new value of a key-value pair
 * @throws LedgerlakeError SQL where the source can't be read, PARQUET_MISMATCH where the new file lacks rows
 */
export async function rewriteFile(
  database: Database,
  table: Table,
  paths: { readonly source: string; readonly target: string },
  condition: string,
  metadata: (key: string, value: string) => string = (_, value) => value,
): Promise<RewrittenFile> {
  const source = readParquet([paths.source]);
  const select = `SELECT * FROM ${source} WHERE ${condition}`;
  const pairs = await keyValues(database, paths.source);
  const kept = pairs.map(([key, value]) => `${literal(key)}: ${literal(metadata(key, value))}`);
  await database.execute(
    `COPY (${select}) TO ${literal(paths.target)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows}` +
      `${kept.length === 0 ? '' : `, KV_METADATA {${kept.join(', ')}}`})`,
  );
  const expected = await countRows(database, paths.source, condition);
  const rows = await countRows(database, paths.target, 'true');
  if (rows !== expected) {
    throw new LedgerlakeError(
      'PARQUET_MISMATCH',
      `expected ${expected} rows of ${paths.source} in the file made from it, it has ${rows}; nothing was committed`,
    );
  }
  return { bytes: await readFile(paths.target), rows, stats: await statistics(database, table, paths.target, rows) };
}

/**
 * How many rows of a Parquet file meet a condition.
 *
 * @throws LedgerlakeError SQL where the file can't be read
 */
export async function countRows(database: Database, address: string, condition: string): Promise<number> {
  const [row] = await database.rows(`SELECT count(*) AS rows FROM ${readParquet([address])} WHERE ${condition}`);
  return Number(row?.['rows'] ?? 0);
}

/** Key-value metadata, without what a library keeps for itself: it describes the old file's layout. */
export async function keyValues(database: Database, address: string): Promise<[string, string][]> {
  const pairs = await database.rows(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata(${fileLiteral(address)})`,
  );
  return pairs
    .map(({ key, value }): [string, string] => [String(key), String(value)])
    .filter(([key]) => key !== 'ARROW:schema');
}

/**
 * Statistics of a Parquet file in Delta's JSON form: rows, and for the columns that people filter by the least and
 * greatest value and the number of nulls.
 */
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
    columns.set(column.name, {
      min: bound(column, found[`min${at}`] ?? null, 'down'),
      max: bound(column, found[`max${at}`] ?? null, 'up'),
      nulls: Number(found[`nulls${at}`] ?? 0),
    });
  }
  return statisticsJson(rows, columns);
}

/** The protocol's instants have milliseconds, so the least is rounded down and the greatest up. */
function bound({ type }: Column, value: Cell, rounding: 'down' | 'up'): string | undefined {
  if (value === null) return undefined;
  if (type !== 'instant') return String(value);
  const micros = BigInt(value);
  const down = (of: bigint) => (of - (((of % 1000n) + 1000n) % 1000n)) / 1000n;
  return isoInstant(Number(rounding === 'down' ? down(micros) : -down(-micros)));
}
