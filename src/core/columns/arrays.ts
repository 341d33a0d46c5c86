import type { Utf8, Data } from 'apache-arrow';
import { arrow } from './arrow.js';
import { decimalPrecision, decimalScale } from '../numeric/decimal.js';
import { ByteRanges, type ByteRange } from './byte-ranges.js';
import type { Dictionary } from './dictionary.js';
import { separateMemory, type ColumnMemory } from './memory.js';
import { runEndEncoded } from './run-end-encoded.js';
import type { Digits } from './table.js';

const instantType = () => new (arrow().Timestamp)(arrow().TimeUnit.MICROSECOND, 'UTC');

/** A dictionary column of few rows: `at` returns the dictionary number of a row, below 0 for null. */
export function dictionaryArray(dictionary: Dictionary, length: number, at: (row: number) => number): Data {
  return new IndexedArrays(separateMemory).dictionaryTexts(
    dictionary,
    Int32Array.from({ length }, (_, row) => at(row)),
  );
}

/** A text column of copied byte ranges; none is null. */
export function bytesArray(texts: readonly ByteRange[]): Data {
  const ranges = new ByteRanges();
  for (const { page, start, end } of texts) ranges.push(page, start, end);
  return ranges.array(Int32Array.from(texts.keys()), separateMemory);
}

const hexDigits = Buffer.from('0123456789abcdef');

/** UTF-8 bytes before and after a value in hex. */
export interface HexAffixes {
  readonly prefix: Uint8Array;
  readonly suffix: Uint8Array;
}

/**
 * A text column of the chosen values in hex, each of `size` bytes; none is null.
 *
 * @param affixes returns the affixes of a value by its number; undefined: none
 */
export function hexArray(
  values: Uint8Array,
  size: number,
  chosen: Int32Array,
  memory: ColumnMemory = separateMemory,
  affixes?: (value: number) => HexAffixes | undefined,
): Data<Utf8> {
  const { length } = chosen;
  const valueOffsets = memory.int32s(length + 1);
  let total = 0;
  for (let row = 0; row < length; row++) {
    valueOffsets[row + 1] = total += 2 * size + affixLength(affixes?.(chosen[row] ?? 0));
  }
  const data = memory.bytes(total);
  for (let row = 0; row < length; row++) {
    const value = chosen[row] ?? 0;
    writeHex(values, value * size, size, affixes?.(value), data, valueOffsets[row] ?? 0);
  }
  return arrow().makeData({ type: new (arrow().Utf8)(), length, nullCount: 0, valueOffsets, data });
}

function affixLength(texts: HexAffixes | undefined): number {
  return texts === undefined ? 0 : texts.prefix.length + texts.suffix.length;
}

/** Writes `size` bytes in hex between their affixes. */
function writeHex(
  values: Uint8Array,
  start: number,
  size: number,
  texts: HexAffixes | undefined,
  into: Uint8Array,
  offset: number,
): void {
  let to = texts === undefined ? offset : writeBytes(texts.prefix, into, offset);
  for (let at = start; at < start + size; at++) {
    const byte = values[at] ?? 0;
    into[to++] = hexDigits[byte >> 4] ?? 0;
    into[to++] = hexDigits[byte & 15] ?? 0;
  }
  if (texts !== undefined) writeBytes(texts.suffix, into, to);
}

function writeBytes(text: Uint8Array, into: Uint8Array, offset: number): number {
  into.set(text, offset);
  return offset + text.length;
}

/** A text column without a dictionary, for values that hardly repeat, such as ids; none is null. */
export function textArray(length: number, at: (row: number) => string): Data<Utf8> {
  const texts = Array.from({ length }, (_, row) => at(row));
  // One call for all texts: a call for each would cost more than copying the bytes.
  const joined = texts.join('');
  const data = Buffer.from(joined);
  const isAscii = data.length === joined.length;
  const valueOffsets = new Int32Array(length + 1);
  let total = 0;
  texts.forEach((text, row) => {
    valueOffsets[row + 1] = total += isAscii ? text.length : Buffer.byteLength(text);
  });
  return arrow().makeData({ type: new (arrow().Utf8)(), length, nullCount: 0, valueOffsets, data });
}

/** A row's value; undefined is null. */
type Optional<T> = (row: number) => T | undefined;

/** Calls `put` with each value that isn't undefined, and marks the others as null. */
function fillArray<T>(length: number, at: Optional<T>, write: (row: number, value: T) => void) {
  const validity = new Validity(length);
  for (let row = 0; row < length; row++) {
    const value = at(row);
    if (value === undefined) validity.setNull(row);
    else write(row, value);
  }
  return validity.nulls;
}

