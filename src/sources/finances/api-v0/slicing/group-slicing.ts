import type { DataFile } from '../../../../lake/delta/data-file.js';
import type {
  Coverage,
  Expectation,
  Forecast,
  ForecastRequest,
  Slicing,
  SyncJob,
} from '../../../../engine/run/pipeline.js';
import {
  byNewestMonth,
  contains,
  dayMs,
  dayStart,
  joined,
  uncovered,
  within,
  type Window,
} from '../../../../core/windows.js';
import { Density, densityFromStart, type Sample, meanPages } from '../../../../engine/slicing/volume-estimate.js';
import { loadedSamples, loadedWindows } from '../../../../engine/slicing/window-slices.js';
import { listQueue, type SliceQueue } from '../../../../engine/run/slice-queue.js';
import { dayStates, type Day } from '../../../../engine/run/day-states.js';
import { firstSynced, missingWindows } from '../../../../engine/slicing/sync-windows.js';
import { firstInstant, samplesOf } from '../../../../engine/slicing/window-slicing.js';
import type { PipelineTables } from '../../../../core/columns/table.js';
import { refusedAfter, type LoadKey } from '../../../../lake/catalog/load-key.js';
import type { Lake } from '../../../../lake/lake.js';
import { groupSlices, listedSettlements, spanOfGroup, type GroupSlice } from '../group-slices.js';
import { isOpen, settlementsOf } from './listing-slicing.js';
import { mostSimultaneous } from '../listing-gaps.js';
import { count } from '../../../../core/count.js';

interface GroupSlicingOptions {
  readonly pipeline: string;
  readonly table: string;
  /** The pipeline that lists the settlements. */
  readonly listing: ProbedPipeline;
  /** The pipeline that reads the same events by date: its density is an estimate for settlements. */
  readonly byDate: ProbedPipeline;
}

/** A pipeline that a plan can request a page of. */
interface ProbedPipeline extends PipelineTables {
  readonly slicing: Pick<Slicing<never>, 'probes'>;
}

/** Slices that are settlements; a sync reads those that are new, open, or closed after they were read. */
export function groupSlicing(options: GroupSlicingOptions): Slicing<GroupSlice> {
  const { pipeline, listing, byDate } = options;
  return {
    loadKeyKind: 'group',
    sliceQueue: (job) =>
      groupQueue(job.kind === 'sync' ? syncedGroups(job, options) : groupSlices(job, pipeline, listing.name)),
    forecast: (request) => groupForecast(request, options),
    coverage: (lake, account, range) => groupCoverage(lake, account, range, options),
    // Settlements need no probes themselves: the density of events by date applies to them.
    probes: (job) => [
      ...(listing.slicing.probes?.(job) ?? []),
      ...(job.lake.snapshot.keysOf(job.account, pipeline).size > 0 ? [] : (byDate.slicing.probes?.(job) ?? [])),
    ],
  };
}

/** Settlements, those of the newest month first. */
function groupQueue(slices: readonly GroupSlice[]): SliceQueue<GroupSlice> {
  const inOrder = slices.toSorted((a, b) => byNewestMonth(a.opened, b.opened));
  return listQueue(inOrder, 'group', spanOfGroup);
}

/** Whether a settlement has one of these load keys. */
function isIn(loaded: ReadonlyMap<string, LoadKey>): (slice: GroupSlice) => boolean {
  return ({ loadKeys }) => loadKeys.some((loadKey) => loaded.has(loadKey));
}

/** How long after its end the service may still add events to a settlement. */
const settlingMs = 5 * 60_000;

/**
 * The groups that a sync reads: missing ones, open ones, and those that closed after they were read. The events of a closed
 * group no longer change: it is read once after its end, and the read is recorded even if nothing changed. One that the service
 * refused for its size is read again only after its end.
 */
