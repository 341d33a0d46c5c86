import type { Stretch } from './concurrency-plan.js';
import type { Window } from '../../core/windows.js';
import type { SliceVerdict } from '../retry/causes.js';
import type { SliceCommit } from '../../lake/slices/slice-commit.js';

/** The unit of reading, retrying and committing: its rows become one file per table, in one commit. */
export interface Slice extends Pick<SliceCommit, 'name' | 'loadKeys' | 'takesOver'> {
  /** Left out: it is compared where the run refreshes, and is new otherwise. */
  readonly reread?: SliceCommit['reread'];
  /** For people. */
  readonly label: string;
}

/** Results on a full page. */
export const pageSize = 100;

/** The progress of a slice. */
export interface Progress {
  readonly pages: number;
  readonly results: number;
  /** The latest date, where its pages are in order of time: milliseconds since 1970. */
  readonly reach: number | undefined;
  readonly isWhole: boolean;
}

/**
 * The slices of a pipeline that aren't open yet. They are cut one by one, in the size requested then, by the density that the
 * open slices have shown.
 */
export interface SliceQueue<S extends Slice = Slice> {
  /** `92 days`, `1 group`; empty for an empty queue. */
  readonly left: string;
  /** Slices open at once, at most, where each depends on the ones before; left out: as many as the quota needs. */
  readonly mostOpen?: number;
  /** The parts that aren't open yet, in expected pages; undefined: unknown. */
  stretches(): readonly Stretch[] | undefined;
  /** Removes the first slice, cut to about `pages` where possible; undefined: the queue is empty. */
  next(pages: number): S | undefined;
  /**
   * Slices to read again, by the lake's rows after all slices were read; default none.
   */
  missed?(): readonly S[];
  /** Expected pages of a slice in all; undefined: unknown. */
  expected(slice: S): number | undefined;
  learn(slice: S, progress: Progress): void;
  /**
   * Puts back a slice that is far larger than expected, to cut it again by the present density; false where it can't be cut.
   */
  recut?(slice: S): boolean;
  /** Puts back a slice that can't be read: as two, or to read its window in halves; false where shorter windows don't help. */
  split(slice: S, verdict: SliceVerdict): boolean;
}

/** Assumed pages of a slice before any was read. */
const guessedPages = 2;

/** The minimal share of a slice's span for an estimate of its pages. */
const leastShare = 0.02;

/**
 * A queue of slices that can't be cut, such as groups.
 *
 * @param spanOf the span of a slice's results; undefined: unknown
 * @param bisected replaces a slice that can't be read whole; undefined: it can't be read
 */
export function listQueue<S extends Slice>(
  slices: readonly S[],
  noun: string,
  spanOf: (slice: S) => Window | undefined,
  bisected: (slice: S, verdict: SliceVerdict) => S | undefined = () => undefined,
): SliceQueue<S> {
  const waiting = [...slices];
  const found = new Map<S, number>();
  const average = (): number =>
    found.size === 0 ? guessedPages : [...found.values()].reduce((sum, pages) => sum + pages, 0) / found.size;
  return {
    get left() {
      return waiting.length === 0 ? '' : `${waiting.length} ${noun}${waiting.length === 1 ? '' : 's'}`;
    },
    stretches: () => {
      const pages = average();
      return waiting.map(() => ({ pages, isCuttable: false }));
    },
    next: () => waiting.shift(),
    expected: (slice) => found.get(slice) ?? average(),
    learn: (slice, { pages, reach, isWhole }) => {
      const span = spanOf(slice);
      const share =
        isWhole || span === undefined || reach === undefined ? 1 : (reach - span.start) / (span.end - span.start);
      found.set(slice, pages / Math.min(1, Math.max(share, leastShare)));
    },
    split: (slice, verdict) => {
      const next = bisected(slice, verdict);
      if (next === undefined) return false;
      waiting.unshift(next);
      return true;
    },
  };
}
