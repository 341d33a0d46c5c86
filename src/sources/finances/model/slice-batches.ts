import type { RecordBatch } from 'apache-arrow';
import { groupBy } from '../../../core/group-by.js';
import type { Table } from '../../../core/columns/table.js';
import { decimalScale, decimalText } from '../../../core/numeric/decimal.js';
import type { Batch } from '../../../engine/run/pipeline.js';
import type { Finished } from './row-arrays.js';
import { none, type EntryRows, type Subject, type SliceRows } from './slice-rows.js';

/** The tables of events or transactions, and of their amounts. */
export interface EventTables {
  readonly events: Table;
  readonly entries: Table;
}

/** The rows of a slice that is complete, as batches of chosen ones in an order. */
export interface FinishedSlice {
  readonly rows: SliceRows;
  readonly effective: Finished<SliceRows>['effective'];
  readonly eventBatch: (table: Table, order: readonly number[]) => RecordBatch;
  readonly entryBatch: (table: Table, order: readonly number[]) => RecordBatch;
}

/** The chosen events of one month as batches: entries first, as events reference them. Each is built on demand. */
export function* monthBatches(
  { events, entries }: EventTables,
  { rows, effective, eventBatch: eventsOf, entryBatch: entriesOf }: FinishedSlice,
  month: string,
  chosen: readonly number[],
): Generator<Batch> {
  const order = sortedEvents(effective, chosen);
  const net = netSumTexts(rows, chosen);
  // Events without amounts have no entries: no empty file is written.
  const amounts = entriesOf(entries, order);
  if (amounts.numRows > 0) yield { table: entries, month, rows: amounts, net };
  yield { table: events, month, rows: eventsOf(events, order), net };
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
  monthOfSubject: (subject: Subject, dates: readonly bigint[]) => string,
): Map<string, number[]> {
  const bySubject = groupBy(rows.events.subject.values.keys(), (event) => rows.events.subject.get(event));
  const byMonth = new Map<string, number[]>();
  for (const [number, events] of bySubject) {
    const subject = rows.subjects[number];
    if (subject === undefined) continue;
    const dates = events.flatMap((event) => rows.events.postedAt[event] ?? []);
    const month = monthOfSubject(subject, dates);
    byMonth.set(month, [...(byMonth.get(month) ?? []), ...events]);
  }
  return byMonth;
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
