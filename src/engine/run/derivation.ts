import { bufferOf, type ByteRange } from '../../core/columns/byte-ranges.js';
import type { RowCells } from '../../core/columns/column-data.js';
import type { ColumnMemory } from '../../core/columns/memory.js';
import type { Table } from '../../core/columns/table.js';
import type { TableRows } from '../../core/columns/table-rows.js';

/** Rows of a derived table, and what they come to. */
export interface DerivedBatch {
  readonly rows: TableRows;
  /** Net sum per currency, exact, as decimal text. */
  readonly net: Readonly<Record<string, string>>;
  /** Rows of the main table that they were derived from. */
  readonly sources: number;
}

/** Stored rows of a main table, on their way to rows that are derived from them. */
export interface StoredRows {
  /** Rows taken in so far, and their bytes of `raw`. */
  readonly count: number;
  readonly bytes: number;
  /** What takes in one row after the other. */
  reader(cells: RowCells): (row: number) => void;
  /** The derived rows, in the order of the stored ones. `memory` left out: each column has its own. */
  finish(table: Table, memory: ColumnMemory | undefined): DerivedBatch;
  /** Leaves the memory to the rows that begin next: nobody may use any more what was finished. */
  release(): void;
}

/** How rows of the first derived table of a pipeline follow from the stored rows of its main table alone. */
export interface Derivation {
  /** The columns of the main table that are read. */
  readonly texts: readonly string[];
  readonly instants: readonly string[];
  begin(): StoredRows;
}

/** A text that a cell holds. */
export function cellText(range: ByteRange | undefined): string | undefined {
  return range === undefined ? undefined : bufferOf(range).toString();
}
