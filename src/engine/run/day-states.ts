import { dayMs, dayStart, type Window } from '../../core/windows.js';

/**
 * A UTC day of a range:
 *
 * - `full`: loaded
 * - `empty`: loaded, without rows
 * - `forgotten`: loaded, and its rows were removed by `forget --before`
 * - `partial`: partly loaded
 * - `imported`: not loaded, with imported rows
 * - `missing`: none of these
 */
export type DayState = 'full' | 'empty' | 'forgotten' | 'partial' | 'imported' | 'missing';

/** A day and its state. */
export interface Day {
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly state: DayState;
}

/**
 * The days of a range, in order. `gaps` are its windows that aren't loaded, `filled` those with rows in files, `imported` the
 * imported days.
 */
export function dayStates(
  range: Window,
  gaps: readonly Window[],
  filled: readonly Window[],
  imported: readonly Window[] = [],
): Day[] {
  const first = dayStart(range.start);
  const count = Math.ceil((range.end - first) / dayMs);
  const missing = new Float64Array(count);
  const hasRows = new Uint8Array(count);
  eachDay(gaps, first, count, (day, ms) => (missing[day] = (missing[day] ?? 0) + ms));
  eachDay(filled, first, count, (day) => (hasRows[day] = 1));
  const isImported = new Uint8Array(count);
  eachDay(imported, first, count, (day) => (isImported[day] = 1));
  return Array.from({ length: count }, (_, day) => {
    const start = first + day * dayMs;
    const whole = Math.min(start + dayMs, range.end) - Math.max(start, range.start);
    const lacking = missing[day] ?? 0;
    const loaded = hasRows[day] === 1 ? 'full' : 'empty';
    const unloaded = isImported[day] === 1 ? 'imported' : 'missing';
    return { start, state: lacking === 0 ? loaded : lacking < whole ? 'partial' : unloaded };
  });
}

/** Calls `add` with the index of each day in the windows, and the milliseconds of it that each window covers. */
function eachDay(
  windows: readonly Window[],
  first: number,
  count: number,
  add: (day: number, ms: number) => void,
): void {
  for (const { start, end } of windows) {
    const last = Math.min(count - 1, Math.floor((end - 1 - first) / dayMs));
    for (let day = Math.max(0, Math.floor((start - first) / dayMs)); day <= last; day++) {
      const from = first + day * dayMs;
      add(day, Math.min(end, from + dayMs) - Math.max(start, from));
    }
  }
}
