import { Bool, DateDay, Decimal, Int32, makeData, type Data } from 'apache-arrow';
import type { Digits } from './table.js';
import { Validity } from './validity.js';

/** Signed 32-bit integers; undefined stands for null. */
export function nullableIntegers(values: readonly (number | undefined)[]): Data {
  const { data, validity } = int32s(values);
  return makeData({ type: new Int32(), length: values.length, data, ...validity.nulls });
}

/** Days since 1970-01-01. */
export function dateArray(days: readonly (number | undefined)[]): Data {
  const { data, validity } = int32s(days);
  return makeData({ type: new DateDay(), length: days.length, data, ...validity.nulls });
}

export function booleanArray(values: readonly (boolean | undefined)[]): Data {
  const data = new Uint8Array((values.length + 7) >> 3);
  const validity = new Validity(values.length);
  values.forEach((value, row) => {
    if (value === undefined) validity.setNull(row);
    else if (value) data[row >> 3] = (data[row >> 3] ?? 0) | (1 << (row & 7));
  });
  return makeData({ type: new Bool(), length: values.length, data, ...validity.nulls });
}

/** Decimals as whole numbers of their last digit: 12.30 with a scale of 2 is 1230n. */
export function scaledArray(values: readonly (bigint | undefined)[], { precision, scale }: Digits): Data {
  const numbers = new BigInt64Array(values.length);
  const validity = new Validity(values.length);
  values.forEach((value, row) => {
    if (value === undefined) validity.setNull(row);
    else numbers[row] = value;
  });
  const data = new Int32Array(numbers.buffer);
  return makeData({ type: new Decimal(scale, precision, 64), length: values.length, data, ...validity.nulls });
}

function int32s(values: readonly (number | undefined)[]): { data: Int32Array; validity: Validity } {
  const data = new Int32Array(values.length);
  const validity = new Validity(values.length);
  values.forEach((value, row) => {
    if (value === undefined) validity.setNull(row);
    else data[row] = value;
  });
  return { data, validity };
}
