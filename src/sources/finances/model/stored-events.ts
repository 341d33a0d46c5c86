import { textArray, type ByteRange } from '../../../core/columns/arrays.js';
import type { Dictionary } from '../../../core/columns/dictionary.js';
import type { ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import type { TableRows } from '../../../core/columns/table-rows.js';
import { cellText, type Derivation, type StoredCells, type StoredRows } from '../../../engine/run/derivation.js';
import { entryBatch, netSums } from './event-batches.js';
import type { EventIds } from './event-ids.js';
import { Flattener } from './flatten.js';
import { newWarnings, none, SliceRows } from './slice-rows.js';

/** Entries of events, from the events as they are stored. */
export const eventDerivation: Derivation = {
  texts: ['event_id', 'event_list', 'amazon_order_id', 'marketplace', 'group_id', 'raw'],
  instants: ['posted_at', 'effective_at'],
  begin: () => storedRows(storedEvents()),
};

/** How entries follow from the stored rows of one API. */
export interface StoredReader {
  readonly slice: SliceRows;
  /** Adds what a row's `raw` has; `at`: how many were added before. */
  readonly add: (raw: ByteRange, cells: StoredCells, row: number, at: number) => void;
  /** The entries of the rows, in their order. */
  readonly entries: (table: Table, known: StoredColumns, order: readonly number[], memory?: ColumnMemory) => TableRows;
  /** Left out: the memory isn't used again. */
  readonly release?: () => void;
}

/** What entries repeat of the stored rows, in the order of these. */
export interface StoredColumns {
  readonly ids: EventIds;
  /** Microseconds since 1970. */
  readonly effective: readonly (bigint | undefined)[];
}

/** Stored rows that become entries, by the reader of their API. */
export function storedRows({ slice, add, entries, release }: StoredReader): StoredRows {
  const eventIds: string[] = [];
  const effective: (bigint | undefined)[] = [];
  let bytes = 0;
  return {
    get count() {
      return eventIds.length;
    },
    get bytes() {
      return bytes;
    },
    add: (cells, row) => {
      const raw = cells.text('raw', row) ?? nullText;
      const at = eventIds.length;
      add(raw, cells, row, at);
      // An entry repeats these of its row: what the row says, even if it would be read otherwise today.
      slice.events.postedAt[at] = cells.instant('posted_at', row);
      effective.push(cells.instant('effective_at', row));
      eventIds.push(cellText(cells.text('event_id', row)) ?? '');
      bytes += raw.end - raw.start;
    },
    finish: (table, memory) => {
      const order = eventIds.map((_, row) => row);
      const idArray = (chosen: Int32Array) => textArray(chosen.length, (at) => eventIds[chosen[at] ?? none] ?? '');
      const rows = entries(table, { ids: { eventIds: idArray, contentHashes: idArray }, effective }, order, memory);
      return { rows, net: netSums(slice, order), sources: eventIds.length };
    },
    release: () => release?.(),
  };
}

const nullText: ByteRange = { page: Buffer.from('null'), start: 0, end: 4 };

/** The rows of no source in particular: entries take nothing of it but the settlement. */
export const storedSource = {
  windowStart: undefined,
  windowEnd: undefined,
  fallback: undefined,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
} as const;

/** The number of a cell's text in a dictionary; `none` for null. */
export function cellNumber(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
}

/** Released rows: their memory has the size that a batch needs, and their flattener knows the paths of the batches before. */
const free: { readonly slice: SliceRows; readonly flattener: Flattener }[] = [];

function newFlattener(): (typeof free)[number] {
  const slice = new SliceRows(false);
  return { slice, flattener: new Flattener(slice, newWarnings()) };
}

function storedEvents(): StoredReader {
  const used = free.pop() ?? newFlattener();
  const { slice, flattener } = used;
  const { events, orders, places } = slice;
  let group: string | undefined;
  return {
    slice,
    add: (raw, cells, row, at) => {
      // Of what an event was received with, its entries show the group alone.
      const groupId = cellText(cells.text('group_id', row));
      if (at === 0 || groupId !== group) slice.begin({ ...storedSource, groupId });
      group = groupId;
      flattener.addWithin(raw, cellText(cells.text('event_list', row)) ?? '');
      events.amazonOrderId.set(at, cellNumber(orders, cells.text('amazon_order_id', row)));
      events.marketplace.set(at, cellNumber(places, cells.text('marketplace', row)));
    },
    entries: (table, known, order, memory) => entryBatch(table, { rows: slice, ...known }, order, memory),
    release: () => {
      flattener.clear();
      free.push(used);
    },
  };
}
