import { GatheredArrays, Int64Values, type Runs } from '../../../core/columns/arrays.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import type { Int32List } from '../../../core/columns/memory.js';
import { separateMemory, type ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import { TableRows } from '../../../core/columns/table-rows.js';
import { type EventIds, micros } from './event-ids.js';
import { none, type AmountPath, type EntryRows, type RowSource, type SliceRows } from './slice-rows.js';
import { decimalScale, decimalText } from '../../../core/numeric/decimal.js';

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

/** Numbers of the events, in order of receipt, by the month of their partition. */
export function eventsByMonth(
  rows: SliceRows,
  monthOfSource: (source: RowSource, dates: readonly bigint[]) => string,
): Map<string, number[]> {
  const bySource = new Map<number, number[]>();
  for (let event = 0; event < rows.events.length; event++) {
    const source = rows.events.source.get(event);
    const events = bySource.get(source) ?? [];
    events.push(event);
    bySource.set(source, events);
  }
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
  { rows, ids, effective }: FinishedEvents,
  order: readonly number[],
  memory: ColumnMemory = separateMemory,
): TableRows {
  const arrays = new GatheredArrays(memory);
  const { events, sources } = rows;
  const chosen = Int32Array.from(order);
  const { length } = chosen;
  const source = arrays.gathered(events.source.values, chosen);
  const owners = new Dictionary();
  const text = (values: Dictionary, column: Int32List) =>
    arrays.numbered(values, arrays.gathered(column.values, chosen));
  const owner = (of: (source: RowSource) => string | undefined) =>
    Int32Array.from(sources, (each) => numberOf(owners, of(each)));
  const groupIds = owner((of) => of.groupId);
  const requestedOrderIds = owner((of) => of.requestedOrderId);
  return new TableRows(table, length, {
    event_id: ids.eventIds(chosen, memory),
    content_hash: ids.contentHashes(chosen, memory),
    event_list: text(rows.lists, events.list),
    posted_at: arrays.instants(new Int64Values(events.postedAt), chosen),
    effective_at: arrays.instants(new Int64Values(effective), chosen),
    amazon_order_id: text(rows.orders, events.amazonOrderId),
    seller_order_id: text(rows.orders, events.sellerOrderId),
    marketplace: text(rows.marketplaces, events.marketplace),
    store: text(rows.marketplaces, events.store),
    group_id: arrays.numbered(owners, arrays.gathered(groupIds, source)),
    window_start: arrays.instants(new Int64Values(sources.map((of) => micros(of.windowStart))), source),
    window_end: arrays.instants(new Int64Values(sources.map((of) => micros(of.windowEnd))), source),
    requested_order_id: arrays.numbered(owners, arrays.gathered(requestedOrderIds, source)),
    position: arrays.positions(arrays.gathered(events.position.values, chosen)),
    raw: events.raw.array(chosen, memory),
  });
}

/** The amounts of the events with the given numbers, event by event in that order, as a batch of an entries table. */
export function entryBatch(
  table: Table,
  { rows, ids, effective }: FinishedEvents,
  order: readonly number[],
  memory: ColumnMemory = separateMemory,
): TableRows {
  const arrays = new GatheredArrays(memory);
  const { events, entries, items } = rows;
  const { chosen, entry, ofEvents, ofItems } = entriesOf(rows, order, memory);
  const { length } = chosen;
  const { events: event, lengths } = ofEvents;
  const { items: item, lengths: itemLengths } = ofItems;
  const ofEvent = (values: Dictionary, column: Int32List): Runs => ({
    values: arrays.numbered(values, arrays.gathered(column.values, event)),
    lengths,
  });
  const ofItem = (values: Dictionary, itemColumn: Int32List, eventColumn: Int32List): Runs => ({
    values: arrays.numbered(
      values,
      firstOf(arrays.gathered(itemColumn.values, item), arrays.gathered(eventColumn.values, ofItems.events)),
    ),
    lengths: itemLengths,
  });
  const path = arrays.gathered(entries.path, chosen);
  const pathTexts = pathDictionaries(rows);
  const ofPath = ({ values, numbers }: PathTexts) => arrays.numbered(values, arrays.gathered(numbers, path));
  const groupIds = new Dictionary();
  const groupNumbers = Int32Array.from(rows.sources, (source) => numberOf(groupIds, source.groupId));
  const group = arrays.gathered(groupNumbers, arrays.gathered(events.source.values, event));
  return new TableRows(table, length, {
    event_id: { values: arrays.distinct(ids.eventIds(event, memory)), lengths },
    event_list: ofEvent(rows.lists, events.list),
    posted_at: { values: arrays.instants(new Int64Values(events.postedAt), event), lengths },
    effective_at: { values: arrays.instants(new Int64Values(effective), event), lengths },
    amazon_order_id: ofEvent(rows.orders, events.amazonOrderId),
    marketplace: ofEvent(rows.marketplaces, events.marketplace),
    group_id: { values: arrays.numbered(groupIds, group), lengths },
    entry: arrays.integers(entry),
    path: ofPath(pathTexts.paths),
    item: { values: arrays.integers(arrays.gathered(items.index.values, item)), lengths: itemLengths },
    sku: ofItem(rows.skus, items.sku, events.sku),
    fnsku: ofItem(rows.fnskus, items.fnsku, events.fnsku),
    asin: ofItem(rows.asins, items.asin, events.asin),
    order_item_id: ofItem(rows.orderItems, items.orderItemId, events.orderItemId),
    quantity: { values: arrays.bigints(new Int64Values(items.quantity), item), lengths: itemLengths },
    kind: ofPath(pathTexts.kinds),
    name: arrays.numbered(rows.names, arrays.gathered(entries.name, chosen)),
    role: ofPath(pathTexts.roles),
    amount: arrays.decimals(entries, chosen),
    amount_text: arrays.runs(rows.amountTexts, entries.text, chosen),
    currency: arrays.runs(rows.currencies, entries.currency, chosen),
  });
}

/** Amounts of some events, event by event. */
export interface ChosenEntries {
  /** Of each, its number in `rows.entries`. */
  readonly chosen: Int32Array;
  /** Of each, its position in its event. */
  readonly entry: Int32Array;
  /** The events that have amounts, and how many each has. */
  readonly ofEvents: { readonly events: Int32Array; readonly lengths: Int32Array };
  /** Neighbours of the same item and event: the item or `none`, the event, and how many they are. */
  readonly ofItems: { readonly items: Int32Array; readonly events: Int32Array; readonly lengths: Int32Array };
}

/** The amounts of the given events, event by event. */
export function entriesOf(rows: SliceRows, order: readonly number[], memory: ColumnMemory): ChosenEntries {
  const { firstEntry } = rows.events;
  let length = 0;
  for (const number of order) length += rows.entriesEnd(number) - firstEntry.get(number);
  const gathering = new EntryGathering(rows.entries.item, length, order.length, memory);
  for (const owner of order) gathering.add(owner, firstEntry.get(owner), rows.entriesEnd(owner));
  return gathering.chosen;
}

/** A method for each event: a loop over all of them would be compiled again each time that it ends. */
class EntryGathering {
  readonly #itemOf: Int32Array;
  readonly #chosen: Int32Array;
  readonly #entry: Int32Array;
  readonly #events: Int32Array;
  readonly #lengths: Int32Array;
  readonly #items: Int32Array;
  readonly #itemEvents: Int32Array;
  readonly #itemLengths: Int32Array;
  #rows = 0;
  #withAmounts = 0;
  #runs = 0;

  constructor(itemOf: Int32Array, length: number, events: number, memory: ColumnMemory) {
    this.#itemOf = itemOf;
    this.#chosen = memory.int32s(length);
    this.#entry = memory.int32s(length);
    this.#events = memory.int32s(events);
    this.#lengths = memory.int32s(events);
    this.#items = memory.int32s(length);
    this.#itemEvents = memory.int32s(length);
    this.#itemLengths = memory.int32s(length);
  }

  /** Adds an event's amounts, by their numbers from `first` to before `end`. */
  add(owner: number, first: number, end: number): void {
    if (first === end) return;
    this.#events[this.#withAmounts] = owner;
    this.#lengths[this.#withAmounts++] = end - first;
    let row = this.#rows;
    let run = this.#runs - 1;
    for (let number = first; number < end; number++, row++) {
      this.#chosen[row] = number;
      this.#entry[row] = number - first;
      const item = this.#itemOf[number] ?? none;
      if (number === first || item !== this.#items[run]) {
        this.#items[++run] = item;
        this.#itemEvents[run] = owner;
      }
      this.#itemLengths[run] = (this.#itemLengths[run] ?? 0) + 1;
    }
    this.#rows = row;
    this.#runs = run + 1;
  }

  get chosen(): ChosenEntries {
    return {
      ...{ chosen: this.#chosen, entry: this.#entry },
      ofEvents: {
        events: this.#events.subarray(0, this.#withAmounts),
        lengths: this.#lengths.subarray(0, this.#withAmounts),
      },
      ofItems: {
        items: this.#items.subarray(0, this.#runs),
        events: this.#itemEvents.subarray(0, this.#runs),
        lengths: this.#itemLengths.subarray(0, this.#runs),
      },
    };
  }
}

/** The first ones, and where there is none the others. */
export function firstOf(numbers: Int32Array, others: Int32Array): Int32Array {
  for (let row = 0; row < numbers.length; row++) if (numbers[row] === none) numbers[row] = others[row] ?? none;
  return numbers;
}

/** What each amount's path says, as numbers in a dictionary. */
interface PathTexts {
  readonly values: Dictionary;
  readonly numbers: Int32Array;
}

function pathDictionaries({ amountPaths }: SliceRows): Record<'paths' | 'kinds' | 'roles', PathTexts> {
  const texts = (of: (amountPath: AmountPath) => string): PathTexts => {
    const values = new Dictionary();
    return { values, numbers: Int32Array.from(amountPaths, (amountPath) => values.addString(of(amountPath))) };
  };
  return { paths: texts(({ path }) => path), kinds: texts(({ kind }) => kind), roles: texts(({ role }) => role) };
}

export function numberOf(dictionary: Dictionary, value: string | undefined): number {
  return value === undefined ? none : dictionary.addString(value);
}

const noCurrency = '';

const two32 = 0x1_0000_0000;

/**
 * The sums of the low and of the high halves, a currency's at its number plus one, and those without one at 0: whole numbers below
 * 2^53, so that adding makes no object and loses nothing.
 */
interface HalfSums {
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** A 1 for each currency that came. */
  readonly isPresent: Uint8Array;
}

/**
 * Adds the net ones of the amounts from `first` to before `end`. A high half is below 2^28, as DECIMAL(18,6) has it: 2^25 amounts,
 * more than memory holds of a slice, stay below 2^53.
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

/** A function of its own, as the loop is optimized while it runs: what stood behind it would be compiled for nothing. */
function halfSums(rows: SliceRows, chosen: readonly number[]): HalfSums {
  const { entries, events, currencies } = rows;
  const isNet = Uint8Array.from(rows.amountPaths, ({ role }) => (role === 'net' ? 1 : 0));
  const length = currencies.length + 1;
  const sums = { low: new Float64Array(length), high: new Float64Array(length), isPresent: new Uint8Array(length) };
  for (const event of chosen) addNet(sums, entries, isNet, events.firstEntry.get(event), rows.entriesEnd(event));
  return sums;
}

/** Net sum per currency of the given events, exact, as decimal text: `{"USD":"1234.560000"}`. */
export function netSums(rows: SliceRows, chosen: readonly number[]): Record<string, string> {
  const { currencies } = rows;
  const sums = halfSums(rows, chosen);
  // An empty code counts with those that have none.
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
