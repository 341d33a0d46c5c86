import {
  Decimal,
  Dictionary as DictionaryType,
  Int32,
  Int64,
  TimeUnit,
  Timestamp,
  Utf8,
  Vector,
  makeData,
  type Data,
} from 'apache-arrow';
import { decimalPrecision, decimalScale } from '../exact/decimal.js';
import type { Dictionary } from './dictionary.js';

/** Marks which values are there; Arrow's bitmap has a bit for each, least significant first. */
class Validity {
  nullCount = 0;
  readonly #bits: Uint8Array;

  constructor(length: number) {
    this.#bits = new Uint8Array((length + 7) >> 3).fill(0xff);
  }

  setNull(row: number): void {
    this.nullCount++;
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) & ~(1 << (row & 7));
  }

  /** The bitmap, left out where nothing is null. */
  get nulls(): { nullCount: number; nullBitmap?: Uint8Array } {
    return this.nullCount === 0 ? { nullCount: 0 } : { nullCount: this.nullCount, nullBitmap: this.#bits };
  }
}

/** Strings as numbers in a dictionary; below 0 stands for null. */
export function dictionaryArray(dictionary: Dictionary, length: number, at: (row: number) => number): Data {
  const indices = new Int32Array(length);
  const validity = new Validity(length);
  for (let row = 0; row < length; row++) {
    const index = at(row);
    if (index < 0) validity.setNull(row);
    else indices[row] = index;
  }
  const type = new DictionaryType(new Utf8(), new Int32());
  return makeData({ type, length, data: indices, dictionary: new Vector([dictionary.data()]), ...validity.nulls });
}

/** Where a string's UTF-8 bytes are. */
export interface ByteRange {
  readonly page: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Strings copied from where their bytes are; none is null. */
export function bytesArray(length: number, at: (row: number) => ByteRange): Data {
  const valueOffsets = new Int32Array(length + 1);
  for (let row = 0, total = 0; row < length; row++) {
    const { start, end } = at(row);
    valueOffsets[row + 1] = total += end - start;
  }
  const data = new Uint8Array(valueOffsets[length] ?? 0);
  for (let row = 0; row < length; row++) {
    const { page, start, end } = at(row);
    data.set(page.subarray(start, end), valueOffsets[row]);
  }
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data });
}

/** Strings that hardly repeat, such as ids; none is null. */
export function textArray(length: number, at: (row: number) => string): Data {
  const bytes = Array.from({ length }, (_, row) => Buffer.from(at(row)));
  return bytesArray(length, (row) => {
    const page = bytes[row] ?? Buffer.alloc(0);
    return { page, start: 0, end: page.length };
  });
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
  return makeData({ type: new Timestamp(TimeUnit.MICROSECOND, 'UTC'), length, data, ...validity.nulls });
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

/** Below 0 stands for null. */
export function integerArray(length: number, at: (row: number) => number): Data {
  const data = new Int32Array(length);
  const validity = new Validity(length);
  for (let row = 0; row < length; row++) {
    const value = at(row);
    if (value < 0) validity.setNull(row);
    else data[row] = value;
  }
  return makeData({ type: new Int32(), length, data, ...validity.nulls });
}
