import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
import { addOf, contentOf } from '../delta/file-tags.js';
import type { SliceLoads } from '../loads/load-keys.js';

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
  /** Takes the place of imported rows though it holds none. */
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
