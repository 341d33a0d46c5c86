import { digitsOf, type Column, type ColumnType, type Table } from '../columns/table.js';

/** The columns that are folders and not part of the files. */
export const partitionColumns = ['account', 'month'] as const;

/** As the Delta protocol names them; its `timestamp` is in UTC with microseconds. */
const deltaTypes: Readonly<Record<Exclude<ColumnType, 'decimal'>, string>> = {
  text: 'string',
  instant: 'timestamp',
  date: 'date',
  bigint: 'long',
  integer: 'integer',
  boolean: 'boolean',
};

function deltaType(column: Column): string {
  if (column.type !== 'decimal') return deltaTypes[column.type];
  const { precision, scale } = digitsOf(column);
  return `decimal(${precision},${scale})`;
}

/** The table's schema in the JSON form of the Delta protocol ("Schema Serialization Format"). */
export function deltaSchema(table: Table): string {
  const fields = table.columns.map((column) => ({
    name: column.name,
    type: deltaType(column),
    nullable: column.nullable,
    metadata: { comment: column.about },
  }));
  const partitions = partitionColumns.map((name) => ({ name, type: 'string', nullable: false, metadata: {} }));
  return JSON.stringify({ type: 'struct', fields: [...fields, ...partitions] });
}
