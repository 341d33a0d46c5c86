import type { PipelineTables, Table } from '../core/columns/table.js';
import type { Add } from './delta/actions.js';
import { addOf, contentOf, type FileFigures } from './delta/data-file.js';
import type { SliceLoads } from './loads/load-keys.js';
import type { Remainder, SliceReplacement } from './slice-replacement.js';

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
  readonly acceptEmpty?: boolean | undefined;
}

/** The log entry of a slice's file, without the end of its name (`NewFile.add`). `now`: milliseconds since 1970. */
export function sliceAdd(slice: SliceCommit, file: SliceFile, now: number): Add {
  const { account, loadKeys } = slice;
  const { table, month, rows, stats, net, groups, pipeline = slice.pipeline } = file;
  // Several main tables add to an append-only one.
  const name = table.appendOnly === true ? `${slice.main.name}-${slice.name}` : slice.name;
  return addOf(
    {
      path: `account=${account}/month=${month}/${name}`,
      ...{ account, month, rows, stats, net, groups, loadKeys },
      dataChange: true,
      content: contentOf(file.bytes),
      shared: { pipeline, account },
    },
    now,
  );
}

/** What is committed with a slice that replaces the stored rows. */
export interface Revision {
  /** Files of append-only tables with the differences, which name their pipeline. */
  readonly files: readonly SliceFile[];
  /** Whether these files have every difference, so that one can tell what the lake had before. */
  readonly isCompared: boolean;
  /** What the slice was compared with. */
  readonly replacement: SliceReplacement;
  /** Called after the commit. */
  committed(): void;
}

/** What the writer of slices leaves to a reader of their rows. */
export interface Revisions {
  /**
   * Compares a slice that is read again with the stored rows, once more where another run has committed the same load keys meanwhile.
   *
   * @returns `same` where they are equal, and nothing is written; `refused` where they must stay
   */
  compare(slice: SliceCommit): Promise<Revision | 'same' | 'refused'>;
  /**
   * Writes what stays of the files of the slice's main table that have rows which the slice replaces and others, and calls `use` with it.
   *
   * @returns what `use` returns; undefined where another run has replaced one of the files meanwhile
   * @throws DamagedFile for a file that can't be read; what `use` throws
   */
  withRemainder<T>(
    slice: SliceCommit,
    replacement: SliceReplacement,
    use: (remainder: Remainder) => Promise<T>,
  ): Promise<T | undefined>;
}