function int64s(length: number, at: Optional<bigint>) {
  const data = new BigInt64Array(length);
  return { length, data, ...fillArray(length, at, (row, value) => (data[row] = value)) };
}

function int32s(length: number, at: Optional<number>) {
  const data = new Int32Array(length);
  return { length, data, ...fillArray(length, at, (row, value) => (data[row] = value)) };
}

/** Microseconds since 1970-01-01T00:00:00Z. */
export function instantArray(length: number, at: Optional<bigint>): Data {
  return arrow().makeData({ type: instantType(), ...int64s(length, at) });
}

export function bigintArray(length: number, at: Optional<bigint>): Data {
  return arrow().makeData({ type: new (arrow().Int64)(), ...int64s(length, at) });
}

/** Decimals as unscaled integers: 12.30 with a scale of 2 is 1230n. */
export function decimalArray(length: number, { precision, scale }: Digits, at: Optional<bigint>): Data {
  const { data, ...others } = int64s(length, at);
  return arrow().makeData({
    type: new (arrow().Decimal)(scale, precision, 64),
    data: new Int32Array(data.buffer),
    ...others,
  });
}

export function integerArray(length: number, at: Optional<number>): Data {
  return arrow().makeData({ type: new (arrow().Int32)(), ...int32s(length, at) });
}

/** Days since 1970-01-01. */
export function dateArray(length: number, at: Optional<number>): Data {
  return arrow().makeData({ type: new (arrow().DateDay)(), ...int32s(length, at) });
}

export function booleanArray(length: number, at: Optional<boolean>): Data {
  const data = new Uint8Array((length + 7) >> 3);
  const nulls = fillArray(length, at, (row, value) => {
    if (value) data[row >> 3] = (data[row >> 3] ?? 0) | (1 << (row & 7));
  });
  return arrow().makeData({ type: new (arrow().Bool)(), length, data, ...nulls });
}

/** Signed 64-bit integers that rows share, stored as 32-bit halves: copying one to a row allocates no object. */
export class Int64Values {
  /** Low and high half of each value, in turn. */
  readonly halves: Int32Array;
  readonly isNull: Uint8Array;

  constructor(values: readonly (bigint | undefined)[]) {
    const all = new BigInt64Array(values.length);
    this.isNull = new Uint8Array(values.length);
    values.forEach((value, index) => {
      if (value === undefined) this.isNull[index] = 1;
      else all[index] = value;
    });
    this.halves = new Int32Array(all.buffer);
  }
}

/** Builds columns whose rows refer to values by number; below 0 is null. All arrays are allocated from one memory. */
export class IndexedArrays {
  readonly #memory: ColumnMemory;

  constructor(memory: ColumnMemory) {
    this.#memory = memory;
  }

  /** The value of each row by its number; -1 where the number is below 0. */
  lookUp(values: Int32Array, numbers: Int32Array): Int32Array {
    const into = this.#memory.int32s(numbers.length);
    for (let row = 0; row < numbers.length; row++) {
      const number = numbers[row] ?? -1;
      into[row] = number < 0 ? -1 : (values[number] ?? -1);
    }
    return into;
  }

  /** A dictionary column. The array takes over `numbers`: the caller must not use it afterwards. */
  dictionaryTexts(dictionary: Pick<Dictionary, 'data'>, numbers: Int32Array): Data {
    const validity = this.#negativesAsNull(numbers);
    const type = new (arrow().Dictionary)(new (arrow().Utf8)(), new (arrow().Int32)());
    const values = new (arrow().Vector)([dictionary.data()]);
    return arrow().makeData({ type, length: numbers.length, data: numbers, dictionary: values, ...validity.nulls });
  }

  /** A dictionary column of texts that are all distinct. */
  distinctTexts(texts: Data<Utf8>): Data {
    const numbers = this.#memory.int32s(texts.length);
    for (let row = 0; row < numbers.length; row++) numbers[row] = row;
    return this.dictionaryTexts({ data: () => texts }, numbers);
  }

