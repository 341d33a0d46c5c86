import { createHash } from 'node:crypto';
import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
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
export function addOf(slice: SliceCommit, file: SliceFile, now: number): Add {
  const hash = createHash('sha256').update(file.bytes).digest('hex');
  return {
    path: `account=${slice.account}/month=${file.month}/${slice.name}-${hash.slice(0, 16)}.parquet`,
    partitionValues: { account: slice.account, month: file.month },
    size: file.bytes.length,
    modificationTime: now,
    dataChange: true,
    stats: file.stats,
    tags: {
      pipeline: slice.pipeline,
      ...file.tags,
      account: slice.account,
      units: JSON.stringify(slice.loadKeys),
      rows: String(file.rows),
      sha256: hash,
    },
  };
}
