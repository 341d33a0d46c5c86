import type { PipelineTables, Table } from '../../core/columns/table.js';
import type { FileFigures } from '../delta/data-file.js';
import type { SliceLoads } from '../loads/load-keys.js';

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
  /** Whether an answer without rows, or one that lacks some, may replace stored rows. */
  readonly acceptEmpty?: boolean | undefined;
}
