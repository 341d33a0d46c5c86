import { TimeUnit, Timestamp, Type, type Data, type RecordBatch } from 'apache-arrow';
import type { ByteRange } from './arrays.js';
import { columnData, isNull, nullsOf, textsOf } from './column-data.js';

/** A column's texts as the bytes that they are, by row; undefined for null. Throws an Error for a column of another type. */
export function textCells(batch: RecordBatch, name: string): (row: number) => ByteRange | undefined {
  const data = columnOf(batch, name);
  const texts = textsOf(data);
  if (texts === undefined) throw odd(name, 'texts', data);
  const { nulls, bytes: page, offsets, numbers } = texts;
  return (row) => {
    if (isNull(nulls, row)) return undefined;
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
  const nulls = nullsOf(data);
  return (row) => (isNull(nulls, row) ? undefined : values[row]);
}

function columnOf(batch: RecordBatch, name: string): Data {
  const data = columnData(batch, name);
  if (data === undefined) throw new Error(`expected a column ${name}, found none`);
  return data;
}

function odd(name: string, expected: string, { typeId }: Data): Error {
  return new Error(`expected ${name} to hold ${expected}, found ${Type[typeId]}`);
}
