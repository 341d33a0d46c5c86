import type { Table } from '../../core/columns/table.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { DamagedFile } from '../delta/damaged-file.js';
import { loadKeysOf } from '../delta/file-tags.js';
import type { RevisionToCommit } from './revisions.js';
import type { SliceCommit } from './slice-commit.js';
import { filesToReplace, filesToSplit, replacedKeys } from '../loads/load-keys.js';

/** A slice on its way into the lake, with what came of comparing it. */
export interface ComparedSlice {
  readonly slice: SliceCommit;
  readonly revision: RevisionToCommit | undefined;
}

interface WaitingSlice extends ComparedSlice {
  readonly main: Table;
  readonly damaged: DamagedFile;
}

/** What is to be read again as well, before slices can take the place of a damaged file. */
export interface MissingLoads {
  /** None: the file isn't there any more as it was. */
  readonly loadKeys: readonly string[];
  readonly damaged: DamagedFile;
}

/**
 * Slices that were read again and share a damaged file with others. It can't be split, and what else it holds must not
 * go with it: they wait until all of its load keys were read, and take its place together.
 */
export class WaitingSlices {
  #waiting: readonly WaitingSlice[] = [];

  /** The slices that go into the lake now, this one among them; undefined where it waits for others. */
  with(snapshot: Snapshot, one: WaitingSlice): readonly ComparedSlice[] | undefined {
    const others = this.#of(one.slice.pipeline, one.slice.account);
    let chosen: readonly WaitingSlice[] = [one];
    // Those that share a file with it, those that share one with them, and so on.
    for (let count = 0; count < chosen.length;) {
      count = chosen.length;
      const going = new Set(filesToReplace(snapshot, combined(chosen)).map(({ path }) => path));
      const shares = ({ slice }: WaitingSlice) => filesToReplace(snapshot, slice).some(({ path }) => going.has(path));
      chosen = [one, ...others.filter((other) => chosen.includes(other) || shares(other))];
    }
    if (filesToSplit(snapshot, combined(chosen)).length > 0) {
      this.#waiting = [...this.#waiting, one];
      return undefined;
    }
    this.#waiting = this.#waiting.filter((other) => !chosen.includes(other));
    return chosen;
  }

  /** What the waiting slices of a pipeline and account lack; undefined where none waits. */
  missing(snapshot: (main: Table) => Snapshot, pipeline: string, account: string): MissingLoads | undefined {
    const waiting = this.#of(pipeline, account);
    const [first] = waiting;
    if (first === undefined) return undefined;
    const all = combined(waiting);
    const read = new Set(replacedKeys(all));
    const loadKeys = filesToSplit(snapshot(first.main), all).flatMap(loadKeysOf);
    return { loadKeys: [...new Set(loadKeys)].filter((loadKey) => !read.has(loadKey)), damaged: first.damaged };
  }

  #of(pipeline: string, account: string): readonly WaitingSlice[] {
    return this.#waiting.filter(({ slice }) => slice.pipeline === pipeline && slice.account === account);
  }
}

/** What slices of one pipeline and account take the place of, as one: its files and its name are none. */
export function combined(parts: readonly ComparedSlice[]): SliceCommit {
  const slices = parts.map(({ slice }) => slice);
  const [first] = slices;
  if (first === undefined) throw new Error('expected a slice, got none');
  if (slices.length === 1) return first;
  return {
    ...first,
    loadKeys: slices.flatMap(({ loadKeys }) => loadKeys),
    retires: slices.flatMap(({ retires = [] }) => retires),
    excludes: (loadKey) => slices.some(({ excludes }) => excludes?.(loadKey) === true),
    splits: (loadKey) => slices.map(({ splits }) => splits?.(loadKey)).find((cut) => cut !== undefined),
    files: slices.flatMap(({ files }) => files),
    acceptsEmpty: slices.every(({ acceptsEmpty }) => acceptsEmpty === true),
  };
}
