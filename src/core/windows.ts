import { isoInstant } from './numeric/instant.js';

/** A half-open range of instants in milliseconds since 1970: `start` is inside, `end` is not. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

export const hourMs = 3_600_000;

export const dayMs = 24 * hourMs;

/** A year. */
export const mostRetentionHours = 365 * 24;

const mostDaysOfMonth = 31;

/** Whether two windows share an instant. */
export function overlap(a: Window, b: Window): boolean {
  return a.start < b.end && b.start < a.end;
}

/** Whether an instant is in a window. */
export function contains({ start, end }: Window, instant: number): boolean {
  return instant >= start && instant < end;
}

/** Whether all of another window is in a window. */
export function covers({ start, end }: Window, other: Window): boolean {
  return start <= other.start && other.end <= end;
}

/** The parts of windows that are in a range. */
export function within<T extends Window>({ start, end }: Window, windows: readonly T[]): T[] {
  return windows
    .map((window) => ({ ...window, start: Math.max(window.start, start), end: Math.min(window.end, end) }))
    .filter((part) => part.start < part.end);
}

/** What of a range no window covers, in order. */
export function uncovered(range: Window, windows: readonly Window[]): Window[] {
  const gaps: Window[] = [];
  let start = range.start;
  for (const window of windows.toSorted((a, b) => a.start - b.start)) {
    if (window.end <= start) continue;
    if (window.start >= range.end) break;
    if (window.start > start) gaps.push({ start, end: window.start });
    start = window.end;
  }
  if (start < range.end) gaps.push({ start, end: range.end });
  return gaps;
}

/** From the least start to the greatest end of windows, of which there is at least one. */
export function spanOf(windows: readonly Window[]): Window {
  const none: Window = { start: Infinity, end: -Infinity };
  return windows.reduce((a, b) => ({ start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) }), none);
}

/** The union of windows as ranges that neither touch nor overlap, in order. */
export function joined(windows: readonly Window[]): Window[] {
  const all: { start: number; end: number }[] = [];
  for (const { start, end } of windows.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/**
 * Cuts a range on the grid of slices: never across the end of a UTC month, and within a month at most `days` whole UTC
 * days long. The grid restarts with each month, so that the cuts don't depend on the start of the range.
 */
export function cut(range: Window, days: number): Window[] {
  const slices: Window[] = [];
  for (let start = range.start; start < range.end;) {
    const month = new Date(start);
    const monthStart = Date.UTC(month.getUTCFullYear(), month.getUTCMonth());
    const monthEnd = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
    const stepsTaken = Math.floor((start - monthStart) / (days * dayMs));
    const gridEnd = monthStart + (stepsTaken + 1) * days * dayMs;
    const end = Math.min(gridEnd, monthEnd, range.end);
    slices.push({ start, end });
    start = end;
  }
  return slices;
}

/** A range cut at the ends of UTC months. */
export function months(range: Window): Window[] {
  return cut(range, mostDaysOfMonth);
}

/** The UTC month of an instant, the name of its partition: `2025-03`. */
export function monthOf(instant: number): string {
  return isoInstant(instant).slice(0, 7);
}

/** The range of a month by the name of its partition; undefined for any other text. */
export function monthRange(month: string): Window | undefined {
  const start = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-01T00:00:00Z`) : NaN;
  return Number.isNaN(start) ? undefined : months({ start, end: start + 40 * dayMs })[0];
}

/** Compares instants: those of the newest UTC month first, within a month the earlier one. */
export function byNewestMonth(a: number, b: number): number {
  return monthNumber(b) - monthNumber(a) || a - b;
}

/** The number of an instant's UTC month: one more than that of the month before. */
export function monthNumber(instant: number): number {
  const date = new Date(instant);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The number of a month by its name, `2025-03`. */
export function monthNumberOf(month: string): number {
  return monthNumber(Date.parse(month));
}

/** The name of a month by its number. */
export function monthNamed(number: number): string {
  return `${String(Math.floor(number / 12)).padStart(4, '0')}-${String((number % 12) + 1).padStart(2, '0')}`;
}

/** The start of an instant's UTC day. */
export function dayStart(instant: number): number {
  return Math.floor(instant / dayMs) * dayMs;
}
