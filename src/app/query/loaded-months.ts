import { roles } from '../../../pipelines/all-pipelines.js';
import { joined, monthNamed, monthNumberOf, uncovered, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { spansText } from '../command-text.js';
import { storedWindows } from '../coverage/stored-pipelines.js';

/** The windows in which each account has events or transactions loaded, of those that have any. */
export function windowsByAccount(lake: Lake): ReadonlyMap<string, readonly Window[]> {
  const all = [...lake.snapshot.accounts()]
    .toSorted()
    .map((account): [string, readonly Window[]] => [
      account,
      joined(roles.byDate.flatMap((pipeline) => storedWindows(lake, pipeline, account))),
    ]);
  return new Map(all.filter(([, windows]) => windows.length > 0));
}

/** The month of an instant in a time zone, YYYY-MM. */
function monthIn(zone: string, instant: number): string {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric', month: '2-digit' });
  const parts = format.formatToParts(instant);
  const partOf = (type: string): string => parts.find((part) => part.type === type)?.value ?? '';
  return `${partOf('year').padStart(4, '0')}-${partOf('month')}`;
}

/** The month `count` months before one. */
export function monthBefore(month: string, count: number): string {
  return monthNamed(monthNumberOf(month) - count);
}

/**
 * The newest month in a time zone that windows cover up to its end; where they begin later, the month in which they begin; without
 * windows the month before `now`.
 */
export function newestMonth(windows: readonly Window[], zone: string, now: number): string {
  const end = windows.length === 0 ? now : Math.max(...windows.map((window) => window.end));
  const newest = monthBefore(monthIn(zone, end), 1);
  const first = windows.length === 0 ? newest : monthIn(zone, Math.min(...windows.map((window) => window.start)));
  return newest < first ? first : newest;
}

/** Months from the first to the last, YYYY-MM. */
export interface MonthRange {
  readonly first: string;
  readonly last: string;
}

/** The months of a time zone that a window touches. */
export function monthsOf({ start, end }: Window, zone: string): MonthRange {
  return { first: monthIn(zone, start), last: monthIn(zone, end - 1) };
}

/**
 * What an account lacks of a range of months in a time zone: `shop has nothing of 2025-12 and only a part of 2026-02: loaded is …`;
 * undefined where its windows cover the range.
 *
 * @param windows joined
 */
export function lackText(
  account: string,
  windows: readonly Window[],
  zone: string,
  { first, last }: MonthRange,
): string | undefined {
  const month = (instant: number): string => monthIn(zone, instant);
  const numbersOf = (months: MonthRange): Window => ({
    start: monthNumberOf(months.first),
    end: monthNumberOf(months.last) + 1,
  });
  const gaps = uncovered(
    numbersOf({ first, last }),
    windows.map((window) => numbersOf(monthsOf(window, zone))),
  );
  const missing = gaps.map(({ start, end }) =>
    end - start === 1 ? monthNamed(start) : `${monthNamed(start)} to ${monthNamed(end - 1)}`,
  );
  const cut = windows.flatMap(({ start, end }) => [
    ...(month(start - 1) === month(start) ? [month(start)] : []),
    ...(month(end) === month(end - 1) ? [month(end)] : []),
  ]);
  const partial = [...new Set(cut)].filter((month) => month >= first && month <= last).toSorted();
  const lacks = [
    ...(missing.length === 0 ? [] : [`nothing of ${missing.join(', ')}`]),
    ...(partial.length === 0 ? [] : [`only a part of ${partial.join(', ')}`]),
  ];
  if (lacks.length === 0) return undefined;
  return `${account} has ${lacks.join(' and ')}: loaded is ${windows.length === 0 ? 'no day' : spansText(windows)}`;
}
