import type { PipelineTables, Table } from '../core/columns/table.js';
import type { Add } from './delta/actions.js';
import { addOf, contentOf } from './delta/file-tags.js';
import type { SliceLoads } from './loads/load-keys.js';
import type { Snapshot } from './catalog/snapshot.js';
import type { LakeTable } from './lake-table.js';
import type { SliceReplacement } from './slice-replacement.js';
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
export interface SliceCommit extends SliceLoads, Pick<PipelineTables, 'main' | 'derived'> {
  /** Prefix of its files' names. */
  readonly name: string;
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
      tags: { pipeline: slice.pipeline, ...file.tags, account, loadKeys: JSON.stringify(slice.loadKeys) },
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
  /** Whether these files have every difference, so that one can tell what the lake had before. */
  readonly isCompared: boolean;
  /** What the slice was compared with. */
  readonly replacement: SliceReplacement;
  /** Called after the commit. */
  committed(): void;
}

/** Compares re-read slices with the stored rows. */
export interface Revisions {
  /** Repeated where another run has committed the same load keys meanwhile. */
  compare(lake: ComparedLake, slice: SliceCommit): Promise<Revision>;
}
