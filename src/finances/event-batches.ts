import type { RecordBatch } from 'apache-arrow';
import {
  Int64Values,
  bigintArray,
  bytesArray,
  gathered,
  gatheredDecimals,
  integerArray,
  numberedArray,
  textArray,
} from '../columns/arrays.js';
import { Dictionary } from '../columns/dictionary.js';
import type { Int32List } from '../columns/growable.js';
import type { Table } from '../columns/table.js';
import { recordBatch } from '../columns/table.js';
import type { EventIds } from './event-ids.js';
import { micros } from './effective.js';
import { none, type AmountPlace, type RowSource, type SliceRows } from './rows.js';

/** What is known of a slice's events once all of its pages are there, in order of receipt. */
export interface FinishedEvents {
  readonly rows: SliceRows;
  readonly ids: EventIds;
  /** Microseconds since 1970. */
  readonly effective: readonly (bigint | undefined)[];
}

/** Numbers of events in the tables' sort order: by `effective_at`, then by receipt; those without an instant last. */
export function sortedEvents(effective: readonly (bigint | undefined)[], chosen: readonly number[]): number[] {
  return chosen.toSorted((a, b) => {
    const x = effective[a];
    const y = effective[b];
    if (x === y) return a - b;
    if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
    return x < y ? -1 : 1;
  });
}

/** The events with the given numbers, in that order, as a batch of an events table. */
export function eventBatch(
  table: Table,
  { rows, ids, effective }: FinishedEvents,
  order: readonly number[],
): RecordBatch {
  const { events, sources } = rows;
  const chosen = Int32Array.from(order);
  const { length } = chosen;
  const at = (row: number): number => chosen[row] ?? none;
  const source = gathered(events.source.values, chosen);
  const owners = new Dictionary();
  const text = (values: Dictionary, column: Int32List) => numberedArray(values, gathered(column.values, chosen));
  const owner = (of: (source: RowSource) => string | undefined) =>
    Int32Array.from(sources, (each) => numberOf(owners, of(each)));
  const groupIds = owner((of) => of.groupId);
  const requestedOrderIds = owner((of) => of.requestedOrderId);
  return recordBatch(table, length, {
    event_id: textArray(length, (row) => ids.eventIds[at(row)] ?? ''),
    content_hash: textArray(length, (row) => ids.contentHashes[at(row)] ?? ''),
    event_list: text(rows.lists, events.list),
    posted_at: new Int64Values(events.postedAt).instants(chosen),
    effective_at: new Int64Values(effective).instants(chosen),
    amazon_order_id: text(rows.orders, events.amazonOrderId),
    seller_order_id: text(rows.orders, events.sellerOrderId),
    marketplace: text(rows.places, events.marketplace),
    store: text(rows.places, events.store),
    group_id: numberedArray(owners, gathered(groupIds, source)),
    window_start: new Int64Values(sources.map((of) => micros(of.windowStart))).instants(source),
    window_end: new Int64Values(sources.map((of) => micros(of.windowEnd))).instants(source),
    requested_order_id: numberedArray(owners, gathered(requestedOrderIds, source)),
    position: bigintArray(length, (row) => BigInt(events.position.get(at(row)))),
    raw: bytesArray(length, (row) => events.raw[at(row)] ?? { page: Buffer.alloc(0), start: 0, end: 0 }),
  });
}

