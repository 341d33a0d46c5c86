import { digitsOf } from '../../core/columns/table.js';
import { convertedType, physicalType } from '../../core/parquet/encoder/format.js';
import { footerColumns, hasNestedColumns, readFooter, type FooterColumn } from '../../core/parquet/footer.js';
import { blobOf } from '../../core/parquet/parquet-source.js';
import type { LogColumn } from '../delta/table-metadata.js';

/** Types as Parquet stores them: physical ones, and what these stand for. Some writers state the width of integers. */
const stored: Readonly<
  Record<
    LogColumn['type'],
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

/**
 * What shows that a local Parquet file is none of a table with these columns; undefined where it may be one. Files of earlier
 * versions lack columns. Throws an Error where it is no Parquet file.
 */
export async function footerFault(path: string, columns: readonly LogColumn[]): Promise<string | undefined> {
  const footer = await readFooter(await blobOf(path));
  // DuckDB may overflow its stack over these, which ends the process.
  if (hasNestedColumns(footer)) return 'it has nested columns, which no table has';
  const found = footerColumns(footer);
  if (found.length === 0) return 'it has no columns';
  for (const one of found) {
    const column = columns.find(({ name }) => name === one.name);
    if (column === undefined) return `it has a column ${JSON.stringify(one.name)}, which the table lacks`;
    if (!isStoredAs(column, one)) return `its column ${column.name} has another type than that of the table`;
  }
  return undefined;
}

function isStoredAs(column: LogColumn, { physical, converted, ...digits }: FooterColumn): boolean {
  const types = stored[column.type];
  if (!types.physical.includes(physical) || !types.converted.includes(converted)) return false;
  const { precision, scale } = digitsOf(column);
  return column.type !== 'decimal' || (digits.precision === precision && digits.scale === scale);
}
