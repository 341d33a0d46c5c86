import type { Snapshot } from '../../../../lake/catalog/snapshot.js';
import type { Lake } from '../../../../lake/lake.js';
import { contains, dayMs, uncovered, type Window } from '../../../../core/windows.js';
import type { ForecastRequest, Job, Probe, ProbedPage, Slicing, Warnings } from '../../../../engine/run/pipeline.js';
import { loadedWindows, windowSlice, type WindowSlice } from '../../../../engine/slicing/window-slices.js';
import { WindowQueue, type WindowedPipeline } from '../../../../engine/slicing/window-queue.js';
import { pageSize, type SliceQueue } from '../../../../engine/run/slice-queue.js';
import { monthlyWindows } from '../../../../engine/slicing/sync-windows.js';
import {
  gapToProbe,
  sampleOf,
  syncedWindows,
  windowCoverage,
  windowForecast,
} from '../../../../engine/slicing/window-slicing.js';
import { count } from '../../../../core/count.js';
import { historyWarnings } from '../../selling-partner/history-limit.js';
import { groups } from '../event-tables.js';
import { groupSlice, listedSettlements, type GroupSlice } from '../group-slices.js';
import { listingGapText, listingGaps, type ListingGaps, type ListingGap, settlementsAhead } from '../listing-gaps.js';

/** Days at the end of a gap that a plan probes for settlements: far fewer than a page of them. */
const probedDays = 90;

/** Days after its end for which a settlement's missing total is read again. */
const awaitedDays = 60;

/** A window of the list of settlements. */
export interface ListingSlice extends WindowSlice {
  /** Reads the stored settlements of the window as a page's body, to which new ones are added. */
  readonly stored?: () => Promise<Uint8Array>;
}

/** Repeated listings of a window with a gap: for one that this run has read, and for one stored earlier. */
const mostRounds = { read: 3, stored: 1 };

/** Repeated listings of a window of this run with a gap before the first settlement of all. */
const mostFirstRounds = 1;

/** Days before the end of a run's range in which gaps count even before its start. */
const recentDays = 60;

/** The gaps in the list of settlements that concern a run: those of its range, and recent ones. */
function breaksOf({ lake, account, range }: Job, listing: string, windows: readonly Window[]): ListingGaps {
  const from = Math.min(range.start, range.end - recentDays * dayMs);
  const spans = listedSettlements(lake, listing, account).map(({ group }) => group);
  const { gaps, beginnings } = listingGaps(spans, windows);
  const isConcerned = ({ at }: ListingGap) => at >= from;
  return { gaps: gaps.filter(isConcerned), beginnings: beginnings.filter(isConcerned) };
}

function listedWindows({ lake, account }: Job, listing: string): readonly Window[] {
  return loadedWindows(lake, listing, account);
}

/**
 * The slice queue of listing settlements. After all slices, the windows with gaps are read again, a few times while the gaps
 * remain: the service is known to omit settlements from a listing, different ones each time. A run without slices skips this.
 */
function listingQueue(queue: SliceQueue<WindowSlice>, job: Job, listing: string): SliceQueue<ListingSlice> {
  const { lake, account } = job;
  const read = new Set<string>();
  const rounds = new Map<string, number>();
  return {
    get left() {
      return queue.left;
    },
    stretches: () => queue.stretches(),
    expected: (slice) => queue.expected(slice),
    learn: (slice, progress) => {
      queue.learn(slice, progress);
    },
    recut: (slice) => queue.recut?.(slice) === true,
    split: (slice, verdict) => queue.split(slice, verdict),
    next: (pages) => {
      const slice = queue.next(pages);
      if (slice !== undefined) read.add(slice.name);
      return slice;
    },
    missed: () => {
      if (read.size === 0) return [];
      const windows = listedWindows(job, listing);
      const { gaps, beginnings } = breaksOf(job, listing, windows);
      const isIn = (window: Window, breaks: readonly ListingGap[]) => breaks.some(({ at }) => contains(window, at));
      const mostOf = (window: Window, { name }: WindowSlice): number => {
        if (isIn(window, gaps)) return read.has(name) ? mostRounds.read : mostRounds.stored;
        return read.has(name) && isIn(window, beginnings) ? mostFirstRounds : 0;
      };
      return windows
        .map((window) => ({ window, slice: windowSlice(window) }))
        .filter(({ window, slice }) => (rounds.get(slice.name) ?? 0) < mostOf(window, slice))
        .map(({ slice }): ListingSlice => {
          count(rounds, slice.name);
          return { ...slice, reread: 'complete', stored: () => storedListing(lake, account, listing, slice) };
        });
    },
  };
}

/** The gaps that remain, as warnings. */
function listingWarnings(job: Job, listing: string): Warnings {
  const { gaps } = breaksOf(job, listing, listedWindows(job, listing));
  return { missingSettlements: new Map(gaps.map((gap) => [listingGapText(gap), 1])) };
}

async function storedListing(lake: Lake, account: string, listing: string, slice: WindowSlice): Promise<Uint8Array> {
  // Imported here: most runs find no gap, and need no DuckDB.
  const { storedRaws } = await import('../../../../lake/files/month-files.js');
  const chosen = (snapshot: Snapshot) => snapshot.filesWith(groups.name, account, listing, slice.loadKeys);
  const raws = chosen(lake.snapshot).length === 0 ? [] : await storedRaws(lake, groups, chosen, slice.loadKeys);
  return Buffer.from(`{"payload":{"FinancialEventGroupList":[${raws.join(',')}]}}`);
}

