import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { cut, dayMs, dayStart, monthOf, overlap, uncovered, type Window } from '../../core/windows.js';

/** A window to read, and the loaded windows within it that it replaces. */
export interface PlannedWindow {
  readonly window: Window;
  readonly retires: readonly Window[];
}

export interface SyncWindowsOptions {
  /** Loaded windows, without overlaps. */
  readonly loaded: readonly Window[];
  /** The range to load. */
  readonly range: Window;
  /** Loaded windows that end later are read again; `Infinity`: none. Milliseconds since 1970. */
  readonly lookBackFrom: number;
  /** Days of the longest window that the API answers; default a month. */
  readonly longestDays?: number | undefined;
}

/** Days that a sync loads into an empty lake, like `backfill` without `--from`, and within which it closes gaps. */
const backDays = 90;

/** Days before the end of the range with one window each; older windows are those of a backfill. */
const recentDays = 14;

/** Days of an older missing window. */
const olderWindowDays = 7;

/** Maximum of days that a sync goes back for an earlier request: the services keep about two years. */
const mostRequestedDays = 731;

/**
 * The first instant that a sync loads of what was requested: by the configuration and of a sync the whole range, of a backfill
 * the last 90 days. `Infinity`: none.
 */
export function requestedFrom(asked: readonly RequestedRange[], end: number): number {
  const from = asked.flatMap((range) => {
    const days = range.command === 'sync' ? mostRequestedDays : backDays;
    const start = range.isConfigured ? range.start : Math.max(range.start, dayStart(end - days * dayMs));
    return start < range.end ? [start] : [];
  });
  return Math.min(...from);
}

/**
 * The range of a sync: from the newest loaded instant, or from the first gap in the last 90 days, which a skipped slice leaves.
 * It begins no earlier than the first instant that is loaded or was requested. For an empty lake: what the configuration requests,
 * else the last 90 days.
 *
 * @param asked ranges of the same pipeline that aren't loaded
 */
export function syncRange(loaded: readonly Window[], end: number, asked: readonly RequestedRange[] = []): Window {
  const back = dayStart(end - backDays * dayMs);
  const first = Math.min(...loaded.map((window) => window.start));
  const newest = Math.max(...loaded.map((window) => window.end));
  const from = requestedFrom(asked, end);
  if (loaded.length === 0) return { start: firstOf(asked) ?? Math.min(back, from), end };
  const [gap] = uncovered({ start: Math.min(from, Math.max(first, Math.min(newest, back))), end }, loaded);
  return { start: Math.min(gap?.start ?? end, end), end };
}

/** The start of what the configuration requests. */
function firstOf(asked: readonly RequestedRange[]): number | undefined {
  return asked.find(({ isConfigured }) => isConfigured)?.start;
}

/** Gaps that a sync leaves to a backfill: between loaded windows, and in the requested ranges of backfills. */
export function olderGaps(
  loaded: readonly Window[],
  { start }: Window,
  asked: readonly RequestedRange[] = [],
): Window[] {
  const first = Math.min(...[...loaded, ...asked].map((window) => window.start));
  return first < start ? uncovered({ start: first, end: start }, loaded) : [];
}

/** The watermark: the end of the loaded data without a gap from the start of a range; undefined for an empty lake. */
export function coveredTo(loaded: readonly Window[], { start }: Window): number | undefined {
  if (loaded.length === 0) return undefined;
  const newest = Math.max(...loaded.map((window) => window.end));
  return uncovered({ start, end: newest }, loaded)[0]?.start ?? newest;
}

/**
 * The windows of a sync with daily windows: missing ones, and those of the look-back.
 *
 * A window that overlaps the look-back is read again whole. So the last two weeks have a window for each day: a look-back of two
 * days costs two days' requests. The window of the last day ends with the run's range. The next run reads that day from its
 * start to its end, or to the end of the run's range, and the new window replaces the old one, so that each day becomes one
 * window however often it is loaded. The ids of events without a date are derived from the start of their window: so days are
 * never merged into weeks.
 *
 * @param isWanted whether a loaded window is read again regardless of age
 */
export function dailyWindows(options: SyncWindowsOptions, isWanted?: (window: Window) => boolean): PlannedWindow[] {
  const { loaded, range, longestDays = Infinity } = options;
  const recent = dayStart(range.end) - recentDays * dayMs;
  const missing = uncovered(range, loaded).flatMap((gap) => [
    ...within(gap, -Infinity, recent).flatMap((older) => cut(older, Math.min(olderWindowDays, longestDays))),
    ...within(gap, recent, Infinity).flatMap((newer) => cut(newer, 1)),
  ]);
  const isOneDay = ({ start, end }: Window) => dayStart(start) === dayStart(end - 1);
  return planned(
    options,
    missing,
    (before, next) => isOneDay(before) && isOneDay(next) && dayStart(before.start) === dayStart(next.start),
    isWanted,
  );
}

/**
 * The windows of a sync with monthly windows, for pipelines with a page or two a month: each run reads the month from its start.
 *
 * @param isWanted whether a loaded window is read again regardless of age
 */
export function monthlyWindows(options: SyncWindowsOptions, isWanted: (window: Window) => boolean): PlannedWindow[] {
  const missing = uncovered(options.range, options.loaded).flatMap((gap) => cut(gap, 31));
  const isOneMonth = (before: Window, next: Window) => monthOf(before.start) === monthOf(next.end - 1);
  return planned(options, missing, isOneMonth, isWanted);
}

function planned(
  { loaded, range, lookBackFrom }: SyncWindowsOptions,
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

/** The part of a window between two instants; empty for none. */
function within(window: Window, from: number, to: number): Window[] {
  const inside = { start: Math.max(window.start, from), end: Math.min(window.end, to) };
  return inside.start < inside.end ? [inside] : [];
}
