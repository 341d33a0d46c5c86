import { randomUUID } from 'node:crypto';
import type { Table } from '../../core/columns/table.js';
import type { MetaData } from './actions.js';
import { columnsOf, deltaSchema, partitionColumns, widenedSchema, type LogColumn } from './delta-schema.js';

/** So long a path stays tombstoned that was removed: whoever removed it may still be on the way to delete the file. */
export const tombstoneMs = 86_400_000;
const tombstoneInterval = 'interval 1 day';

/** What a log says of a table that begins now. */
export function newMetaData(table: Table, createdTime: number): MetaData {
  return {
    id: randomUUID(),
    name: table.name,
    format: { provider: 'parquet', options: {} },
    schemaString: deltaSchema(table),
    partitionColumns,
    configuration: { 'delta.deletedFileRetentionDuration': tombstoneInterval },
    createdTime,
  };
}

/** The same with the columns of a table that the log doesn't know; undefined where it knows all. */
export function widenedMetaData(metaData: MetaData, table: Table): MetaData | undefined {
  const schemaString = widenedSchema(metaData.schemaString, table);
  return schemaString === undefined ? undefined : { ...metaData, schemaString };
}

/** The columns of a table's files: its own, and behind them what a newer version of this program has added to the log. */
export function fileColumns(table: Table, metaData: MetaData | undefined): readonly LogColumn[] {
  const known = new Set(table.columns.map(({ name }) => name.toLowerCase()));
  const logged = metaData === undefined ? [] : columnsOf(metaData.schemaString);
  return [...table.columns, ...logged.filter(({ name }) => !known.has(name.toLowerCase()))];
}
