import { Decimal, Int64, Utf8, makeData, type Data } from 'apache-arrow';
import { decimalPrecision, decimalScale } from '../numeric/decimal.js';
import type { Dictionary } from './dictionary.js';
import { GatheredArrays, instantType } from './gathered-arrays.js';
import { ownMemory, type ColumnMemory } from './memory.js';
import { Validity } from './validity.js';

/** Strings of few rows as numbers in a dictionary; below 0 stands for null. */
export function dictionaryArray(dictionary: Dictionary, length: number, at: (row: number) => number): Data {
  return new GatheredArrays(ownMemory).numbered(
    dictionary,
    Int32Array.from({ length }, (_, row) => at(row)),
  );
}

/** Where a string's UTF-8 bytes are. */
export interface ByteRange {
  readonly page: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Strings copied from where their bytes are; none is null. */
export function bytesArray(length: number, at: (row: number) => ByteRange, memory: ColumnMemory = ownMemory): Data {
  const valueOffsets = memory.int32s(length + 1);
  for (let row = 0, total = 0; row < length; row++) {
    const { start, end } = at(row);
    valueOffsets[row + 1] = total += end - start;
  }
  const data = memory.bytes(valueOffsets[length] ?? 0);
  for (let row = 0; row < length; row++) {
    const { page, start, end } = at(row);
    data.set(page.subarray(start, end), valueOffsets[row]);
  }
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data });
}

/** Strings that hardly repeat, such as ids; none is null. */
export function textArray(length: number, at: (row: number) => string): Data<Utf8> {
  const texts = Array.from({ length }, (_, row) => at(row));
  // All at once: a call for each would cost more than the bytes.
  const joined = texts.join('');
  const data = Buffer.from(joined);
  const isAscii = data.length === joined.length;
  const valueOffsets = new Int32Array(length + 1);
  let total = 0;
  texts.forEach((text, row) => {
    valueOffsets[row + 1] = total += isAscii ? text.length : Buffer.byteLength(text);
  });
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data });
}

type OptionalBigint = (row: number) => bigint | undefined;

function bigints(length: number, at: OptionalBigint): { data: BigInt64Array; validity: Validity } {
  const data = new BigInt64Array(length);
  const validity = new Validity(length);
  for (let row = 0; row < length; row++) {
    const value = at(row);
    if (value === undefined) validity.setNull(row);
    else data[row] = value;
  }
  return { data, validity };
}

/** Microseconds since 1970-01-01T00:00:00Z. */
export function instantArray(length: number, at: OptionalBigint): Data {
  const { data, validity } = bigints(length, at);
  return makeData({ type: instantType, length, data, ...validity.nulls });
}

export function bigintArray(length: number, at: OptionalBigint): Data {
  const { data, validity } = bigints(length, at);
  return makeData({ type: new Int64(), length, data, ...validity.nulls });
}

/** Millionths as the halves of 64-bit integers, so that no value becomes an object; `isNull` first. */
export function decimalArray(
  length: number,
  isNull: (row: number) => boolean,
  low: (row: number) => number,
  high: (row: number) => number,
): Data {
  const halves = new Int32Array(length * 2);
  const validity = new Validity(length);
  for (let row = 0; row < length; row++) {
    if (isNull(row)) {
      validity.setNull(row);
    } else {
      halves[row * 2] = low(row);
      halves[row * 2 + 1] = high(row);
    }
  }
  const type = new Decimal(decimalScale, decimalPrecision, 64);
  return makeData({ type, length, data: halves, ...validity.nulls });
}
