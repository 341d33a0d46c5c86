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
import { decimalPrecision, decimalScale } from '../numeric/decimal.js';
import type { Dictionary } from './dictionary.js';
import type { ColumnMemory } from './memory.js';
import { Validity } from './validity.js';

export const instantType = new Timestamp(TimeUnit.MICROSECOND, 'UTC');

/** Signed 64-bit integers that rows share: as halves, so that handing one to a row makes no object. */
export class Int64Values {
  /** Low and high half of each. */
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

/** Millionths as columns of halves, and a 1 where there is a value. */
export interface DecimalHalves {
  readonly exact: Int32Array;
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/** Columns of values that rows name by number, below 0 standing for null. They lie in one memory. */
export class GatheredArrays {
  readonly #memory: ColumnMemory;

  constructor(memory: ColumnMemory) {
    this.#memory = memory;
  }

  /** For each row the value with its number; -1 where the number is below 0. */
  gathered(values: Int32Array, numbers: Int32Array): Int32Array {
    const into = this.#memory.int32s(numbers.length);
    for (let row = 0; row < numbers.length; row++) {
      const number = numbers[row] ?? -1;
      into[row] = number < 0 ? -1 : (values[number] ?? -1);
    }
    return into;
  }

  /** Strings by their number in a dictionary. The array keeps `numbers`, which is the caller's no longer. */
  numbered(dictionary: Pick<Dictionary, 'data'>, numbers: Int32Array): Data {
    const validity = this.#negativesAsNull(numbers);
    const type = new DictionaryType(new Utf8(), new Int32());
    const values = new Vector([dictionary.data()]);
    return makeData({ type, length: numbers.length, data: numbers, dictionary: values, ...validity.nulls });
  }

  /** The numbers themselves. The array keeps them: they are the caller's no longer. */
  integers(numbers: Int32Array): Data {
    const validity = this.#negativesAsNull(numbers);
    return makeData({ type: new Int32(), length: numbers.length, data: numbers, ...validity.nulls });
  }

  /** Microseconds since 1970-01-01T00:00:00Z. */
  instants(values: Int64Values, numbers: Int32Array): Data {
    const { data, validity } = this.#int64s(values, numbers);
    return makeData({ type: instantType, length: numbers.length, data, ...validity.nulls });
  }

  bigints(values: Int64Values, numbers: Int32Array): Data {
    const { data, validity } = this.#int64s(values, numbers);
    return makeData({ type: new Int64(), length: numbers.length, data, ...validity.nulls });
  }

  decimals({ exact, low, high }: DecimalHalves, numbers: Int32Array): Data {
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
    const type = new Decimal(decimalScale, decimalPrecision, 64);
    return makeData({ type, length: numbers.length, data: halves, ...validity.nulls });
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

  /** The nulls are marked, and 0 takes their place in `numbers`. */
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