/** The amounts of the events with the given numbers, event by event in that order, as a batch of an entries table. */
export function entryBatch(
  table: Table,
  { rows, ids, effective }: FinishedEvents,
  order: readonly number[],
): RecordBatch {
  const { events, entries, items } = rows;
  const { chosen, place, event, entry } = entriesOf(rows, order);
  const { length } = chosen;
  const item = gathered(entries.item, chosen);
  const ofEvent = (values: Dictionary, column: Int32List) => numberedArray(values, gathered(column.values, event));
  const ofEntry = (values: Dictionary, column: Int32Array) => numberedArray(values, gathered(column, chosen));
  const ofItem = (values: Dictionary, itemColumn: Int32List, eventColumn: Int32List) =>
    numberedArray(values, firstOf(gathered(itemColumn.values, item), gathered(eventColumn.values, event)));
  const path = gathered(entries.path, chosen);
  const places = placeDictionaries(rows);
  const ofPlace = ({ values, numbers }: PlaceTexts) => numberedArray(values, gathered(numbers, path));
  // No two are equal, so there is nothing to look up.
  const eventIds = { data: () => textArray(order.length, (place) => ids.eventIds[order[place] ?? none] ?? '') };
  const groupIds = new Dictionary();
  const groupNumbers = Int32Array.from(rows.sources, (source) => numberOf(groupIds, source.groupId));
  return recordBatch(table, length, {
    event_id: numberedArray(eventIds, place),
    event_list: ofEvent(rows.lists, events.list),
    posted_at: new Int64Values(events.postedAt).instants(event),
    effective_at: new Int64Values(effective).instants(event),
    amazon_order_id: ofEvent(rows.orders, events.amazonOrderId),
    marketplace: ofEvent(rows.places, events.marketplace),
    group_id: numberedArray(groupIds, gathered(groupNumbers, gathered(events.source.values, event))),
    entry: integerArray(entry),
    path: ofPlace(places.paths),
    item: integerArray(gathered(items.index.values, item)),
    sku: ofItem(rows.skus, items.sku, events.sku),
    asin: ofItem(rows.asins, items.asin, events.asin),
    order_item_id: ofItem(rows.orderItems, items.orderItemId, events.orderItemId),
    quantity: new Int64Values(items.quantity).bigints(item),
    kind: ofPlace(places.kinds),
    name: ofEntry(rows.names, entries.name),
    role: ofPlace(places.roles),
    amount: gatheredDecimals(entries, chosen),
    amount_text: ofEntry(rows.amountTexts, entries.text),
    currency: ofEntry(rows.currencies, entries.currency),
  });
}

/**
 * The amounts of the given events, event by event: a row's number in `rows.entries`, the place of its event in the order,
 * its event, its place in the event.
 */
function entriesOf(
  rows: SliceRows,
  order: readonly number[],
): { chosen: Int32Array; place: Int32Array; event: Int32Array; entry: Int32Array } {
  const { firstEntry } = rows.events;
  let length = 0;
  for (const number of order) length += rows.entriesEnd(number) - firstEntry.get(number);
  const chosen = new Int32Array(length);
  const place = new Int32Array(length);
  const event = new Int32Array(length);
  const entry = new Int32Array(length);
  let row = 0;
  for (const [at, owner] of order.entries()) {
    const first = firstEntry.get(owner);
    const end = rows.entriesEnd(owner);
    for (let number = first; number < end; number++, row++) {
      chosen[row] = number;
      place[row] = at;
      event[row] = owner;
      entry[row] = number - first;
    }
  }
  return { chosen, place, event, entry };
}

/** The first ones, and where there is none the others. */
function firstOf(numbers: Int32Array, others: Int32Array): Int32Array {
  for (let row = 0; row < numbers.length; row++) if (numbers[row] === none) numbers[row] = others[row] ?? none;
  return numbers;
}

/** What each amount's place says, as numbers in a dictionary. */
interface PlaceTexts {
  readonly values: Dictionary;
  readonly numbers: Int32Array;
}

function placeDictionaries({ amountPaths }: SliceRows): Record<'paths' | 'kinds' | 'roles', PlaceTexts> {
  const texts = (of: (place: AmountPlace) => string): PlaceTexts => {
    const values = new Dictionary();
    return { values, numbers: Int32Array.from(amountPaths, (place) => values.addString(of(place))) };
  };
  return { paths: texts(({ path }) => path), kinds: texts(({ kind }) => kind), roles: texts(({ role }) => role) };
}

function numberOf(dictionary: Dictionary, value: string | undefined): number {
  return value === undefined ? none : dictionary.addString(value);
}
