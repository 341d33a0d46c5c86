import { GatheredArrays, Int64Values, type Runs } from '../../../core/columns/arrays.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { type ColumnMemory, type Int32List, separateMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import { TableRows } from '../../../core/columns/table-rows.js';
import { entriesOf, firstOf, numberOf } from '../model/event-batches.js';
import { eventIds, micros, type EventIds } from '../model/event-ids.js';
import { none, type RowSource } from '../model/slice-rows.js';
import { type TextName, textColumns, type TransactionAmountPath, type TransactionRows } from './transaction-rows.js';

/** What is known of a slice's transactions once all of its pages are there, in order of receipt. */
export interface FinishedTransactions {
  readonly rows: TransactionRows;
  readonly ids: EventIds;
  /** Microseconds since 1970. */
  readonly effective: readonly (bigint | undefined)[];
}

/** The same, with the rows that become no transaction, as theirs came again. */
export interface ReceivedTransactions extends FinishedTransactions {
  readonly repeated: ReadonlySet<number>;
}

/**
 * The ids and instants of a slice's transactions. One without a readable date counts at the start of its window: the answer is
 * in no order, so that its neighbours say nothing.
 */
export function finishedTransactions(rows: TransactionRows): ReceivedTransactions {
  const { events, sources } = rows.slice;
  const fallbacks = sources.map(({ windowStart }) => micros(windowStart));
  const effective = events.postedAt.map((posted, row) => posted ?? fallbacks[events.source.get(row)]);
  const repeated = rows.repeated();
  return { rows, ids: eventIds(rows.slice, repeated), effective, repeated };
}

/** The transactions with the given numbers, in that order, as a batch of a table of transactions. */
export function transactionBatch(
  table: Table,
  { rows, ids, effective }: FinishedTransactions,
  order: readonly number[],
  memory: ColumnMemory = separateMemory,
): TableRows {
  const arrays = new GatheredArrays(memory);
  const { slice, texts, total } = rows;
  const { events, entries, sources } = slice;
  const chosen = Int32Array.from(order);
  const { length } = chosen;
  const source = arrays.gathered(events.source.values, chosen);
  const totals = arrays.gathered(total.values, chosen);
  const text = (values: Dictionary, numbers: Int32List) =>
    arrays.numbered(values, arrays.gathered(numbers.values, chosen));
  const columns = Object.fromEntries(
    textColumns.map((name: TextName) => [name, text(texts[name].values, texts[name].numbers)]),
  );
  const ofSource = (of: (source: RowSource) => number | undefined) =>
    arrays.instants(new Int64Values(sources.map((each) => micros(of(each)))), source);
  const orders = new Dictionary();
  const requested = Int32Array.from(sources, ({ requestedOrderId }) => numberOf(orders, requestedOrderId));
  return new TableRows(table, length, {
    ...columns,
    content_hash: ids.contentHashes(chosen, memory),
    event_id: ids.eventIds(chosen, memory),
    posted_at: arrays.instants(new Int64Values(events.postedAt), chosen),
    effective_at: arrays.instants(new Int64Values(effective), chosen),
    total_amount: arrays.decimals(entries, totals),
    total_text: arrays.numbered(slice.amountTexts, arrays.gathered(entries.text, totals)),
    currency: arrays.numbered(slice.currencies, arrays.gathered(entries.currency, totals)),
    maturity_at: arrays.instants(new Int64Values(rows.maturityAt), chosen),
    window_start: ofSource(({ windowStart }) => windowStart),
    window_end: ofSource(({ windowEnd }) => windowEnd),
    requested_order_id: arrays.numbered(orders, arrays.gathered(requested, source)),
    position: arrays.positions(arrays.gathered(events.position.values, chosen)),
    raw: events.raw.array(chosen, memory),
  });
}

/** The columns that amounts share with their transaction. */
export const sharedColumns = [
  'transaction_id',
  'transaction_type',
  'status',
  'deferred_transaction_id',
  'amazon_order_id',
  'marketplace',
  'group_id',
] as const satisfies readonly TextName[];

/** The amounts of the transactions with the given numbers, one transaction after the other, as a batch of an entries table. */
export function transactionEntryBatch(
  table: Table,
  { rows, ids, effective }: FinishedTransactions,
  order: readonly number[],
  memory: ColumnMemory = separateMemory,
): TableRows {
  const arrays = new GatheredArrays(memory);
  const { slice, texts, items, products, paths } = rows;
  const { entries, events } = slice;
  const { chosen, entry, ofEvents, ofItems } = entriesOf(slice, order, memory);
  const { length } = chosen;
  const { events: event, lengths } = ofEvents;
  const { items: item, lengths: itemLengths } = ofItems;
  const pathNumbers = arrays.gathered(entries.path, chosen);
  const ofPath = (of: (path: TransactionAmountPath) => string | undefined) => {
    const values = new Dictionary();
    const numbers = Int32Array.from(paths, (each) => numberOf(values, of(each)));
    return arrays.numbered(values, arrays.gathered(numbers, pathNumbers));
  };
  const product = (values: Dictionary, name: 'sku' | 'asin' | 'network'): Runs => ({
    values: arrays.numbered(
      values,
      firstOf(arrays.gathered(items[name].values, item), arrays.gathered(products[name].values, ofItems.events)),
    ),
    lengths: itemLengths,
  });
  const quantities = [...items.quantity, ...products.quantity];
  const known = Int32Array.from(quantities, (quantity, at) => (quantity === undefined ? none : at));
  const quantity = firstOf(
    arrays.gathered(known.subarray(0, items.length), item),
    arrays.gathered(known.subarray(items.length), ofItems.events),
  );
  const shared = Object.fromEntries(
    sharedColumns.map((name) => {
      const { values, numbers } = texts[name];
      return [name, { values: arrays.numbered(values, arrays.gathered(numbers.values, event)), lengths }];
    }),
  );
  return new TableRows(table, length, {
    ...shared,
    event_id: { values: arrays.distinct(ids.eventIds(event, memory)), lengths },
    posted_at: { values: arrays.instants(new Int64Values(events.postedAt), event), lengths },
    effective_at: { values: arrays.instants(new Int64Values(effective), event), lengths },
    entry: arrays.integers(entry),
    path: ofPath(({ path }) => path),
    breakdown: ofPath(({ breakdown }) => breakdown),
    item: arrays.integers(arrays.gathered(rows.indexes.values, chosen)),
    sku: product(rows.skus, 'sku'),
    asin: product(rows.asins, 'asin'),
    quantity: { values: arrays.bigints(new Int64Values(quantities), quantity), lengths: itemLengths },
    fulfillment_network: product(rows.networks, 'network'),
    kind: ofPath(({ kind }) => kind),
    name: ofPath(({ name }) => name),
    role: ofPath(({ role }) => role),
    amount: arrays.decimals(entries, chosen),
    amount_text: arrays.runs(slice.amountTexts, entries.text, chosen),
    currency: arrays.runs(slice.currencies, entries.currency, chosen),
  });
}
