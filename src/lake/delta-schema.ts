import type { ColumnType, Table } from '../columns/table.js';
import { decimalPrecision, decimalScale } from '../exact/decimal.js';

/** The columns that are folders and not part of the files. */
export const partitionColumns = ['account', 'month'] as const;

/** As the Delta protocol names them; its `timestamp` is in UTC with microseconds. */
const deltaTypes: Readonly<Record<ColumnType, string>> = {
  text: 'string',
  instant: 'timestamp',
  decimal: `decimal(${decimalPrecision},${decimalScale})`,
  bigint: 'long',
  integer: 'integer',
};

/** The table's schema in the JSON form of the Delta protocol ("Schema Serialization Format"). */
export function deltaSchema(table: Table): string {
  const fields = table.columns.map(({ name, type, nullable, about }) => ({
    name,
    type: deltaTypes[type],
    nullable,
    metadata: { comment: about },
  }));
  const partitions = partitionColumns.map((name) => ({ name, type: 'string', nullable: false, metadata: {} }));
  return JSON.stringify({ type: 'struct', fields: [...fields, ...partitions] });
}
