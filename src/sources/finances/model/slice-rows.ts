import { millisecondsOf } from '../../../core/numeric/instant.js';
import { monthOf, type Window } from '../../../core/windows.js';
import { compare } from '../../../core/compare.js';
import { count } from '../../../core/count.js';
import { ByteRanges, type RangesWithin } from '../../../core/columns/byte-ranges.js';
import { Int32List, int64sOf, type SharedArrays } from '../../../core/columns/memory.js';
import { Dictionary, type DictionaryTexts } from '../../../core/columns/dictionary.js';
import { numberRange } from '../../../core/json/node-values.js';
import type { Tape } from '../../../core/json/tape.js';
import { readDecimal, type Int64Halves } from '../../../core/numeric/decimal.js';

/** Null in columns of dictionary numbers, and no row, slot or level. */
export const none = -1;

/** Initial capacity, in rows. */
const firstRoom = 1024;

/** An attribute's texts: the distinct ones, and the number of each event's and, where items have it, of each item's. */
export class AttributeColumn {
  readonly column: string;
  readonly values = new Dictionary();
  readonly numbers = new Int32List();
  readonly items: Int32List | undefined;

  constructor(column: string, ofItems: boolean) {
    this.column = column;
    this.items = ofItems ? new Int32List() : undefined;
  }
}

/** One row per element of the outermost array on an amount's path. */
class ItemRows {
  readonly index = new Int32List();
  readonly quantity: (bigint | undefined)[] = [];
  /** All columns of numbers. */
  readonly numbers: readonly Int32List[];

  constructor(attributes: readonly Int32List[]) {
    this.numbers = [this.index, ...attributes];
  }

  get length(): number {
    return this.index.length;
  }

  truncate(length: number): void {
    for (const column of this.numbers) column.truncate(length);
    this.quantity.length = length;
  }
}

/** One row per amount, in document order. The columns have spare capacity; `length` rows are in use. */
export class EntryRows {
  length = 0;
  /** Number in `SliceRows.amountPaths`. */
  path: Int32Array = new Int32Array(firstRoom);
  item: Int32Array = new Int32Array(firstRoom);
  name: Int32Array = new Int32Array(firstRoom);
  currency: Int32Array = new Int32Array(firstRoom);
  /** Millionths, low and high half, where `exact` is 1. */
  low: Int32Array = new Int32Array(firstRoom);
  high: Int32Array = new Int32Array(firstRoom);
  exact: Int32Array = new Int32Array(firstRoom);
  text: Int32Array = new Int32Array(firstRoom);
  /** The object that contains the amount, while its event is read. */
  holder: Int32Array = new Int32Array(firstRoom);
  readonly #amount: Int64Halves = { low: 0, high: 0 };

  /** Inserts an empty row at `index`. */
  insert(index: number): void {
    if (this.length === this.path.length) this.#grow();
    if (index < this.length) this.#shift(index);
    this.path[index] = none;
    this.item[index] = none;
    this.name[index] = none;
    this.currency[index] = none;
    this.exact[index] = 0;
    this.text[index] = none;
    this.holder[index] = none;
    this.length++;
  }

  /** Adds an amount without a type. */
  add(path: number, item: number, holder: number, currency: number, { low, high }: Int64Halves): void {
    if (this.length === this.path.length) this.#grow();
    const row = this.length++;
    this.path[row] = path;
    this.item[row] = item;
    this.name[row] = none;
    this.currency[row] = currency;
    this.low[row] = low;
    this.high[row] = high;
    this.exact[row] = 1;
    this.text[row] = none;
    this.holder[row] = holder;
  }

