import { Density } from './volume-estimate.js';
import { maxPages, pieces, type Stretch } from '../run/concurrency-plan.js';
import type { Job } from '../run/pipeline.js';
import { loadedSamples, loadedWindows, windowKey, windowSlice, type WindowSlice } from './window-slices.js';
import { cut, dayMs, dayStart, months, overlap, uncovered, type Window } from '../../core/windows.js';
import { pageSize, type SliceQueue } from '../run/slice-queue.js';
import { halvesOf, leastMs, bisectedOnce } from './bisected-windows.js';

/** Where a pipeline's windows are kept. */
export interface WindowSource {
  readonly pipeline: string;
  readonly table: string;
  /** Days of a slice where there is no quota to save: always the same, so that the same range is always cut alike. */
  readonly gridDays: number;
  /** Days of a slice while nothing is known of what days hold: it is read as a probe, and for what it holds. */
  readonly probeDays: number;
  /** Results that a day is taken to have while nothing is known; left out: nothing is taken for granted. */
  readonly guessPerDay?: number | undefined;
  /** Days of the longest window that the API answers; left out: a month is. */
  readonly longestDays?: number | undefined;
  /** Results on a full page; left out: `pageSize`. */
  readonly perPage?: number | undefined;
  /** Whether a window that can't be split is bisected; left out: its rows depend on the order of its pages. */
  readonly bisects?: boolean | undefined;
}

/**
 * What a job lacks, as slices that never cross the end of a UTC month and end with a UTC day. To refresh, the loaded
 * windows that the job's range touches are read again as well, each whole and by itself, so that what replaces a window is
 * that window. What a run that was stopped had begun is gone on with as it was cut then.
 */
export function windowQueue(
  job: Job,
  {
    pipeline,
    table,
    gridDays,
    probeDays,
    guessPerDay,
    longestDays = Infinity,
    perPage = pageSize,
    bisects,
  }: WindowSource,
): SliceQueue<WindowSlice> {
  const { lake, account, range } = job;
  const loaded = loadedWindows(lake, pipeline, table, account);
  const isWanted = (window: Window): boolean => job.onlyLoadKeys?.has(windowKey(window)) ?? overlap(window, range);
  const reread = job.refresh ? loaded.filter(isWanted) : [];
  const missing = job.onlyLoadKeys === undefined ? uncovered(range, loaded) : [];
  const begun = (job.begun ?? []).filter(
    (window) => window.end - window.start <= longestDays * dayMs && missing.some((gap) => isWithin(window, gap)),
  );
  const density = new Density(loadedSamples(lake, pipeline, table, account));
  /** To be read as they are, and to be cut; each in order. */
  const fixed = inOrder([...reread, ...(job.isPaced ? apart(begun) : missing.flatMap((gap) => cut(gap, gridDays)))]);
  let open = missing.flatMap((gap) => uncovered(gap, fixed)).flatMap(months);
  let longestMs = longestDays * dayMs;
  /** How far open slices have been read, undefined where their pages have no order, and their results up to there. */
  const reached = new Map<string, { readonly end: number | undefined; readonly results: number }>();
  const bisected = bisectedOnce(bisects);
  const bisectedSlices = new Map<Window, WindowSlice>();

  // What replaces a loaded window is that window.
  const isReread = (window: Window): boolean => reread.some(({ start }) => start === window.start);
  const pagesOf = (window: Window): number | undefined => {
    const guess = guessPerDay && guessPerDay * ((window.end - window.start) / dayMs);
    const results = density.expected(window) ?? guess;
    return results === undefined ? undefined : Math.max(results / perPage, 0.01);
  };
  const cutOff = (stretch: Window, pages: number): Window => {
    const expected = pagesOf(stretch);
    const days = (stretch.end - dayStart(stretch.start)) / dayMs;
    // Alike as far as may be, not as many as fit and a rest.
    const wanted = Math.ceil(
      days / (expected === undefined ? pieces(days, probeDays) : pieces(expected, Math.min(pages, maxPages))).length,
    );
    const length = Math.min(wanted, Math.ceil(days / Math.ceil(days / Math.max(1, Math.floor(longestMs / dayMs)))));
    const end = Math.min(stretch.end, dayStart(stretch.start) + Math.max(1, length) * dayMs);
    return { start: stretch.start, end: longestMs < dayMs ? Math.min(end, stretch.start + longestMs) : end };
  };

  return {
    get left() {
      const ms = [...fixed, ...open].reduce((sum, { start, end }) => sum + end - start, 0);
      const days = Math.ceil(ms / dayMs);
      return days === 0 ? '' : `${days} day${days === 1 ? '' : 's'}`;
    },
    stretches: () => {
      const stretches: Stretch[] = [];
      for (const [windows, isCuttable] of [
        [fixed, false],
        [open, true],
      ] as const) {
        for (const window of windows) {
          const pages = pagesOf(window);
          if (pages === undefined) return undefined;
          stretches.push({ pages, isCuttable });
        }
      }
      return stretches;
    },
    next: (pages) => {
      const [whole] = fixed;
      const [stretch] = open;
      if (stretch === undefined || (whole !== undefined && whole.start < stretch.start)) {
        fixed.shift();
        return whole && (bisectedSlices.get(whole) ?? windowSlice(whole));
      }
      const window = cutOff(stretch, pages);
      open = uncovered(stretch, [window]).concat(open.slice(1));
      return windowSlice(window);
    },
    expected: ({ name, window }) => {
      const read = reached.get(name);
      if (read === undefined) return pagesOf(window);
      const pages = read.results / perPage;
      if (read.end === undefined) return Math.max(pages, pagesOf(window) ?? 0);
      return pages + (window.end > read.end ? (pagesOf({ start: read.end, end: window.end }) ?? 0) : 0);
    },
    learn: ({ name, window }, { results, reach, isWhole }) => {
      const end = isWhole ? window.end : reach === undefined ? undefined : Math.min(window.end, reach);
      if (end !== undefined) density.learn(name, { window: { start: window.start, end }, results });
      if (isWhole) reached.delete(name);
      else reached.set(name, { end, results });
    },
    putBack: ({ name, window }) => {
      if (job.isPaced !== true || isReread(window) || window.end - window.start <= dayMs) return false;
      reached.delete(name);
      open = inOrder([...open, window]);
      return true;
    },
    split: (slice, reason) => {
      const { name, window } = slice;
      const halves = isReread(window) ? undefined : halvesOf(window, reason === 'split' ? leastMs : dayMs);
      const whole = halves === undefined ? bisected(slice) : undefined;
      if (whole !== undefined) bisectedSlices.set(window, whole);
      else if (halves === undefined) return false;
      else if (reason === 'shorten')
        longestMs = Math.min(longestMs, Math.max(...halves.map(({ start, end }) => end - start)));
      reached.delete(name);
      const sorted = inOrder([...fixed, ...(halves ?? [window])]);
      fixed.splice(0, fixed.length, ...sorted);
      return true;
    },
  };
}

function inOrder(windows: readonly Window[]): Window[] {
  return windows.toSorted((a, b) => a.start - b.start);
}

/** Those of the windows that don't overlap an earlier one. */
function apart(windows: readonly Window[]): Window[] {
  const chosen: Window[] = [];
  for (const window of inOrder(windows)) if (!chosen.some((other) => overlap(other, window))) chosen.push(window);
  return chosen;
}

function isWithin(window: Window, other: Window): boolean {
  return window.start >= other.start && window.end <= other.end;
}
