import { isoInstant } from '../numeric/instant.js';

/** Bounds that are longer are left out, as the protocol permits: they hardly help to skip files. */
const longestText = 64;

export interface ColumnStatistics {
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  readonly nulls: number;
}

/**
 * Statistics of one file in the JSON form of the Delta protocol ("Per-file Statistics"): rows, and for the columns that
 * people filter by the least and greatest value and the number of nulls.
 */
export function statisticsJson(rows: number, columns: ReadonlyMap<string, ColumnStatistics>): string {
  // Without a prototype: a column may be called `__proto__`.
  const minValues = Object.create(null) as Record<string, string>;
  const maxValues = Object.create(null) as Record<string, string>;
  const nullCount = Object.create(null) as Record<string, number>;
  for (const [name, { min, max, nulls }] of columns) {
    nullCount[name] = nulls;
    if (min === undefined || max === undefined || min.length > longestText || max.length > longestText) continue;
    minValues[name] = min;
    maxValues[name] = max;
  }
  // ASCII only: an open lake keeps this text of every file, and one wide character doubles a string's memory.
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify({ numRecords: rows, minValues, maxValues, nullCount }).replace(/[\u0080-\uffff]/g, escaped);
}

/** From microseconds. The protocol's instants have milliseconds, so the least is rounded down and the greatest up. */
export function instantBounds(min: bigint, max: bigint): { readonly min: string; readonly max: string } {
  return { min: isoInstant(Number(floorMs(min))), max: isoInstant(Number(-floorMs(-max))) };
}

function floorMs(micros: bigint): bigint {
  const ms = micros / 1000n;
  return ms * 1000n > micros ? ms - 1n : ms;
}
