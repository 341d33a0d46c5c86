import type { Data, DataType } from 'apache-arrow';
import { arrow } from './arrow.js';
import { isNull, nullsOf, numbersOf } from './column-data.js';
import { separateMemory } from './memory.js';

/** The runs of a run-end encoded column. */
export interface Runs {
  /** The row at which each run ends, exclusive; none is empty. */
  readonly runEnds: Int32Array;
  /** The value of each run. */
  readonly values: Data;
}

/** The number of this type in Arrow's enumeration `Type`. */
const typeId = 22;

/** Made when it is first needed, as Arrow is loaded late. */
let RunEndEncoded: (new (typeId: number) => DataType) | undefined;

/**
 * A column in Arrow's run-end encoded layout (columnar format, "Run-End Encoded Layout"), which Arrow's JavaScript package lacks:
 * neighbouring rows share a value. Its children are `run_ends` and `values`. Arrow's own functions can't read it: `runsOf`
 * reads it, and `expandedRuns` makes a column that they can read.
 */
export function runEndEncoded({ runEnds, values }: Runs): Data {
  const { DataType, Data, Int32, makeData } = arrow();
  RunEndEncoded ??= class extends (DataType as unknown as new (typeId: number) => DataType) {};
  const ends = makeData({ type: new Int32(), length: runEnds.length, nullCount: 0, data: runEnds });
  return new Data(new RunEndEncoded(typeId), 0, runEnds.at(-1) ?? 0, 0, {}, [ends, values]);
}

/** The runs of a column; undefined where it has a value for each row. */
export function runsOf({ type, children }: Data): Runs | undefined {
  const [ends, values] = children as readonly (Data | undefined)[];
  const id: number = type.typeId;
  if (id !== typeId || values === undefined) return undefined;
  return { runEnds: ends?.values as Int32Array, values };
}

/** Expands runs to a value for each row. Runs have values of a fixed width or dictionary numbers. */
export function expandedRuns(data: Data): Data {
  const runs = runsOf(data);
  if (runs === undefined) return data;
  const { runEnds, values } = runs;
  const array: unknown = values.values;
  if (!(ArrayBuffer.isView(array) && array.byteOffset % 4 === 0)) throw new Error('expected values of a fixed width');
  const words = new Int32Array(array.buffer, array.byteOffset, array.byteLength / 4);
  // The width comes from the type: buffers of an Arrow stream may have padding after the values.
  const isNumbered = arrow().DataType.isDictionary(values.type) || arrow().DataType.isDate(values.type);
  const wordsPerValue = isNumbered ? 1 : (numbersOf(values)?.wordsPerValue ?? NaN);
  if (Number.isNaN(wordsPerValue)) throw new Error('expected numbers, or texts of a dictionary');
  const { length } = data;
  const into = separateMemory.int32s(length * wordsPerValue);
  const nulls = nullsOf(values);
  const nullBitmap = nulls.nullCount === 0 ? undefined : new Uint8Array((length + 7) >> 3).fill(0xff);
  let nullCount = 0;
  let row = 0;
  for (const [run, end] of runEnds.entries()) {
    const isNone = isNull(nulls, run);
    if (isNone) nullCount += end - row;
    for (; row < end; row++) {
      for (let word = 0; word < wordsPerValue; word++) {
        into[row * wordsPerValue + word] = words[run * wordsPerValue + word] ?? 0;
      }
      if (isNone && nullBitmap) nullBitmap[row >> 3] = (nullBitmap[row >> 3] ?? 0) & ~(1 << (row & 7));
    }
  }
  const { BufferType } = arrow();
  // The array's type is that of the runs' values.
  const buffers = { [BufferType.DATA]: array instanceof BigInt64Array ? new BigInt64Array(into.buffer) : into };
  const all = nullBitmap === undefined ? buffers : { ...buffers, [BufferType.VALIDITY]: nullBitmap };
  return new (arrow().Data)(values.type, 0, length, nullCount, all, [], values.dictionary);
}
