import type { Window } from '../../../../core/windows.js';

/** How far the next settlement of a row may be off from where the one before ended. */
const slackMs = 36 * 3_600_000;

/** More of them than this in a row are none that anybody had. */
const mostInRow = 1000;

/**
 * Settlements that opened where nobody has looked yet, as the known ones let expect: one follows the other, and each is
 * as long as the one beside it. `known`: spans of closed ones. `unseen`: where they weren't listed, in order.
 */
export function settlementsAhead(known: readonly Window[], unseen: readonly Window[]): Window[] {
  const rows = known.filter(({ start, end }) => end - start > slackMs);
  const first = Math.min(...known.map(({ start }) => start));
  const isUnseen = (at: number): boolean => unseen.some(({ start, end }) => at >= start && at < end);
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
