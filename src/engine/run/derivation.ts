import { bufferOf, type ByteRange } from '../../core/columns/byte-ranges.js';
import type { RowCells } from '../../core/columns/column-data.js';
import type { ColumnMemory } from '../../core/columns/memory.js';
import type { Table, TableBatch } from '../../core/columns/table.js';

/** Rows of a derived table, with their sums. */
export interface DerivedBatch extends TableBatch {
  /** Net sum per currency, exact, as decimal text. */
  readonly net: Readonly<Record<string, string>>;
  /** Number of the main table's rows that they were derived from. */
  readonly mainRows: number;
}

/** Derives rows from the stored rows of a main table. */
export interface RowDeriver {
  /** Stored rows added so far, and their bytes of `raw`. */
  readonly count: number;
  readonly bytes: number;
  /** Returns a function that adds one row. */
  reader(cells: RowCells): (row: number) => void;
  /** The derived rows, in the order of the stored ones. Without `memory` each column allocates its arrays. */
  finish(table: Table, memory: ColumnMemory | undefined): DerivedBatch;
  /** Frees the memory for the next rows. The derived batch must not be used afterwards. */
  release(): void;
}

/** How the rows of a pipeline's first derived table follow from the stored rows of its main table. */
export interface Derivation {
  /** The columns of the main table that are read. */
  readonly texts: readonly string[];
  readonly instants: readonly string[];
  begin(): RowDeriver;
}

/** The text of a cell. */
export function decodeText(range: ByteRange | undefined): string | undefined {
  return range === undefined ? undefined : bufferOf(range).toString();
}
