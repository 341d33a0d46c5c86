import type { Window } from '../../core/windows.js';
import { Density, type Sample } from '../run/density.js';
import type { Slice } from '../run/slice.js';
import type { WindowSlice } from '../run/window-slices.js';
import { pageSize } from '../run/slice-queue.js';

/** What a slice of a pipeline is expected to hold. Both are means, and need not be whole. */
export interface Expectation<S extends Slice = Slice> {
  /** Undefined where only its requests can be told. */
  results(slice: S): number | undefined;
  /** Requests, 1 at least. */
  pages(slice: S): number;
}

/** By how much of their mean slices differ from it, beyond chance. */
const spread = 0.1;

/**
 * Requests for a slice of so many expected results: its pages rounded up, on average over what it may turn out to hold.
 * A slice of 2.05 expected pages takes 2 requests or 3, one of 0.3 always takes one.
 */
export function meanPages(results: number, perPage = pageSize): number {
  const deviation = Math.sqrt(results + (spread * results) ** 2);
  // Nearer to the mean than this it is certain enough.
  const certain = Math.max(1, Math.floor((results - 6 * deviation) / perPage));
  let pages = certain;
  for (let full = certain; ; full++) {
    const more = deviation === 0 ? 0 : 1 / (1 + Math.exp((1.702 * (full * perPage - results)) / deviation));
    if (more < 1e-4) return pages;
    pages += more;
  }
}

/**
 * Windows hold what windows near them held; one that is read again holds what it held. Undefined: nothing is known, or
 * nothing was there, which says little of what is elsewhere.
 */
export function windowExpectation(
  samples: readonly Sample[],
  perPage = pageSize,
): Expectation<WindowSlice> | undefined {
  const density = new Density(samples);
  const loaded = new Map(samples.map(({ window, results }) => [keyOf(window), results]));
  if (!samples.some((sample) => sample.results > 0)) return undefined;
  const results = ({ window }: WindowSlice): number => loaded.get(keyOf(window)) ?? density.expected(window) ?? 0;
  return { results, pages: (slice) => meanPages(results(slice), perPage) };
}

function keyOf({ start, end }: Window): string {
  return `${start}/${end}`;
}
