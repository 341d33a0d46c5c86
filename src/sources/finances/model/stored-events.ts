import type { ByteRange } from '../../../core/columns/arrays.js';
import type { Dictionary } from '../../../core/columns/dictionary.js';
import type { ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import { scan } from '../../../core/json/scan.js';
import { Tape } from '../../../core/json/tape.js';
import {
  cellText,
  type Derivation,
  type DerivedBatch,
  type StoredCells,
  type StoredRows,
} from '../../../engine/run/derivation.js';
import { entryBatch, netSums } from './event-batches.js';
import { Flattener } from './flatten.js';
import { newWarnings, none, SliceRows, type RawEvent } from './slice-rows.js';

/** Entries of events, from the events as they are stored. */
export const eventDerivation: Derivation = {
  texts: ['event_id', 'event_list', 'amazon_order_id', 'marketplace', 'group_id', 'raw'],
  instants: ['posted_at', 'effective_at'],
  begin: () => new StoredEvents(),
};

const nothing: RawEvent = { page: Buffer.alloc(0), start: 0, end: 0 };

/** The rows of no source in particular: entries take nothing of it but the settlement. */
export const storedSource = {
  windowStart: undefined,
  windowEnd: undefined,
  fallback: undefined,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
} as const;

/** Keeps nothing of the bytes that are read: derived rows have none of them. */
export function keepNothing(): RawEvent {
  return nothing;
}

/** The bytes of a stored row's `raw`. */
export function rawBytes(cells: StoredCells, row: number): Uint8Array {
  const raw = cells.text('raw', row);
  return raw === undefined ? Buffer.from('null') : raw.page.subarray(raw.start, raw.end);
}

/** The number of a cell's text in a dictionary; `none` for null. */
export function cellNumber(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
}

class StoredEvents implements StoredRows {
  bytes = 0;
  readonly #rows = new SliceRows(keepNothing);
  readonly #flattener = new Flattener(this.#rows, newWarnings());
  readonly #tape = new Tape();
  readonly #ids: string[] = [];
  readonly #effective: (bigint | undefined)[] = [];
  #group: string | undefined;

  get count(): number {
    return this.#ids.length;
  }

  add(cells: StoredCells, row: number): void {
    const { events, orders, places } = this.#rows;
    this.#beginSource(cellText(cells.text('group_id', row)));
    const bytes = rawBytes(cells, row);
    scan(bytes, this.#tape);
    const at = this.count;
    this.#flattener.add(this.#tape, cellText(cells.text('event_list', row)) ?? '', 0);
    // An entry repeats these of its event: what the event's row says, even if it would be read otherwise today.
    events.amazonOrderId.set(at, cellNumber(orders, cells.text('amazon_order_id', row)));
    events.marketplace.set(at, cellNumber(places, cells.text('marketplace', row)));
    events.postedAt[at] = cells.instant('posted_at', row);
    this.#effective.push(cells.instant('effective_at', row));
    this.#ids.push(cellText(cells.text('event_id', row)) ?? '');
    this.bytes += bytes.length;
  }

  finish(table: Table, memory: ColumnMemory | undefined): DerivedBatch {
    const order = this.#ids.map((_, row) => row);
    const ids = { eventIds: this.#ids, contentHashes: [] };
    return {
      rows: entryBatch(table, { rows: this.#rows, ids, effective: this.#effective }, order, memory),
      net: netSums(this.#rows, order),
      sources: this.count,
    };
  }

  /** Of what an event was received with, its entries show the group alone. */
  #beginSource(groupId: string | undefined): void {
    if (this.count > 0 && groupId === this.#group) return;
    this.#group = groupId;
    this.#rows.begin({ ...storedSource, groupId });
  }
}
