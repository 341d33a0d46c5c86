import { dayMs, dayStart, uncovered, type Window } from '../../core/windows.js';

/** Days that an empty lake is loaded back, as `backfill` does without `--from`, and within which gaps are closed. */
export const backDays = 90;

/**
 * What a sync sees to it that is loaded: from the newest loaded instant on, or where there is a gap in the last 90 days, as
 * a slice that could not be read leaves one, from there; nothing before the first loaded instant. Where nothing is
 * loaded, the last 90 days.
 */
export function syncRange(loaded: readonly Window[], end: number): Window {
  const back = dayStart(end - backDays * dayMs);
  const first = Math.min(...loaded.map((window) => window.start));
  const newest = Math.max(...loaded.map((window) => window.end));
  if (loaded.length === 0) return { start: back, end };
  const [gap] = uncovered({ start: Math.max(first, Math.min(newest, back)), end }, loaded);
  return { start: Math.min(gap?.start ?? end, end), end };
}

/** Gaps between what is loaded that a sync leaves to a backfill. */
export function olderGaps(loaded: readonly Window[], { start }: Window): Window[] {
  const first = Math.min(...loaded.map((window) => window.start));
  return first < start ? uncovered({ start: first, end: start }, loaded) : [];
}

/** Up to which instant everything from the beginning of a range on is loaded; undefined where nothing is. */
export function coveredTo(loaded: readonly Window[], { start }: Window): number | undefined {
  if (loaded.length === 0) return undefined;
  const newest = Math.max(...loaded.map((window) => window.end));
  return uncovered({ start, end: newest }, loaded)[0]?.start ?? newest;
}
