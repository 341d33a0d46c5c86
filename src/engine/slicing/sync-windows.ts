import { cut, dayMs, dayStart, monthOf, overlap, uncovered, type Window } from '../../core/windows';

/** A window to read, and the loaded windows inside it that it takes the place of. */
export interface PlannedWindow {
  readonly window: Window;
  readonly retires: readonly Window[];
}

export interface WindowsQuestion {
  /** What is loaded; no two overlap. */
  readonly loaded: readonly Window[];
  /** What should be loaded afterwards. */
  readonly range: Window;
  /** From here on what is loaded is read again; `Infinity`: nothing is. Milliseconds since 1970. */
  readonly again: number;
}

/** Days before the end of the range that are windows of their own; what is older is cut as a backfill cuts it. */
export const daysByDay = 14;

/**
 * What a sync reads of events: what is missing, and again what the look-back touches.
 *
 * A window that a look-back touches is read again whole. So the days of the last two weeks are windows of their own:
 * looking back two days costs two days' requests. The last day isn't over, and its window ends where the run's range does;
 * the next run reads it again from its beginning to where the day, or its own range, ends, and that window takes its
 * place, so that each day ends up as one window however often it is loaded. A window that keeps its start keeps the ids
 * of its events without a date, which are made of it: so days are never joined into weeks later.
 *
 * @param cutOld cuts what is missing and older
 */
export function eventWindows(question: WindowsQuestion, cutOld: (gap: Window) => readonly Window[]): PlannedWindow[] {
  const { loaded, range } = question;
  const recent = dayStart(range.end) - daysByDay * dayMs;
  const missing = uncovered(range, loaded).flatMap((gap) => [
    ...within(gap, -Infinity, recent).flatMap(cutOld),
    ...within(gap, recent, Infinity).flatMap((part) => cut(part, 1)),
  ]);
  const isOneDay = ({ start, end }: Window) => dayStart(start) === dayStart(end - 1);
  return planned(
    question,
    missing,
    (before, next) => isOneDay(before) && isOneDay(next) && dayStart(before.start) === dayStart(next.start),
  );
}

/**
 * What a sync reads of the list of groups: a month of it is a page or two, so that a month is one window, read again from
 * its beginning with each run.
 *
 * @param isWanted whether a loaded window is to be read again whatever its age, for the groups that it holds
 */
export function listingWindows(question: WindowsQuestion, isWanted: (window: Window) => boolean): PlannedWindow[] {
  const missing = uncovered(question.range, question.loaded).flatMap((gap) => cut(gap, 31));
  const isOneMonth = (before: Window, next: Window) => monthOf(before.start) === monthOf(next.end - 1);
  return planned(question, missing, isOneMonth, isWanted);
}

function planned(
  { loaded, range, again }: WindowsQuestion,
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
  const grown = new Set(fresh.flatMap(({ retires }) => retires));
  const lookBack = { start: again, end: range.end };
  const repeated = loaded
    .filter((window) => !grown.has(window) && (overlap(window, lookBack) || isWanted(window)))
    .map((window): PlannedWindow => ({ window, retires: [] }));
  return [...fresh, ...repeated].toSorted((a, b) => a.window.start - b.window.start);
}

/** The part of a window between two instants; none where it has none. */
function within(window: Window, from: number, to: number): Window[] {
  const part = { start: Math.max(window.start, from), end: Math.min(window.end, to) };
  return part.start < part.end ? [part] : [];
}
