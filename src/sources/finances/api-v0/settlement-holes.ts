import { contains, joined, type Window } from '../../../core/windows.js';
import type { GroupSpan } from './collectors.js';
import { shortInstant } from '../../../core/numeric/instant.js';

/** Where the row of settlements breaks off, though it was listed what opened there. */
export interface SettlementHole {
  /** When one should have opened that isn't listed: milliseconds since 1970. */
  readonly at: number;
  /** The settlement beside it. */
  readonly beside: GroupSpan;
  readonly side: 'after' | 'before';
}

/** How far a settlement may begin from where the one before ended. */
const slackMs = 36 * 3_600_000;

/** Where rows of settlements break off or begin. */
export interface SettlementBreaks {
  readonly holes: readonly SettlementHole[];
  /**
   * Where one may have opened before the first settlement of all, though it was listed what opened there. Most often the
   * account is new: that is worth another look, and no warning.
   */
  readonly beginnings: readonly SettlementHole[];
}

/**
 * Where settlements seem to be missing: one follows the other, each begins where the one before ended. An account has
 * several rows of them (currencies, kinds of orders), and a listing doesn't say which one a settlement belongs to, so ends
 * and beginnings are counted against each other.
 *
 * A row also breaks off where an account pauses, and begins where it is new: a hole is a reason to list that time again,
 * and no proof. Before the first settlement of all nothing is missed.
 *
 * @param loaded windows whose settlements were listed
 */
export function settlementBreaks(groups: readonly GroupSpan[], loaded: readonly Window[]): SettlementBreaks {
  const dated = groups.flatMap((group) => (group.start === null ? [] : [{ ...group, start: group.start }]));
  const closed = dated.flatMap((group) =>
    group.end === null || group.open === true || group.end <= group.start ? [] : [{ ...group, end: group.end }],
  );
  const starts = dated.map((group) => ({ at: group.start, group }));
  const ends = closed.map((group) => ({ at: group.end, group }));
  for (const slack of [0, slackMs]) takePairs(ends, starts, slack);

  const listed = joined(loaded);
  const isListed = (from: number, to: number) => listed.some(({ start, end }) => start <= from && to <= end);
  const first = Math.min(...dated.map(({ start }) => start));
  const lengthOf = new Map(closed.map(({ id, start, end }) => [id, end - start]));
  const after = ends
    .filter(({ at }) => isListed(at, at + slackMs))
    .map(({ at, group }): SettlementHole => ({ at, beside: group, side: 'after' }));
  const before = starts
    .map(({ at, group }) => ({ at, group, opened: at - (lengthOf.get(group.id) ?? Infinity) }))
    .filter(({ at, opened }) => isListed(opened, at))
    .map(({ group, opened }): SettlementHole => ({ at: opened, beside: group, side: 'before' }));
  return {
    holes: [...after, ...before.filter(({ at }) => at >= first)].toSorted((a, b) => a.at - b.at),
    beginnings: before.filter(({ at }) => at < first).toSorted((a, b) => a.at - b.at),
  };
}

/** `after group ID, which ended 2026-02-15T00:00:00Z`. */
export function holeText({ side, beside: { id, start, end } }: SettlementHole): string {
  const at = side === 'after' ? `which ended ${instantText(end)}` : `which began ${instantText(start)}`;
  return `${side} group ${id}, ${at}`;
}

function instantText(ms: number | null): string {
  return ms === null ? 'at an unknown time' : shortInstant(ms);
}

interface Bound {
  readonly at: number;
  readonly group: GroupSpan;
}

/** Takes out each end with the beginning that is nearest to it, if that is near enough. */
function takePairs(ends: Bound[], starts: Bound[], slack: number): void {
  starts.sort((a, b) => a.at - b.at);
  for (const end of ends.splice(0).toSorted((a, b) => a.at - b.at)) {
    const near = starts.filter(({ at, group }) => Math.abs(at - end.at) <= slack && group.id !== end.group.id);
    const [nearest] = near.toSorted((a, b) => Math.abs(a.at - end.at) - Math.abs(b.at - end.at));
    if (nearest === undefined) ends.push(end);
    else starts.splice(starts.indexOf(nearest), 1);
  }
}

/** More of them than this in a row are none that anybody had. */
const mostInRow = 1000;

/**
 * Settlements that opened where nobody has looked yet, as the known ones let expect: one follows the other, and each is
 * as long as the one beside it. `known`: spans of closed ones. `unseen`: where they weren't listed, in order; `seen`:
 * where they were.
 */
export function settlementsAhead(
  known: readonly Window[],
  unseen: readonly Window[],
  seen: readonly Window[] = [],
): Window[] {
  const rows = known.filter(({ start, end }) => end - start > slackMs);
  const first = Math.min(...known.map(({ start }) => start));
  const isUnseen = (at: number): boolean => unseen.some((window) => contains(window, at));
  const listed = joined(seen);
  const isSeen = (at: number): boolean => listed.some(({ start, end }) => start <= at - slackMs && at + slackMs <= end);
  const last = Math.max(...unseen.map(({ end }) => end));
  const ahead: Window[] = [];
  const begins = known.map(({ start }) => start);
  const ends = known.map(({ end }) => end);
  for (const { start, end } of rows) {
    const length = end - start;
    if (!takeNear(begins, end)) {
      for (let at = end, count = 0; at < last && count < mostInRow; at += length, count++) {
        if (isUnseen(at)) ahead.push({ start: at, end: at + length });
        // Where others were listed again, their rows go on from there.
        else if (known.some((other) => other.start > at - slackMs && other.start > end)) break;
      }
    }
    // What lies before the first is followed back; what lies between two is followed from the earlier one.
    if (!takeNear(ends, start)) {
      for (
        let at = start - length, count = 0;
        at >= (unseen[0]?.start ?? Infinity) && count < mostInRow;
        at -= length
      ) {
        // It would be listed: the row begins behind it.
        if (isSeen(at)) break;
        if (isUnseen(at) && at < first) ahead.push({ start: at, end: at + length });
        count++;
      }
    }
  }
  return ahead.toSorted((a, b) => a.start - b.start);
}

/** The most that were open at the same time. */
export function mostAtOnce(spans: readonly Window[]): number {
  const changes = spans.flatMap(({ start, end }) => [
    { at: start, by: 1 },
    { at: end, by: -1 },
  ]);
  let open = 0;
  let most = 0;
  // Where one ends as another begins, it has ended.
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}

/** Takes out the instant that is nearest, if it is near. */
function takeNear(instants: number[], wanted: number): boolean {
  const off = instants.map((at) => Math.abs(at - wanted));
  const nearest = Math.min(...off);
  if (!(nearest <= slackMs)) return false;
  instants.splice(off.indexOf(nearest), 1);
  return true;
}
