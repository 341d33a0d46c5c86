import { rowsOf, type DataFile } from '../delta/data-file.js';
import { digitsOf } from '../../core/columns/table.js';
import { convertedType, physicalType } from '../../core/parquet/encoder/format.js';
import {
  footerColumns,
  hasNestedColumns,
  readFooter,
  statedRows,
  uncompressedBytes,
  type FooterColumn,
} from '../../core/parquet/footer.js';
import { blobOf } from '../../core/parquet/parquet-source.js';
import { formatCount } from '../../core/text/amounts.js';
import type { DeltaColumn } from '../delta/table-metadata.js';
import { damageOf } from './local-file.js';
import type { Store } from '../store/store.js';

/** Types as Parquet stores them: physical ones, and what these stand for. Some writers state the width of integers. */
const stored: Readonly<
  Record<
    DeltaColumn['type'],
    { readonly physical: readonly number[]; readonly converted: readonly (number | undefined)[] }
  >
> = {
  text: { physical: [physicalType.byteArray], converted: [convertedType.utf8] },
  instant: { physical: [physicalType.int64], converted: [convertedType.timestampMicros] },
  date: { physical: [physicalType.int32], converted: [convertedType.date] },
  decimal: { physical: [physicalType.int32, physicalType.int64], converted: [convertedType.decimal] },
  bigint: { physical: [physicalType.int64], converted: [undefined, convertedType.int64] },
  integer: { physical: [physicalType.int32], converted: [undefined, convertedType.int32] },
  boolean: { physical: [physicalType.boolean], converted: [undefined] },
};

/** Bytes without compression from which on DuckDB needs much memory for a file. */
const manyBytes = 64_000_000;
/** How many times its size a file may expand, unless its hash is right. */
const mostExpanded = 100;

/**
 * What shows that a local Parquet file isn't the one that the log has; undefined where it may be. Reads its footer, and the file
 * only where it expands so much that DuckDB may run out of memory over it. Files of earlier versions lack columns, but none that
 * the log has statistics of.
 *
 * @param expectedColumns those of the table (`Snapshot.columnsOf`)
 * @throws Error where it is no Parquet file, or is missing
 */
export async function footerFault(
  path: string,
  committed: DataFile,
  expectedColumns: readonly DeltaColumn[],
  store: Store,
): Promise<string | undefined> {
  const file = await blobOf(path);
  const footer = await readFooter(file);
  // DuckDB may overflow its stack over these, which ends the process.
  if (hasNestedColumns(footer)) return 'it has nested columns, which no table has';
  const columns = footerColumns(footer);
  const fault = columnFault(columns, expectedColumns);
  if (fault !== undefined) return fault;
  const names = new Set(columns.map(({ name }) => name));
  const missing = Object.keys(committed.statistics.nullCount).find((name) => !names.has(name));
  if (missing !== undefined) return `it lacks the column ${JSON.stringify(missing)}`;
  const [rows, expected] = [statedRows(footer), rowsOf([committed])];
  if (rows !== expected) return `it has ${formatCount(rows, 'row')} instead of ${expected}`;
  const expanded = uncompressedBytes(footer);
  return expanded > manyBytes && expanded > mostExpanded * file.size ? damageOf(store, committed) : undefined;
}

function columnFault(found: readonly FooterColumn[], columns: readonly DeltaColumn[]): string | undefined {
  if (found.length === 0) return 'it has no columns';
  for (const one of found) {
    const column = columns.find(({ name }) => name === one.name);
    if (column === undefined) return `it has a column ${JSON.stringify(one.name)}, which the table lacks`;
    if (!isStoredAs(column, one)) return `its column ${column.name} has another type than that of the table`;
  }
  return undefined;
}

function isStoredAs(column: DeltaColumn, { physical, converted, ...digits }: FooterColumn): boolean {
  const types = stored[column.type];
  if (!types.physical.includes(physical) || !types.converted.includes(converted)) return false;
  const { precision, scale } = digitsOf(column);
  return column.type !== 'decimal' || (digits.precision === precision && digits.scale === scale);
}