  /**
   * Sets the amount of an inserted row from a number, or a string that is one; as text where it isn't exact. Returns whether the
   * node is either.
   */
  setAmount(row: number, tape: Tape, node: number, texts: Dictionary): boolean {
    const number = numberRange(tape, node);
    if (number === undefined) return false;
    const { page, start, end } = number;
    if (readDecimal(page, start, end, this.#amount)) {
      this.exact[row] = 1;
      this.low[row] = this.#amount.low;
      this.high[row] = this.#amount.high;
    } else this.text[row] = texts.add(page, start, end);
    return true;
  }

  /** Removes the rows after the first `length`. */
  truncate(length: number): void {
    this.length = length;
  }

  #shift(index: number): void {
    for (const name of entryColumns) this[name].copyWithin(index + 1, index, this.length);
  }

  #grow(): void {
    for (const name of entryColumns) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}

/** The columns that are needed after an event is read. */
const copiedColumns = ['path', 'item', 'name', 'currency', 'low', 'high', 'exact', 'text'] as const;

const entryColumns = [...copiedColumns, 'holder'] as const;

/** One row per event, in order of receipt. */
class EventRows {
  readonly list = new Int32List();
  /** Number in `SliceRows.subjects`. */
  readonly subject = new Int32List();
  /** Order of receipt within the subject. */
  readonly position = new Int32List();
  /** Number of the page in the slice. */
  readonly page = new Int32List();
  readonly raw = new ByteRanges();
  /** Microseconds since 1970, undefined for an event without a date. */
  readonly postedAt: (bigint | undefined)[] = [];
  /** Number of the event's first row in `EntryRows`. */
  readonly firstEntry = new Int32List();
  /** All columns of numbers. */
  readonly numbers: readonly Int32List[];

  constructor(attributes: readonly Int32List[]) {
    this.numbers = [this.list, this.subject, this.position, this.page, this.firstEntry, ...attributes];
  }

  get length(): number {
    return this.firstEntry.length;
  }

  truncate(length: number): void {
    for (const column of this.numbers) column.truncate(length);
    this.raw.truncate(length);
    this.postedAt.length = length;
  }
}

/** An amount's path in its list, with the role and kind of its record. */
export interface AmountPath {
  readonly path: string;
  /** The stem of its key: `fee` for `FeeAmount`. */
  readonly stem: string;
  readonly kind: string;
  readonly role: string;
}

/** What one chain of pages was requested for: a window, a group or an order; for imported rows a span. Its rows share these values. */
export interface Subject {
  /** Milliseconds since 1970; undefined for an order, and for a group without a start. */
  readonly windowStart: number | undefined;
  /** Milliseconds since 1970, exclusive; undefined for an order and while a group is open. */
  readonly windowEnd: number | undefined;
  /** The instant of events without a date where no page has a date; undefined for an order. */
  readonly fallback: number | undefined;
  /** Whether the instant of an event without a date is limited to the window. */
  readonly clamp: boolean;
  /** Whether its window is the span of imported events. */
  readonly isSpan?: true;
  readonly groupId: string | undefined;
  readonly requestedOrderId: string | undefined;
}

/** A subject without a window, group and order. */
export const emptySubject: Subject = {
  windowStart: undefined,
  windowEnd: undefined,
  fallback: undefined,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
};

/** Rows of an order, which has no window. */
export function orderSubject(order: string): Subject {
  return { ...emptySubject, requestedOrderId: order };
}

/** Rows of a window of dates. */
export function windowSubject({ start, end }: Window): Subject {
  return { ...emptySubject, windowStart: start, windowEnd: end, fallback: start, clamp: true };
}

/** Imported rows in a span of days. */
export function spanSubject(span: Window): Subject {
  return { ...windowSubject(span), isSpan: true };
}

/** The month of the earliest date; `unknown` without a date. `dates`: microseconds since 1970. */
export function firstMonth(dates: readonly bigint[]): string {
  const [first] = dates.toSorted(compare);
  return first === undefined ? 'unknown' : monthOf(millisecondsOf(first));
}

