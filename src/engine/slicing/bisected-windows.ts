import { dayMs, dayStart, type Window } from '../../core/windows.js';
import type { SliceVerdict } from '../retry/causes.js';
import type { WindowSlice } from './window-slices.js';

/** Windows of this length or less are not bisected. */
export const minWindowMs = 60_000;

/** Two halves, cut at a UTC day, or at a minute within one; undefined for a window of `shortestMs` or less. */
export function halvesOf({ start, end }: Window, shortestMs: number): readonly [Window, Window] | undefined {
  const middle = (start + end) / 2;
  const day = dayStart(middle);
  const at = day > start ? day : Math.floor(middle / minWindowMs) * minWindowMs;
  return at > start && at < end && end - start > shortestMs
    ? [
        { start, end: at },
        { start: at, end },
      ]
    : undefined;
}

/** Chooses the slices to bisect: each that can't be read whole, until a bisected one fails too: then size is not the reason. */
export function bisectedOnce(isAllowed = false): (slice: WindowSlice) => WindowSlice | undefined {
  let isFutile = !isAllowed;
  return (slice) => {
    isFutile ||= slice.isBisected === true;
    return isFutile ? undefined : { ...slice, isBisected: true };
  };
}

/** The halves of a window that could not be read; undefined where shorter windows don't avoid the verdict. */
export function halvesAfter(verdict: SliceVerdict, window: Window): readonly [Window, Window] | undefined {
  const shortestMs = verdict === 'split-to-days' ? dayMs : minWindowMs;
  return bisectable.includes(verdict) ? halvesOf(window, shortestMs) : undefined;
}

/** Verdicts on failures that shorter windows may avoid. */
const bisectable: readonly SliceVerdict[] = ['split', 'split-to-days', 'shorten', 'retry'];

/**
 * The pages of windows, one after the other. A window that can't be read whole is bisected repeatedly, down to minutes, or to
 * days where its pages don't end. The pages of a window are yielded once all are received, so that none is yielded twice.
 *
 * @throws errors of `read` that shorter windows don't avoid
 */
export async function* bisectedPages<Page>(
  windows: readonly Window[],
  judge: (error: unknown) => SliceVerdict,
  read: (span: Window) => AsyncIterable<Page>,
): AsyncGenerator<Page> {
  const spans = [...windows];
  for (let span = spans.shift(); span !== undefined; span = spans.shift()) {
    const pages: Page[] = [];
    try {
      for await (const page of read(span)) pages.push(page);
    } catch (error) {
      const halves = halvesAfter(judge(error), span);
      if (halves === undefined) throw error;
      spans.unshift(...halves);
      continue;
    }
    yield* pages;
  }
}

/** The pages of a slice's window, in halves for a bisected slice. */
export function windowPages<Page>(
  { window, isBisected }: WindowSlice,
  judge: (error: unknown) => SliceVerdict,
  read: (span: Window) => AsyncIterable<Page>,
): AsyncIterable<Page> {
  return isBisected === true ? bisectedPages(halvesOf(window, minWindowMs) ?? [window], judge, read) : read(window);
}
