import { roles } from '../../../pipelines/all-pipelines.js';
import { joined, type Window } from '../../core/windows.js';
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
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 - count)).toISOString().slice(0, 7);
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

/** `shop has only a part of 2026-02: loaded is …`. `what`: what it has. */
export function loadedText(account: string, what: string, windows: readonly Window[]): string {
  return `${account} has ${what}: loaded is ${spansText(windows)}`;
}

/**
 * The months of a range, in a time zone, that windows cover in part only; undefined where they cover nothing of the range.
 *
 * @param windows joined
 */
export function partialMonths(
  windows: readonly Window[],
  zone: string,
  { first, last }: { readonly first: string; readonly last: string },
): readonly string[] | undefined {
  const month = (instant: number): string => monthIn(zone, instant);
  const isTouched = windows.some(({ start, end }) => month(start) <= last && month(end - 1) >= first);
  if (!isTouched) return undefined;
  const cut = windows.flatMap(({ start, end }) => [
    ...(month(start - 1) === month(start) ? [month(start)] : []),
    ...(month(end) === month(end - 1) ? [month(end)] : []),
  ]);
  return [...new Set(cut)].filter((month) => month >= first && month <= last).toSorted();
}
