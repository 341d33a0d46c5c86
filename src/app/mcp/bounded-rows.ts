import type { QueryResult } from '../../core/duckdb/connection.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import type { ResultCell } from '../../core/text/rows.js';

/** The JSON of a result with all rows together that a client gets, in bytes. */
const mostBytes = 200_000;

/** A cell in JSON: decimals, and integers that a double can't represent, are texts with all digits. */
type JsonCell = string | number | boolean | null;

export interface BoundedRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Cells in the order of the columns. */
  readonly rows: readonly (readonly JsonCell[])[];
  /** Why rows are missing; null where none are. */
  readonly cut: string | null;
}

/** Reads the first rows of a result. */
export async function boundedRows({ columns, chunks }: QueryResult, limit: number): Promise<BoundedRows> {
  const named = columns.map(({ name, type }) => ({ name, type }));
  const rows: (readonly JsonCell[])[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    for (const cells of chunk) {
      const shown = `only the first ${formatCount(rows.length, 'row')} of the result`;
      if (rows.length === limit) {
        return { columns: named, rows, cut: `${shown}: raise limit, or aggregate or filter in SQL` };
      }
      const row = cells.map(jsonCell);
      bytes += Buffer.byteLength(JSON.stringify(row));
      if (bytes > mostBytes) {
        const cut = `${shown}, as more have over ${formatBytes(mostBytes)}: select fewer columns or rows`;
        return { columns: named, rows, cut };
      }
      rows.push(row);
    }
  }
  return { columns: named, rows, cut: null };
}

function jsonCell(cell: ResultCell): JsonCell {
  if (typeof cell === 'bigint') return Number.isSafeInteger(Number(cell)) ? Number(cell) : String(cell);
  // NaN and the infinities.
  return typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell;
}