/** Slices that are windows of the list of settlements; a sync reads months. */
export function listingSlicing(options: WindowedPipeline): Slicing<ListingSlice> {
  const { pipeline: listing } = options;
  return {
    loadKeyKind: 'window',
    sliceQueue: (job) => {
      if (job.kind === 'backfill') return listingQueue(new WindowQueue(job, options), job, listing);
      const lookBackFrom = job.lookBackFrom(listing);
      const starts = listedSettlements(job.lake, listing, job.account)
        .filter((slice) => isOpen(slice) || isAwaited(slice, job.now) || (slice.group.end ?? 0) >= lookBackFrom)
        .map(({ opened }) => opened);
      const isWanted = (window: Window) => starts.some((start) => contains(window, start));
      const queue = syncedWindows(job, options, {
        days: 31,
        plan: (windows) => monthlyWindows(windows, isWanted),
      });
      return job.refresh ? listingQueue(queue, job, listing) : queue;
    },
    forecast: (request) => {
      const { listed, ahead, isListed } = settlementsOf(request, listing);
      const starts = [...listed, ...ahead].map(({ opened }) => opened);
      const results = ({ window }: WindowSlice): number => starts.filter((start) => contains(window, start)).length;
      const pages = (slice: WindowSlice): number => Math.max(1, Math.ceil(results(slice) / pageSize));
      return windowForecast(request, options, isListed ? { results, pages } : undefined);
    },
    coverage: (lake, account, range) => {
      const opened = listedSettlements(lake, listing, account).map((slice) => slice.opened);
      const filled = opened.map((start) => ({ start, end: start + 1 }));
      return windowCoverage(lake, account, range, { pipeline: listing, filled });
    },
    probes: (job) => listingProbes(job, listing),
    warnings: (job, now) => ({ ...listingWarnings(job, listing), ...historyWarnings(job, options, now) }),
  };
}

/** The probe of the longest gap: its end. */
function listingProbes(job: Job, pipeline: string): Probe[] {
  const listed = listedWindows(job, pipeline);
  const gap = gapToProbe(job.range, listed, listed.length > 0);
  if (gap === undefined) return [];
  return [{ pipeline, gap, window: { start: Math.max(gap.start, gap.end - probedDays * dayMs), end: gap.end } }];
}

/** Whether a settlement can still receive events, by its listing. */
export function isOpen({ group }: GroupSlice): boolean {
  return group.end === null || group.open === true;
}

/** Whether a settlement's total is pending: the service adds it some time after the end. */
function isAwaited({ group }: GroupSlice, now: number): boolean {
  return group.awaited === true && (group.end ?? 0) >= now - awaitedDays * dayMs;
}

/** The settlements of an account. */
interface Settlements {
  /** In the lake, or probed. */
  readonly listed: readonly GroupSlice[];
  /** Expected at times of the range that aren't listed. */
  readonly ahead: readonly GroupSlice[];
  /** Spans of both. */
  readonly spans: readonly Window[];
  /** Whether any listing exists, or none is needed. */
  readonly isListed: boolean;
}

/** The known and the expected settlements of an account. */
export function settlementsOf({ job, now, probed }: ForecastRequest, listing: string): Settlements {
  const { lake, account, range } = job;
  const inLake = listedSettlements(lake, listing, account);
  const names = new Set(inLake.map(({ name }) => name));
  const page = probed.get(listing);
  const asked = probedGroups(page, now);
  const listed = [...inLake, ...asked.filter(({ name }) => !names.has(name))];
  const last = Math.max(page?.window.start ?? 0, ...asked.map(({ group }) => group.start ?? 0));
  const seen = [...listedWindows(job, listing), ...(page === undefined ? [] : [sampleOf(page, last).window])];
  const known = spansOf(listed, now);
  const spans = settlementsAhead(known, uncovered(range, seen), seen);
  const ahead = spans.map(({ start, end }, at) =>
    groupSlice({ group: { id: `not listed yet ${at + 1}`, start, end }, listedFrom: start }),
  );
  const isListed = seen.length > 0 || uncovered(range, seen).length === 0;
  return { listed, ahead, spans: [...known, ...spans], isListed };
}

/**
 * The number of settlements that touch the job's range, and whether any listing exists.
 *
 * @param closedBefore left out: open settlements count too
 */
export function touchingSettlements(
  request: ForecastRequest,
  listing: string,
  closedBefore?: number,
): { readonly count: number; readonly isListed: boolean } {
  const { start, end } = request.job.range;
  const { listed, ahead, isListed } = settlementsOf(request, listing);
  const touching = [...listed, ...ahead].filter(({ opened, group }) => {
    const closed = group.end ?? Infinity;
    return opened < end && closed > start && (closedBefore === undefined || closed <= closedBefore);
  });
  return { count: touching.length, isListed };
}

function probedGroups(page: ProbedPage | undefined, now: number): GroupSlice[] {
  const groups = (page?.batches ?? []).flatMap((batch) => batch.groups ?? []);
  return groups.map((group) => groupSlice({ group, listedFrom: page?.window.start ?? now }));
}

/** Spans of settlements; an open one gets the average length of closed ones. */
function spansOf(slices: readonly GroupSlice[], now: number): Window[] {
  const groups = slices.map(({ group }) => group);
  const closed = groups.flatMap(({ start, end }) => (start === null || end === null ? [] : [{ start, end }]));
  const length = closed.reduce((sum, { start, end }) => sum + end - start, 0) / closed.length;
  const open = groups.flatMap(({ start, end }) =>
    start === null || end !== null ? [] : [{ start, end: closed.length > 0 ? start + length : now }],
  );
  return [...closed, ...open];
}
