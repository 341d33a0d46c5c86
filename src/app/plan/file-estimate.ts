import type { Table } from '../../core/columns/table.js';
import { fileLiteral } from '../../core/duckdb/literals.js';
import { localFile } from '../../lake/files/local-file.js';
import { defaultLimits, withWorkspace } from '../../lake/files/workspace.js';
import type { Lake } from '../../lake/lake.js';
import type { FileTotal } from '../results.js';

/** A linear model of a file's size: `fixed + perRow * rows` bytes. */
interface SizeModel {
  readonly fixed: number;
  readonly perRow: number;
}

/**
 * Models the files of a slice by its number of results, from a pipeline's files in the lake: one file for each table of `tables` (the
 * main one last) with rows. Undefined where the lake has no file of the pipeline.
 */
export function fileSizes(
  lake: Lake,
  pipeline: string,
  tables: readonly Table[],
  account: string,
): ((results: number) => FileTotal) | undefined {
  const committed = lake
    .files()
    .filter((file) => file.pipeline === pipeline && file.account === account)
    .map(({ table, rows, size }) => ({ table, rows, size }));
  const filesOf = (table: Table) => committed.filter((file) => file.table === table.name && file.rows > 0);
  const main = tables.at(-1);
  const results = main === undefined ? 0 : rowCount(filesOf(main));
  if (results === 0) return undefined;
  const models = tables.map((table) => {
    const files = filesOf(table);
    return { rowsPerResult: rowCount(files) / results, line: lineThrough(files, table.columns.length) };
  });
  return (expected) => {
    // The probability that a slice has events, by a Poisson distribution: one without events has no file.
    const probability = 1 - Math.exp(-expected);
    const sizes = models.map(({ rowsPerResult, line }) =>
      rowsPerResult === 0 ? 0 : probability * line.fixed + line.perRow * rowsPerResult * expected,
    );
    return {
      files: probability * models.filter(({ rowsPerResult }) => rowsPerResult > 0).length,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
    };
  };
}

/** Bytes of a column without rows in a file: its footer metadata, page headers and indexes. */
const bytesOfColumn = 350;

/** The least-squares line through the files' sizes; where there is no valid one, a line from the size of an empty file to the mean. */
function lineThrough(files: readonly { rows: number; size: number }[], columns: number): SizeModel {
  if (files.length === 0) return { fixed: 0, perRow: 0 };
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const mean = { rows: rowCount(files) / files.length, size: size / files.length };
  const least = Math.min(bytesOfColumn * columns, mean.size * 0.9);
  const usual = { fixed: least, perRow: (mean.size - least) / mean.rows };
  let squares = 0;
  let products = 0;
  for (const file of files) {
    squares += (file.rows - mean.rows) ** 2;
    products += (file.rows - mean.rows) * (file.size - mean.size);
  }
  const perRow = products / squares;
  const fixed = mean.size - perRow * mean.rows;
  return squares > 0 && perRow > 0 && fixed >= 0 ? { fixed, perRow } : usual;
}

function rowCount(files: readonly { rows: number }[]): number {
  return files.reduce((sum, file) => sum + file.rows, 0);
}

/** Bytes of a page without its results: the names of lists, a token. */
export const pageBytes = 1300;

/** Maximum number of footers that are read, and the size of a remote file that is fetched for its footer. */
const most = { local: 20, remote: 3, remoteBytes: 32_000_000 };

/**
 * Bytes of a result in a response body, from the footers of a table's newest files. Undefined where the lake has none.
 */
export async function rawSize(
  lake: Lake,
  pipeline: string,
  table: string,
  account: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const newest = lake.snapshot
    .filesOf(table, account, pipeline)
    .filter(({ rows }) => rows > 0)
    .toSorted((a, b) => b.modificationTime - a.modificationTime);
  if (newest.length === 0) return undefined;
  return withWorkspace(defaultLimits, lake.store, async ({ database, newPath }) => {
    const paths: string[] = [];
    for (const { lakePath, size } of newest) {
      const isLocal = lake.store.localPath(lakePath) !== undefined;
      if (isLocal || size <= most.remoteBytes) {
        const path = await localFile(lake.store, lakePath, newPath);
        if (path === undefined) continue;
        paths.push(path);
      }
      if (paths.length >= (isLocal ? most.local : most.remote)) break;
    }
    if (paths.length === 0) return undefined;
    // In plain encoding each text has a length of 4 bytes.
    const [row] = await database.rows(
      `SELECT sum(total_uncompressed_size - 4 * num_values)::DOUBLE AS bytes, sum(num_values)::DOUBLE AS results
       FROM parquet_metadata([${paths.map(fileLiteral).join(', ')}]) WHERE path_in_schema = 'raw'`,
      { signal },
    );
    const results = Number(row?.['results'] ?? 0);
    // One more byte for the separator.
    return results === 0 ? undefined : Number(row?.['bytes']) / results + 1;
  });
}
