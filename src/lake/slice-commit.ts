import type { Table } from '../columns/table.js';
import type { SliceUnits } from './units.js';

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
export interface SliceCommit extends SliceUnits {
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
