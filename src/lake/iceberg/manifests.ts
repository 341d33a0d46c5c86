import { z } from 'zod';
import { typeName, type TypeNames } from '../../core/columns/table.js';
import { readInstant } from '../../core/numeric/instant.js';
import type { DataFile } from '../delta/data-file.js';
import { avroFile, type AvroField, type AvroRecord, type AvroSchema, type AvroValue } from './avro.js';
import { deltaFieldsOf, deltaColumn } from '../delta/table-metadata.js';

/** A column of an Iceberg table. Its id is its position in the log's schema, which only grows at its end. */
export interface IcebergField {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
}

/** The partition fields: the folders. */
export const partitionFields = [
  { name: 'account', id: 1000 },
  { name: 'month', id: 1001 },
] as const;

/** Iceberg's type names. */
const types: TypeNames = {
  text: 'string',
  instant: 'timestamptz',
  date: 'date',
  bigint: 'long',
  integer: 'int',
  boolean: 'boolean',
};

/** The columns of a table by its log's schema, including partition columns. */
export function icebergFields(schemaString: string): IcebergField[] {
  return deltaFieldsOf(schemaString).flatMap((field, at): IcebergField[] => {
    const column = deltaColumn(field);
    if (column === undefined) return [];
    const { name, nullable } = column;
    // Partition columns aren't in the files: readers that don't take them from the metadata see null.
    const required = !nullable && !partitionFields.some((partition) => partition.name === name);
    return [{ id: at + 1, name, type: typeName(column, types).replace(',', ', '), required }];
  });
}

/** Iceberg specification, "Schemas". */
export function icebergSchema(fields: readonly IcebergField[]): object {
  return { type: 'struct', 'schema-id': 0, fields };
}

/** The partition spec (Iceberg specification, "Partition Specs"). */
export function specFields(fields: readonly IcebergField[]): object[] {
  return partitionFields.map(({ name, id }) => ({
    'source-id': fields.find((field) => field.name === name)?.id ?? 0,
    'field-id': id,
    name,
    transform: 'identity',
  }));
}

/** Maps column names to ids, because the files have no ids (Iceberg specification, "Name Mapping Serialization"). */
export function nameMapping(fields: readonly IcebergField[]): string {
  return JSON.stringify(fields.map(({ id, name }) => ({ 'field-id': id, names: [name] })));
}

export const naturalNumber = z.int().min(0);

/** A manifest in the state of a table's metadata: the files of one account. */
export const manifestSchema = z.object({
  account: z.string(),
  /** Within the lake. */
  path: z.string(),
  length: naturalNumber,
  /** The snapshot that added it, and its sequence number. */
  snapshot: naturalNumber,
  sequence: naturalNumber,
  files: naturalNumber,
  rows: naturalNumber,
  /** Hash of its content: a manifest with the same hash needn't be written again. */
  sha256: z.string(),
  /** The first and the last month. */
  months: z.tuple([z.string(), z.string()]),
});
export type Manifest = Readonly<z.infer<typeof manifestSchema>>;

const optional = (schema: AvroSchema): AvroSchema => ['null', schema];
const field = (id: number, name: string, type: AvroSchema) => ({ name, type, 'field-id': id });
const record = (name: string, ...fields: AvroField[]): AvroRecord => ({ type: 'record', name, fields });

/** A map from column ids; Avro's maps have only text keys. */
function columnMap(keyId: number, valueId: number, value: AvroSchema): AvroSchema {
  const items = record(`k${keyId}_v${valueId}`, field(keyId, 'key', 'int'), field(valueId, 'value', value));
  return optional({ type: 'array', items, logicalType: 'map' });
}

const partition = record('r102', ...partitionFields.map(({ name, id }) => field(id, name, optional('string'))));

/** The fields of `data_file` that this program writes (Iceberg specification, "Manifests"). */
const dataFile = record(
  'r2',
  field(134, 'content', 'int'),
  field(100, 'file_path', 'string'),
  field(101, 'file_format', 'string'),
  field(102, 'partition', partition),
  field(103, 'record_count', 'long'),
  field(104, 'file_size_in_bytes', 'long'),
  field(110, 'null_value_counts', columnMap(121, 122, 'long')),
  field(125, 'lower_bounds', columnMap(126, 127, 'bytes')),
  field(128, 'upper_bounds', columnMap(129, 130, 'bytes')),
);

const entry = record(
  'manifest_entry',
  field(0, 'status', 'int'),
  field(1, 'snapshot_id', optional('long')),
  field(3, 'sequence_number', optional('long')),
  field(4, 'file_sequence_number', optional('long')),
  field(2, 'data_file', dataFile),
);

/** Value of `status`: the file was added. */
const added = 1;

