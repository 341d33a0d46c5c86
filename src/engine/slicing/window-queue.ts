import { Density } from './volume-estimate.js';
import { maxPages, equalParts, type Stretch } from '../run/concurrency-plan.js';
import type { BackfillJob } from '../run/pipeline.js';
import { loadedSamples, loadedWindows, windowSlice, type WindowSlice } from './window-slices.js';
import {
  byNewestMonth,
  covers,
  cut,
  dayMs,
  dayStart,
  months,
  overlap,
  uncovered,
  type Window,
} from '../../core/windows.js';
import type { SliceVerdict } from '../retry/causes.js';
import { pageSize, type Progress, type SliceQueue } from '../run/slice-queue.js';
import { bisection, halvesOf } from './bisected-windows.js';

/** A pipeline with windows, and how they are cut. */
export interface WindowedPipeline {
  readonly pipeline: string;
  readonly table: string;
  /** Days of a slice without a quota: fixed, so that the same range is always cut alike. */
  readonly gridDays: number;
  /** Days of a slice while the density is unknown: it is also a probe. */
  readonly probeDays: number;
  /** Assumed results a day while the density is unknown; default none. */
  readonly guessPerDay?: number | undefined;
  /** Days of the longest window that the API answers; default a month. */
  readonly longestDays?: number | undefined;
  /** Results on a full page; default `pageSize`. */
  readonly perPage?: number | undefined;
  /** Whether a window that can't be split is bisected; default false: its rows depend on the order of its pages. */
  readonly bisects?: boolean | undefined;
}

/**
 * The missing windows of a job, as slices that never cross the end of a UTC month and end with a UTC day. The newest month is read
 * first, so that recent days are complete early; within a month the slices are in order of time. A refresh also reads
 * the loaded windows that overlap the job's range, each whole, so that a window is replaced by the same window. Windows that a
 * stopped run had begun are resumed unchanged.
 */
export class WindowQueue implements SliceQueue<WindowSlice> {
  readonly #windowed: WindowedPipeline;
  readonly #perPage: number;
  readonly #isPaced: boolean;
  readonly #density: Density;
  /** Loaded windows that are read again. */
  readonly #reread: readonly Window[];
  /** Slices to read unchanged, in order. */
  #fixed: WindowSlice[];
  /** Windows to cut, in order. */
  #open: Window[];
  /** The longest window that the upstream is known to answer, milliseconds. */
  #longestMs: number;
  /** How far open slices have been read (undefined for pages without order), and their results so far. */
  readonly #reached = new Map<string, { readonly end: number | undefined; readonly results: number }>();
  readonly #bisected: ReturnType<typeof bisection>;

