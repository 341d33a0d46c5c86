import type { DataFile } from '../../lake/delta/data-file.js';
import { spanIn } from '../../lake/catalog/load-key.js';
import { byNewestMonth, covers, cut, dayMs, dayStart, overlap, uncovered, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { importedDays } from '../../lake/loads/imported-spans.js';
import { densityFromStart, densityOfGap, meanPages, type Sample } from './volume-estimate.js';
import type {
  Coverage,
  Expectation,
  Forecast,
  ForecastRequest,
  Job,
  LoadedVolume,
  Probe,
  ProbedPage,
  Slicing,
  SyncJob,
} from '../run/pipeline.js';
import {
  loadedSamples,
  loadedWindows,
  windowKey,
  windowSlice,
  type ChangedWindow,
  type WindowSlice,
} from './window-slices.js';
import { bisection } from './bisected-windows.js';
import { WindowQueue, type WindowedPipeline } from './window-queue.js';
import { listQueue, pageSize, type SliceQueue } from '../run/slice-queue.js';
import { dayStates } from '../run/day-states.js';
import { dailyWindows, missingWindows, type PlannedWindow, type SyncWindowsOptions } from './sync-windows.js';

interface WindowSlicingOptions extends WindowedPipeline {
  /** Column whose statistics give the days of a file's rows; default the file's windows. */
  readonly instants?: string;
  /** Days of a gap of which a plan requests the first page for its estimate; left out: it requests none. */
  readonly estimateDays?: number;
}

/** Slices that are windows of dates, sized by density; a sync reads days. */
export function windowSlicing(options: WindowSlicingOptions): Slicing<WindowSlice, readonly ChangedWindow[]> {
  const { pipeline, table, instants, perPage, longestDays, estimateDays } = options;
  return {
    loadKeyKind: 'window',
    sliceQueue: (job, changed = []) => {
      if (job.kind === 'backfill') return new WindowQueue(job, options);
      const hasChanged = (window: Window) => changed.some((other) => overlap(window, other));
      const plan = (windows: SyncWindowsOptions) => dailyWindows({ ...windows, longestDays }, hasChanged);
      return syncedWindows(job, options, { days: 1, plan, changed });
    },
    forecast: (request) => {
      const { lake, account } = request.job;
      const samples = loadedSamples(lake, pipeline, table, account);
      const page = request.probed.get(pipeline);
      const probed = page === undefined ? [] : samplesOf(page, page.reach);
      const first =
        instants === undefined
          ? undefined
          : firstInstant(lake.snapshot.filesOf(table, account, pipeline), instants, page);
      const near = windowExpectation([...samples, ...probed], perPage, first);
      const expectation = near && page ? probedExpectation(near, samples, page, perPage) : near;
      const forecast = windowForecast(request, options, expectation);
      for (const { window, results } of probed) {
        forecast.queue.learn(windowSlice(window), { pages: 1, results, reach: window.end, isWhole: true });
      }
      return forecast;
    },
    coverage: (lake, account, range) => {
      const files = lake.snapshot.filesOf(table, account, pipeline);
      const filled = files.flatMap((file) => (instants === undefined ? windowsIn(file) : spanOfColumn(file, instants)));
      return windowCoverage(lake, account, range, { pipeline, filled });
    },
    ...(estimateDays !== undefined && { probes: (job: Job) => windowProbes(job, options, estimateDays) }),
  };
}

interface SyncedWindowsOptions {
  /** Days of a missing window after a conflict. */
  readonly days: number;
  readonly plan: (options: SyncWindowsOptions) => readonly PlannedWindow[];
  readonly changed?: readonly ChangedWindow[];
}

/**
 * The windows of a sync, the newest month first: missing ones, and those of the look-back. After a conflict with another run only the
 * missing ones.
 */
export function syncedWindows(
  job: SyncJob,
  { pipeline, bisects }: Pick<WindowedPipeline, 'pipeline' | 'bisects'>,
  { days, plan, changed = [] }: SyncedWindowsOptions,
): SliceQueue<WindowSlice> {
  const { lake, account } = job;
  const loaded = loadedWindows(lake, pipeline, account);
  const { end } = job.range;
  const missing = missingWindows(loaded, end, job.requested, pipeline);
  const bodiesOf = (window: Window) =>
    changed.find(({ start, end }) => start === window.start && end === window.end)?.bodies;
  const slices = job.refresh
    ? plan({ loaded, missing, end, lookBackFrom: job.lookBackFrom(pipeline) })
        .map(({ window, takesOver }) => {
          const bodies = bodiesOf(window);
          return { ...windowSlice(window, takesOver), ...(bodies && { bodies }) };
        })
        .filter(({ label }) => job.wasRead?.(pipeline, label) !== true)
    : missing.flatMap((gap) => cut(gap, days)).map((window) => windowSlice(window));
  const inOrder = slices.toSorted((a, b) => byNewestMonth(a.window.start, b.window.start));
  return listQueue(inOrder, 'window', ({ window }) => window, bisection(bisects));
}

/** The forecast of windows with an expectation. */
export function windowForecast(
  { job }: ForecastRequest,
  windowed: WindowedPipeline,
  expectation: Forecast<WindowSlice>['expectation'],
): Forecast<WindowSlice> {
  const holding = loadedVolume(job.lake, windowed, job.account, job.range);
  return { queue: new WindowQueue(job, windowed), expectation, loaded: holding, unlisted: 0, isComplete: true };
}

function loadedVolume(lake: Lake, { pipeline, table }: WindowedPipeline, account: string, range: Window): LoadedVolume {
  const inside = ({ start, end }: Window): number => Math.min(end, range.end) - Math.max(start, range.start);
  const windows = loadedWindows(lake, pipeline, account).filter((window) => overlap(window, range));
  const samples = loadedSamples(lake, pipeline, table, account).filter(({ window }) => overlap(window, range));
  return {
    count: windows.length,
    days: windows.reduce((sum, window) => sum + inside(window), 0) / dayMs,
    results: Math.round(
      samples.reduce((sum, { window, results }) => sum + (results * inside(window)) / (window.end - window.start), 0),
    ),
  };
}

/** The days of a range that windows have loaded. `filled`: times with rows. */
export function windowCoverage(
  lake: Lake,
  account: string,
  range: Window,
  { pipeline, filled }: Pick<WindowedPipeline, 'pipeline'> & { readonly filled: readonly Window[] },
): Coverage {
  const gaps = uncovered(range, loadedWindows(lake, pipeline, account));
  const imported = importedDays(lake.snapshot, pipeline, account);
  return { days: dayStates(range, gaps, filled, imported), gaps };
}

/** Days from which a gap is probed even if other days are loaded. */
const longDays = 28;

/** The longest gap of a range; undefined without one, or where it is short and loaded days are a sample. */
export function gapToProbe(range: Window, loaded: readonly Window[], hasSamples: boolean): Window | undefined {
  const lengthOf = ({ start, end }: Window): number => end - start;
  const [longest] = uncovered(range, loaded).toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return longest && hasSamples && lengthOf(longest) < longDays * dayMs ? undefined : longest;
}

/**
 * The probe of the longest gap: its middle, away from the start of the business and from events that aren't posted yet.
 */
function windowProbes(
  { lake, account, range }: Job,
  { pipeline, table, perPage }: WindowedPipeline,
  days: number,
): Probe[] {
  const hasSamples = loadedSamples(lake, pipeline, table, account).some(({ results }) => results > 0);
  const gap = gapToProbe(range, loadedWindows(lake, pipeline, account), hasSamples);
  if (gap === undefined) return [];
  const middle = Math.max(gap.start, dayStart((gap.start + gap.end) / 2));
  return [{ pipeline, gap, perPage, window: { start: middle, end: Math.min(gap.end, middle + days * dayMs) } }];
}

/** A probed page as a sample of its window, up to `reach`. */
export function sampleOf({ window, results, isWhole }: ProbedPage, reach: number | undefined): Sample {
  return { window: isWhole ? window : { ...window, end: Math.min(window.end, reach ?? window.end) }, results };
}

/** The samples of a probe: empty windows, and the page. */
export function samplesOf(page: ProbedPage, reach: number | undefined): Sample[] {
  const before = page.empty.filter(({ start }) => start !== page.window.start);
  return [...before.map((window) => ({ window, results: 0 })), sampleOf(page, reach)];
}

/** The first instant of a column in files, or of a page with results; undefined without statistics. */
export function firstInstant(files: readonly DataFile[], column: string, page?: ProbedPage): number | undefined {
  const starts = files.flatMap((file) => spanOfColumn(file, column).map(({ start }) => start));
  if (starts.length === 0) return undefined;
  return starts.reduce((first, start) => Math.min(first, start), page?.results ? page.window.start : Infinity);
}

function windowsIn(file: DataFile): Window[] {
  return file.loadKeys.flatMap((loadKey) => spanIn('window', loadKey) ?? []);
}

/** The span of a column's instants, by the log's statistics, which `verify` checks. */
function spanOfColumn(file: DataFile, column: string): Window[] {
  const { least = '', greatest = '' } = file.columnStatistics(column);
  const [start, end] = [Date.parse(least), Date.parse(greatest)];
  return start <= end ? [{ start, end: end + 1 }] : [];
}

/**
 * The expectation for windows, by the samples nearby (`densityFromStart`); a loaded window keeps its number of results.
 * Undefined without a sample that has results.
 */
export function windowExpectation(
  samples: readonly Sample[],
  perPage = pageSize,
  firstResult?: number,
): Expectation<WindowSlice> | undefined {
  if (!samples.some((sample) => sample.results > 0)) return undefined;
  const { expected, basis } = densityFromStart(samples, firstResult);
  const loaded = new Map(samples.map(({ window, results }) => [windowKey(window), results]));
  const results = ({ window }: WindowSlice): number => loaded.get(windowKey(window)) ?? expected(window) ?? 0;
  return { results, pages: (slice) => meanPages(results(slice), perPage), basis };
}

/** An expectation that uses the probe of a gap for the windows within it. */
function probedExpectation(
  near: Expectation<WindowSlice>,
  samples: readonly Sample[],
  page: ProbedPage,
  perPage?: number,
): Expectation<WindowSlice> {
  const { gap } = page;
  const expected = densityOfGap(samples, { gap, samples: samplesOf(page, page.reach) });
  const results = (slice: WindowSlice) => (covers(gap, slice.window) ? expected(slice.window) : near.results(slice));
  return { ...near, results, pages: (slice) => meanPages(results(slice) ?? 0, perPage) };
}
