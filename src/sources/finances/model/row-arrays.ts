import type { Data } from 'apache-arrow';
import { IndexedArrays, Int64Values } from '../../../core/columns/arrays.js';
import { Dictionary } from '../../../core/columns/dictionary.js';
import { separateMemory, type ColumnMemory, type Int32List } from '../../../core/columns/memory.js';
import { runEndEncoded } from '../../../core/columns/run-end-encoded.js';
import { type EventIds, micros } from './event-ids.js';
import { none, type Subject, type SliceRows } from './slice-rows.js';

/** A slice's events or transactions after its last page, in order of receipt. */
export interface Finished<Rows> {
  readonly rows: Rows;
  readonly ids: EventIds;
  /** Microseconds since 1970. */
  readonly effective: readonly (bigint | undefined)[];
}

/** Columns of the rows that are known once the slice is complete. */
export type FinishedColumns = Omit<Finished<unknown>, 'rows'>;

/** The columns of chosen events, or transactions, of a slice. */
export class EventArrays {
  readonly arrays: IndexedArrays;
  readonly #rows: SliceRows;
  readonly #memory: ColumnMemory;
  /** The numbers of the events, and of their subjects. */
  readonly #chosen: Int32Array;
  readonly #subjects: Int32Array;

  constructor(rows: SliceRows, order: readonly number[], memory: ColumnMemory = separateMemory) {
    this.arrays = new IndexedArrays(memory);
    this.#rows = rows;
    this.#memory = memory;
    this.#chosen = Int32Array.from(order);
    this.#subjects = this.numbers(rows.events.subject);
  }

