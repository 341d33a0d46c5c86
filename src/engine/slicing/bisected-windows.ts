import { dayMs, dayStart, type Window } from '../../core/windows.js';
import type { SliceVerdict } from '../retry/causes.js';
import type { WindowSlice } from './window-slices.js';

const minuteMs = 60_000;

/** The shortest windows that may avoid a verdict: longer ones are split. */
const shortestMs: Partial<Record<SliceVerdict, number>> = {
  split: minuteMs,
  retry: minuteMs,
  shorten: minuteMs,
  'split-to-days': dayMs,
};

/** The halves of a window that can't be read, cut at a UTC day or a minute; none where shorter windows don't avoid the verdict. */
export function halvesOf({ start, end }: Window, verdict: SliceVerdict): readonly Window[] {
  const middle = (start + end) / 2;
  const day = dayStart(middle);
  const at = day > start ? day : Math.floor(middle / minuteMs) * minuteMs;
  return at > start && at < end && end - start > (shortestMs[verdict] ?? Infinity)
    ? [
        { start, end: at },
        { start: at, end },
      ]
    : [];
}

/**
 * Bisects slices whose windows stay as they are: one that can't be read whole is read again in halves, until that fails for one: then
 * size is not the reason.
 */
export function bisection(isAllowed = false): (slice: WindowSlice, verdict: SliceVerdict) => WindowSlice | undefined {
  let isFutile = !isAllowed;
  return (slice, verdict) => {
    isFutile ||= slice.halves !== undefined;
    const halves = isFutile ? [] : halvesOf(slice.window, verdict);
    return halves.length === 0 ? undefined : { ...slice, halves };
  };
}

/**
 * The pages of windows, one after the other. A window that can't be read whole is bisected repeatedly. The pages of a window are
 * yielded once all are received, so that none is yielded twice.
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
      const halves = halvesOf(span, judge(error));
      if (halves.length === 0) throw error;
      spans.unshift(...halves);
      continue;
    }
    yield* pages;
  }
}

/** The pages of a slice's window. */
export function windowPages<Page>(
  { window, halves }: WindowSlice,
  judge: (error: unknown) => SliceVerdict,
  read: (span: Window) => AsyncIterable<Page>,
): AsyncIterable<Page> {
  return halves === undefined ? read(window) : bisectedPages(halves, judge, read);
}