  constructor(job: BackfillJob, windowed: WindowedPipeline) {
    const { lake, account, range, isPaced = false } = job;
    const { pipeline, table, gridDays, longestDays = Infinity, perPage = pageSize, bisects } = windowed;
    const loaded = loadedWindows(lake, pipeline, account);
    const missing = uncovered(range, loaded);
    const begun = (job.begun ?? []).filter(
      (window) => window.end - window.start <= longestDays * dayMs && missing.some((gap) => covers(gap, window)),
    );
    this.#windowed = windowed;
    this.#perPage = perPage;
    this.#isPaced = isPaced;
    this.#density = new Density(loadedSamples(lake, pipeline, table, account));
    this.#reread = job.refresh ? loaded.filter((window) => overlap(window, range)) : [];
    const whole = isPaced ? withoutOverlaps(begun) : missing.flatMap((gap) => cut(gap, gridDays));
    const fixed = inOrder([...this.#reread, ...whole]);
    this.#fixed = fixed.map((window) => windowSlice(window));
    this.#open = inOrder(missing.flatMap((gap) => uncovered(gap, fixed)).flatMap(months));
    this.#longestMs = longestDays * dayMs;
    this.#bisected = bisection(bisects);
  }

  get left(): string {
    const ms = this.#unread().reduce((sum, { start, end }) => sum + end - start, 0);
    const days = Math.ceil(ms / dayMs);
    return days === 0 ? '' : `${days} day${days === 1 ? '' : 's'}`;
  }

  stretches(): readonly Stretch[] | undefined {
    const stretches: Stretch[] = [];
    for (const window of this.#unread()) {
      const pages = this.#pagesOf(window);
      if (pages === undefined) return undefined;
      stretches.push({ pages, isCuttable: stretches.length >= this.#fixed.length });
    }
    return stretches;
  }

  next(pages: number): WindowSlice | undefined {
    const [whole] = this.#fixed;
    const [stretch] = this.#open;
    if (stretch === undefined || (whole !== undefined && byNewestMonth(whole.window.start, stretch.start) < 0)) {
      return this.#fixed.shift();
    }
    const window = this.#cutOff(stretch, pages);
    this.#open = uncovered(stretch, [window]).concat(this.#open.slice(1));
    return windowSlice(window);
  }

  expected({ name, window }: WindowSlice): number | undefined {
    const read = this.#reached.get(name);
    if (read === undefined) return this.#pagesOf(window);
    const pages = read.results / this.#perPage;
    if (read.end === undefined) return Math.max(pages, this.#pagesOf(window) ?? 0);
    return pages + (window.end > read.end ? (this.#pagesOf({ start: read.end, end: window.end }) ?? 0) : 0);
  }

  learn({ name, window }: WindowSlice, { results, reach, isWhole }: Progress): void {
    const end = isWhole ? window.end : reach === undefined ? undefined : Math.min(window.end, reach);
    if (end !== undefined) this.#density.learn(name, { window: { start: window.start, end }, results });
    if (isWhole) this.#reached.delete(name);
    else this.#reached.set(name, { end, results });
  }

  recut({ name, window }: WindowSlice): boolean {
    if (!this.#isPaced || this.#isReread(window) || window.end - window.start <= dayMs) return false;
    this.#reached.delete(name);
    this.#open = inOrder([...this.#open, window]);
    return true;
  }

  split(slice: WindowSlice, verdict: SliceVerdict): boolean {
    const { name, window } = slice;
    // The lengths that the upstream accepts are tried in whole days.
    const isShortest = verdict === 'shorten' && window.end - window.start <= dayMs;
    const halves = isShortest || this.#isReread(window) ? [] : halvesOf(window, verdict);
    const bisected = halves.length === 0 ? this.#bisected(slice, verdict) : undefined;
    const parts = bisected === undefined ? halves.map((half) => windowSlice(half)) : [bisected];
    if (parts.length === 0) return false;
    if (verdict === 'shorten' && halves.length > 0)
      this.#longestMs = Math.min(this.#longestMs, Math.max(...halves.map(({ start, end }) => end - start)));
    this.#reached.delete(name);
    this.#fixed = [...this.#fixed, ...parts].toSorted((a, b) => byNewestMonth(a.window.start, b.window.start));
    return true;
  }

  /** The windows that aren't open yet, in no order. */
  #unread(): readonly Window[] {
    return [...this.#fixed.map(({ window }) => window), ...this.#open];
  }

  #isReread(window: Window): boolean {
    return this.#reread.some(({ start }) => start === window.start);
  }

  #pagesOf(window: Window): number | undefined {
    const { guessPerDay } = this.#windowed;
    const guess = guessPerDay && guessPerDay * ((window.end - window.start) / dayMs);
    const results = this.#density.expected(window) ?? guess;
    return results === undefined ? undefined : Math.max(results / this.#perPage, 0.01);
  }

  #cutOff(stretch: Window, pages: number): Window {
    const expected = this.#pagesOf(stretch);
    const days = (stretch.end - dayStart(stretch.start)) / dayMs;
    const alike =
      expected === undefined
        ? equalParts(days, this.#windowed.probeDays)
        : equalParts(expected, Math.min(pages, maxPages));
    // Slices of equal length, without a short last one.
    const wanted = Math.ceil(days / alike.length);
    const longest = Math.max(1, Math.floor(this.#longestMs / dayMs));
    const length = Math.min(wanted, Math.ceil(days / Math.ceil(days / longest)));
    const end = Math.min(stretch.end, dayStart(stretch.start) + Math.max(1, length) * dayMs);
    const isBelowDay = this.#longestMs < dayMs;
    return { start: stretch.start, end: isBelowDay ? Math.min(end, stretch.start + this.#longestMs) : end };
  }
}

/** The order in which windows are read. */
function inOrder(windows: readonly Window[]): Window[] {
  return windows.toSorted((a, b) => byNewestMonth(a.start, b.start));
}

/** The windows that don't overlap an earlier one. */
function withoutOverlaps(windows: readonly Window[]): Window[] {
  const chosen: Window[] = [];
  for (const window of inOrder(windows)) if (!chosen.some((other) => overlap(other, window))) chosen.push(window);
  return chosen;
}
