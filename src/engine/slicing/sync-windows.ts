import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { cut, dayMs, dayStart, monthOf, overlap, uncovered, type Window } from '../../core/windows.js';

/** A window to read, and the loaded windows inside it that it replaces. */
export interface PlannedWindow {
  readonly window: Window;
  readonly retires: readonly Window[];
}

export interface WindowsQuestion {
  /** What is loaded; no two overlap. */
  readonly loaded: readonly Window[];
  /** What should be loaded afterwards. */
  readonly range: Window;
  /** Loaded windows that end later than this are read again; `Infinity`: none. Milliseconds since 1970. */
  readonly lookBackFrom: number;
  /** Days of the longest window that the API answers; left out: a month is. */
  readonly longestDays?: number | undefined;
}

/** Days that an empty lake is loaded back, as `backfill` does without `--from`, and within which gaps are closed. */
const backDays = 90;

/** Days before the end of the range that are windows of their own; what is older is cut as a backfill cuts it. */
const recentDays = 14;

/** Days of a window that is missing and older than that. */
const olderWindowDays = 7;

/** Days that a sync goes back at most for what an earlier one was asked for: the services keep about two years. */
const mostAskedDays = 731;

/**
 * From when on a sync loads what earlier runs were asked for and have not loaded: all that a sync was asked for, of a backfill
 * the last 90 days. `Infinity`: nothing.
 */
export function askedFrom(asked: readonly RequestedRange[], end: number): number {
  const from = asked.flatMap((range) => {
    const days = range.command === 'sync' ? mostAskedDays : backDays;
    const start = Math.max(range.start, dayStart(end - days * dayMs));
    return start < range.end ? [start] : [];
  });
  return Math.min(...from);
}

/**
 * What a sync loads: from the newest loaded instant on, or from a gap in the last 90 days, as a slice that could not be read
 * leaves one; nothing before the first instant that is loaded or was asked for. Where nothing is, the last 90 days.
 *
 * @param asked of the same pipeline, and not loaded
 */
export function syncRange(loaded: readonly Window[], end: number, asked: readonly RequestedRange[] = []): Window {
  const back = dayStart(end - backDays * dayMs);
  const first = Math.min(...loaded.map((window) => window.start));
  const newest = Math.max(...loaded.map((window) => window.end));
  const from = askedFrom(asked, end);
  if (loaded.length === 0) return { start: Math.min(back, from), end };
  const [gap] = uncovered({ start: Math.min(from, Math.max(first, Math.min(newest, back))), end }, loaded);
  return { start: Math.min(gap?.start ?? end, end), end };
}

/** Gaps that a sync leaves to a backfill: between loaded windows, and of what a backfill was asked for. */
export function olderGaps(
  loaded: readonly Window[],
  { start }: Window,
  asked: readonly RequestedRange[] = [],
): Window[] {
  const first = Math.min(...[...loaded, ...asked].map((window) => window.start));
  return first < start ? uncovered({ start: first, end: start }, loaded) : [];
}

/** The watermark: up to which instant everything from the beginning of a range on is loaded; undefined where nothing is. */
export function coveredTo(loaded: readonly Window[], { start }: Window): number | undefined {
  if (loaded.length === 0) return undefined;
  const newest = Math.max(...loaded.map((window) => window.end));
  return uncovered({ start, end: newest }, loaded)[0]?.start ?? newest;
}

/**
 * What a sync reads where a day is worth a window: what is missing, and again what the look-back touches.
 *
 * A window that a look-back touches is read again whole. So the days of the last two weeks are windows of their own:
 * looking back two days costs two days' requests. The last day isn't over, and its window ends where the run's range does;
 * the next run reads it again from its beginning to where the day, or its own range, ends, and that window replaces it, so
 * that each day becomes one window however often it is loaded. A window that keeps its start keeps the ids of its events
 * without a date, which are derived from it: so days are never joined into weeks later.
 *
 * @param isWanted whether a loaded window is read again whatever its age
 */
export function dailyWindows(question: WindowsQuestion, isWanted?: (window: Window) => boolean): PlannedWindow[] {
  const { loaded, range, longestDays = Infinity } = question;
  const recent = dayStart(range.end) - recentDays * dayMs;
  const missing = uncovered(range, loaded).flatMap((gap) => [
    ...within(gap, -Infinity, recent).flatMap((older) => cut(older, Math.min(olderWindowDays, longestDays))),
    ...within(gap, recent, Infinity).flatMap((newer) => cut(newer, 1)),
  ]);
  const isOneDay = ({ start, end }: Window) => dayStart(start) === dayStart(end - 1);
  return planned(
    question,
    missing,
    (before, next) => isOneDay(before) && isOneDay(next) && dayStart(before.start) === dayStart(next.start),
    isWanted,
  );
}

/**
 * What a sync reads where a month is a page or two: a month is one window, read again from its beginning with each run.
 *
 * @param isWanted whether a loaded window is read again whatever its age
 */
export function monthlyWindows(question: WindowsQuestion, isWanted: (window: Window) => boolean): PlannedWindow[] {
  const missing = uncovered(question.range, question.loaded).flatMap((gap) => cut(gap, 31));
  const isOneMonth = (before: Window, next: Window) => monthOf(before.start) === monthOf(next.end - 1);
  return planned(question, missing, isOneMonth, isWanted);
}

function planned(
  { loaded, range, lookBackFrom }: WindowsQuestion,
  missing: readonly Window[],
  grows: (before: Window, next: Window) => boolean,
  isWanted: (window: Window) => boolean = () => false,
): PlannedWindow[] {
  const byEnd = new Map(loaded.map((window) => [window.end, window]));
  const fresh = missing.map((next): PlannedWindow => {
    const before = byEnd.get(next.start);
    if (before === undefined || !grows(before, next)) return { window: next, retires: [] };
    return { window: { start: before.start, end: next.end }, retires: [before] };
  });
  const replaced = new Set(fresh.flatMap(({ retires }) => retires));
  const lookBack = { start: lookBackFrom, end: range.end };
  const repeated = loaded
    .filter((window) => !replaced.has(window) && (overlap(window, lookBack) || isWanted(window)))
    .map((window): PlannedWindow => ({ window, retires: [] }));
  return [...fresh, ...repeated].toSorted((a, b) => a.window.start - b.window.start);
}

/** What of a window lies between two instants; none where nothing does. */
function within(window: Window, from: number, to: number): Window[] {
  const inside = { start: Math.max(window.start, from), end: Math.min(window.end, to) };
  return inside.start < inside.end ? [inside] : [];
}
