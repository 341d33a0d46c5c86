import type { KeySplit } from '../../lake/loads/load-keys.js';
import type { Stretch } from './concurrency-plan.js';
import type { Window } from '../../core/windows.js';

/** The unit of reading, retrying and committing: what it reads becomes one file per table, in one commit. */
export interface Slice {
  /** Begins the names of its files: letters, digits, `-`, `.` and `_`. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** What counts as loaded once it is committed: `window/…`, `group/…`, `order/…`. */
  readonly loadKeys: readonly string[];
  /** Load keys that no longer count as loaded, as these cover them. */
  readonly retires?: readonly string[];
  /** It is read though the lake holds it, and replaces what is there. */
  readonly isReread?: boolean;
  /** That it was read is to be noted also where nothing of it has changed. */
  readonly noted?: boolean;
  /** Load keys of others that can't stand beside these in the lake, as they hold some of the same. */
  readonly excludes?: (loadKey: string) => boolean;
  /** What it takes of keys that nobody has read; see `SliceLoads`. */
  readonly splits?: (loadKey: string) => KeySplit | undefined;
}

/** Results on a full page. */
export const pageSize = 100;

/** How far a slice has been read. */
export interface Progress {
  readonly pages: number;
  readonly results: number;
  /** Up to when, where its pages come in order of time: milliseconds since 1970. */
  readonly reach: number | undefined;
  readonly isWhole: boolean;
}

/** Why a slice is split. */
export type SplitReason =
  /** It holds too much to be read at once. */
  | 'split'
  /** Its pages lead nowhere: it is split, but not below a day, since shorter windows would fail as well, one by one. */
  | 'split-to-days'
  /** The upstream accepts no window of its length, whatever it holds: it is split, and so are all others of its length. */
  | 'shorten';

/**
 * What a pipeline has to load and hasn't begun: slices are cut from it one by one, as large as is wanted by then, and what
 * the open ones are found to hold tells how large that is.
 */
export interface SliceQueue<S extends Slice = Slice> {
  /** `92 days`, `1 group`; empty where nothing is left. */
  readonly left: string;
  /** What isn't open yet, in expected pages; undefined while nothing is known. */
  stretches(): readonly Stretch[] | undefined;
  /** Takes out the oldest slice, of about `pages` at the most where it can be cut; undefined: nothing is left. */
  next(pages: number): S | undefined;
  /**
   * Slices to read again, by what the lake holds now that all that was taken out has been read; left out, or none: that was
   * all.
   */
  missed?(): readonly S[];
  /** Pages that a slice is expected to have in all; undefined while nothing is known. */
  expected(slice: S): number | undefined;
  learn(slice: S, progress: Progress): void;
  /**
   * Puts back a slice that is found to hold far more than was expected when it was cut; false where it is what it is. It is
   * cut anew by what is known now.
   */
  putBack?(slice: S): boolean;
  /** Puts a slice back as shorter ones; false where it can't be split. */
  split(slice: S, reason: SplitReason): boolean;
}

/** Pages of a slice while nothing is known. */
const guessedPages = 2;

/** How far a slice must have been read to tell from that how long it is. */
const leastShare = 0.02;

/**
 * Slices that are what they are, such as groups.
 *
 * @param spanOf the time that a slice's results lie in, as far as it is known
 * @param bisected a slice that was too large as it is to be read instead; undefined: it can't be read
 */
export function listQueue<S extends Slice>(
  slices: readonly S[],
  noun: string,
  spanOf: (slice: S) => Window | undefined,
  bisected: (slice: S) => S | undefined = () => undefined,
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
    split: (slice) => {
      const next = bisected(slice);
      if (next === undefined) return false;
      waiting.unshift(next);
      return true;
    },
  };
}
