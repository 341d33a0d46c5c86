import type { PipelineTables, Table } from '../core/columns/table.js';
import type { Add } from './delta/actions.js';
import { addOf, contentOf, type FileFigures } from './delta/data-file.js';
import type { SliceLoads } from './loads/load-keys.js';
import type { Snapshot } from './catalog/snapshot.js';
import type { LakeTable } from './lake-table.js';
import type { SliceReplacement } from './slice-replacement.js';
import type { Store } from './store/store.js';

/** One file of a slice, not yet in the lake. */
export interface SliceFile extends FileFigures {
  readonly table: Table;
  /** `2025-03`, or `unknown`. */
  readonly month: string;
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
  /** The pipeline that the log names for it; left out: the slice's. */
  readonly pipeline?: string;
}

/** A slice that was read completely. */
export interface SliceCommit extends SliceLoads, Pick<PipelineTables, 'main' | 'derived'> {
  /** Prefix of its files' names: letters, digits, `-`, `.` and `_`. */
  readonly name: string;
  readonly files: readonly SliceFile[];
  /** Whether the read is recorded even if nothing has changed. */
  readonly noted?: boolean | undefined;
  /** Whether a re-read is expected to bring new rows, as of an open settlement. */
  readonly grows?: boolean | undefined;
  /** Whether an answer without rows, or one that lacks some, may replace stored rows. */
  readonly acceptsEmpty?: boolean | undefined;
}

/** The log entry of a slice's file, without the end of its name (`NewFile.add`). `now`: milliseconds since 1970. */
export function sliceAdd(slice: SliceCommit, file: SliceFile, now: number): Add {
  const { account, loadKeys } = slice;
  const { month, rows, stats, net, groups, pipeline = slice.pipeline } = file;
  return addOf(
    {
      path: `account=${account}/month=${month}/${slice.name}`,
      ...{ account, month, rows, stats, net, groups, loadKeys },
      dataChange: true,
      content: contentOf(file.bytes),
      shared: { pipeline, account },
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
  /** The files with the differences, which name their pipeline. */
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