  /** The columns that every table of events and of transactions has. */
  shared({ ids, effective }: FinishedColumns) {
    const { events } = this.#rows;
    return {
      event_id: ids.eventIds(this.#chosen, this.#memory),
      content_hash: ids.contentHashes(this.#chosen, this.#memory),
      posted_at: this.instants(events.postedAt),
      effective_at: this.instants(effective),
      window_start: this.#subjectInstants(({ windowStart }) => windowStart),
      window_end: this.#subjectInstants(({ windowEnd }) => windowEnd),
      requested_order_id: this.subjectTexts(({ requestedOrderId }) => requestedOrderId),
      position: this.arrays.positions(this.numbers(events.position)),
      raw: events.raw.array(this.#chosen, this.#memory),
    };
  }

  numbers({ values }: Int32List): Int32Array {
    return this.arrays.lookUp(values, this.#chosen);
  }

  texts(values: Dictionary, numbers: Int32List): Data {
    return this.arrays.dictionaryTexts(values, this.numbers(numbers));
  }

  /** Microseconds since 1970. */
  instants(values: readonly (bigint | undefined)[]): Data {
    return this.arrays.instants(new Int64Values(values), this.#chosen);
  }

  subjectTexts(textOf: (subject: Subject) => string | undefined): Data {
    const { values, numbers } = numberedTexts(this.#rows.subjects, textOf);
    return this.arrays.dictionaryTexts(values, this.arrays.lookUp(numbers, this.#subjects));
  }

  #subjectInstants(instantOf: (subject: Subject) => number | undefined): Data {
    const values = this.#rows.subjects.map((subject) => micros(instantOf(subject)));
    return this.arrays.instants(new Int64Values(values), this.#subjects);
  }
}

/** The columns of the amounts of chosen events, or transactions, event by event. */
export class EntryArrays {
  readonly arrays: IndexedArrays;
  readonly length: number;
  /** The items of neighbouring amounts, and their events. */
  readonly items: Int32Array;
  readonly itemEvents: Int32Array;
  readonly #rows: SliceRows;
  readonly #memory: ColumnMemory;
  readonly #chosen: ChosenEntries;
  readonly #paths: Int32Array;

  constructor(rows: SliceRows, order: readonly number[], memory: ColumnMemory = separateMemory) {
    this.arrays = new IndexedArrays(memory);
    this.#rows = rows;
    this.#memory = memory;
    this.#chosen = chosenEntries(rows, order, memory);
    this.length = this.#chosen.chosen.length;
    this.items = this.#chosen.itemRuns.items;
    this.itemEvents = this.#chosen.itemRuns.events;
    this.#paths = this.gathered(rows.entries.path);
  }

  /** The columns that every table of amounts has. */
  shared({ ids, effective }: FinishedColumns) {
    const { events, entries, amountTexts, currencies } = this.#rows;
    const { chosen, entry, eventRuns } = this.#chosen;
    return {
      event_id: this.perEvent(this.arrays.distinctTexts(ids.eventIds(eventRuns.events, this.#memory))),
      posted_at: this.perEvent(this.arrays.instants(new Int64Values(events.postedAt), eventRuns.events)),
      effective_at: this.perEvent(this.arrays.instants(new Int64Values(effective), eventRuns.events)),
      entry: this.arrays.integers(entry),
      amount: this.arrays.decimals(entries, chosen),
      amount_text: this.arrays.runs(amountTexts, entries.text, chosen),
      currency: this.arrays.runs(currencies, entries.currency, chosen),
    };
  }

  /** The value of each amount, by its number. */
  gathered(values: Int32Array): Int32Array {
    return this.arrays.lookUp(values, this.#chosen.chosen);
  }

  /** The texts of the amounts' events. */
  texts(values: Dictionary, { values: numbers }: Int32List): Data {
    return this.perEvent(
      this.arrays.dictionaryTexts(values, this.arrays.lookUp(numbers, this.#chosen.eventRuns.events)),
    );
  }

  subjectTexts(textOf: (subject: Subject) => string | undefined): Data {
    const { values, numbers } = numberedTexts(this.#rows.subjects, textOf);
    const subjects = this.arrays.lookUp(this.#rows.events.subject.values, this.#chosen.eventRuns.events);
    return this.perEvent(this.arrays.dictionaryTexts(values, this.arrays.lookUp(numbers, subjects)));
  }

  /** The text of the item, else of the event. */
  itemTexts(values: Dictionary, items: Int32List, events: Int32List): Data {
    return this.perItem(this.arrays.dictionaryTexts(values, this.itemNumbers(items.values, events.values)));
  }

  itemNumbers(items: Int32Array, events: Int32Array): Int32Array {
    return firstOf(this.arrays.lookUp(items, this.items), this.arrays.lookUp(events, this.itemEvents));
  }

  pathTexts<Path>(paths: readonly Path[], textOf: (path: Path) => string | undefined): Data {
    const { values, numbers } = numberedTexts(paths, textOf);
    return this.arrays.dictionaryTexts(values, this.arrays.lookUp(numbers, this.#paths));
  }

  perEvent(values: Data): Data {
    return runEndEncoded({ values, runEnds: this.#chosen.eventRuns.runEnds });
  }

  perItem(values: Data): Data {
    return runEndEncoded({ values, runEnds: this.#chosen.itemRuns.runEnds });
  }
}

/** Optional texts as numbers in a dictionary. */
function numberedTexts<Of>(all: readonly Of[], textOf: (each: Of) => string | undefined) {
  const values = new Dictionary();
  const numbers = Int32Array.from(all, (each) => {
    const text = textOf(each);
    return text === undefined ? none : values.addString(text);
  });
  return { values, numbers };
}

/** Amounts of some events, event by event. */
interface ChosenEntries {
  /** Numbers in `rows.entries`. */
  readonly chosen: Int32Array;
  /** Position of each within its event. */
  readonly entry: Int32Array;
  /** The events with amounts, and the end of each one's. */
  readonly eventRuns: { readonly events: Int32Array; readonly runEnds: Int32Array };
  /** Consecutive amounts of the same item and event: the item or `none`, the event, and their end. */
  readonly itemRuns: { readonly items: Int32Array; readonly events: Int32Array; readonly runEnds: Int32Array };
}

/** The amounts of the given events, event by event. */
function chosenEntries(rows: SliceRows, order: readonly number[], memory: ColumnMemory): ChosenEntries {
  const { firstEntry } = rows.events;
  let length = 0;
  for (const number of order) length += rows.entriesEnd(number) - firstEntry.get(number);
  const gathering = new EntryGathering(rows.entries.item, length, order.length, memory);
  for (const owner of order) gathering.add(owner, firstEntry.get(owner), rows.entriesEnd(owner));
  return gathering.chosen;
}

/** Called once for each event: V8 would recompile a loop over all of them each time that it ends. */
class EntryGathering {
  readonly #itemOf: Int32Array;
  readonly #chosen: Int32Array;
  readonly #entry: Int32Array;
  readonly #events: Int32Array;
  readonly #eventEnds: Int32Array;
  readonly #items: Int32Array;
  readonly #itemEvents: Int32Array;
  readonly #itemEnds: Int32Array;
  #rows = 0;
  #withAmounts = 0;
  #runs = 0;

  constructor(itemOf: Int32Array, length: number, events: number, memory: ColumnMemory) {
    this.#itemOf = itemOf;
    this.#chosen = memory.int32s(length);
    this.#entry = memory.int32s(length);
    this.#events = memory.int32s(events);
    this.#eventEnds = memory.int32s(events);
    this.#items = memory.int32s(length);
    this.#itemEvents = memory.int32s(length);
    this.#itemEnds = memory.int32s(length);
  }

  /** Adds an event's amounts, with numbers from `first` to `end` (exclusive). */
  add(owner: number, first: number, end: number): void {
    if (first === end) return;
    this.#events[this.#withAmounts] = owner;
    this.#eventEnds[this.#withAmounts++] = this.#rows + end - first;
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
      this.#itemEnds[run] = row + 1;
    }
    this.#rows = row;
    this.#runs = run + 1;
  }

  get chosen(): ChosenEntries {
    return {
      chosen: this.#chosen,
      entry: this.#entry,
      eventRuns: {
        events: this.#events.subarray(0, this.#withAmounts),
        runEnds: this.#eventEnds.subarray(0, this.#withAmounts),
      },
      itemRuns: {
        items: this.#items.subarray(0, this.#runs),
        events: this.#itemEvents.subarray(0, this.#runs),
        runEnds: this.#itemEnds.subarray(0, this.#runs),
      },
    };
  }
}

/** The first numbers, or the second ones where those are `none`. */
function firstOf(numbers: Int32Array, others: Int32Array): Int32Array {
  for (let row = 0; row < numbers.length; row++) if (numbers[row] === none) numbers[row] = others[row] ?? none;
  return numbers;
}
