import type { Column, Table } from '../../../core/columns/table.js';
import {
  amazonOrderId,
  effectiveAt,
  filtered,
  addedLater,
  maybeEffectiveAt,
  nullable,
  nullableText,
  postedAt,
  repeated,
  unbounded,
  withBloomFilter,
} from '../model/columns.js';
import { column } from '../../../core/columns/table.js';

const eventList = filtered(
  column('event_list', 'text', 'dictionary', 'The list that the event came in, as upstream names it.'),
);
const marketplace = nullableText(
  'marketplace',
  'The marketplace of the sale, as the event has it: `Amazon.com`, or an id.',
);
const marketplaceId = addedLater(
  nullableText(
    'marketplace_id',
    'Identifier of the marketplace, wherever a field of the event gives it: joins with `marketplaces`.',
  ),
);
const groupId = nullableText('group_id', 'The settlement; set in `group_events` and `group_entries`.');

function eventColumns(effective: Column): Column[] {
  return [
    withBloomFilter(
      column('event_id', 'text', 'delta-length', 'Unique in its table; the same event has the same one on every run.'),
    ),
    column('content_hash', 'text', 'delta-length', 'What the event says, as a hash: the same in every table.'),
    eventList,
    postedAt,
    effective,
    amazonOrderId,
    nullable('seller_order_id', 'text', 'delta-length', 'The order, as the seller numbers it.'),
    marketplace,
    marketplaceId,
    nullableText('store', 'The store of the sale.'),
    groupId,
    nullable('window_start', 'instant', 'dictionary', "Start of the slice; in `group_events` the group's."),
    nullable('window_end', 'instant', 'dictionary', "End of the slice, exclusive; in `group_events` the group's."),
    nullableText('requested_order_id', 'The order that was asked for; set in `order_events`.'),
    column('position', 'bigint', 'plain', 'Order of receipt within the slice, from 0.'),
    column(
      'raw',
      'text',
      'plain',
      "The event's JSON exactly as received, byte for byte; only texts that are no JSON are repaired.",
    ),
  ];
}

function entryColumns(effective: Column): Column[] {
  return [
    withBloomFilter(column('event_id', 'text', 'dictionary', 'The event that the amount stands in.')),
    eventList,
    repeated(postedAt),
    repeated(effective),
    repeated(amazonOrderId),
    unbounded(marketplace),
    unbounded(marketplaceId),
    groupId,
    column('entry', 'integer', 'dictionary', 'Order within the event, from 0.'),
    unbounded(
      column('path', 'text', 'dictionary', 'Where the amount stands: `ShipmentItemList[].ItemFeeList[].FeeAmount`.'),
    ),
    nullable('item', 'integer', 'dictionary', 'Which element of the outermost array on the path, from 0.'),
    filtered(nullableText('sku', "The seller's SKU of the item, else of the event.")),
    addedLater(nullableText('fnsku', "The fulfilment network's SKU of the item, else of the event.")),
    nullableText('asin', 'Catalogue number of the item, else of the event.'),
    unbounded(nullableText('order_item_id', 'Number of the item within its order.')),
    nullable('quantity', 'bigint', 'dictionary', 'Units of the item.'),
    unbounded(
      column(
        'kind',
        'text',
        'dictionary',
        'Category of the amount: `charge`, `fee`, `tax` …; `unknown` off the model.',
      ),
    ),
    unbounded(nullableText('name', "The amount's own type: its `ChargeType`, `FeeType`, `PromotionType` …")),
    unbounded(
      column('role', 'text', 'dictionary', '`net` counts towards the balance once, `memo` repeats what others count.'),
    ),
    nullable('amount', 'decimal', 'dictionary', 'Exact, to a millionth.'),
    filtered(nullableText('amount_text', 'Only where `amount` cannot hold it: the number as received.')),
    unbounded(nullableText('currency', 'ISO 4217 code as received.')),
  ];
}

export const events: Table = {
  name: 'events',
  about: 'One row per event received by date.',
  columns: eventColumns(effectiveAt),
  row: 'event',
  agedBy: 'effective_at',
};
export const entries: Table = {
  name: 'entries',
  about: 'One row per amount of every event received by date.',
  columns: entryColumns(effectiveAt),
  row: 'entry',
};
export const groupEvents: Table = {
  name: 'group_events',
  about: 'One row per event received by group, with its settlement.',
  columns: eventColumns(effectiveAt),
  row: 'event',
  agedBy: 'effective_at',
};
export const groupEntries: Table = {
  name: 'group_entries',
  about: 'One row per amount of every event received by group.',
  columns: entryColumns(effectiveAt),
  row: 'entry',
};
export const orderEvents: Table = {
  name: 'order_events',
  about: 'One row per event received by order.',
  columns: eventColumns(maybeEffectiveAt),
  row: 'event',
  agedBy: 'effective_at',
};
export const orderEntries: Table = {
  name: 'order_entries',
  about: 'One row per amount of every event received by order.',
  columns: entryColumns(maybeEffectiveAt),
  row: 'entry',
};

export const groups: Table = {
  name: 'groups',
  about: 'One row per financial event group (a settlement) that opened in a range.',
  columns: [
    filtered(nullable('group_id', 'text', 'plain', 'Identifier of the group; null where it came without one.')),
    nullableText('processing_status', '`Open` or `Closed`.'),
    nullableText('fund_transfer_status', 'What became of the transfer.'),
    nullable('original_total', 'decimal', 'plain', 'Total in the currency of the marketplace.'),
    nullableText('original_currency', 'Currency of `original_total`.'),
    nullable('converted_total', 'decimal', 'plain', 'Total in the currency of the bank account.'),
    nullableText('converted_currency', 'Currency of `converted_total`.'),
    nullable('beginning_balance', 'decimal', 'plain', 'Balance that the group began with.'),
    nullableText('beginning_currency', 'Currency of `beginning_balance`.'),
    nullable('fund_transfer_at', 'instant', 'plain', 'When the money was sent.'),
    filtered(nullable('started_at', 'instant', 'plain', 'When the group opened.')),
    nullable('ended_at', 'instant', 'plain', 'When it closed; null while it is open.'),
    nullableText('trace_id', 'Number by which the bank traces the transfer.'),
    nullableText('account_tail', 'Last digits of the bank account.'),
    column('window_start', 'instant', 'dictionary', 'Start of the slice.'),
    column('window_end', 'instant', 'dictionary', 'End of the slice, exclusive.'),
    column(
      'raw',
      'text',
      'plain',
      "The group's JSON exactly as received, byte for byte; only texts that are no JSON are repaired.",
    ),
  ],
  row: 'group',
  agedBy: 'ended_at',
};
