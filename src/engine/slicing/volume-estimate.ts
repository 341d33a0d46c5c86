import { dayMs, dayStart, type Window } from '../../core/windows.js';
import type { Basis } from '../run/pipeline.js';
import { pageSize } from '../run/slice-queue.js';

/** The number of results in a window. */
export interface Sample {
  readonly window: Window;
  readonly results: number;
}

/** Days of distance at which a sample's weight is a quarter. */
const nearDays = 14;

/** Results a day, by the samples of windows nearby. */
export class Density {
  readonly #known: readonly Sample[];
  /** The latest sample of each slice of this run, by name. */
  readonly #learned = new Map<string, Sample>();

  constructor(known: readonly Sample[]) {
    this.#known = known.filter(({ window }) => window.end > window.start);
  }

  /** Records the results of a slice, up to where it was read. */
  learn(slice: string, sample: Sample): void {
    if (sample.window.end > sample.window.start) this.#learned.set(slice, sample);
  }

  /** Expected results in a window; undefined without a sample. */
  expected(window: Window): number | undefined {
    let results = 0;
    let days = 0;
    for (const { window: other, results: found } of [...this.#known, ...this.#learned.values()]) {
      const far = Math.abs(other.start + other.end - window.start - window.end) / 2 / dayMs;
      const weight = 1 / (1 + far / nearDays) ** 2;
      results += weight * found;
      days += (weight * (other.end - other.start)) / dayMs;
    }
    return days === 0 ? undefined : (results / days) * ((window.end - window.start) / dayMs);
  }
}

/**
 * Results a day for a business that may have begun after the first sample: empty days before its first results are excluded
 * from the estimate of later days.
 *
 * @param firstResult milliseconds since 1970; default the start of the first window that isn't empty
 */
export function densityFromStart(
  samples: readonly Sample[],
  firstResult?: number,
): { readonly expected: (window: Window) => number | undefined; readonly basis: Basis } {
  const filled = samples.filter(({ results }) => results > 0).map(({ window }) => window.start);
  const first = dayStart(firstResult ?? filled.reduce((least, start) => Math.min(least, start), Infinity));
  const begun = samples
    .filter(({ window }) => window.end > first)
    .map(({ window, results }) => ({ window: { ...window, start: Math.max(window.start, first) }, results }));
  const emptyEnds = samples
    .filter(({ window }) => window.start < first)
    .map(({ window }) => Math.min(window.end, first));
  const emptyEnd = emptyEnds.reduce((last, end) => Math.max(last, end), -Infinity);
  const [all, fromStart] = [new Density(samples), new Density(begun)];
  return {
    // Days between the last empty one and the first result are unknown: the larger estimate applies.
    expected: (window) => ((window.start + window.end) / 2 < emptyEnd ? all : fromStart).expected(window),
    basis: {
      days: begun.reduce((sum, { window }) => sum + window.end - window.start, 0) / dayMs,
      emptyBefore: emptyEnds.length === 0 ? undefined : first,
    },
  };
}

/** Days of loaded data that a probed page weighs as much as: it is from the gap itself. */
const probedDays = 28;

/** Expected results above which an empty window is not empty by chance. */
const tooMany = 3;

/** The probes of a gap. */
interface Probed {
  readonly gap: Window;
  /** Empty windows included. */
  readonly samples: readonly Sample[];
}

/**
 * The expected results of a gap, by its probes and the days nearby. An empty probe before days with results means that the
 * business began after it: later days are then no estimate for earlier ones.
 */
export function densityOfGap(loaded: readonly Sample[], { gap, samples }: Probed): (window: Window) => number {
  const asked = samples.filter(({ window }) => window.end > window.start).map(weighted);
  const filled = [...loaded, ...asked].filter(({ results }) => results > 0);
  const first = filled.reduce((least, { window }) => Math.min(least, window.start), Infinity);
  const usual = new Density(filled);
  const isDecisive = ({ window, results }: Sample) => results === 0 && (usual.expected(window) ?? 0) >= tooMany;
  const begun = samples.filter(isDecisive).reduce((last, { window }) => Math.max(last, window.end), -Infinity);
  const before = new Density([
    ...loaded.filter(({ window }) => window.end <= gap.start),
    ...asked.filter(({ window }) => window.start < begun),
  ]);
  const after = new Density([
    ...loaded.filter(({ window }) => window.end > first && window.start >= begun),
    ...asked.filter(({ window }) => window.start >= begun),
  ]);
  return (window) => ((window.start + window.end) / 2 < begun ? before : after).expected(window) ?? 0;
}

/** A sample extended to `probedDays`, at the same density. */
function weighted({ window: { start, end }, results }: Sample): Sample {
  const factor = Math.max(1, (probedDays * dayMs) / (end - start));
  return { window: { start, end: start + (end - start) * factor }, results: results * factor };
}

/** Relative deviation of slices from their mean, beyond chance. */
const spread = 0.1;

/**
 * The mean of the requests for a slice: its pages rounded up, averaged over the distribution of its results. A slice of 2.05
 * expected pages takes 2 requests or 3, one of 0.3 always takes one.
 */
export function meanPages(results: number, perPage = pageSize): number {
  const deviation = Math.sqrt(results + (spread * results) ** 2);
  // Six deviations below the mean are certain enough.
  const certain = Math.max(1, Math.floor((results - 6 * deviation) / perPage));
  let pages = certain;
  for (let full = certain; ; full++) {
    const more = deviation === 0 ? 0 : 1 / (1 + Math.exp((1.702 * (full * perPage - results)) / deviation));
    if (more < 1e-4) return pages;
    pages += more;
  }
}
