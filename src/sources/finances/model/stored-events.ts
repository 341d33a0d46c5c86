import type { RecordBatch } from 'apache-arrow';
import { ByteRanges, type ByteRange } from '../../../core/columns/byte-ranges.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { separateMemory, type ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import type { RowCells } from '../../../core/columns/column-data.js';
import { decodeText, type Derivation, type RowDeriver } from '../../../engine/run/derivation.js';
import { entryBatch, netSumTexts } from './event-batches.js';
import { Flattener } from './flatten.js';
import type { Finished } from './row-arrays.js';
import { attributes } from './attributes.js';
import { emptySource, newWarnings, none, SliceRows } from './slice-rows.js';
import { entries, events } from './tables.js';

/** Attributes that entries copy from the stored row. */
const storedAttributes = attributes
  .map(({ column }) => column)
  .filter((column) => [events, entries].every(({ columns }) => columns.some(({ name }) => name === column)));

/** Derives entries from stored events. */
export const eventDerivation: Derivation = {
  texts: ['event_id', 'event_list', ...storedAttributes, 'group_id', 'raw'],
  instants: ['posted_at', 'effective_at'],
  begin: () => entryDeriver(storedEvents()),
};

/** Derives entries from the stored rows of one API. */
export interface EntryReader {
  readonly slice: SliceRows;
  /** Returns a function that adds a row of a batch, given its `raw`; `at`: the number of rows added before. */
  readonly reader: (cells: RowCells) => (raw: ByteRange, row: number, at: number) => void;
  /** The entries of the rows, in their order. */
  readonly entries: (
    table: Table,
    known: StoredColumns,
    order: readonly number[],
    memory?: ColumnMemory,
  ) => RecordBatch;
  /** Frees the memory for other rows. */
  readonly release?: () => void;
}

/** Columns that entries copy from the stored rows, in their order. */
type StoredColumns = Omit<Finished<unknown>, 'rows'>;

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
      return { table, rows, net: netSumTexts(slice, order), sources: effective.length };
    },
    release: () => release?.(),
  };
}

const nullText: ByteRange = { page: Buffer.from('null'), start: 0, end: 4 };
const noText: ByteRange = { page: nullText.page, start: 0, end: 0 };

/** The number of a cell's text in a dictionary; `none` for null. */
export function cellNumber(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
}

/** Released rows for reuse: their arrays have the size of a batch, and their flattener knows the paths of earlier batches. */
const free: { readonly slice: SliceRows; readonly flattener: Flattener }[] = [];

function newFlattener(): (typeof free)[number] {
  const slice = new SliceRows(false);
  return { slice, flattener: new Flattener(slice, newWarnings()) };
}

function storedEvents(): EntryReader {
  const used = free.pop() ?? newFlattener();
  const { slice, flattener } = used;
  const lists = new Dictionary();
  const listNames: string[] = [];
  let group: string | undefined;
  return {
    slice,
    reader: (cells) => {
      const [listAt, groupAt] = [cells.texts('event_list'), cells.texts('group_id')];
      const copied = slice.attributes
        .filter(({ column }) => storedAttributes.includes(column))
        .map(({ column, values, numbers }) => ({ values, numbers, textAt: cells.texts(column) }));
      return (raw, row, at) => {
        // Entries contain only the group id of their event's source.
        const groupId = decodeText(groupAt(row));
        if (at === 0 || groupId !== group) slice.begin({ ...emptySource, groupId });
        group = groupId;
        const list = cellNumber(lists, listAt(row) ?? noText);
        flattener.addWithin(raw, (listNames[list] ??= lists.value(list)));
        for (const { numbers, values, textAt } of copied) numbers.set(at, cellNumber(values, textAt(row)));
      };
    },
    entries: (table, known, order, memory) => entryBatch(table, { rows: slice, ...known }, order, memory),
    release: () => {
      flattener.clear();
      free.push(used);
    },
  };
}
