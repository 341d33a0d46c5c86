import { randomUUID } from 'node:crypto';
import { type Table, digitsOf, type Column, type ColumnType } from '../../core/columns/table.js';
import { restoreLog, type MetaData } from './actions.js';
import { LedgerlakeError } from '../../core/errors.js';
import { dayMs } from '../../core/windows.js';

/** So long a path stays tombstoned that was removed: whoever removed it may still be on the way to delete the file. */
export const tombstoneMs = dayMs;

const retentionProperty = 'delta.deletedFileRetentionDuration';
/** What every log says unless a retention was set: tombstones stay for a day, and the files are deleted at once. */
const noRetention = 'interval 1 day';
const hourMs = 3_600_000;

const unitsMs: Readonly<Record<string, number>> = {
  week: 7 * dayMs,
  day: dayMs,
  hour: hourMs,
  minute: 60_000,
  second: 1000,
};

/**
 * How long files stay that commits have replaced, in milliseconds. The property is Delta's, set by this program in hours;
 * `interval 1 day` is 0, as every log had it before there was a retention.
 */
export function retentionOf({ configuration }: MetaData): number {
  const interval = configuration[retentionProperty] ?? noRetention;
  if (interval === noRetention) return 0;
  const parts = [...interval.toLowerCase().matchAll(/(\d+)\s*(week|day|hour|minute|second)s?\b/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitsMs[unit] ?? 0), 0);
}

/** The same with another retention, in milliseconds. */
export function withRetention(metaData: MetaData, retentionMs: number): MetaData {
  return { ...metaData, configuration: { ...metaData.configuration, [retentionProperty]: intervalOf(retentionMs) } };
}

function intervalOf(retentionMs: number): string {
  return retentionMs === 0 ? noRetention : `interval ${retentionMs / hourMs} hours`;
}

/** What a log says of a table that begins now. */
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

/** The same with the columns of a table that the log doesn't know; undefined where it knows all. */
export function widenedMetaData(metaData: MetaData, table: Table): MetaData | undefined {
  const schemaString = widenedSchema(metaData.schemaString, table);
  return schemaString === undefined ? undefined : { ...metaData, schemaString };
}

/** The columns of a table's files: its own, and behind them what a newer version of this program has added to the log. */
export function fileColumns(table: Table, metaData: MetaData | undefined): readonly LogColumn[] {
  const known = new Set(table.columns.map(({ name }) => name.toLowerCase()));
  const logged = metaData === undefined ? [] : logColumns(metaData.schemaString);
  return [...table.columns, ...logged.filter(({ name }) => !known.has(name.toLowerCase()))];
}

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

interface DeltaField {
  readonly name: string;
  readonly type: unknown;
  readonly nullable?: unknown;
}

/** What a log's schema says of a column. */
export type LogColumn = Pick<Column, 'name' | 'type' | 'digits'>;

/** The table's schema in the JSON form of the Delta protocol ("Schema Serialization Format"). */
export function deltaSchema(table: Table): string {
  const partitions = partitionColumns.map((name) => ({ name, type: 'string', nullable: false, metadata: {} }));
  return JSON.stringify({ type: 'struct', fields: [...table.columns.map(deltaField), ...partitions] });
}

/**
 * A log's schema, its columns nullable where the table's have become so, and behind them the table's columns that it lacks,
 * nullable as older files don't have them; undefined where nothing changes.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't a schema
 */
export function widenedSchema(schema: string, table: Table): string | undefined {
  const fields = fieldsOf(schema);
  const names = new Set(fields.map(({ name }) => name.toLowerCase()));
  const added = table.columns.filter(({ name }) => !names.has(name.toLowerCase()));
  const loosened = new Set(table.columns.filter(({ nullable }) => nullable).map(({ name }) => name));
  const existing = fields.map((field) =>
    field.nullable === false && loosened.has(field.name) ? { ...field, nullable: true } : field,
  );
  if (added.length === 0 && existing.every((field, at) => field === fields[at])) return undefined;
  const appended = added.map((column) => ({ ...deltaField(column), nullable: true }));
  return JSON.stringify({ type: 'struct', fields: [...existing, ...appended] });
}

/** A column of a log's schema as it is there, with its position from 0. */
export interface LoggedField {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly at: number;
}

/**
 * The columns of a log's schema as they are there, folders among them, without those of types that no table of this program has.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't a schema
 */
export function loggedFields(schema: string): LoggedField[] {
  const known: readonly unknown[] = Object.values(deltaTypes);
  return fieldsOf(schema).flatMap(({ name, type, nullable }, at) =>
    typeof type === 'string' && (known.includes(type) || /^decimal\(\d{1,2},\d{1,2}\)$/.test(type))
      ? { name, type, nullable: nullable !== false, at }
      : [],
  );
}

/**
 * The columns of a log's schema, without the folders and without those of types that no table of this program has.
 *
 * @throws LedgerlakeError LAKE_LOG where it isn't a schema
 */
export function logColumns(schema: string): LogColumn[] {
  return fieldsOf(schema).flatMap(({ name, type }) => {
    if ((partitionColumns as readonly string[]).includes(name)) return [];
    const [, precision, scale] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(String(type)) ?? [];
    if (precision !== undefined)
      return { name, type: 'decimal', digits: { precision: Number(precision), scale: Number(scale) } };
    const [known] = (Object.keys(deltaTypes) as (keyof typeof deltaTypes)[]).filter((key) => deltaTypes[key] === type);
    return known === undefined ? [] : { name, type: known };
  });
}

function deltaField(column: Column) {
  return {
    name: column.name,
    type: deltaType(column),
    nullable: column.nullable,
    metadata: { comment: column.about },
  };
}

function fieldsOf(schema: string): readonly DeltaField[] {
  let read: { fields?: unknown } | null = null;
  try {
    read = JSON.parse(schema) as { fields?: unknown } | null;
  } catch {
    // Told below.
  }
  const fields: unknown = read?.fields;
  if (Array.isArray(fields) && fields.every(isField)) return fields;
  throw new LedgerlakeError(
    'LAKE_LOG',
    `expected a table's schema in the log, found ${schema.slice(0, 60)}; ${restoreLog}`,
  );
}

function isField(value: unknown): value is DeltaField {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}
