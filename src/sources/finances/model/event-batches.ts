import type { RecordBatch } from 'apache-arrow';
import { Int64Values } from '../../../core/columns/arrays.js';
import { groupBy } from '../../../core/group-by.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { Int32List, type ColumnMemory } from '../../../core/columns/memory.js';
import { recordBatch, type Table } from '../../../core/columns/table.js';
import type { Batch } from '../../../engine/run/pipeline.js';
import { EntryArrays, EventArrays, type Finished } from './row-arrays.js';
import { marketplaceNamed, marketplaceOfCountry } from './marketplaces.js';
import { none, type AttributeColumn, type EntryRows, type RowSource, type SliceRows } from './slice-rows.js';
import { decimalScale, decimalText } from '../../../core/numeric/decimal.js';

export type FinishedEvents = Finished<SliceRows>;

/** The tables of events or transactions, and of their amounts. */
export interface EventTables {
  readonly events: Table;
  readonly entries: Table;
}

/** The rows of a slice that is complete, as batches of chosen ones in an order. */
export interface FinishedSlice {
  readonly rows: SliceRows;
  readonly effective: FinishedEvents['effective'];
  readonly eventBatch: (table: Table, order: readonly number[]) => RecordBatch;
  readonly entryBatch: (table: Table, order: readonly number[]) => RecordBatch;
}

/** The events as batches. `memory`: of their columns; left out: each has its own. */
export function finishedSlice(finished: FinishedEvents, memory?: ColumnMemory): FinishedSlice {
  return {
    ...finished,
    eventBatch: (table, order) => eventBatch(table, finished, order, memory),
    entryBatch: (table, order) => entryBatch(table, finished, order, memory),
  };
}

/** The chosen events of one month as batches: entries first, as events reference them. Each is built on demand. */
export function* monthBatches(
  { events, entries }: EventTables,
  { rows, effective, eventBatch: eventsOf, entryBatch: entriesOf }: FinishedSlice,
  month: string,
  chosen: readonly number[],
): Generator<Batch> {
  const order = sortedEvents(effective, chosen);
  const tags = { net: JSON.stringify(netSumTexts(rows, chosen)) };
  // Events without amounts have no entries: no empty file is written.
  const amounts = entriesOf(entries, order);
  if (amounts.numRows > 0) yield { table: entries, month, rows: amounts, tags };
  yield { table: events, month, rows: eventsOf(events, order), tags };
}

/** Numbers of events in the tables' sort order: by `effective_at`, then by receipt; events without an instant last. */
function sortedEvents(effective: readonly (bigint | undefined)[], chosen: readonly number[]): number[] {
  return chosen.toSorted((a, b) => {
    const x = effective[a];
    const y = effective[b];
    if (x === y) return a - b;
    if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
    return x < y ? -1 : 1;
  });
}

/** Numbers of the events, in order of receipt, by the month of their partition. */
export function eventsByMonth(
  rows: SliceRows,
  monthOfSource: (source: RowSource, dates: readonly bigint[]) => string,
): Map<string, number[]> {
  const bySource = groupBy(rows.events.source.values.keys(), (event) => rows.events.source.get(event));
  const byMonth = new Map<string, number[]>();
  for (const [number, events] of bySource) {
    const source = rows.sources[number];
    if (source === undefined) continue;
    const dates = events.flatMap((event) => rows.events.postedAt[event] ?? []);
    const month = monthOfSource(source, dates);
    byMonth.set(month, [...(byMonth.get(month) ?? []), ...events]);
  }
  return byMonth;
}

/** The events with the given numbers, in that order, as a batch of an events table. */
export function eventBatch(
  table: Table,
  finished: FinishedEvents,
  order: readonly number[],
  memory?: ColumnMemory,
): RecordBatch {
  const { rows } = finished;
  const { events } = rows;
  const chosen = new EventArrays(rows, order, memory);
  const marketplaces = marketplaceIds(rows);
  return recordBatch(table, order.length, {
    ...chosen.shared(finished),
    ...attributeColumns(table, rows, ({ values, numbers }) => chosen.texts(values, numbers)),
    marketplace_id: chosen.texts(marketplaces.values, marketplaces.numbers),
    event_list: chosen.texts(rows.lists, events.list),
    group_id: chosen.sourceTexts(({ groupId }) => groupId),
  });
}

/** The amounts of the events with the given numbers, event by event in that order, as a batch of an entries table. */
export function entryBatch(
  table: Table,
  finished: FinishedEvents,
  order: readonly number[],
  memory?: ColumnMemory,
): RecordBatch {
  const { rows } = finished;
  const { events, entries, items, amountPaths } = rows;
  const chosen = new EntryArrays(rows, order, memory);
  const { arrays } = chosen;
  const marketplaces = marketplaceIds(rows);
  return recordBatch(table, chosen.length, {
    ...chosen.shared(finished),
    ...attributeColumns(table, rows, ({ values, numbers, items: ofItems }) =>
      ofItems === undefined ? chosen.eventTexts(values, numbers) : chosen.itemTexts(values, ofItems, numbers),
    ),
    marketplace_id: chosen.eventTexts(marketplaces.values, marketplaces.numbers),
    event_list: chosen.eventTexts(rows.lists, events.list),
    group_id: chosen.sourceTexts(({ groupId }) => groupId),
    path: chosen.pathTexts(amountPaths, ({ path }) => path),
    item: chosen.perItem(arrays.integers(arrays.lookUp(items.index.values, chosen.items))),
    quantity: chosen.perItem(arrays.bigints(new Int64Values(items.quantity), chosen.items)),
    kind: chosen.pathTexts(amountPaths, ({ kind }) => kind),
    name: arrays.dictionaryTexts(rows.names, chosen.gathered(entries.name)),
    role: chosen.pathTexts(amountPaths, ({ role }) => role),
  });
}

