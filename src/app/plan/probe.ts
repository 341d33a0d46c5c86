import type { GroupSpan } from '../../sources/finances/api-v0/collectors.js';
import type { FinancesUpstream } from '../../sources/finances/api-v0/upstream.js';
import type { Sample } from '../../engine/run/density.js';
import type { Job, Pipeline, Reading, RequestCounts } from '../../engine/run/pipeline.js';
import { loadedSamples, loadedWindows, windowSlice, type WindowSlice } from '../../engine/run/window-slices.js';
import { dayMs, dayStart, uncovered, type Window } from '../../core/windows.js';
import { pageSize } from '../../engine/run/work.js';
import { byDate, byGroup, listing } from '../verify/main-tables.js';
import { heldGroups } from './holdings.js';
import type { Learned } from './learned.js';

export interface ProbeOptions {
  readonly job: Job;
  /** Those to be planned, and what they need. */
  readonly pipelines: readonly string[];
  readonly groups: Pipeline<FinancesUpstream, WindowSlice>;
  readonly events: Pipeline<FinancesUpstream, WindowSlice>;
  readonly upstream: FinancesUpstream;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Days of settlements that are asked for: far fewer than a page of them. */
const listedDays = 90;

/**
 * Asks for one page of settlements and one of events by date, each only where the plan needs it and the lake can't tell.
 * Settlements need no page of their own: what is known by date is theirs.
 *
 * @throws what reading throws
 */
export async function probe(options: ProbeOptions): Promise<Learned> {
  const { job, pipelines, now } = options;
  const { lake, account, range } = job;
  const has = ({ pipeline }: { readonly pipeline: string }): boolean => pipelines.includes(pipeline);
  const looked = loadedWindows(lake, listing.pipeline, listing.table, account);
  const dated = loadedSamples(lake, byDate.pipeline, byDate.table, account);
  const unlisted = uncovered(range, looked).at(-1);
  const asksGroups = looked.length === 0 && unlisted !== undefined && (has(listing) || has(byGroup));
  const isKnownByGroup = heldGroups(lake, account, now).loaded.length > 0;
  const asksEvents = dated.length === 0 && (has(byDate) || (has(byGroup) && !isKnownByGroup));

  const counts: RequestCounts = { requests: 0, retries: 0, throttled: 0, pages: 0 };
  const latencies = new Map<string, number>();
  const groups: GroupSpan[] = [];
  let listed: Window | undefined;
  if (asksGroups) {
    const window = { start: Math.max(unlisted.start, unlisted.end - listedDays * dayMs), end: unlisted.end };
    const { results, collector } = await firstPage(options.groups, window, options, counts, latencies);
    for (const { tags } of collector.finish()) groups.push(...(JSON.parse(tags['groups'] ?? '[]') as GroupSpan[]));
    const last = Math.max(window.start, ...groups.map(({ start }) => start ?? 0));
    listed = results < pageSize ? window : { start: window.start, end: last };
  }
  const events: Sample[] = [];
  if (asksEvents) {
    const window = middleOf(range);
    const { results, collector } = await firstPage(options.events, window, options, counts, latencies);
    const end = results < pageSize ? window.end : Math.min(window.end, collector.reach ?? window.end);
    events.push({ window: { start: window.start, end }, results });
  }
  return { requests: counts.requests, events, groups, listed, latencies };
}

/** The middle day of a range and what follows it: neither when a business began nor what isn't posted yet. */
function middleOf({ start, end }: Window): Window {
  const middle = Math.max(start, dayStart((start + end) / 2));
  return { start: middle, end: Math.min(end, middle + 28 * dayMs) };
}

/** Asks for the first page of a window, and forgets it: its slices will be cut by what it tells. */
async function firstPage(
  pipeline: Pipeline<FinancesUpstream, WindowSlice>,
  window: Window,
  { upstream, job, signal }: ProbeOptions,
  counts: RequestCounts,
  latencies: Map<string, number>,
) {
  const slice = windowSlice(window);
  const afterwards: (() => Promise<void>)[] = [];
  const reading: Reading<FinancesUpstream> = {
    upstream,
    account: job.account,
    counts,
    priority: 0,
    signal,
    committed: (then) => {
      afterwards.push(then);
    },
    emit: () => undefined,
  };
  const collector = pipeline.collect(slice);
  let results = 0;
  for await (const page of pipeline.pages(slice, reading)) {
    results = collector.add(page);
    break;
  }
  for (const then of afterwards) await then();
  const latency = pipeline.pace(upstream)?.latency;
  if (latency !== undefined) latencies.set(pipeline.name, latency);
  return { results, collector };
}
