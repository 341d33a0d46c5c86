import type { Table } from '../core/columns/table.js';
import type { Add } from './delta/actions.js';
import { addOf, contentOf, loadKeysOf, type DamagedFile } from './delta/file-tags.js';
import { type SliceLoads, filesToReplace, filesToSplit, replacedKeys } from './loads/load-keys.js';
import type { Snapshot } from './catalog/snapshot.js';
import type { LakeTable } from './lake-table.js';
import type { Store } from './store/store.js';

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

/** A slice that was read completely. */
export interface SliceCommit extends SliceLoads {
  /** Prefix of its files' names. */
  readonly name: string;
  /** Every table of the pipeline; the commit of the last one makes the slice count. */
  readonly tables: readonly Table[];
  readonly files: readonly SliceFile[];
  /** Whether a re-read is noted even where nothing has changed. */
  readonly noted?: boolean | undefined;
  /** Whether new rows are expected, as of an open settlement. */
  readonly grows?: boolean | undefined;
  /** Whether a slice without rows may replace imported rows. */
  readonly acceptsEmpty?: boolean | undefined;
}

/** The log entry of a slice's file, without the end of its name (`NewFile.add`). `now`: milliseconds since 1970. */
export function sliceAdd(slice: SliceCommit, file: SliceFile, now: number): Add {
  const { account } = slice;
  return addOf(
    {
      path: `account=${account}/month=${file.month}/${slice.name}`,
      partitionValues: { account, month: file.month },
      dataChange: true,
      content: contentOf(file.bytes),
      rows: file.rows,
      stats: file.stats,
      tags: { pipeline: slice.pipeline, ...file.tags, account, units: JSON.stringify(slice.loadKeys) },
    },
    now,
  );
}

/** A lake for comparing re-read slices. */
export interface ComparedLake {
  readonly store: Store;
  readonly snapshot: Snapshot;
  table(name: string): LakeTable;
  /** Reads newer commits. */
  refresh(): Promise<void>;
}

/** The result of comparing a re-read slice with the stored rows. */
export type Revision =
  /** The stored rows are equal: nothing is written. */
  | { readonly verdict: 'same' }
  /** The stored rows stay, because an empty slice must not replace them. */
  | { readonly verdict: 'refused' }
  | RevisionToCommit;

/** The slice replaces the stored rows, and the differences are added to append-only tables in the same transaction. */
export interface RevisionToCommit {
  readonly verdict: 'changed';
  /** The files with the differences; their tags name the pipeline. */
  readonly files: readonly SliceFile[];
  /** Prefix of the files' names. */
  readonly name: string;
  /** Whether the lake still has the compared rows; their files may have been merged or split since. */
  isCurrent(snapshot: Snapshot): boolean;
  /** Called after the commit. */
  committed(): void;
}

/** Compares re-read slices with the stored rows. */
export interface Revisions {
  /** Repeated where another run has committed the same load keys meanwhile. */
  compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision>;
}

/** A slice to commit, with the result of its comparison. */
export interface ComparedSlice {
  readonly slice: SliceCommit;
  readonly revision: RevisionToCommit | undefined;
}

interface WaitingSlice extends ComparedSlice {
  readonly main: Table;
  readonly damaged: DamagedFile;
}

/** The load keys that must be re-read as well, before slices can replace a damaged file. */
export interface MissingLoads {
  /** Empty where the file has been replaced meanwhile. */
  readonly loadKeys: readonly string[];
  readonly damaged: DamagedFile;
}

/**
 * Re-read slices that share a damaged file with other load keys. The file can't be split, and the other rows must not
 * be lost: the slices wait until all load keys of the file were re-read, and replace it together.
 */
export class WaitingSlices {
  #waiting: readonly WaitingSlice[] = [];

  /** The slices to commit now, including this one; undefined where it waits for others. */
  with(lake: ComparedLake, one: WaitingSlice): readonly ComparedSlice[] | undefined {
    const { snapshot } = lake;
    const table = lake.table(one.main.name).snapshot;
    const others = this.#of(one.slice.pipeline, one.slice.account);
    let chosen: readonly WaitingSlice[] = [one];
    // The transitive closure of slices that share a file.
    for (let count = 0; count < chosen.length;) {
      count = chosen.length;
      const replaced = new Set(filesToReplace(snapshot, table, combineSlices(chosen)).map(({ path }) => path));
      const shares = ({ slice }: WaitingSlice) =>
        filesToReplace(snapshot, table, slice).some(({ path }) => replaced.has(path));
      chosen = [one, ...others.filter((other) => chosen.includes(other) || shares(other))];
    }
    if (filesToSplit(snapshot, table, combineSlices(chosen)).length > 0) {
      this.#waiting = [...this.#waiting, one];
      return undefined;
    }
    this.#waiting = this.#waiting.filter((other) => !chosen.includes(other));
    return chosen;
  }

  /** The load keys that the waiting slices of a pipeline and account lack; undefined where none waits. */
  missing(lake: ComparedLake, pipeline: string, account: string): MissingLoads | undefined {
    const waiting = this.#of(pipeline, account);
    const [first] = waiting;
    if (first === undefined) return undefined;
    const all = combineSlices(waiting);
    const read = new Set(replacedKeys(all));
    const loadKeys = filesToSplit(lake.snapshot, lake.table(first.main.name).snapshot, all).flatMap(loadKeysOf);
    return { loadKeys: [...new Set(loadKeys)].filter((loadKey) => !read.has(loadKey)), damaged: first.damaged };
  }

  #of(pipeline: string, account: string): readonly WaitingSlice[] {
    return this.#waiting.filter(({ slice }) => slice.pipeline === pipeline && slice.account === account);
  }
}

/** Combines slices of one pipeline and account into one. */
export function combineSlices(compared: readonly ComparedSlice[]): SliceCommit {
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
