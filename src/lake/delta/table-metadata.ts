import { randomUUID } from 'node:crypto';
import { typeName, type Column, type Table, type TypeNames } from '../../core/columns/table.js';
import { isObject, catalogError, type Fields, type MetaData } from './actions.js';
import { hourMs } from '../../core/windows.js';

/** Delta's property of the retention. */
const retentionProperty = 'delta.deletedFileRetentionDuration';
/** The property without a retention: tombstones stay for a day, and replaced files are deleted immediately. */
const noRetention = 'interval 1 day';

/** The table's metadata with another retention of replaced files, in milliseconds. */
export function withRetention(metaData: MetaData, retentionMs: number): MetaData {
  return { ...metaData, configuration: { ...metaData.configuration, [retentionProperty]: intervalOf(retentionMs) } };
}

function intervalOf(retentionMs: number): string {
  return retentionMs === 0 ? noRetention : `interval ${retentionMs / hourMs} hours`;
}

/** The metaData action of a new table. */
export function newMetaData(table: Table, createdTime: number, retentionMs = 0): MetaData {
  return {
    id: randomUUID(),
    name: table.name,
    format: { provider: 'parquet', options: {} },
    schemaString: deltaSchema(table),
    partitionColumns,
    configuration: { [retentionProperty]: intervalOf(retentionMs) },
    createdTime,
  };
}

/** The partition columns, which are folders and not columns of the files. */
export const partitionColumns = ['account', 'month'] as const;

/** Type names of the Delta protocol; its `timestamp` is in UTC with microseconds. */
const deltaTypes: TypeNames = {
  text: 'string',
  instant: 'timestamp',
  date: 'date',
  bigint: 'long',
  integer: 'integer',
  boolean: 'boolean',
};

interface DeltaField extends Fields {
  readonly name: string;
}

/** A column of a log's schema. */
export type DeltaColumn = Pick<Column, 'name' | 'type' | 'digits' | 'nullable'>;

/** The table's schema in the JSON form of the Delta protocol ("Schema Serialization Format"). */
export function deltaSchema(table: Table): string {
  const partitions = partitionColumns.map((name) => ({ name, type: 'string', nullable: false, metadata: {} }));
  return JSON.stringify({ type: 'struct', fields: [...table.columns.map(deltaField), ...partitions] });
}

/**
 * The columns of a log's schema, including partition columns, without those of unknown types.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't a schema
 */
export function deltaColumns(schema: string): DeltaColumn[] {
  return deltaFieldsOf(schema).flatMap((field) => deltaColumn(field) ?? []);
}

/** The column of a field of a log's schema; undefined for one of an unknown type. */
export function deltaColumn({ name, type, nullable: mayBeNull }: DeltaField): DeltaColumn | undefined {
  const nullable = mayBeNull !== false;
  const [, precision, scale] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(String(type)) ?? [];
  if (precision !== undefined)
    return { name, type: 'decimal', nullable, digits: { precision: Number(precision), scale: Number(scale) } };
  const known = (Object.keys(deltaTypes) as (keyof typeof deltaTypes)[]).find((key) => deltaTypes[key] === type);
  return known === undefined ? undefined : { name, type: known, nullable };
}

function deltaField(column: Column) {
  const { name, nullable, about } = column;
  return { name, type: typeName(column, deltaTypes), nullable, metadata: { comment: about } };
}

/** @throws LedgerlakeError LAKE_LOG where it isn't a schema */
export function deltaFieldsOf(schema: string): readonly DeltaField[] {
  let fields: unknown;
  try {
    fields = (JSON.parse(schema) as { fields?: unknown } | null)?.fields;
  } catch {
    // Reported below.
  }
  if (Array.isArray(fields) && fields.every(isField)) return fields;
  throw catalogError(`expected a table's schema in the log, found ${schema.slice(0, 60)}`);
}

function isField(value: unknown): value is DeltaField {
  return isObject(value) && typeof value['name'] === 'string';
}