function syncedGroups(job: SyncJob, { pipeline, listing }: GroupSlicingOptions): GroupSlice[] {
  const { lake, account, refresh, range, requested, requestedLookBackFrom } = job;
  const loaded = lake.snapshot.keysOf(account, pipeline);
  const listed = listedSettlements(lake, listing.name, account);
  const isLoaded = isIn(loaded);
  const read = listed.filter(isLoaded);
  const missing =
    read.length === 0
      ? missingWindows([], range.end, requested, pipeline)
      : [
          ...requested.filter((asked) => asked.pipeline === pipeline),
          { start: syncedFrom(read, range.end), end: Infinity },
        ];
  const toRead = (slice: GroupSlice): GroupSlice | undefined => {
    const known = slice.loadKeys.map((loadKey) => loaded.get(loadKey)).find((key) => key !== undefined);
    if (known === undefined) return missing.some((window) => contains(window, slice.opened)) ? slice : undefined;
    const isRefused = refusedAfter(known.holes) !== undefined;
    if (isOpen(slice)) return isRefused ? undefined : { ...slice, reread: 'open' };
    const end = slice.group.end ?? 0;
    if (known.readAt < end + settlingMs) return { ...slice, reread: 'closed' };
    return end >= requestedLookBackFrom && !isRefused ? slice : undefined;
  };
  return listed
    .flatMap((slice) => toRead(slice) ?? [])
    .filter((slice) => (refresh === true || !isLoaded(slice)) && job.wasRead?.(pipeline, slice.label) !== true);
}

function groupForecast(
  request: ForecastRequest,
  { pipeline, table, listing, byDate }: GroupSlicingOptions,
): Forecast<GroupSlice> {
  const { job, now } = request;
  const { lake, account, range, refresh } = job;
  const { listed, ahead, spans, isListed } = settlementsOf(request, listing.name);
  const files = lake.snapshot.filesOf(table, account, pipeline);
  const loaded = settlementsWithEvents(files, lake.snapshot.keysOf(account, pipeline), listed, now);
  const isInRange = ({ opened }: GroupSlice): boolean => contains(range, opened);
  const done = new Set(refresh ? [] : loaded.map(({ slice }) => slice.name));
  const missing = [...listed, ...ahead].filter((slice) => isInRange(slice) && !done.has(slice.name));
  const inside = loaded.filter(({ slice }) => isInRange(slice));
  const results = inside.reduce((sum, { events }) => sum + events, 0);
  return {
    queue: groupQueue(missing),
    expectation: groupExpectation({
      loaded: loaded.map(({ slice, events }) => ({ window: spanOf(slice, now), results: events })),
      ...datedEvents(request, byDate),
      atOnce: mostSimultaneous(spans),
      now,
    }),
    loaded: { count: inside.length, days: null, results: Math.round(results) },
    unlisted: ahead.filter(isInRange).length,
    isComplete: isListed,
  };
}

/** What the pipeline by date has loaded, and its probe has found. */
function datedEvents(
  { job: { lake, account }, probed }: ForecastRequest,
  byDate: PipelineTables,
): Pick<GroupSamples, 'byDate' | 'firstByDate'> {
  const page = probed.get(byDate.name);
  const table = byDate.main.name;
  const samples = loadedSamples(lake, byDate.name, table, account);
  return {
    byDate: page === undefined ? samples : [...samples, ...samplesOf(page, page.reach)],
    firstByDate: firstInstant(lake.snapshot.filesOf(table, account, byDate.name), 'effective_at', page),
  };
}

/** A day counts as loaded by group when its groups are listed and all that opened on it are loaded. */
function groupCoverage(
  lake: Lake,
  account: string,
  range: Window,
  { pipeline, listing }: GroupSlicingOptions,
): Coverage {
  const listed = listedSettlements(lake, listing.name, account);
  const isLoaded = isIn(lake.snapshot.keysOf(account, pipeline));
  const missing = listed.filter((slice) => !isLoaded(slice));
  const unlisted = uncovered(range, loadedWindows(lake, listing.name, account));
  const [missingOn, openedOn] = [openedByDay(missing), openedByDay(listed)];
  const filled = listed.map(({ opened }) => ({ start: opened, end: opened + 1 }));
  const days = dayStates(range, unlisted, filled).map(({ start, state }): Day => {
    const lacking = missingOn.get(start) ?? 0;
    if (lacking === 0 || state === 'missing') return { start, state };
    return { start, state: lacking === openedOn.get(start) && state === 'full' ? 'missing' : 'partial' };
  });
  const missingDays = [...missingOn.keys()].map((start) => ({ start, end: start + dayMs }));
  return { days, gaps: joined([...unlisted, ...within(range, missingDays)]) };
}

