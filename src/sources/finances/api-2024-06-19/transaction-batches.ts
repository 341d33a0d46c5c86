import type { RecordBatch } from 'apache-arrow';
import { Int64Values } from '../../../core/columns/arrays.js';
import type { ColumnMemory } from '../../../core/columns/memory.js';
import { recordBatch, type Table } from '../../../core/columns/table.js';
import { eventIds, micros } from '../model/event-ids.js';
import { EntryArrays, EventArrays, type Finished } from '../model/row-arrays.js';
import { none } from '../model/slice-rows.js';
import { type TextName, textColumns, type TransactionRows } from './transaction-rows.js';

type FinishedTransactions = Finished<TransactionRows>;

/**
 * The ids and instants of a slice's transactions. One without a readable date gets the start of its window: answers have no
 * order, so its neighbours don't indicate its date. `repeated`: the rows that are left out as duplicates.
 */
export function finishedTransactions(
  rows: TransactionRows,
): FinishedTransactions & { readonly repeated: ReadonlySet<number> } {
  const { events, subjects } = rows.slice;
  const fallbacks = subjects.map(({ windowStart }) => micros(windowStart));
  const effective = events.postedAt.map((posted, row) => posted ?? fallbacks[events.subject.get(row)]);
  const repeated = rows.repeated();
  return { rows, ids: eventIds(rows.slice, repeated), effective, repeated };
}

/** The transactions with the given numbers, in that order, as a batch of a table of transactions. */
export function transactionBatch(table: Table, finished: FinishedTransactions, order: readonly number[]): RecordBatch {
  const { slice, texts, total, maturityAt } = finished.rows;
  const { entries } = slice;
  const chosen = new EventArrays(slice, order);
  const { arrays } = chosen;
  const totals = chosen.numbers(total);
  return recordBatch(table, order.length, {
    ...textsOf(textColumns, (name) => chosen.texts(texts[name].values, texts[name].numbers)),
    ...chosen.shared(finished),
    total_amount: arrays.decimals(entries, totals),
    total_text: arrays.dictionaryTexts(slice.amountTexts, arrays.lookUp(entries.text, totals)),
    currency: arrays.dictionaryTexts(slice.currencies, arrays.lookUp(entries.currency, totals)),
    maturity_at: chosen.instants(maturityAt),
  });
}

/** The columns that entries copy from their transaction. */
export const sharedColumns = [
  'transaction_id',
  'transaction_type',
  'status',
  'deferred_transaction_id',
  'amazon_order_id',
  'marketplace_id',
  'marketplace',
  'group_id',
] as const satisfies readonly TextName[];

/** The amounts of the transactions with the given numbers, one transaction after the other, as a batch of an entries table. */
export function transactionEntryBatch(
  table: Table,
  finished: FinishedTransactions,
  order: readonly number[],
  memory?: ColumnMemory,
): RecordBatch {
  const { rows } = finished;
  const { slice, texts, items, products, paths } = rows;
  const chosen = new EntryArrays(slice, order, memory);
  const { arrays } = chosen;
  const quantities = [...items.quantity, ...products.quantity];
  const known = Int32Array.from(quantities, (quantity, at) => (quantity === undefined ? none : at));
  const quantity = chosen.itemNumbers(known.subarray(0, items.length), known.subarray(items.length));
  return recordBatch(table, chosen.length, {
    ...textsOf(sharedColumns, (name) => chosen.texts(texts[name].values, texts[name].numbers)),
    ...chosen.shared(finished),
    path: chosen.pathTexts(paths, ({ path }) => path),
    breakdown: chosen.pathTexts(paths, ({ breakdown }) => breakdown),
    item: arrays.integers(chosen.gathered(rows.indexes.values)),
    sku: chosen.itemTexts(rows.skus, items.sku, products.sku),
    asin: chosen.itemTexts(rows.asins, items.asin, products.asin),
    quantity: chosen.perItem(arrays.bigints(new Int64Values(quantities), quantity)),
    fulfillment_network: chosen.itemTexts(rows.networks, items.network, products.network),
    kind: chosen.pathTexts(paths, ({ kind }) => kind),
    name: chosen.pathTexts(paths, ({ name }) => name),
    role: chosen.pathTexts(paths, ({ role }) => role),
  });
}

function textsOf<T>(names: readonly TextName[], columnOf: (name: TextName) => T): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, columnOf(name)]));
}
