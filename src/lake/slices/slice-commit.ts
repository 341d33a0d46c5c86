import type { PipelineTables } from '../../core/columns/table.js';
import type { NewFile } from '../commit-files.js';
import type { SliceLoads } from '../loads/load-keys.js';

/** A slice that was read completely. */
export interface SliceCommit extends SliceLoads, Pick<PipelineTables, 'main' | 'derived'> {
  /** The start of its files' names. */
  readonly name: string;
  readonly files: readonly NewFile[];
  /** Whether an answer without rows, or one that lacks some, may replace stored rows. */
  readonly acceptEmpty?: boolean | undefined;
}
