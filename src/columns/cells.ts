import { DataType, TimeUnit, Timestamp, Type, type Data, type RecordBatch } from 'apache-arrow';
import type { ByteRange } from './arrays.js';
import { isNull } from './statistics.js';

/** A column's texts as the bytes that they are, by row; undefined for null. Throws an Error for a column of another type. */
export function textCells(batch: RecordBatch, name: string): (row: number) => ByteRange | undefined {
  const data = columnOf(batch, name);
  const isDictionary = DataType.isDictionary(data.type);
  const texts: Data | undefined = isDictionary ? data.dictionary?.data[0] : data;
  const page: unknown = texts?.values;
  const offsets: unknown = texts?.valueOffsets;
  const numbers: unknown = isDictionary ? data.values : undefined;
  const isNumbered = numbers === undefined || numbers instanceof Int32Array;
  if (!(page instanceof Uint8Array && offsets instanceof Int32Array && isNumbered)) throw odd(name, 'texts', data);
  return (row) => {
    if (isNull(data, row)) return undefined;
    const at = numbers === undefined ? row : (numbers[row] ?? 0);
    return { page, start: offsets[at] ?? 0, end: offsets[at + 1] ?? 0 };
  };
}

/** A column's instants in microseconds since 1970, by row; undefined for null. Throws an Error for a column of another type. */
export function instantCells(batch: RecordBatch, name: string): (row: number) => bigint | undefined {
  const data = columnOf(batch, name);
  const values: unknown = data.values;
  const { type } = data;
  const isInstant = type instanceof Timestamp && type.unit === TimeUnit.MICROSECOND;
  if (!(isInstant && values instanceof BigInt64Array)) throw odd(name, 'instants in microseconds', data);
  return (row) => (isNull(data, row) ? undefined : values[row]);
}

function columnOf(batch: RecordBatch, name: string): Data {
  const [data]: readonly (Data | undefined)[] = batch.getChild(name)?.data ?? [];
  if (data === undefined) throw new Error(`expected a column ${name}, found none`);
  return data;
}

function odd(name: string, expected: string, { typeId }: Data): Error {
  return new Error(`expected ${name} to hold ${expected}, found ${Type[typeId]}`);
}
