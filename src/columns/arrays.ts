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
export class Validity {
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

/** Below 0 stands for null: the nulls are marked, and 0 takes their place in `numbers`. */
function negativesAsNull(numbers: Int32Array): Validity {
  const validity = new Validity(numbers.length);
  for (let row = 0; row < numbers.length; row++) {
    if ((numbers[row] ?? 0) >= 0) continue;
    validity.setNull(row);
    numbers[row] = 0;
  }
  return validity;
}

/** Strings as numbers in a dictionary; below 0 stands for null. The array keeps `numbers`, which is the caller's no longer. */
export function numberedArray(dictionary: Pick<Dictionary, 'data'>, numbers: Int32Array): Data {
  const validity = negativesAsNull(numbers);
  const type = new DictionaryType(new Utf8(), new Int32());
  const values = new Vector([dictionary.data()]);
  return makeData({ type, length: numbers.length, data: numbers, dictionary: values, ...validity.nulls });
}

/** The same for few rows. */
export function dictionaryArray(dictionary: Dictionary, length: number, at: (row: number) => number): Data {
  return numberedArray(
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

const instantType = new Timestamp(TimeUnit.MICROSECOND, 'UTC');

/** Microseconds since 1970-01-01T00:00:00Z. */
export function instantArray(length: number, at: OptionalBigint): Data {
  const { data, validity } = bigints(length, at);
  return makeData({ type: instantType, length, data, ...validity.nulls });
}

export function bigintArray(length: number, at: OptionalBigint): Data {
  const { data, validity } = bigints(length, at);
  return makeData({ type: new Int64(), length, data, ...validity.nulls });
}

/** Signed 64-bit integers that rows share: as halves, so that handing one to a row makes no object. */
export class Int64Values {
  /** Low and high half of each. */
  readonly #halves: Int32Array;
  readonly #isNull: Uint8Array;

  constructor(values: readonly (bigint | undefined)[]) {
    const all = new BigInt64Array(values.length);
    this.#isNull = new Uint8Array(values.length);
    values.forEach((value, index) => {
      if (value === undefined) this.#isNull[index] = 1;
      else all[index] = value;
    });
    this.#halves = new Int32Array(all.buffer);
  }

  /** Microseconds since 1970-01-01T00:00:00Z, a row for each number of a value. */
  instants(numbers: Int32Array): Data {
    const { data, validity } = this.#gathered(numbers);
    return makeData({ type: instantType, length: numbers.length, data, ...validity.nulls });
  }

  /** A row for each number of a value; below 0 stands for null. */
  bigints(numbers: Int32Array): Data {
    const { data, validity } = this.#gathered(numbers);
    return makeData({ type: new Int64(), length: numbers.length, data, ...validity.nulls });
  }

  #gathered(numbers: Int32Array): { data: BigInt64Array; validity: Validity } {
    const halves = this.#halves;
    const into = new Int32Array(numbers.length * 2);
    const validity = new Validity(numbers.length);
    for (let row = 0; row < numbers.length; row++) {
      const at = numbers[row] ?? -1;
      if (at < 0 || this.#isNull[at] === 1) {
        validity.setNull(row);
      } else {
        into[row * 2] = halves[at * 2] ?? 0;
        into[row * 2 + 1] = halves[at * 2 + 1] ?? 0;
      }
    }
    return { data: new BigInt64Array(into.buffer), validity };
  }
}

/** Millionths as columns of halves, and a 1 where there is a value. */
export interface DecimalHalves {
  readonly exact: Int32Array;
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/** Decimals, a row for each number of a value. */
export function gatheredDecimals({ exact, low, high }: DecimalHalves, numbers: Int32Array): Data {
  const halves = new Int32Array(numbers.length * 2);
  const validity = new Validity(numbers.length);
  for (let row = 0; row < numbers.length; row++) {
    const at = numbers[row] ?? -1;
    if (exact[at] === 1) {
      halves[row * 2] = low[at] ?? 0;
      halves[row * 2 + 1] = high[at] ?? 0;
    } else {
      validity.setNull(row);
    }
  }
  const type = new Decimal(decimalScale, decimalPrecision, 64);
  return makeData({ type, length: numbers.length, data: halves, ...validity.nulls });
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

/** Below 0 stands for null. The array keeps `numbers`, which is the caller's no longer. */
export function integerArray(numbers: Int32Array): Data {
  const validity = negativesAsNull(numbers);
  return makeData({ type: new Int32(), length: numbers.length, data: numbers, ...validity.nulls });
}

/** For each row the value with its number; -1 where the number is below 0. */
export function gathered(values: Int32Array, numbers: Int32Array): Int32Array {
  const into = new Int32Array(numbers.length);
  for (let row = 0; row < numbers.length; row++) {
    const number = numbers[row] ?? -1;
    into[row] = number < 0 ? -1 : (values[number] ?? -1);
  }
  return into;
}
