import { dayMs, dayStart, type Window } from '../../core/windows.js';
import type { Verdict } from '../run/pipeline.js';
import type { WindowSlice } from './window-slices.js';

/** What is no longer can't be bisected. */
export const leastMs = 60_000;

/** Two halves on the grid of days where they are longer, else of minutes; undefined where one would be shorter than that. */
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
 * Chooses which slices are bisected: each that can't be read whole, until one can't be read in halves either: then their size is
 * not the reason.
 */
export function bisectedOnce(isAllowed = false): (slice: WindowSlice) => WindowSlice | undefined {
  let isFutile = !isAllowed;
  return (slice) => {
    isFutile ||= slice.isBisected === true;
    return isFutile ? undefined : { ...slice, isBisected: true };
  };
}

/** What of a slice's failures shorter windows may help against. */
const helped: readonly Verdict[] = ['split', 'split-to-days', 'shorten', 'retry'];

/**
 * The pages of windows, one after the other; one that can't be read whole is read in halves, and these in theirs, down to
 * minutes, or to days where its pages lead nowhere. The pages of a window are handed on once all of them are there, so that none comes twice.
 *
 * @throws what `read` throws where shorter windows don't help
 */
export async function* bisectedPages<Page>(
  windows: readonly Window[],
  judge: (error: unknown) => Verdict,
  read: (span: Window) => AsyncIterable<Page>,
): AsyncGenerator<Page> {
  const spans = [...windows];
  for (let span = spans.shift(); span !== undefined; span = spans.shift()) {
    const pages: Page[] = [];
    try {
      for await (const page of read(span)) pages.push(page);
    } catch (error) {
      const verdict = judge(error);
      const shortestMs = verdict === 'split-to-days' ? dayMs : leastMs;
      const halves = helped.includes(verdict) ? halvesOf(span, shortestMs) : undefined;
      if (halves === undefined) throw error;
      spans.unshift(...halves);
      continue;
    }
    yield* pages;
  }
}

/** The pages of a slice's window, which is bisected where the slice says so. */
export function windowPages<Page>(
  { window, isBisected }: WindowSlice,
  judge: (error: unknown) => Verdict,
  read: (span: Window) => AsyncIterable<Page>,
): AsyncIterable<Page> {
  return isBisected === true ? bisectedPages(halvesOf(window, leastMs) ?? [window], judge, read) : read(window);
}
