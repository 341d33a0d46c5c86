import type { GroupSpan } from '../../../lake/delta/data-file.js';
import { shortHash } from '../../../core/short-hash.js';
import { loadKeyFor } from '../../../lake/catalog/load-key.js';
import type { Lake } from '../../../lake/lake.js';
import type { Job } from '../../../engine/run/pipeline.js';
import type { Slice } from '../../../engine/run/slice-queue.js';
import { contains, type Window } from '../../../core/windows.js';
import { groups } from './event-tables.js';

/** A slice that reads one whole group. */
export interface GroupSlice extends Slice {
  readonly group: GroupSpan;
  /** The date of the group: its start, or that of the window in which it was listed. Milliseconds since 1970. */
  readonly opened: number;
}

/** The groups that opened in a range and that the lake lacks; to refresh, all of them. */
export function groupSlices(
  { lake, account, range, refresh }: Pick<Job, 'lake' | 'account' | 'range' | 'refresh'>,
  pipeline: string,
  listing: string,
): GroupSlice[] {
  const loaded = lake.snapshot.keysOf(account, pipeline);
  return listedSettlements(lake, listing, account)
    .filter(({ opened }) => contains(range, opened))
    .filter(({ loadKeys }) => refresh === true || !loadKeys.some((loadKey) => loaded.has(loadKey)));
}

/** The span of a group's events; undefined while it is open. */
export function spanOfGroup({ group: { start, end } }: GroupSlice): Window | undefined {
  return start === null || end === null || end <= start ? undefined : { start, end };
}

/** The slice of a listed group. */
export function groupSlice({ group, listedFrom }: { group: GroupSpan; listedFrom: number }): GroupSlice {
  return {
    group,
    opened: group.start ?? listedFrom,
    // A hash, as an id may contain any characters.
    name: `group-${shortHash(group.id)}`,
    label: `group ${shownId(group.id)}`,
    loadKeys: [loadKeyFor('group', group.id)],
  };
}

/** Characters of an id that are shown. */
const mostShown = 100;

/** A settlement's id in messages. */
function shownId(id: string): string {
  if (id === '') return 'without an id';
  return id.length > mostShown ? `${id.slice(0, mostShown)}…` : id;
}

/** Every settlement that the pipeline `listing` has loaded, the oldest first. */
export function listedSettlements(lake: Lake, listing: string, account: string): GroupSlice[] {
  return lake.snapshot
    .filesOf(groups.name, account, listing)
    .flatMap((file) => {
      const listedFrom = Date.parse(`${file.month}-01T00:00:00Z`);
      return (file.groups ?? []).map((group) => groupSlice({ group, listedFrom }));
    })
    .toSorted((a, b) => a.opened - b.opened);
}
