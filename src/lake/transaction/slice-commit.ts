import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
import { addOf, contentOf, loadKeysOf, type DamagedFile } from '../delta/file-tags.js';
import { type SliceLoads, filesToReplace, filesToSplit, replacedKeys } from '../loads/load-keys.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { LakeTables } from './transaction.js';

/** One file of a slice, not yet in the lake. */
export interface SliceFile {
  readonly table: Table;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  /** Further tags for the log. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A slice that was read whole. */
export interface SliceCommit extends SliceLoads {
  /** Begins the names of its files. */
  readonly name: string;
  /** Every table of the pipeline; the commit of the last one makes the slice count. */
  readonly tables: readonly Table[];
  readonly files: readonly SliceFile[];
  /** That it was read is to be noted also where nothing of it has changed. */
  readonly noted?: boolean | undefined;
  /** Replaces imported rows though it has none. */
  readonly acceptsEmpty?: boolean | undefined;
}

/** A slice's file as the log has it: its name says what it holds. `now`: milliseconds since 1970. */
export function sliceAdd(slice: SliceCommit, file: SliceFile, now: number): Add {
  const content = contentOf(file.bytes);
  const { account } = slice;
  return addOf(
    {
      path: `account=${account}/month=${file.month}/${slice.name}-${content.sha256.slice(0, 16)}.parquet`,
      partitionValues: { account, month: file.month },
      dataChange: true,
      content,
      rows: file.rows,
      stats: file.stats,
      tags: { pipeline: slice.pipeline, ...file.tags, account, units: JSON.stringify(slice.loadKeys) },
    },
    now,
  );
}

/** A lake, as far as what it holds is compared. */
export interface ComparedLake extends LakeTables {
  /** Reads what was committed since. */
  refresh(): Promise<void>;
}

/** The outcome of comparing a slice that was read again. */
export type Revision =
  /** The lake holds all of it as it is: nothing is written. */
  | { readonly verdict: 'same' }
  /** What the lake holds stays, as nothing is to replace it. */
  | { readonly verdict: 'refused' }
  | RevisionToCommit;

/** The slice replaces what the lake holds, and what differs goes into lasting tables in the same commit. */
export interface RevisionToCommit {
  readonly verdict: 'changed';
  /** What differs; a file's own tags say which pipeline wrote it. */
  readonly files: readonly SliceFile[];
  /** The name of its files: no other commit of the main table has the same one. */
  readonly name: string;
  /** Whether the lake still holds what was compared, as rows; files may have been merged or split since. */
  isCurrent(main: Snapshot): boolean;
  /** Called once the commit is taken. */
  committed(): void;
}

/** Compares what was read again with what the lake holds of the same. */
export interface Revisions {
  /** Called again where another run has committed the same load keys meanwhile. */
  compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision>;
}

/** A slice on its way into the lake, with the outcome of comparing it. */
export interface ComparedSlice {
  readonly slice: SliceCommit;
  readonly revision: RevisionToCommit | undefined;
}

interface WaitingSlice extends ComparedSlice {
  readonly main: Table;
  readonly damaged: DamagedFile;
}

/** What is to be read again as well, before slices can replace a damaged file. */
export interface MissingLoads {
  /** None: the file isn't there any more as it was. */
  readonly loadKeys: readonly string[];
  readonly damaged: DamagedFile;
}

/**
 * Slices that were read again and share a damaged file with others. It can't be split, and what else it holds must not
 * go with it: they wait until all of its load keys were read, and replace it together.
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
      const replaced = new Set(filesToReplace(snapshot, combined(chosen)).map(({ path }) => path));
      const shares = ({ slice }: WaitingSlice) =>
        filesToReplace(snapshot, slice).some(({ path }) => replaced.has(path));
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

/** What slices of one pipeline and account replace, as one slice. */
export function combined(compared: readonly ComparedSlice[]): SliceCommit {
  const slices = compared.map(({ slice }) => slice);
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
