import type { Table } from '../../core/columns/table.js';
import type { Lake } from '../../lake/lake.js';

/** Files that a slice is expected to become. */
export interface FilesOfSlice {
  readonly files: number;
  readonly bytes: number;
}

/** Size of a file of so many rows: `fixed + perRow * rows` bytes. */
interface Line {
  readonly fixed: number;
  readonly perRow: number;
}

/**
 * How many files, of how many bytes, a slice of so many results becomes, going by a pipeline's files in the lake: one for
 * each table of `tables` (the main one last), if it has a row. Undefined where the lake holds none.
 */
export function fileSizes(
  lake: Lake,
  pipeline: string,
  tables: readonly Table[],
  account: string,
): ((results: number) => FilesOfSlice) | undefined {
  const committed = lake
    .committedAdds()
    .filter(({ add }) => add.tags?.['pipeline'] === pipeline && add.partitionValues['account'] === account)
    .map(({ table, add }) => ({ table: table.schema.name, rows: Number(add.tags?.['rows'] ?? 0), size: add.size }));
  const of = (table: Table) => committed.filter((file) => file.table === table.name && file.rows > 0);
  const main = tables.at(-1);
  const results = main === undefined ? 0 : rowsOf(of(main));
  if (results === 0) return undefined;
  const models = tables.map((table) => {
    const files = of(table);
    return { rowsPerResult: rowsOf(files) / results, line: lineThrough(files, table.columns.length) };
  });
  return (expected) => {
    // Few expected events may as well be none, which make no file.
    const isThere = 1 - Math.exp(-expected);
    const sizes = models.map(({ rowsPerResult, line }) =>
      rowsPerResult === 0 ? 0 : isThere * line.fixed + line.perRow * rowsPerResult * expected,
    );
    return {
      files: isThere * models.filter(({ rowsPerResult }) => rowsPerResult > 0).length,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
    };
  };
}

/** What a column takes in a file, however few rows there are: its part of the footer, its page headers and indexes. */
const bytesOfColumn = 350;

/** The straight line nearest to the files' sizes; where they don't tell one, from what a file takes without a row. */
function lineThrough(files: readonly { rows: number; size: number }[], columns: number): Line {
  if (files.length === 0) return { fixed: 0, perRow: 0 };
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const mean = { rows: rowsOf(files) / files.length, size: size / files.length };
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

function rowsOf(files: readonly { rows: number }[]): number {
  return files.reduce((sum, file) => sum + file.rows, 0);
}