/** Rows as plain arrays, which can be passed between threads. */
export interface RowsMemory {
  readonly numbers: readonly Int32Array[];
  readonly entries: readonly Int32Array[];
  readonly raw: RangesWithin;
  readonly dictionaries: readonly DictionaryTexts[];
  readonly quantity: BigInt64Array;
  readonly postedAt: BigInt64Array;
  readonly amountPaths: readonly AmountPath[];
  readonly subjects: readonly Subject[];
}

/** Row counts at one time, to truncate to. */
interface RowsMark {
  readonly events: number;
  readonly entries: number;
  readonly items: number;
}

/** The rows of one slice so far, in order of receipt, with strings as numbers in dictionaries. */
export class SliceRows {
  readonly attributes: readonly AttributeColumn[];
  readonly events: EventRows;
  readonly items: ItemRows;
  readonly entries = new EntryRows();
  readonly lists = new Dictionary();
  readonly names = new Dictionary();
  readonly currencies = new Dictionary();
  readonly amountTexts = new Dictionary();
  readonly amountPaths: AmountPath[] = [];
  readonly subjects: Subject[] = [];
  /** Number of pages so far. */
  pages = 0;
  /** How often the rows were cleared: numbers of lists and paths are valid in one generation only. */
  generation = 0;
  readonly #dictionaries: readonly Dictionary[];
  readonly #keepsRaw: boolean;
  #firstEvent = 0;

