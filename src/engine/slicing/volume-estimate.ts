import { dayMs, dayStart, type Window } from '../../core/windows.js';
import { type Slice, pageSize } from '../run/slice-queue.js';

/** So many results were found in a window. */
export interface Sample {
  readonly window: Window;
  readonly results: number;
}

/** Days by which a sample may be off and still count for half as much. */
const nearDays = 14;

/** How many results days have, from what windows near them had. */
export class Density {
  readonly #known: readonly Sample[];
  /** Of slices that are being read or were, by name: the newest word of each. */
  readonly #learned = new Map<string, Sample>();

  constructor(known: readonly Sample[]) {
    this.#known = known.filter(({ window }) => window.end > window.start);
  }

  /** Takes in how many results a slice has had, up to where it was read. */
  learn(slice: string, sample: Sample): void {
    if (sample.window.end > sample.window.start) this.#learned.set(slice, sample);
  }

  /** Results to be expected in a window; undefined while nothing is known. */
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
 * How many results days have, from what windows near them had, where a business may have begun after the first of these: empty
 * days before its first results say nothing of what comes behind them.
 *
 * @param firstResult milliseconds since 1970; left out: the beginning of the first window that isn't empty
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
    // Nobody knows of the days between: more is expected of them rather than less.
    expected: (window) => ((window.start + window.end) / 2 < emptyEnd ? all : fromStart).expected(window),
    basis: {
      days: begun.reduce((sum, { window }) => sum + window.end - window.start, 0) / dayMs,
      emptyBefore: emptyEnds.length === 0 ? undefined : first,
    },
  };
}

/** Days of what is loaded that a page counts for, where it was asked for: it is of the stretch itself. */
const probedDays = 28;

/** So many results are too many for a window that was found empty to be so by chance. */
const tooMany = 3;

/** What was asked of a stretch of which nothing is loaded. */
export interface Probed {
  readonly gap: Window;
  /** What was found, windows without a result included. */
  readonly samples: readonly Sample[];
}

/**
 * How many results such a stretch has: as many as were found in it, and as days near it had. What was found empty though days
 * behind it are not tells that the business began after it, so that nothing behind it says what was before.
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

/** A sample as if it were of the days that it counts for. */
function weighted({ window: { start, end }, results }: Sample): Sample {
  const factor = Math.max(1, (probedDays * dayMs) / (end - start));
  return { window: { start, end: start + (end - start) * factor }, results: results * factor };
}

/** What a slice of a pipeline is expected to hold. Both are means, and need not be whole. */
export interface Expectation<S extends Slice = Slice> {
  /** Undefined where only its requests are known. */
  results(slice: S): number | undefined;
  /** Requests, 1 at least. */
  pages(slice: S): number;
  /** The loaded days that it goes by; left out: it goes by something else. */
  readonly basis?: Basis;
}

/** The days that an expectation goes by. */
export interface Basis {
  readonly days: number;
  /** Where the first results are, if loaded days before it are empty, which say nothing of those after it: milliseconds since 1970. */
  readonly emptyBefore: number | undefined;
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
