import type { RecordBatch } from 'apache-arrow';
import {
  textArray,
  bigintArray,
  bytesArray,
  decimalArray,
  dictionaryArray,
  instantArray,
  integerArray,
} from '../columns/arrays.js';
import { Dictionary } from '../columns/dictionary.js';
import type { Int32List } from '../columns/growable.js';
import type { Table } from '../columns/table.js';
import { recordBatch } from '../columns/table.js';
import type { EventIds } from './event-ids.js';
import { micros } from './effective.js';
import { none, type RowSource, type SliceRows } from './rows.js';

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
  const { events } = rows;
  const at = (row: number): number => order[row] ?? none;
  const source = (row: number): RowSource | undefined => rows.sources[events.source.get(at(row))];
  const length = order.length;
  const owners = new Dictionary();
  const dictionary = (values: Dictionary, column: Int32List) =>
    dictionaryArray(values, length, (row) => column.get(at(row)));
  const owner = (of: (source: RowSource | undefined) => string | undefined) =>
    dictionaryArray(owners, length, (row) => numberOf(owners, of(source(row))));
  const groupIds = owner((of) => of?.groupId);
  const requestedOrderIds = owner((of) => of?.requestedOrderId);
  return recordBatch(table, length, {
    event_id: textArray(length, (row) => ids.eventIds[at(row)] ?? ''),
    content_hash: textArray(length, (row) => ids.contentHashes[at(row)] ?? ''),
    event_list: dictionary(rows.lists, events.list),
    posted_at: instantArray(length, (row) => events.postedAt[at(row)]),
    effective_at: instantArray(length, (row) => effective[at(row)]),
    amazon_order_id: dictionary(rows.orders, events.amazonOrderId),
    seller_order_id: dictionary(rows.orders, events.sellerOrderId),
    marketplace: dictionary(rows.places, events.marketplace),
    store: dictionary(rows.places, events.store),
    group_id: groupIds,
    window_start: instantArray(length, (row) => micros(source(row)?.windowStart)),
    window_end: instantArray(length, (row) => micros(source(row)?.windowEnd)),
    requested_order_id: requestedOrderIds,
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
  const { chosen, length } = entriesOf(rows, order);
  const at = (row: number): number => chosen[row] ?? none;
  const event = (row: number): number => entries.event.get(at(row));
  const ofEvent = (values: Dictionary, column: Int32List) =>
    dictionaryArray(values, length, (row) => column.get(event(row)));
  const ofEntry = (values: Dictionary, column: Int32List) =>
    dictionaryArray(values, length, (row) => column.get(at(row)));
  const ofItem = (values: Dictionary, itemColumn: Int32List, eventColumn: Int32List) =>
    dictionaryArray(values, length, (row) => {
      const item = entries.item.get(at(row));
      const value = item === none ? none : itemColumn.get(item);
      return value === none ? eventColumn.get(event(row)) : value;
    });
  const paths = placeDictionaries(rows);
  const ofPlace = (values: Dictionary, numbers: readonly number[]) =>
    dictionaryArray(values, length, (row) => numbers[entries.path.get(at(row))] ?? none);
  const eventIds = new Dictionary();
  const idNumbers = new Map(order.map((number) => [number, eventIds.addString(ids.eventIds[number] ?? '')]));
  const groupIds = new Dictionary();
  const groupNumbers = rows.sources.map((source) => numberOf(groupIds, source.groupId));
  return recordBatch(table, length, {
    event_id: dictionaryArray(eventIds, length, (row) => idNumbers.get(event(row)) ?? none),
    event_list: ofEvent(rows.lists, events.list),
    posted_at: instantArray(length, (row) => events.postedAt[event(row)]),
    effective_at: instantArray(length, (row) => effective[event(row)]),
    amazon_order_id: ofEvent(rows.orders, events.amazonOrderId),
    marketplace: ofEvent(rows.places, events.marketplace),
    group_id: dictionaryArray(groupIds, length, (row) => groupNumbers[events.source.get(event(row))] ?? none),
    entry: integerArray(length, (row) => at(row) - events.firstEntry.get(event(row))),
    path: ofPlace(paths.paths, paths.pathNumbers),
    item: integerArray(length, (row) => {
      const item = entries.item.get(at(row));
      return item === none ? none : items.index.get(item);
    }),
    sku: ofItem(rows.skus, items.sku, events.sku),
    asin: ofItem(rows.asins, items.asin, events.asin),
    order_item_id: ofItem(rows.orderItems, items.orderItemId, events.orderItemId),
    quantity: bigintArray(length, (row) => items.quantity[entries.item.get(at(row))]),
    kind: ofPlace(paths.kinds, paths.kindNumbers),
    name: ofEntry(rows.names, entries.name),
    role: ofPlace(paths.roles, paths.roleNumbers),
    amount: decimalArray(
      length,
      (row) => entries.exact.get(at(row)) !== 1,
      (row) => entries.low.get(at(row)),
      (row) => entries.high.get(at(row)),
    ),
    amount_text: ofEntry(rows.amountTexts, entries.text),
    currency: ofEntry(rows.currencies, entries.currency),
  });
}

/** Numbers of the amounts of the given events, event by event. */
function entriesOf({ events, entries }: SliceRows, order: readonly number[]): { chosen: Int32Array; length: number } {
  const endOf = (event: number) => (event + 1 < events.length ? events.firstEntry.get(event + 1) : entries.length);
  let length = 0;
  for (const event of order) length += endOf(event) - events.firstEntry.get(event);
  const chosen = new Int32Array(length);
  let row = 0;
  for (const event of order) {
    for (let entry = events.firstEntry.get(event); entry < endOf(event); entry++) chosen[row++] = entry;
  }
  return { chosen, length };
}

function placeDictionaries(rows: SliceRows) {
  const paths = new Dictionary();
  const kinds = new Dictionary();
  const roles = new Dictionary();
  return {
    paths,
    kinds,
    roles,
    pathNumbers: rows.amountPaths.map(({ path }) => paths.addString(path)),
    kindNumbers: rows.amountPaths.map(({ kind }) => kinds.addString(kind)),
    roleNumbers: rows.amountPaths.map(({ role }) => roles.addString(role)),
  };
}

function numberOf(dictionary: Dictionary, value: string | undefined): number {
  return value === undefined ? none : dictionary.addString(value);
}