  /**
   * @param attributes the columns of texts that events, and items of them, have beside their amounts
   * @param keepsRaw whether the events' pages stay in memory
   */
  constructor(attributes: readonly { readonly column: string; readonly ofItems: boolean }[], keepsRaw = true) {
    this.attributes = attributes.map(({ column, ofItems }) => new AttributeColumn(column, ofItems));
    this.events = new EventRows(this.attributes.map(({ numbers }) => numbers));
    this.items = new ItemRows(this.attributes.flatMap(({ items }) => items ?? []));
    this.#dictionaries = [
      ...this.attributes.map(({ values }) => values),
      ...[this.lists, this.names, this.currencies, this.amountTexts],
    ];
    this.#keepsRaw = keepsRaw;
  }

  /** Sets the subject of the next rows. */
  begin(subject: Subject): void {
    this.subjects.push(subject);
    this.#firstEvent = this.events.length;
  }

  /**
   * Begins the row of an event, after its entries were added.
   *
   * @param list its number in `lists`
   * @param page contains its bytes, from `start` to `end` (exclusive)
   */
  addEvent(list: number, firstEntry: number, page: Buffer, start: number, end: number): void {
    const { events } = this;
    events.list.push(list);
    events.subject.push(this.subjects.length - 1);
    events.position.push(this.position);
    events.page.push(this.pages);
    events.firstEntry.push(firstEntry);
    if (this.#keepsRaw) events.raw.push(page, start, end);
  }

  /** The present row counts. */
  get mark(): RowsMark {
    return { events: this.events.length, entries: this.entries.length, items: this.items.length };
  }

  /**
   * Copies the rows for another thread.
   *
   * @param bytes the buffer with the events' bytes, which isn't copied
   * @param memory the target of the copies
   */
  copy(bytes: Uint8Array, memory: SharedArrays): RowsMemory {
    const { entries, items, events, amountPaths, subjects } = this;
    return {
      numbers: this.#numbers.map((column) => memory.int32s(column.values)),
      entries: copiedColumns.map((name) => memory.int32s(entries[name].subarray(0, entries.length))),
      raw: events.raw.within(bytes),
      dictionaries: this.#dictionaries.map((dictionary) => dictionary.textsIn(memory)),
      quantity: memory.int64s(items.quantity),
      postedAt: memory.int64s(events.postedAt),
      amountPaths: amountPaths.map(({ path, stem, kind, role }) => ({ path, stem, kind, role })),
      subjects,
    };
  }

  /** Replaces the rows by copied ones, with the events' bytes in `bytes`. No rows can be added afterwards. */
  take(memory: RowsMemory, bytes: Uint8Array): void {
    this.clear();
    const { entries, items, events } = this;
    for (const [at, column] of this.#numbers.entries()) column.replaceAll(memory.numbers[at] ?? new Int32Array());
    for (const [at, name] of copiedColumns.entries()) entries[name] = memory.entries[at] ?? new Int32Array();
    entries.length = entries.path.length;
    for (const [at, dictionary] of this.#dictionaries.entries()) {
      const texts = memory.dictionaries[at];
      if (texts !== undefined) dictionary.replaceAll(texts);
    }
    // One by one: there may be more values than a call accepts arguments.
    for (const quantity of int64sOf(memory.quantity)) items.quantity.push(quantity);
    for (const posted of int64sOf(memory.postedAt)) events.postedAt.push(posted);
    for (const path of memory.amountPaths) this.amountPaths.push(path);
    for (const subject of memory.subjects) this.subjects.push(subject);
    events.raw.replaceAll(memory.raw, bytes);
  }

  get #numbers(): readonly Int32List[] {
    return [...this.events.numbers, ...this.items.numbers];
  }

  /** Removes the rows after a mark. */
  truncate({ events, entries, items }: RowsMark): void {
    this.events.truncate(events);
    this.entries.truncate(entries);
    this.items.truncate(items);
  }

  /** Removes all rows, without freeing memory. */
  clear(): void {
    this.truncate({ events: 0, entries: 0, items: 0 });
    for (const texts of this.#dictionaries) texts.clear();
    this.amountPaths.length = 0;
    this.subjects.length = 0;
    this.pages = 0;
    this.generation++;
  }

  /** The currency of an amount; empty without one. */
  currencyOf(row: number): string {
    const number = this.entries.currency[row] ?? none;
    return number === none ? '' : this.currencies.value(number);
  }

  /** The exclusive end of an event's rows in `entries`. */
  entriesEnd(event: number): number {
    return event + 1 < this.events.length ? this.events.firstEntry.get(event + 1) : this.entries.length;
  }

  /** Position of the next event in its subject. */
  get position(): number {
    return this.events.length - this.#firstEvent;
  }
}

/** Counts of unexpected data from the upstream. None of it stops a slice. */
export function newWarnings() {
  const counts = () => new Map<string, number>();
  return {
    /** Events in lists that the model doesn't know, by list. */
    unknownLists: counts(),
    /** Amounts at paths that the model doesn't know, by `list: path`. */
    unknownPaths: counts(),
    /** Values of an unexpected type, by `list: path`. */
    oddFields: counts(),
    /** Amounts that came as strings and are numbers, by `list: path`. */
    textAmounts: counts(),
    /** Amounts that DECIMAL(18,6) can't hold exactly, which no sum has, by currency. */
    inexactAmounts: counts(),
    /** Events with a text that is no JSON, by list. */
    repaired: counts(),
    /** Events that can't be cut out of their page, by their place. */
    holes: counts(),
    /** Orders that the service doesn't know, by id. */
    unknownOrders: counts(),
    /** Transactions whose breakdowns don't add up to their total, by type. */
    unreconciled: counts(),
    /** Transactions that appear twice in the same answer and count once, by type. */
    repeated: counts(),
  };
}

export type EventWarnings = Readonly<ReturnType<typeof newWarnings>>;

/** Maximum of separately counted subjects of one kind of warning: a page can contain as many as it has bytes. */
const mostSubjects = 1000;

/** Counts a warning by its subject; subjects after the first thousand are counted together. */
export function countWarning(counts: Map<string, number>, subject: string, by = 1): void {
  count(counts, counts.size < mostSubjects || counts.has(subject) ? subject : 'others', by);
}

/** Moves counts from one set of warnings to another. */
export function moveWarnings(from: EventWarnings, to: EventWarnings): void {
  for (const kind of Object.keys(from) as (keyof EventWarnings)[]) {
    for (const [subject, times] of from[kind]) countWarning(to[kind], subject, times);
    from[kind].clear();
  }
}
