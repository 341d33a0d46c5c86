import { createHash } from 'node:crypto';

/** The Avro schemas that Iceberg's files need; `null` before another schema makes it optional. */
export type AvroSchema =
  'boolean' | 'int' | 'long' | 'string' | 'bytes' | readonly ['null', AvroSchema] | AvroRecord | AvroArray;

export interface AvroRecord {
  readonly type: 'record';
  readonly name: string;
  readonly fields: readonly AvroField[];
}

/** A field with Iceberg's attribute `field-id`. */
export interface AvroField {
  readonly name: string;
  readonly type: AvroSchema;
  readonly 'field-id': number;
}

export interface AvroArray {
  readonly type: 'array';
  readonly items: AvroSchema;
  readonly 'element-id'?: number;
  readonly logicalType?: 'map';
}

/** A record's values by field name. */
export interface AvroFields {
  // An interface, because a record type can't be recursive.
  readonly [field: string]: AvroValue;
}

/** A value of a schema: a record is an object by field name, a missing optional value null. */
export type AvroValue = boolean | number | bigint | string | Uint8Array | null | readonly AvroValue[] | AvroFields;

/**
 * An Avro object container file with one block, uncompressed (Avro 1.11, "Object Container Files"). The same rows give the
 * same bytes.
 *
 * @param metadata further entries of the file's header
 */
export function avroFile(
  schema: AvroRecord,
  metadata: Readonly<Record<string, string>>,
  rows: readonly AvroValue[],
): Uint8Array {
  const block: Uint8Array[] = [];
  for (const row of rows) encode(schema, row, block);
  const data = Buffer.concat(block);
  const entries = Object.entries({ 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...metadata });
  const header: Uint8Array[] = [Buffer.from('Obj\x01', 'latin1'), long(entries.length)];
  for (const [key, value] of entries) header.push(...sized(Buffer.from(key)), ...sized(Buffer.from(value)));
  header.push(long(0));
  const sync = createHash('sha256').update(data).digest().subarray(0, 16);
  const blocks = rows.length === 0 ? [] : [long(rows.length), long(data.length), data, sync];
  return Buffer.concat([...header, sync, ...blocks]);
}

function encode(schema: AvroSchema, value: AvroValue | undefined, into: Uint8Array[]): void {
  if (typeof schema === 'string') {
    into.push(...primitive(schema, value));
  } else if (isOptional(schema)) {
    into.push(long(value === null || value === undefined ? 0 : 1));
    if (value !== null && value !== undefined) encode(schema[1], value, into);
  } else if (schema.type === 'array') {
    if (!Array.isArray(value)) throw unexpectedValue('a list', value);
    const items = value as readonly AvroValue[];
    if (items.length > 0) into.push(long(items.length));
    for (const item of items) encode(schema.items, item, into);
    into.push(long(0));
  } else {
    if (!isFields(value)) throw unexpectedValue(`a record ${schema.name}`, value);
    for (const { name, type } of schema.fields) encode(type, value[name], into);
  }
}

function primitive(schema: AvroSchema & string, value: AvroValue | undefined): readonly Uint8Array[] {
  if (schema === 'boolean' && typeof value === 'boolean') return [Buffer.from([value ? 1 : 0])];
  if (schema === 'string' && typeof value === 'string') return sized(Buffer.from(value));
  if (schema === 'bytes' && value instanceof Uint8Array) return sized(value);
  if ((schema === 'int' || schema === 'long') && (typeof value === 'number' || typeof value === 'bigint')) {
    return [long(value)];
  }
  throw unexpectedValue(schema, value);
}

function sized(bytes: Uint8Array): readonly Uint8Array[] {
  return [long(bytes.length), bytes];
}

/** An integer in Avro's encoding of `int` and `long`: zigzag, seven bits a byte, the lowest first. */
function long(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value) < 0n ? -2n * BigInt(value) - 1n : 2n * BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

function isOptional(schema: AvroSchema): schema is readonly ['null', AvroSchema] {
  return Array.isArray(schema);
}

function isFields(value: AvroValue | undefined): value is AvroFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function unexpectedValue(expected: string, value: unknown): Error {
  return new Error(`expected ${expected} for Avro, got ${typeof value}`);
}
