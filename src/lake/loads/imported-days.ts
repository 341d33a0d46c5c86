import type { Snapshot } from '../delta/snapshot.js';
import { type KeySplit, LoadKeyWindows } from './load-keys.js';
import { dayMs, dayStart, overlap, uncovered, type Window } from '../../core/windows.js';
import { isoInstant } from '../../core/numeric/instant.js';

const prefix = 'imported/';

/**
 * The load key of what imports brought of a day. It is no window that was read: nobody knows whether saved pages held
 * all of the day. So it is asked for as if it weren't there, and gives way to whatever window is loaded.
 */
export function importedKey({ start, end }: Window): string {
  return `${prefix}${isoInstant(start)}/${isoInstant(end)}`;
}

/** The day that such a load key names, or what loaded windows have left of it; undefined for a load key of another kind. */
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

/** The days of which a pipeline's main table, as of a snapshot, holds imported rows for an account, in order; no two overlap. */
export function importedWindows(main: Snapshot, pipeline: string, account: string): readonly Window[] {
  return windows.of(main.loadKeysOf(account, pipeline));
}

const windows = new LoadKeyWindows(parseImportedKey);

/** What a window that is loaded cuts an imported load key into; undefined for a load key that it doesn't touch. */
export function splitImportedKey(loadKey: string, window: Window): KeySplit | undefined {
  const imported = parseImportedKey(loadKey);
  if (imported === undefined || !overlap(imported, window)) return undefined;
  const inside = { start: Math.max(imported.start, window.start), end: Math.min(imported.end, window.end) };
  return { inside: importedKey(inside), outside: uncovered(imported, [inside]).map(importedKey) };
}