/** The manifest entries of a table's files. */
export function manifestEntries(
  files: readonly DataFile[],
  fields: readonly IcebergField[],
  locationOf: (file: DataFile) => string,
): AvroValue[] {
  return files.map((file) => ({
    status: added,
    // Inherited from the manifest's entry in the manifest list.
    snapshot_id: null,
    sequence_number: null,
    file_sequence_number: null,
    data_file: {
      content: 0,
      file_path: locationOf(file),
      file_format: 'PARQUET',
      partition: Object.fromEntries(partitionFields.map(({ name }) => [name, file.partitionValues[name] ?? null])),
      record_count: file.rows,
      file_size_in_bytes: file.size,
      null_value_counts: nullCounts(file, fields),
      ...bounds(file, fields),
    },
  }));
}

function nullCounts({ statistics: { nullCount } }: DataFile, fields: readonly IcebergField[]): AvroValue {
  return fields.flatMap(({ id, name }) => {
    const value = nullCount[name];
    return typeof value === 'number' && Number.isSafeInteger(value) ? [{ key: id, value }] : [];
  });
}

/** Bounds of instants, by which engines skip files. Delta's have milliseconds, so the upper ones are extended by 999 microseconds. */
function bounds(file: DataFile, fields: readonly IcebergField[]): { lower_bounds: AvroValue; upper_bounds: AvroValue } {
  const boundsOn = (side: 'least' | 'greatest', more: bigint): AvroValue =>
    fields.flatMap(({ id, name, type }) => {
      const text = type === 'timestamptz' ? file.columnStatistics(name)[side] : undefined;
      const micros = text === undefined ? undefined : readInstant(text);
      if (micros === undefined) return [];
      const value = Buffer.alloc(8);
      value.writeBigInt64LE(micros + more);
      return [{ key: id, value }];
    });
  return { lower_bounds: boundsOn('least', 0n), upper_bounds: boundsOn('greatest', 999n) };
}

/** A manifest's file. */
export function manifestFile(entries: readonly AvroValue[], fields: readonly IcebergField[]): Uint8Array {
  const metadata = {
    schema: JSON.stringify(icebergSchema(fields)),
    'schema-id': '0',
    'partition-spec': JSON.stringify(specFields(fields)),
    'partition-spec-id': '0',
    'format-version': '2',
    content: 'data',
  };
  return avroFile(entry, metadata, entries);
}

const summary = record(
  'r508',
  field(509, 'contains_null', 'boolean'),
  field(518, 'contains_nan', optional('boolean')),
  field(510, 'lower_bound', optional('bytes')),
  field(511, 'upper_bound', optional('bytes')),
);

/** Iceberg specification, "Manifest Lists". */
const listed = record(
  'manifest_file',
  field(500, 'manifest_path', 'string'),
  field(501, 'manifest_length', 'long'),
  field(502, 'partition_spec_id', 'int'),
  field(517, 'content', 'int'),
  field(515, 'sequence_number', 'long'),
  field(516, 'min_sequence_number', 'long'),
  field(503, 'added_snapshot_id', 'long'),
  field(504, 'added_files_count', 'int'),
  field(505, 'existing_files_count', 'int'),
  field(506, 'deleted_files_count', 'int'),
  field(512, 'added_rows_count', 'long'),
  field(513, 'existing_rows_count', 'long'),
  field(514, 'deleted_rows_count', 'long'),
  field(507, 'partitions', optional({ type: 'array', items: summary, 'element-id': 508 })),
);

/** The list of a snapshot's manifests. */
export function manifestList(
  manifests: readonly Manifest[],
  snapshot: { readonly id: number; readonly sequence: number },
  locationOf: (path: string) => string,
): Uint8Array {
  const metadata = {
    'snapshot-id': String(snapshot.id),
    'parent-snapshot-id': 'null',
    'sequence-number': String(snapshot.sequence),
    'format-version': '2',
  };
  const range = (least: string, greatest: string): AvroValue => ({
    contains_null: false,
    contains_nan: null,
    lower_bound: Buffer.from(least),
    upper_bound: Buffer.from(greatest),
  });
  const rows = manifests.map((manifest): AvroValue => ({
    manifest_path: locationOf(manifest.path),
    manifest_length: manifest.length,
    partition_spec_id: 0,
    content: 0,
    sequence_number: manifest.sequence,
    min_sequence_number: manifest.sequence,
    added_snapshot_id: manifest.snapshot,
    added_files_count: manifest.files,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: manifest.rows,
    existing_rows_count: 0,
    deleted_rows_count: 0,
    partitions: [range(manifest.account, manifest.account), range(...manifest.months)],
  }));
  return avroFile(listed, metadata, rows);
}
