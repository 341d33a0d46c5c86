import type { RecordBatch } from 'apache-arrow';
import type { ByteRange } from '../../core/columns/arrays.js';
import { instantCells, textCells } from '../../core/columns/column-data.js';
import type { Dictionary } from '../../core/columns/dictionary.js';
import type { ColumnMemory } from '../../core/columns/memory.js';
import { RowSums } from '../../core/columns/row-sums.js';
import type { Table } from '../../core/columns/table.js';
import { entryBatch, netSums } from '../../sources/finances/model/event-batches.js';
import { Flattener } from '../../sources/finances/model/flatten.js';
import { newWarnings, none, SliceRows, type RawEvent } from '../../sources/finances/model/slice-rows.js';
import { scan } from '../../core/json/scan.js';
import { Tape } from '../../core/json/tape.js';
import type { ParquetSource } from '../../core/parquet/wasm.js';
import { parquetBatches } from '../../core/parquet/wasm.js';
import type { NetSums } from '../../lake/files/new-file.js';

/** What entries take of their events as they are stored, and the bytes that the rest is made from. */
const textColumns = ['event_id', 'event_list', 'amazon_order_id', 'marketplace', 'group_id', 'raw'] as const;
const instantColumns = ['posted_at', 'effective_at'] as const;

/** Bytes that are read at once: WASM holds them several times over, and never gives memory back. */
const readBytes = 1_000_000;

type Cells = Record<(typeof textColumns)[number], (row: number) => ByteRange | undefined> &
  Record<(typeof instantColumns)[number], (row: number) => bigint | undefined>;

/** The entries of some events, and what they come to. */
export interface EntryBatch {
  readonly rows: RecordBatch;
  readonly net: NetSums;
  readonly events: number;
}

/**
 * Derives the entries of a file of events again from `raw`, in the order of the events, as they were derived when these were
 * received. In batches of about `batchBytes` of `raw`: they bound the memory, whatever the file's size.
 *
 * @param memory where a batch's columns lie; left out: each has its own
 * @throws Error where the bytes are no Parquet file of events
 */
export async function* rederivedEntries(
  table: Table,
  file: ParquetSource,
  batchBytes: number,
  memory?: ColumnMemory,
): AsyncGenerator<EntryBatch> {
  let events = new StoredEvents();
  for await (const batch of parquetBatches(file, [...textColumns, ...instantColumns], readBytes)) {
    const cells = cellsOf(batch);
    for (let row = 0; row < batch.numRows; row++) {
      events.add(cells, row);
      if (events.bytes < batchBytes) continue;
      yield events.finish(table, memory);
      events = new StoredEvents();
    }
  }
  if (events.count > 0) yield events.finish(table, memory);
}

/** Bytes of `raw` whose entries are derived at once for a comparison. */
const comparedBytes = 800_000;
/** Bytes of stored entries that are read at once; what repeats in them takes many times as much then. */
const storedBytes = 200_000;

/** How many rows were read. */
export interface RowCounts {
  readonly events: number;
  readonly rows: number;
}

/**
 * Derives the entries of a file of events again and compares them with the stored ones, whatever the order of their rows.
 * Undefined where they differ, or the stored files have other columns.
 *
 * @throws Error where the bytes are no Parquet file of events, or the signal's reason
 */
export async function unchangedEntries(
  table: Table,
  file: ParquetSource,
  stored: readonly ParquetSource[],
  signal: AbortSignal,
): Promise<RowCounts | undefined> {
  const sums = new RowSums(table);
  const counts = { events: 0, rows: 0 };
  for await (const { events, rows } of rederivedEntries(table, file, comparedBytes)) {
    signal.throwIfAborted();
    sums.add(rows);
    counts.events += events;
    counts.rows += rows.numRows;
  }
  return sums.equals(await storedSums(table, stored)) ? counts : undefined;
}

/** What the rows of stored files come to. */
export async function storedSums(table: Table, stored: readonly ParquetSource[]): Promise<RowSums> {
  const sums = new RowSums(table);
  for (const file of stored) {
    for await (const batch of parquetBatches(file, 'all', storedBytes)) sums.add(batch);
  }
  return sums;
}

function cellsOf(batch: RecordBatch): Cells {
  const texts = (name: (typeof textColumns)[number]) => textCells(batch, name);
  const instants = (name: (typeof instantColumns)[number]) => instantCells(batch, name);
  return {
    event_id: texts('event_id'),
    event_list: texts('event_list'),
    amazon_order_id: texts('amazon_order_id'),
    marketplace: texts('marketplace'),
    group_id: texts('group_id'),
    raw: texts('raw'),
    posted_at: instants('posted_at'),
    effective_at: instants('effective_at'),
  };
}

const nothing: RawEvent = { page: Buffer.alloc(0), start: 0, end: 0 };

/** Events read back from the lake, on their way to entries. */
class StoredEvents {
  bytes = 0;
  // The entries of an event take nothing of its bytes as they are.
  readonly #rows = new SliceRows(() => nothing);
  readonly #flattener = new Flattener(this.#rows, newWarnings());
  readonly #tape = new Tape();
  readonly #ids: string[] = [];
  readonly #effective: (bigint | undefined)[] = [];
  #group: string | undefined;

  get count(): number {
    return this.#ids.length;
  }

  /** Takes one event in. */
  add(cells: Cells, row: number): void {
    const { events, orders, places } = this.#rows;
    this.#beginSource(text(cells.group_id(row)));
    const raw = cells.raw(row);
    const bytes = raw === undefined ? Buffer.from('null') : raw.page.subarray(raw.start, raw.end);
    scan(bytes, this.#tape);
    const own = this.count;
    this.#flattener.add(this.#tape, text(cells.event_list(row)) ?? '', 0);
    // An entry repeats these of its event: what the event's row says, even if it would be read otherwise today.
    events.amazonOrderId.set(own, number(orders, cells.amazon_order_id(row)));
    events.marketplace.set(own, number(places, cells.marketplace(row)));
    events.postedAt[own] = cells.posted_at(row);
    this.#effective.push(cells.effective_at(row));
    this.#ids.push(text(cells.event_id(row)) ?? '');
    this.bytes += bytes.length;
  }

  finish(table: Table, memory: ColumnMemory | undefined): EntryBatch {
    const order = this.#ids.map((_, row) => row);
    const ids = { eventIds: this.#ids, contentHashes: [] };
    return {
      rows: entryBatch(table, { rows: this.#rows, ids, effective: this.#effective }, order, memory),
      net: netSums(this.#rows, order),
      events: this.count,
    };
  }

  /** Of what an event was received with, its entries show the group alone. */
  #beginSource(groupId: string | undefined): void {
    if (this.count > 0 && groupId === this.#group) return;
    this.#group = groupId;
    this.#rows.begin({
      windowStart: undefined,
      windowEnd: undefined,
      fallback: undefined,
      clamp: false,
      groupId,
      requestedOrderId: undefined,
    });
  }
}

function text(range: ByteRange | undefined): string | undefined {
  if (range === undefined) return undefined;
  const { page, start, end } = range;
  return Buffer.from(page.buffer, page.byteOffset + start, end - start).toString();
}

function number(dictionary: Dictionary, range: ByteRange | undefined): number {
  return range === undefined ? none : dictionary.add(range.page, range.start, range.end);
}
