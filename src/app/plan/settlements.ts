import { groupSlice, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import type { Job } from '../../engine/run/pipeline.js';
import { loadedWindows } from '../../engine/run/window-slices.js';
import { uncovered, type Window } from '../../core/windows.js';
import { listing } from '../verify/main-tables.js';
import { heldGroups, spansOf, type LoadedGroup } from './holdings.js';
import type { Learned } from './learned.js';
import { settlementsAhead } from '../../sources/finances/api-v0/slicing/settlements-ahead';

/** The settlements of an account. */
export interface Settlements {
  /** In the lake, or asked for. */
  readonly listed: readonly GroupSlice[];
  readonly loaded: readonly LoadedGroup[];
  /** To be expected where nobody has looked, within the range. */
  readonly ahead: readonly GroupSlice[];
  /** Times of all of them. */
  readonly spans: readonly Window[];
  /** Whether anybody has looked, or need not. */
  readonly isSeen: boolean;
}

/** What is known of an account's settlements, and what that lets expect. */
export function settlementsOf({ lake, account, range }: Job, learned: Learned, now: number): Settlements {
  const { listed: inLake, loaded } = heldGroups(lake, account, now);
  const names = new Set(inLake.map(({ name }) => name));
  const asked = learned.groups.map((group) => groupSlice({ group, listedFrom: learned.listed?.start ?? now }));
  const listed = [...inLake, ...asked.filter(({ name }) => !names.has(name))];
  const looked = loadedWindows(lake, listing.pipeline, listing.table, account);
  const seen = learned.listed === undefined ? looked : [...looked, learned.listed];
  const known = spansOf(
    listed.map(({ group }) => group),
    now,
  );
  const spans = settlementsAhead(known, uncovered(range, seen));
  const ahead = spans.map(({ start, end }, at) =>
    groupSlice({ group: { id: `not listed yet ${at + 1}`, start, end }, listedFrom: start }),
  );
  const isSeen = seen.length > 0 || uncovered(range, seen).length === 0;
  return { listed, loaded, ahead, spans: [...known, ...spans], isSeen };
}
