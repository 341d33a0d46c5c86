import type { Snapshot } from '../catalog/snapshot.js';
import { type KeySplit, LoadKeyWindows } from './load-keys.js';
import { dayMs, dayStart, overlap, uncovered, type Window } from '../../core/windows.js';
import { isoInstant } from '../../core/numeric/instant.js';

const prefix = 'imported/';

/**
 * The load key of a day's imported rows. It doesn't count as a loaded window, because saved pages may lack rows of the
 * day: a backfill requests the day anyway, and replaces the imported rows.
 */
export function importedKey({ start, end }: Window): string {
  return `${prefix}${isoInstant(start)}/${isoInstant(end)}`;
}

/** The day of such a load key, or the rest that loaded windows have left of it; undefined for a load key of another kind. */
export function parseImportedKey(loadKey: string): Window | undefined {
  if (!loadKey.startsWith(prefix)) return undefined;
  const [start = '', end = ''] = loadKey.slice(prefix.length).split('/');
  const window = { start: Date.parse(start), end: Date.parse(end) };
  return window.start < window.end ? window : undefined;
}

/** The UTC day of an instant in milliseconds since 1970. */
export function dayOf(instant: number): Window {
  const start = dayStart(instant);
  return { start, end: start + dayMs };
}

/** The days with imported rows of a pipeline and account, in order and without overlap. */
export function importedWindows(snapshot: Snapshot, pipeline: string, account: string): readonly Window[] {
  return windows.of(snapshot.keysOf(account, pipeline));
}

const windows = new LoadKeyWindows(parseImportedKey);

/** Splits an imported load key at a loaded window; undefined for a load key that doesn't overlap with it. */
export function splitImportedKey(loadKey: string, window: Window): KeySplit | undefined {
  const imported = parseImportedKey(loadKey);
  if (imported === undefined || !overlap(imported, window)) return undefined;
  const inside = { start: Math.max(imported.start, window.start), end: Math.min(imported.end, window.end) };
  return { inside: importedKey(inside), outside: uncovered(imported, [inside]).map(importedKey) };
}
