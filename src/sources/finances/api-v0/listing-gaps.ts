import type { GroupSpan } from '../../../lake/delta/data-file.js';
import { contains, joined, type Window } from '../../../core/windows.js';
import { shortInstant } from '../../../core/numeric/instant.js';

/** An end of a sequence of settlements at a time that was listed. */
export interface ListingGap {
  /** When the missing settlement should have opened: milliseconds since 1970. */
  readonly at: number;
  /** The settlement next to it. */
  readonly beside: GroupSpan;
  readonly side: 'after' | 'before';
}

/** Tolerance between the end of a settlement and the start of the next one. */
const slackMs = 36 * 3_600_000;

/** The ends and beginnings of sequences of settlements. */
export interface ListingGaps {
  readonly gaps: readonly ListingGap[];
  /**
   * Gaps before the first settlement of all, at times that were listed. Usually the account is new: they are listed again,
   * without a warning.
   */
  readonly beginnings: readonly ListingGap[];
}

/**
 * Finds where settlements seem to be missing. Settlements form sequences: each begins where the previous one ended. An account
 * has several sequences (currencies, kinds of orders), and a listing doesn't state the sequence of a settlement, so ends are
 * paired with beginnings.
 *
 * A sequence also ends where an account pauses, and begins where it is new: a gap is a reason to list that time again, not a
 * proof. Before the first settlement of all none is missing.
 *
 * @param loaded windows whose settlements were listed
 */
export function listingGaps(groups: readonly GroupSpan[], loaded: readonly Window[]): ListingGaps {
  const dated = groups.flatMap((group) => (group.start === null ? [] : [{ ...group, start: group.start }]));
  const closed = dated.flatMap((group) =>
    group.end === null || group.open === true || group.end <= group.start ? [] : [{ ...group, end: group.end }],
  );
  const starts = dated.map((group) => ({ at: group.start, group }));
  const ends = closed.map((group) => ({ at: group.end, group }));
  for (const slack of [0, slackMs]) removePairs(ends, starts, slack);

  const listed = joined(loaded);
  const isListed = (from: number, to: number) => listed.some(({ start, end }) => start <= from && to <= end);
  const first = Math.min(...dated.map(({ start }) => start));
  const lengthOf = new Map(closed.map(({ id, start, end }) => [id, end - start]));
  const after = ends
    .filter(({ at }) => isListed(at, at + slackMs))
    .map(({ at, group }): ListingGap => ({ at, beside: group, side: 'after' }));
  const before = starts
    .map(({ at, group }) => ({ at, group, opened: at - (lengthOf.get(group.id) ?? Infinity) }))
    .filter(({ at, opened }) => isListed(opened, at))
    .map(({ group, opened }): ListingGap => ({ at: opened, beside: group, side: 'before' }));
  return {
    gaps: [...after, ...before.filter(({ at }) => at >= first)].toSorted((a, b) => a.at - b.at),
    beginnings: before.filter(({ at }) => at < first).toSorted((a, b) => a.at - b.at),
  };
}

/** `after group ID, which ended 2026-02-15T00:00:00Z`. */
export function listingGapText({ side, beside: { id, start, end } }: ListingGap): string {
  const at = side === 'after' ? `which ended ${instantText(end)}` : `which began ${instantText(start)}`;
  return `${side} group ${id}, ${at}`;
}

function instantText(ms: number | null): string {
  return ms === null ? 'at an unknown time' : shortInstant(ms);
}

interface GroupBound {
  readonly at: number;
  readonly group: GroupSpan;
}

/** Removes each end together with the nearest beginning within `slack`. */
function removePairs(ends: GroupBound[], starts: GroupBound[], slack: number): void {
  starts.sort((a, b) => a.at - b.at);
  for (const end of ends.splice(0).toSorted((a, b) => a.at - b.at)) {
    const near = starts.filter(({ at, group }) => Math.abs(at - end.at) <= slack && group.id !== end.group.id);
    const [nearest] = near.toSorted((a, b) => Math.abs(a.at - end.at) - Math.abs(b.at - end.at));
    if (nearest === undefined) ends.push(end);
    else starts.splice(starts.indexOf(nearest), 1);
  }
}

/** Limit of expected settlements in a sequence. */
const mostInSequence = 1000;

/**
 * The expected settlements at times that aren't listed yet: each follows a known one, and is as long as it. `known`: spans of
 * closed ones. `unseen`: times that weren't listed, in order; `seen`: those that were.
 */
export function settlementsAhead(
  known: readonly Window[],
  unseen: readonly Window[],
  seen: readonly Window[] = [],
): Window[] {
  const sequences = known.filter(({ start, end }) => end - start > slackMs);
  const first = Math.min(...known.map(({ start }) => start));
  const isUnseen = (at: number): boolean => unseen.some((window) => contains(window, at));
  const listed = joined(seen);
  const isSeen = (at: number): boolean => listed.some(({ start, end }) => start <= at - slackMs && at + slackMs <= end);
  const last = Math.max(...unseen.map(({ end }) => end));
  const ahead: Window[] = [];
  const begins = known.map(({ start }) => start);
  const ends = known.map(({ end }) => end);
  for (const { start, end } of sequences) {
    const length = end - start;
    if (!removeNearest(begins, end)) {
      for (let at = end, count = 0; at < last && count < mostInSequence; at += length, count++) {
        if (isUnseen(at)) ahead.push({ start: at, end: at + length });
        // Later listed settlements continue the sequence.
        else if (known.some((other) => other.start > at - slackMs && other.start > end)) break;
      }
    }
    // Only the first settlement is followed backwards; gaps are filled from the earlier settlement.
    if (!removeNearest(ends, start)) {
      for (
        let at = start - length, count = 0;
        at >= (unseen[0]?.start ?? Infinity) && count < mostInSequence;
        at -= length
      ) {
        // It would be listed: the sequence begins after it.
        if (isSeen(at)) break;
        if (isUnseen(at) && at < first) ahead.push({ start: at, end: at + length });
        count++;
      }
    }
  }
  return ahead.toSorted((a, b) => a.start - b.start);
}

/** The maximum of simultaneously open settlements. */
export function mostSimultaneous(spans: readonly Window[]): number {
  const changes = spans.flatMap(({ start, end }) => [
    { at: start, by: 1 },
    { at: end, by: -1 },
  ]);
  let open = 0;
  let most = 0;
  // At the same instant ends precede beginnings.
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}

/** Removes the nearest instant within `slackMs`; false without one. */
function removeNearest(instants: number[], wanted: number): boolean {
  const off = instants.map((at) => Math.abs(at - wanted));
  const nearest = Math.min(...off);
  if (!(nearest <= slackMs)) return false;
  instants.splice(off.indexOf(nearest), 1);
  return true;
}
