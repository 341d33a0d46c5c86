import type { Snapshot } from '../delta/snapshot.js';
import type { UnitCut } from './load-keys.js';
import { UnitWindows } from './load-windows.js';
import { dayMs, dayStart, overlap, uncovered, type Window } from '../../core/windows.js';

const prefix = 'imported/';

/**
 * The unit of what imports brought of a day. It stands for no window that was read: nobody knows whether saved pages held
 * all of the day. So it is asked for as if it weren't there, and gives way to whatever window is loaded.
 */
export function importedUnit({ start, end }: Window): string {
  return `${prefix}${new Date(start).toISOString()}/${new Date(end).toISOString()}`;
}

/** The day that such a unit names, or what loaded windows have left of it; undefined for a unit of another kind. */
export function readImported(unit: string): Window | undefined {
  if (!unit.startsWith(prefix)) return undefined;
  const [start = '', end = ''] = unit.slice(prefix.length).split('/');
  const window = { start: Date.parse(start), end: Date.parse(end) };
  return window.start < window.end ? window : undefined;
}

/** The UTC day of an instant in milliseconds since 1970. */
export function dayOf(instant: number): Window {
  const start = dayStart(instant);
  return { start, end: start + dayMs };
}

/** The days of which a pipeline's main table, as of a snapshot, holds imported rows for an account, in order; no two overlap. */
export function importedWindows(main: Snapshot, pipeline: string, account: string): readonly Window[] {
  return windows.of(main.unitsOf(account, pipeline));
}

const windows = new UnitWindows(readImported);

/** What a window that is loaded cuts an imported unit into; undefined for a unit that it doesn't touch. */
export function cutImported(unit: string, window: Window): UnitCut | undefined {
  const imported = readImported(unit);
  if (imported === undefined || !overlap(imported, window)) return undefined;
  const inside = { start: Math.max(imported.start, window.start), end: Math.min(imported.end, window.end) };
  return { inside: importedUnit(inside), outside: uncovered(imported, [inside]).map(importedUnit) };
}
