import type { RecordBatch } from 'apache-arrow';
import type { Table } from '../columns/table.js';
import type { Database, QueryOptions } from '../duckdb/connection.js';
import { entryBatch } from '../finances/event-batches.js';
import { Flattener } from '../finances/flatten.js';
import { netSums } from '../finances/net-sums.js';
import { newNotices } from '../finances/notices.js';
import { none, SliceRows } from '../finances/rows.js';
import { scan } from '../json/scan.js';
import { Tape } from '../json/tape.js';
import { rowsIn } from './local-parquet.js';
import type { NetSums } from './merged-tags.js';

/** What entries take of their events as they are stored, and the bytes that the rest is made from. */
const eventColumns = [
  'event_id',
  'event_list',
  'epoch_us(posted_at) AS posted_at',
  'epoch_us(effective_at) AS effective_at',
  'amazon_order_id',
  'marketplace',
  'group_id',
  'raw',
].join(', ');

/** The entries of some events, and what they come to. */
export interface EntryBatch {
  readonly rows: RecordBatch;
  readonly net: NetSums;
  readonly events: number;
}

/**
 * The entries of a local file of events, made again from `raw` in the order of the events, by the one way by which they were
 * made when these were received. In batches of about `batchBytes` of `raw`: they bound the memory, whatever the file's size.
 */
export async function* entriesAgain(
  database: Database,
  table: Table,
  path: string,
  batchBytes: number,
  options: QueryOptions,
): AsyncGenerator<EntryBatch> {
  const { columns, chunks } = await database.query(`SELECT ${eventColumns} FROM ${rowsIn([path])}`, options);
  const at = new Map(columns.map(({ name }, index) => [name, index]));
  let events = new StoredEvents();
  for await (const rows of chunks) {
    for (const row of rows) {
      const cell = (name: string): string | undefined => {
        const value = row[at.get(name) ?? none];
        return value === null || value === undefined ? undefined : String(value);
      };
      events.add(cell);
      if (events.bytes < batchBytes) continue;
      yield events.finish(table);
      events = new StoredEvents();
    }
  }
  if (events.count > 0) yield events.finish(table);
}

/** Events read back from the lake, on their way to entries. */
class StoredEvents {
  bytes = 0;
  readonly #rows = new SliceRows();
  readonly #flattener = new Flattener(this.#rows, newNotices());
  readonly #tape = new Tape();
  readonly #ids: string[] = [];
  readonly #effective: (bigint | undefined)[] = [];
  #group: string | undefined;

  get count(): number {
    return this.#ids.length;
  }

  /** Takes one event in; `cell` gives the text of a column, undefined for null. */
  add(cell: (name: string) => string | undefined): void {
    const { events, orders, places } = this.#rows;
    this.#beginSource(cell('group_id'));
    const raw = Buffer.from(cell('raw') ?? 'null');
    scan(raw, this.#tape);
    const row = this.count;
    this.#flattener.add(this.#tape, cell('event_list') ?? '', 0);
    // An entry repeats these of its event: what the event's row says, even if it would be read otherwise today.
    const order = cell('amazon_order_id');
    const marketplace = cell('marketplace');
    events.amazonOrderId.set(row, order === undefined ? none : orders.addString(order));
    events.marketplace.set(row, marketplace === undefined ? none : places.addString(marketplace));
    events.postedAt[row] = instant(cell('posted_at'));
    this.#effective.push(instant(cell('effective_at')));
    this.#ids.push(cell('event_id') ?? '');
    this.bytes += raw.length;
  }

  finish(table: Table): EntryBatch {
    const order = this.#ids.map((_, row) => row);
    const ids = { eventIds: this.#ids, contentHashes: [] };
    return {
      rows: entryBatch(table, { rows: this.#rows, ids, effective: this.#effective }, order),
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

function instant(micros: string | undefined): bigint | undefined {
  return micros === undefined ? undefined : BigInt(micros);
}
