import type { GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import type { Txn } from '../../lake/delta/actions.js';
import { rangeMarginMs } from '../configuration/range.js';
import { dayMs } from '../../core/windows.js';

export interface GroupsQuestion {
  /** Every group that is listed. */
  readonly listed: readonly GroupSlice[];
  /** The units that are loaded, with when that was noted last. */
  readonly loaded: ReadonlyMap<string, Txn>;
  /** Of groups that aren't loaded those are that opened from here on: milliseconds since 1970. */
  readonly from: number;
  /** Groups that closed from here on are read again though they were read since; `Infinity`: none. */
  readonly again: number;
}

/** Whether a group still takes events in, as far as its listing tells. */
export function isOpen({ group }: GroupSlice): boolean {
  return group.end === null || group.open === true;
}

/** Days after its end for which a group's missing total is looked for. */
const awaitedDays = 60;

/** Whether a group's total is still to come: the service can take a while over it after the end. */
export function isAwaited({ group }: GroupSlice, now: number): boolean {
  return group.awaited === true && (group.end ?? 0) >= now - awaitedDays * dayMs;
}

/**
 * What a sync reads of groups: those that aren't loaded, those that are open, and those that have closed since they were
 * read. A closed group holds its events for good, so that it is read once after its end, and its reading is noted even
 * where it is the same as before.
 */
export function groupsToRead({ listed, loaded, from, again }: GroupsQuestion): GroupSlice[] {
  return listed.flatMap((slice): GroupSlice[] => {
    const read = slice.units.map((unit) => loaded.get(unit)).find((txn) => txn !== undefined);
    if (read === undefined) return slice.opened >= from ? [slice] : [];
    if (isOpen(slice)) return [slice];
    const end = slice.group.end ?? 0;
    if ((read.lastUpdated ?? 0) < end + rangeMarginMs) return [{ ...slice, noted: true }];
    return end >= again ? [slice] : [];
  });
}