/** The columns of a table that are attributes. */
function attributeColumns<Of>({ columns }: Table, rows: SliceRows, columnOf: (attribute: AttributeColumn) => Of) {
  const given = rows.attributes.filter(({ column }) => columns.some(({ name }) => name === column));
  return Object.fromEntries(given.map((attribute) => [attribute.column, columnOf(attribute)]));
}

/** How the id of an event's marketplace follows from the text of an attribute: by the first one that gives it. */
const marketplaceSources: Readonly<Record<string, (text: string) => string | undefined>> = {
  marketplace_code: (text) => (text.length <= 2 ? marketplaceOfCountry(text) : text),
  marketplace: marketplaceNamed,
  store: marketplaceNamed,
};

/** The ids of the events' marketplaces: the distinct ones, and the number of each event's. */
function marketplaceIds({ attributes, events }: SliceRows): {
  readonly values: Dictionary;
  readonly numbers: Int32List;
} {
  const values = new Dictionary();
  const sources = Object.entries(marketplaceSources).flatMap(([name, idOf]) =>
    attributes
      .filter(({ column }) => column === name)
      .map((attribute) => {
        const ids = Int32Array.from({ length: attribute.values.length }, (_, number) => {
          const id = idOf(attribute.values.value(number));
          return id === undefined ? none : values.addString(id);
        });
        return { ids, numbers: attribute.numbers.values };
      }),
  );
  const numbers = new Int32List();
  for (let event = 0; event < events.length; event++) {
    let number: number = none;
    for (const { ids, numbers: texts } of sources) {
      const text = texts[event] ?? none;
      if (text !== none) number = ids[text] ?? none;
      if (number !== none) break;
    }
    numbers.push(number);
  }
  return { values, numbers };
}

const noCurrency = '';

const two32 = 0x1_0000_0000;

/**
 * The sums of the low and of the high halves, indexed by currency number plus one, with no currency at 0. They are integers below
 * 2^53: adding is exact and allocates nothing.
 */
interface HalfSums {
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** 1 for each currency with an amount. */
  readonly isPresent: Uint8Array;
}

/**
 * Adds the net amounts from `first` to `end` (exclusive). A high half of a DECIMAL(18,6) is below 2^28: 2^25 amounts, more than a
 * slice has in memory, stay below 2^53.
 */
function addNet(sums: HalfSums, entries: EntryRows, isNet: Uint8Array, first: number, end: number): void {
  const { path, currency, exact, low, high } = entries;
  for (let row = first; row < end; row++) {
    if (exact[row] !== 1 || isNet[path[row] ?? none] !== 1) continue;
    const at = (currency[row] ?? none) + 1;
    const sum = (sums.low[at] ?? 0) + ((low[row] ?? 0) >>> 0);
    const carry = sum < two32 ? 0 : 1;
    sums.isPresent[at] = 1;
    sums.low[at] = sum - carry * two32;
    sums.high[at] = (sums.high[at] ?? 0) + (high[row] ?? 0) + carry;
  }
}

/** A separate function: V8 optimizes the loop while it runs, and would compile code after it in vain. */
function halfSums(rows: SliceRows, chosen: readonly number[]): HalfSums {
  const { entries, events, currencies } = rows;
  const isNet = Uint8Array.from(rows.amountPaths, ({ role }) => (role === 'net' ? 1 : 0));
  const length = currencies.length + 1;
  const sums = { low: new Float64Array(length), high: new Float64Array(length), isPresent: new Uint8Array(length) };
  for (const event of chosen) addNet(sums, entries, isNet, events.firstEntry.get(event), rows.entriesEnd(event));
  return sums;
}

/** Net sum per currency of the given events, exact, as decimal text: `{"USD":"1234.560000"}`. */
export function netSumTexts(rows: SliceRows, chosen: readonly number[]): Record<string, string> {
  const { currencies } = rows;
  const sums = halfSums(rows, chosen);
  // An empty code counts as no currency.
  const named = new Map<string, bigint>();
  for (let at = 0; at <= currencies.length; at++) {
    if (sums.isPresent[at] !== 1) continue;
    const name = at === 0 ? noCurrency : currencies.value(at - 1);
    const sum = (BigInt(sums.high[at] ?? 0) << 32n) + BigInt(sums.low[at] ?? 0);
    named.set(name, (named.get(name) ?? 0n) + sum);
  }
  const texts = [...named].map(([name, sum]) => [name, decimalText(sum, decimalScale)] as const);
  return Object.fromEntries(texts.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
