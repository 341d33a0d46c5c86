import type { Lake } from '../lake/lake.js';
import type { Job, Slice } from './pipeline.js';
import type { Window } from './windows.js';
import { cut, overlap, uncovered } from './windows.js';

/** A slice that reads a window of dates. */
export interface WindowSlice extends Slice {
  readonly window: Window;
}

const prefix = 'window/';

/** The windows that a pipeline has loaded for an account; no two overlap. */
export function loadedWindows(lake: Lake, pipeline: string, table: string, account: string): Window[] {
  const windows = [...lake.units(pipeline, table, account).keys()].flatMap((unit) => readWindow(unit) ?? []);
  return windows.toSorted((a, b) => a.start - b.start);
}

function readWindow(unit: string): Window | undefined {
  if (!unit.startsWith(prefix)) return undefined;
  const [start = '', end = ''] = unit.slice(prefix.length).split('/');
  return { start: Date.parse(start), end: Date.parse(end) };
}

/**
 * What a job lacks, cut into slices of at most `days` days. To refresh, the loaded windows that the job's range touches
 * are read again as well, each whole and by itself, so that what replaces a window is that window.
 */
export function windowSlices(job: Job, pipeline: string, table: string, days: number): WindowSlice[] {
  const loaded = loadedWindows(job.lake, pipeline, table, job.account);
  const missing = uncovered(job.range, loaded).flatMap((gap) => cut(gap, days));
  const again = job.refresh ? loaded.filter((window) => overlap(window, job.range)) : [];
  return [...missing, ...again].toSorted((a, b) => a.start - b.start).map(windowSlice);
}

function windowSlice(window: Window): WindowSlice {
  const start = new Date(window.start).toISOString();
  const end = new Date(window.end).toISOString();
  const own = `${prefix}${start}/${end}`;
  return {
    window,
    name: `${compact(start)}-${compact(end)}`,
    label: `${start}/${end}`,
    units: [own],
    excludes: (unit) => {
      const other = unit === own ? undefined : readWindow(unit);
      return other !== undefined && overlap(other, window);
    },
  };
}

/** `20250304T050607Z`; milliseconds only where there are any. */
function compact(iso: string): string {
  return iso.replace('.000Z', 'Z').replace(/[-:]/g, '');
}