  /** The chosen rows of a column of dictionary numbers, run-end encoded. */
  runs(dictionary: Dictionary, column: Int32Array, chosen: Int32Array): Data {
    const numbers = this.#memory.int32s(chosen.length);
    const runEnds = this.#memory.int32s(chosen.length);
    let count = 0;
    for (let row = 0; row < chosen.length; row++) {
      const number = column[chosen[row] ?? -1] ?? -1;
      if (count > 0 && number === numbers[count - 1]) continue;
      if (count > 0) runEnds[count - 1] = row;
      numbers[count++] = number;
    }
    if (count > 0) runEnds[count - 1] = chosen.length;
    return runEndEncoded({
      runEnds: runEnds.subarray(0, count),
      values: this.dictionaryTexts(dictionary, numbers.subarray(0, count)),
    });
  }

  /** The numbers as 32-bit integers. The array takes them over: the caller must not use them afterwards. */
  integers(numbers: Int32Array): Data {
    const validity = this.#negativesAsNull(numbers);
    return arrow().makeData({ type: new (arrow().Int32)(), length: numbers.length, data: numbers, ...validity.nulls });
  }

  /** The numbers as 64-bit integers; none is null or below 0. */
  positions(numbers: Int32Array): Data {
    const halves = this.#memory.int32s(numbers.length * 2);
    for (let row = 0; row < numbers.length; row++) halves[row * 2] = numbers[row] ?? 0;
    const data = new BigInt64Array(halves.buffer, halves.byteOffset, numbers.length);
    return arrow().makeData({ type: new (arrow().Int64)(), length: numbers.length, nullCount: 0, data });
  }

  /** Microseconds since 1970-01-01T00:00:00Z. */
  instants(values: Int64Values, numbers: Int32Array): Data {
    const { data, validity } = this.#int64s(values, numbers);
    return arrow().makeData({ type: instantType(), length: numbers.length, data, ...validity.nulls });
  }

  bigints(values: Int64Values, numbers: Int32Array): Data {
    const { data, validity } = this.#int64s(values, numbers);
    return arrow().makeData({ type: new (arrow().Int64)(), length: numbers.length, data, ...validity.nulls });
  }

  /** Of millionths in 32-bit halves; `exact` is 1 where there is a value. */
  decimals(
    { exact, low, high }: { readonly exact: Int32Array; readonly low: Int32Array; readonly high: Int32Array },
    numbers: Int32Array,
  ): Data {
    const halves = this.#memory.int32s(numbers.length * 2);
    const validity = new Validity(numbers.length, this.#memory);
    for (let row = 0; row < numbers.length; row++) {
      const at = numbers[row] ?? -1;
      if (exact[at] === 1) {
        halves[row * 2] = low[at] ?? 0;
        halves[row * 2 + 1] = high[at] ?? 0;
      } else {
        validity.setNull(row);
      }
    }
    const type = new (arrow().Decimal)(decimalScale, decimalPrecision, 64);
    return arrow().makeData({ type, length: numbers.length, data: halves, ...validity.nulls });
  }

  #int64s({ halves, isNull }: Int64Values, numbers: Int32Array): { data: BigInt64Array; validity: Validity } {
    const into = this.#memory.int32s(numbers.length * 2);
    const validity = new Validity(numbers.length, this.#memory);
    for (let row = 0; row < numbers.length; row++) {
      const at = numbers[row] ?? -1;
      if (at < 0 || isNull[at] === 1) {
        validity.setNull(row);
      } else {
        into[row * 2] = halves[at * 2] ?? 0;
        into[row * 2 + 1] = halves[at * 2 + 1] ?? 0;
      }
    }
    return { data: new BigInt64Array(into.buffer, into.byteOffset, numbers.length), validity };
  }

  /** Marks numbers below 0 as null and replaces them by 0. */
  #negativesAsNull(numbers: Int32Array): Validity {
    const validity = new Validity(numbers.length, this.#memory);
    for (let row = 0; row < numbers.length; row++) {
      if ((numbers[row] ?? 0) >= 0) continue;
      validity.setNull(row);
      numbers[row] = 0;
    }
    return validity;
  }
}

/** Arrow's validity bitmap: one bit for each value, least significant first. */
class Validity {
  nullCount = 0;
  readonly #bits: Uint8Array;

  constructor(length: number, memory: ColumnMemory = separateMemory) {
    this.#bits = memory.bytes((length + 7) >> 3).fill(0xff);
  }

  setNull(row: number): void {
    this.nullCount++;
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) & ~(1 << (row & 7));
  }

  /** The count of nulls, and the bitmap where there are any. */
  get nulls(): { nullCount: number; nullBitmap?: Uint8Array } {
    return this.nullCount === 0 ? { nullCount: 0 } : { nullCount: this.nullCount, nullBitmap: this.#bits };
  }
}