function openedByDay(slices: readonly GroupSlice[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { opened } of slices) count(counts, dayStart(opened));
  return counts;
}

/** The first instant from which a sync reads missing settlements: as with dates, gaps of the last 90 days and new ones. */
function syncedFrom(loaded: readonly GroupSlice[], end: number): number {
  const opened = loaded.map((slice) => slice.opened);
  return Math.max(Math.min(...opened), Math.min(Math.max(...opened) + 1, firstSynced(end)));
}

/** The loaded settlements, each with its number of events. */
function settlementsWithEvents(
  files: readonly DataFile[],
  read: ReadonlyMap<string, LoadKey>,
  listed: readonly GroupSlice[],
  now: number,
): { readonly slice: GroupSlice; readonly events: number }[] {
  const lengths = new Map(
    listed.flatMap((slice) => {
      const { start, end } = spanOf(slice, now);
      return slice.loadKeys.map((loadKey): [string, number] => [loadKey, Math.max(1, end - start)]);
    }),
  );
  const events = new Map<string, number>();
  for (const file of files) {
    const loadKeys = file.loadKeys;
    const all = loadKeys.reduce((sum, loadKey) => sum + (lengths.get(loadKey) ?? 1), 0);
    const rows = file.rows;
    // A merged file contains several, and the log has no count for each.
    for (const loadKey of loadKeys) events.set(loadKey, (rows * (lengths.get(loadKey) ?? 1)) / all);
  }
  return listed.flatMap((slice) => {
    const loadKey = slice.loadKeys.find((one) => read.has(one));
    if (loadKey === undefined) return [];
    return [{ slice, events: refusedAfter(read.get(loadKey)?.holes) ?? events.get(loadKey) ?? 0 }];
  });
}

/** The data for an estimate of the events in settlements. */
interface GroupSamples {
  readonly loaded: readonly Sample[];
  readonly byDate: readonly Sample[];
  /** Time of the first of these events: milliseconds since 1970. */
  readonly firstByDate?: number | undefined;
  /** Settlements that are open at once. */
  readonly atOnce: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Tolerance between consecutive settlements of one sequence. */
const sequenceSlackMs = 12 * 3_600_000;

/**
 * The expectation for settlements: the density of others in their sequence (of one marketplace), else that of all others, else
 * their share of the events by date. Undefined without a sample that has results.
 */
export function groupExpectation(samples: GroupSamples): Expectation<GroupSlice> | undefined {
  const { loaded, byDate, firstByDate, atOnce, now } = samples;
  if (![...loaded, ...byDate].some((sample) => sample.results > 0)) return undefined;
  const all = new Density(loaded);
  const dated = densityFromStart(byDate, firstByDate);
  const shares = sharesOf(loaded);
  const sequenceOf = ({ group, opened }: GroupSlice): readonly Sample[] => {
    const length = (group.end ?? Infinity) - opened;
    return loaded.filter(({ window }) => {
      const steps = (window.start - opened) / (length === Infinity ? window.end - window.start : length);
      return Math.abs(steps - Math.round(steps)) * (window.end - window.start) <= sequenceSlackMs;
    });
  };
  const results = (slice: GroupSlice): number => {
    const span = spanOf(slice, now);
    const others = all.expected(span) ?? (dated.expected(span) ?? 0) / Math.max(1, atOnce);
    return new Density(sequenceOf(slice)).expected(span) ?? others;
  };
  return {
    results,
    pages: (slice) => {
      const mean = results(slice);
      // A settlement of another sequence may deviate from the mean like the known ones.
      const alike = sequenceOf(slice).length > 0 ? [1] : shares;
      return alike.reduce((sum, share) => sum + meanPages(mean * share), 0) / alike.length;
    },
  };
}

/** The density of each sample relative to the mean. */
function sharesOf(samples: readonly Sample[]): readonly number[] {
  const rates = samples.map(({ window, results }) => results / Math.max(1, window.end - window.start));
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length);
  return mean === 0 ? [1] : rates.map((rate) => rate / mean);
}

/** The span of a settlement's events; an open one ends now. */
function spanOf({ group, opened }: GroupSlice, now: number): Window {
  return { start: opened, end: Math.max(opened, Math.min(group.end ?? now, now)) };
}
