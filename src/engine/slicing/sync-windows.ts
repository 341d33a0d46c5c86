import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import {
  cut,
  dayMs,
  dayStart,
  joined,
  monthOf,
  overlap,
  spanOf,
  uncovered,
  within,
  type Window,
} from '../../core/windows.js';

/** A window to read, and the loaded windows within it that it takes over. */
export interface PlannedWindow {
  readonly window: Window;
  readonly takesOver: readonly Window[];
}

export interface SyncWindowsOptions {
  /** Loaded windows, without overlaps. */
  readonly loaded: readonly Window[];
  /** What is to be loaded (`missingWindows`). */
  readonly missing: readonly Window[];
  /** The end of the sync's range, in milliseconds since 1970. */
  readonly end: number;
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

/** The first instant that a sync of an empty lake loads unless another one is requested. */
export function firstSynced(end: number): number {
  return dayStart(end - backDays * dayMs);
}

/**
 * What a sync loads of a pipeline, in order: what is newer than the newest loaded instant, the gaps of the last 90 days, which a
 * skipped slice leaves, and what was requested, however old it is. Nothing from before the first loaded instant, unless it was
 * requested. For an empty lake: what was requested, and without a configured start the last 90 days.
 *
 * @param requested ranges that aren't loaded, of which those of the pipeline count
 */
export function missingWindows(
  loaded: readonly Window[],
  end: number,
  requested: readonly RequestedRange[] = [],
  pipeline = '',
): Window[] {
  const ofPipeline = requested.filter((range) => range.pipeline === pipeline);
  const back = firstSynced(end);
  const first = Math.min(...loaded.map((window) => window.start));
  const newest = Math.max(...loaded.map((window) => window.end));
  const isConfigured = ofPipeline.some((range) => range.isConfigured);
  const start = loaded.length === 0 ? (isConfigured ? end : back) : Math.max(first, Math.min(newest, back));
  const ranges = within<Window>({ start: -Infinity, end }, [...ofPipeline, { start, end }]);
  return joined(ranges.flatMap((range) => uncovered(range, loaded)));
}

/** Gaps between loaded windows that a sync leaves to a backfill. */
export function olderGaps(loaded: readonly Window[], missing: readonly Window[]): Window[] {
  const known = [...loaded, ...missing];
  return known.length === 0 ? [] : uncovered(spanOf(known), known);
}

/** The watermark: the instant up to which all of some windows is loaded; undefined for an empty lake. */
export function coveredTo(loaded: readonly Window[], wanted: readonly Window[]): number | undefined {
  if (loaded.length === 0) return undefined;
  const newest = Math.max(...loaded.map((window) => window.end));
  const [gap] = wanted.flatMap((window) => uncovered(window, loaded));
  return Math.min(gap?.start ?? newest, newest);
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
  const { end, longestDays = Infinity } = options;
  const recent = dayStart(end) - recentDays * dayMs;
  const older = within({ start: -Infinity, end: recent }, options.missing);
  const newer = within({ start: recent, end: Infinity }, options.missing);
  const missing = [
    ...older.flatMap((gap) => cut(gap, Math.min(olderWindowDays, longestDays))),
    ...newer.flatMap((gap) => cut(gap, 1)),
  ];
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
  const missing = options.missing.flatMap((gap) => cut(gap, 31));
  const isOneMonth = (before: Window, next: Window) => monthOf(before.start) === monthOf(next.end - 1);
  return planned(options, missing, isOneMonth, isWanted);
}

function planned(
  { loaded, end, lookBackFrom }: SyncWindowsOptions,
  missing: readonly Window[],
  grows: (before: Window, next: Window) => boolean,
  isWanted: (window: Window) => boolean = () => false,
): PlannedWindow[] {
  const byEnd = new Map(loaded.map((window) => [window.end, window]));
  const fresh = missing.map((next): PlannedWindow => {
    const before = byEnd.get(next.start);
    if (before === undefined || !grows(before, next)) return { window: next, takesOver: [] };
    return { window: { start: before.start, end: next.end }, takesOver: [before] };
  });
  const replaced = new Set(fresh.flatMap(({ takesOver }) => takesOver));
  const lookBack = { start: lookBackFrom, end };
  const repeated = loaded
    .filter((window) => !replaced.has(window) && (overlap(window, lookBack) || isWanted(window)))
    .map((window): PlannedWindow => ({ window, takesOver: [] }));
  return [...fresh, ...repeated].toSorted((a, b) => a.window.start - b.window.start);
}
