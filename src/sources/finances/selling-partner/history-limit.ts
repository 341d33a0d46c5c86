import { isoInstant } from '../../../core/numeric/instant.js';
import type { Job, Warnings } from '../../../engine/run/pipeline.js';
import type { WindowedPipeline } from '../../../engine/slicing/window-queue.js';
import { loadedSamples } from '../../../engine/slicing/window-slices.js';
import { dayMs, overlap } from '../../../core/windows.js';

/** Days that the service keeps its data, approximately. */
export const retentionDays = 730;

/**
 * The empty windows of a job's range before the first result and beyond the service's retention: their data may have been
 * deleted. `now`: milliseconds since 1970.
 */
export function historyWarnings(
  job: Job,
  { pipeline, table }: Pick<WindowedPipeline, 'pipeline' | 'table'>,
  now: number,
): Warnings {
  const { lake, account, range } = job;
  const samples = loadedSamples(lake, pipeline, table, account).filter(({ window }) => overlap(window, range));
  const first = Math.min(...samples.filter(({ results }) => results > 0).map(({ window }) => window.start));
  const empty = samples.filter(({ window }) => window.start < Math.min(first, now - retentionDays * dayMs));
  if (empty.length === 0) return {};
  const start = Math.min(...empty.map(({ window }) => window.start));
  const end = Math.max(...empty.map(({ window }) => window.end));
  return { beyondHistory: new Map([[`${pipeline} ${isoInstant(start)} to ${isoInstant(end)}`, 1]]) };
}
