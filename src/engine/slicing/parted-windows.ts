import { dayMs, dayStart, type Window } from '../../core/windows.js';
import type { Verdict } from '../run/pipeline.js';
import type { WindowSlice } from './window-slices.js';

/** What is no longer can't be parted. */
export const leastMs = 60_000;

/** Two parts on the grid of days where they are longer, else of minutes; undefined where one would be shorter than that. */
export function halvesOf({ start, end }: Window, shortestMs: number): readonly [Window, Window] | undefined {
  const middle = (start + end) / 2;
  const day = dayStart(middle);
  const at = day > start ? day : Math.floor(middle / leastMs) * leastMs;
  return at > start && at < end && end - start > shortestMs
    ? [
        { start, end: at },
        { start: at, end },
      ]
    : undefined;
}

/**
 * Chooses which slices are read in parts: each that can't be read whole, until one can't be read in parts either, for it isn't
 * their size then.
 */
export function partedOnce(isAllowed = false): (slice: WindowSlice) => WindowSlice | undefined {
  let isFutile = !isAllowed;
  return (slice) => {
    isFutile ||= slice.isParted === true;
    return isFutile ? undefined : { ...slice, isParted: true };
  };
}

/** What of a slice's failures shorter windows may help against. */
const helped: readonly Verdict[] = ['split', 'split-to-days', 'shorten', 'retry'];

/**
 * The pages of windows, one after the other; one that can't be read whole is read in halves, and these in theirs, down to
 * minutes, or to days where its pages lead nowhere. The pages of a part are handed on once all of them are there, so that none comes twice.
 *
 * @throws what `read` throws where shorter windows don't help
 */
export async function* partedPages<Page>(
  windows: readonly Window[],
  judge: (error: unknown) => Verdict,
  read: (part: Window) => AsyncIterable<Page>,
): AsyncGenerator<Page> {
  const parts = [...windows];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const pages: Page[] = [];
    try {
      for await (const page of read(part)) pages.push(page);
    } catch (error) {
      const verdict = judge(error);
      const shortestMs = verdict === 'split-to-days' ? dayMs : leastMs;
      const halves = helped.includes(verdict) ? halvesOf(part, shortestMs) : undefined;
      if (halves === undefined) throw error;
      parts.unshift(...halves);
      continue;
    }
    yield* pages;
  }
}

/** The pages of a slice's window, in parts where it is to be read so. */
export function windowPages<Page>(
  { window, isParted }: WindowSlice,
  judge: (error: unknown) => Verdict,
  read: (part: Window) => AsyncIterable<Page>,
): AsyncIterable<Page> {
  return isParted === true ? partedPages(halvesOf(window, leastMs) ?? [window], judge, read) : read(window);
}
