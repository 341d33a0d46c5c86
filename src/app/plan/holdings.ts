import type { GroupSpan } from '../../sources/finances/api-v0/collectors.js';
import { groupSlices, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import { unitsOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import type { Sample } from '../../engine/run/density.js';
import { loadedSamples, loadedWindows } from '../../engine/run/window-slices.js';
import { dayMs, overlap, type Window } from '../../core/windows.js';
import { byGroup, listing } from '../verify/main-tables.js';
import { spanOf } from '../../engine/slicing/volume-estimate';

/** What the lake holds of a range for one pipeline. */
export interface Held {
  /** Windows, groups or orders that were read. */
  readonly units: number;
  /** Days that its windows cover, of a day that they cover in part that part; null for what has none. */
  readonly days: number | null;
  /** Events or settlements, those of a window that the range cuts in part. */
  readonly events: number;
}

/** What the lake holds of a range by windows. */
export function heldWindows(lake: Lake, pipeline: string, table: string, account: string, range: Window): Held {
  const inside = ({ start, end }: Window): number => Math.min(end, range.end) - Math.max(start, range.start);
  const windows = loadedWindows(lake, pipeline, table, account).filter((window) => overlap(window, range));
  const samples = loadedSamples(lake, pipeline, table, account).filter(({ window }) => overlap(window, range));
  return {
    units: windows.length,
    days: windows.reduce((sum, window) => sum + inside(window), 0) / dayMs,
    events: Math.round(
      samples.reduce((sum, { window, results }) => sum + (results * inside(window)) / (window.end - window.start), 0),
    ),
  };
}

/** A settlement that was loaded, and how many events it holds. */
export interface LoadedGroup {
  readonly slice: GroupSlice;
  readonly events: number;
}

/** Every settlement that was listed, oldest first, and those that were loaded by group. */
export function heldGroups(lake: Lake, account: string, now: number): { listed: GroupSlice[]; loaded: LoadedGroup[] } {
  const range = { start: -Infinity, end: Infinity };
  const job = { lake, account, range, refresh: true, orders: [] };
  const listed = groupSlices(job, byGroup.pipeline, byGroup.table, listing.pipeline);
  const bySpan = new Map(listed.map((slice) => [`group/${slice.group.id}`, spanOf(slice, now)]));
  const events = new Map<string, number>();
  for (const add of lake.files(byGroup.pipeline, byGroup.table, account)) {
    const units = unitsOf(add);
    const lengths = units.map((unit) => lengthOf(bySpan.get(unit)));
    const all = lengths.reduce((sum, length) => sum + length, 0);
    const rows = Number(add.tags?.['rows'] ?? 0);
    // Several are in one file once it was merged: which has how many the log doesn't say.
    for (const [at, unit] of units.entries()) events.set(unit, (rows * (lengths[at] ?? 1)) / all);
  }
  const read = lake.units(byGroup.pipeline, byGroup.table, account);
  const loaded = listed.flatMap((slice) => {
    const unit = `group/${slice.group.id}`;
    return read.has(unit) ? [{ slice, events: events.get(unit) ?? 0 }] : [];
  });
  return { listed, loaded };
}

/** What settlements were found to hold, as samples of their time. */
export function groupSamples(loaded: readonly LoadedGroup[], now: number): Sample[] {
  return loaded.map(({ slice, events }) => ({ window: spanOf(slice, now), results: events }));
}

/** Spans of settlements; one that is open is taken to last as long as closed ones do on average. */
export function spansOf(groups: readonly GroupSpan[], now: number): Window[] {
  const closed = groups.flatMap(({ start, end }) => (start === null || end === null ? [] : [{ start, end }]));
  const length = closed.reduce((sum, { start, end }) => sum + end - start, 0) / closed.length;
  const open = groups.flatMap(({ start, end }) =>
    start === null || end !== null ? [] : [{ start, end: closed.length > 0 ? start + length : now }],
  );
  return [...closed, ...open];
}

/** What the lake holds by order: all of it, as orders have no dates. */
export function heldOrders(lake: Lake, pipeline: string, table: string, account: string): Held {
  const rows = lake.files(pipeline, table, account).reduce((sum, { tags }) => sum + Number(tags?.['rows'] ?? 0), 0);
  return { units: lake.units(pipeline, table, account).size, days: null, events: rows };
}

function lengthOf(span: Window | undefined): number {
  return span === undefined ? 1 : Math.max(1, span.end - span.start);
}
