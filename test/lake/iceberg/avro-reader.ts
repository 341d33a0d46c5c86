import type { AvroRecord, AvroSchema } from '../../../src/lake/iceberg/avro.js';

type Fields = Record<string, unknown>;

/** Reads an Avro file by the schema in its header, slowly and simply: its header and its rows. */
export function readAvro(bytes: Uint8Array): { header: Record<string, string>; rows: Fields[] } {
  const buffer = Buffer.from(bytes);
  if (buffer.toString('latin1', 0, 4) !== 'Obj\x01') throw new Error('no Avro file');
  let at = 4;
  const long = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n));
    }
  };
  const sized = (): Buffer => {
    const length = long();
    at += length;
    return buffer.subarray(at - length, at);
  };
  const many = (one: () => void): void => {
    for (let count = long(); count !== 0; count = long()) for (let item = 0; item < count; item++) one();
  };
  const value = (schema: AvroSchema): unknown => {
    if (schema === 'boolean') return buffer.readUInt8(at++) === 1;
    if (schema === 'int' || schema === 'long') return long();
    if (schema === 'bytes') return sized();
    if (schema === 'string') return sized().toString();
    if (!('type' in schema)) return long() === 0 ? null : value(schema[1]);
    if (schema.type === 'record') return record(schema);
    const items: unknown[] = [];
    many(() => items.push(value(schema.items)));
    return items;
  };
  const record = ({ fields }: AvroRecord): Fields =>
    Object.fromEntries(fields.map(({ name, type }) => [name, value(type)]));
  const header: Record<string, string> = {};
  many(() => {
    const key = sized().toString();
    header[key] = sized().toString();
  });
  const sync = buffer.toString('hex', at, (at += 16));
  const schema = JSON.parse(header['avro.schema'] ?? '') as AvroRecord;
  const rows: Fields[] = [];
  while (at < buffer.length) {
    const count = long();
    const end = long() + at;
    for (let row = 0; row < count; row++) rows.push(record(schema));
    if (at !== end) throw new Error(`expected the block to end at ${end}, it ends at ${at}`);
    if (buffer.toString('hex', at, (at += 16)) !== sync) throw new Error('no sync marker behind the block');
  }
  return { header, rows };
}
