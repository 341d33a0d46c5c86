import { DataType, type RecordBatch, type Vector } from 'apache-arrow';
import type { Table } from './table.js';

/** A longer text says little about a file; the protocol lets a writer leave it out. */
const longestText = 64;

interface ColumnStatistics {
  min?: string;
  max?: string;
  nulls: number;
}

/**
 * Statistics of one file in the JSON form of the Delta protocol ("Per-file Statistics"): rows, and for the columns that
 * people filter by the least and greatest value and the number of nulls.
 */
export function deltaStatistics(table: Table, batch: RecordBatch): string {
  const minValues: Record<string, string> = {};
  const maxValues: Record<string, string> = {};
  const nullCount: Record<string, number> = {};
  for (const column of table.columns) {
    if (column.filtered !== true) continue;
    const vector = batch.getChild(column.name);
    if (vector === null) continue;
    const { min, max, nulls } = column.type === 'instant' ? instants(vector) : texts(vector);
    nullCount[column.name] = nulls;
    if (min !== undefined && max !== undefined && min.length <= longestText && max.length <= longestText) {
      minValues[column.name] = min;
      maxValues[column.name] = max;
    }
  }
  return JSON.stringify({ numRecords: batch.numRows, minValues, maxValues, nullCount });
}

/** The protocol's instants have milliseconds, so the least is rounded down and the greatest up. */
function instants(vector: Vector): ColumnStatistics {
  const [data] = vector.data;
  const values: unknown = data?.values;
  if (data === undefined || !(values instanceof BigInt64Array))
    throw new Error('an instant column holds no 64-bit integers');
  let min: bigint | undefined;
  let max: bigint | undefined;
  for (let row = 0; row < data.length; row++) {
    const value = values[row];
    if (value === undefined || !data.getValid(row)) continue;
    if (min === undefined || value < min) min = value;
    if (max === undefined || value > max) max = value;
  }
  const nulls = vector.nullCount;
  if (min === undefined || max === undefined) return { nulls };
  return { min: iso(floorMs(min)), max: iso(-floorMs(-max)), nulls };
}

function floorMs(micros: bigint): bigint {
  const ms = micros / 1000n;
  return ms * 1000n > micros ? ms - 1n : ms;
}

function iso(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

/** By the order of UTF-8 bytes, which is also that of Parquet's own statistics. */
function texts(vector: Vector): ColumnStatistics {
  let min: Buffer | undefined;
  let max: Buffer | undefined;
  for (const value of distinct(vector)) {
    const bytes = Buffer.from(value);
    if (min === undefined || bytes.compare(min) < 0) min = bytes;
    if (max === undefined || bytes.compare(max) > 0) max = bytes;
  }
  const nulls = vector.nullCount;
  return min === undefined || max === undefined ? { nulls } : { min: min.toString(), max: max.toString(), nulls };
}

/** The values that rows hold: of a dictionary only those that some row names. */
function* distinct(vector: Vector): Generator<string> {
  const [data] = vector.data;
  if (data === undefined) return;
  if (!DataType.isDictionary(data.type)) {
    for (const value of vector as Iterable<string | null>) if (value !== null) yield value;
    return;
  }
  const used = new Set<number>();
  for (let row = 0; row < data.length; row++) {
    if (data.getValid(row)) used.add((data.values as Int32Array)[row] ?? 0);
  }
  for (const index of used) yield String(data.dictionary?.get(index));
}
