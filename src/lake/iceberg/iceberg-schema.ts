import { loggedFields } from '../delta/table-metadata.js';

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

/** Iceberg's type names, where they differ from Delta's. */
const types: Readonly<Record<string, string>> = { integer: 'int', timestamp: 'timestamptz' };

/** The columns of a table by its log's schema, including partition columns. */
export function icebergFields(schemaString: string): IcebergField[] {
  return loggedFields(schemaString).map(({ name, type, nullable, at }) => ({
    id: at + 1,
    name,
    type: types[type] ?? type.replace(',', ', '),
    // Partition columns aren't in the files: readers that don't take them from the metadata see null.
    required: !nullable && !partitionFields.some((field) => field.name === name),
  }));
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
