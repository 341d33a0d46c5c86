import type { RecordBatch } from 'apache-arrow';
import { ByteRanges, type ByteRange } from '../../../core/columns/byte-ranges.js';
import type { RowCells } from '../../../core/columns/column-data.js';
import type { Dictionary } from '../../../core/columns/dictionary.js';
import { separateMemory, type ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import type { RowDeriver } from '../../../engine/run/derivation.js';
import type { FinishedColumns } from './row-arrays.js';
import { netSumTexts } from './slice-batches.js';
import { none, type SliceRows } from './slice-rows.js';

/** Derives entries from the stored rows of one API. */
export interface EntryReader {
  readonly slice: SliceRows;
  /** Returns a function that adds a row of a batch, given its `raw`; `at`: the number of rows added before. */
  readonly reader: (cells: RowCells) => (raw: ByteRange, row: number, at: number) => void;
  /** The entries of the rows, in their order. */
  readonly entries: (
    table: Table,
    known: FinishedColumns,
    order: readonly number[],
    memory?: ColumnMemory,
  ) => RecordBatch;
  /** Frees the memory for other rows. */
  readonly release?: () => void;
}

/** Derives entries with the reader of an API. */
export function entryDeriver({ slice, reader, entries, release }: EntryReader): RowDeriver {
  const ids = new ByteRanges();
  const effective: (bigint | undefined)[] = [];
  let bytes = 0;
  return {
    get count() {
      return effective.length;
    },
    get bytes() {
      return bytes;
    },
    reader: (cells) => {
      const read = reader(cells);
      const [idAt, rawAt] = [cells.texts('event_id'), cells.texts('raw')];
      const [postedAt, effectiveAt] = [cells.instants('posted_at'), cells.instants('effective_at')];
      let idPage: Uint8Array | undefined;
      let copied = new Uint8Array();
      return (row) => {
        const at = effective.length;
        const raw = rawAt(row) ?? nullText;
        read(raw, row, at);
        // Entries copy these from the row, even if the present reader would read another value.
        slice.events.postedAt[at] = postedAt(row);
        effective.push(effectiveAt(row));
        const { page, start, end } = idAt(row) ?? noText;
        // A copy, so that the batch's other columns, above all `raw`, can be freed.
        if (page !== idPage) copied = (idPage = page).slice();
        ids.push(copied, start, end);
        bytes += raw.end - raw.start;
      };
    },
    finish: (table, memory) => {
      const order = effective.map((_, row) => row);
      const idArray = (chosen: Int32Array, into = separateMemory) => ids.array(chosen, into);
      const rows = entries(table, { ids: { eventIds: idArray, contentHashes: idArray }, effective }, order, memory);
      return { table, rows, net: netSumTexts(slice, order), mainRows: effective.length };
    },
    release: () => release?.(),
  };
}

const nullText: ByteRange = { page: Buffer.from('null'), start: 0, end: 4 };
/** An empty text. */
export const noText: ByteRange = { page: nullText.page, start: 0, end: 0 };

/** The number of a cell's text in a dictionary; `none` for null. */
export function cellNumber(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
}
