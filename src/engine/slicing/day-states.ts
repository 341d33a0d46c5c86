import { dayMs, dayStart, type Window } from '../../core/windows.js';

/**
 * A UTC day of a range: `full` all of it is loaded, `empty` all of it is loaded and no file holds a row of it, `partial`
 * some of it is loaded, `imported` nothing is and imports brought rows of it, `missing` neither.
 */
export type DayState = 'full' | 'empty' | 'partial' | 'imported' | 'missing';

/** A day and what of it is loaded. */
export interface Day {
  /** Its beginning, milliseconds since 1970. */
  readonly start: number;
  readonly state: DayState;
}

/**
 * The days that a range touches, in order. `gaps` is what of it isn't loaded, `filled` the times that files have rows of,
 * `imported` the days that imports have filled.
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

/** Calls back with each day, by number, that the windows touch, and how much of it each one takes. */
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
