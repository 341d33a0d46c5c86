import type { Data, RecordBatch, Vector } from 'apache-arrow';
import { arrow } from '../../../src/core/columns/arrow.js';
import { compareTexts, isNull, nullsOf, textsOf } from '../../../src/core/columns/column-data.js';
import { instantBounds, statisticsJson, type ColumnStatistics } from '../../../src/core/columns/statistics.js';
import type { Table } from '../../../src/core/columns/table.js';

/**
 * The statistics that the encoder computes from its bounds, computed from the arrays of a batch.
 */
export function deltaStatistics(table: Table, batch: RecordBatch): string {
  const columns = new Map<string, ColumnStatistics>();
  for (const column of table.columns) {
    if (column.filtered !== true) continue;
    const vector = batch.getChild(column.name);
    if (vector !== null)
      columns.set(column.name, column.type === 'instant' ? instantStatistics(vector) : textStatistics(vector));
  }
  return statisticsJson(batch.numRows, columns);
}

function instantStatistics(vector: Vector): ColumnStatistics {
  const [data] = vector.data;
  const values: unknown = data?.values;
  if (data === undefined || !(values instanceof BigInt64Array))
    throw new Error('expected 64-bit integers in an instant column, got others');
  // Compared by halves, which allocates no BigInt: the high half is signed, the low one isn't.
  const halves = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  const isLess = (a: number, b: number): boolean => {
    const [high, other] = [halves[a * 2 + 1] ?? 0, halves[b * 2 + 1] ?? 0];
    return high === other ? (halves[a * 2] ?? 0) >>> 0 < (halves[b * 2] ?? 0) >>> 0 : high < other;
  };
  let min = -1;
  let max = -1;
  const none = nullsOf(data);
  for (let row = 0; row < data.length; row++) {
    if (isNull(none, row)) continue;
    if (min < 0 || isLess(row, min)) min = row;
    if (max < 0 || isLess(max, row)) max = row;
  }
  const nulls = vector.nullCount;
  return min < 0 || max < 0 ? { nulls } : { ...instantBounds(values[min] ?? 0n, values[max] ?? 0n), nulls };
}

/** In the order of UTF-8 bytes, which is also the order of Parquet's statistics. */
function textStatistics(vector: Vector): ColumnStatistics {
  const [data]: readonly (Data | undefined)[] = vector.data;
  const nulls = vector.nullCount;
  const values = data === undefined ? undefined : textsOf(data);
  if (data === undefined || values === undefined) return { nulls };
  const { bytes, offsets } = values;
  const used = usedValues(data);
  const text = (index: number): Buffer =>
    Buffer.from(
      bytes.buffer,
      bytes.byteOffset + (offsets[index] ?? 0),
      (offsets[index + 1] ?? 0) - (offsets[index] ?? 0),
    );
  let min = -1;
  let max = -1;
  for (let index = 0; index < used.length; index++) {
    if (used[index] !== 1) continue;
    if (min < 0 || compareTexts(bytes, offsets, index, min) < 0) min = index;
    if (max < 0 || compareTexts(bytes, offsets, index, max) > 0) max = index;
  }
  return min < 0 || max < 0 ? { nulls } : { min: text(min).toString(), max: text(max).toString(), nulls };
}

/** A 1 for each value that a row has. */
function usedValues(data: Vector['data'][number]): Uint8Array {
  const isDictionary = arrow().DataType.isDictionary(data.type);
  const used = new Uint8Array(isDictionary ? (data.dictionary?.length ?? 0) : data.length);
  const numbers: unknown = data.values;
  const none = nullsOf(data);
  for (let row = 0; row < data.length; row++) {
    if (isNull(none, row)) continue;
    used[isDictionary && numbers instanceof Int32Array ? (numbers[row] ?? 0) : row] = 1;
  }
  return used;
}
