import type { Data, RecordBatch, Vector } from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Table } from '../../../../src/core/columns/table.js';
import { eventCollector, type EventTables } from '../../../../src/sources/finances/api-v0/collectors.js';
import { scanPage } from '../../../../src/sources/finances/api-v0/finances-page.js';
import type { RowSource } from '../../../../src/sources/finances/model/slice-rows.js';
import {
  entries,
  events,
  groupEntries,
  groupEvents,
  orderEntries,
  orderEvents,
} from '../../../../src/sources/finances/model/tables.js';
import { eventsPage } from '../../../reference/event-arbitraries.js';
import { referenceRows, type ReferenceSlice } from '../../../reference/flatten.js';

type Row = Readonly<Record<string, unknown>>;

/** One way of asking: what the collector is told and what the judge is told. */
interface Case {
  readonly tables: EventTables;
  readonly source: RowSource;
  readonly slice: ReferenceSlice;
}

const start = Date.parse('2024-03-01T00:00:00Z');
const end = Date.parse('2024-03-08T00:00:00Z');
const nowhere = { groupId: undefined, requestedOrderId: undefined };
const window = { windowStart: BigInt(start) * 1000n, windowEnd: BigInt(end) * 1000n };

const byDate: Case = {
  tables: { events, entries },
  source: { windowStart: start, windowEnd: end, fallback: start, clamp: true, ...nowhere },
  slice: window,
};
const byGroup: Case = {
  tables: { events: groupEvents, entries: groupEntries },
  source: { ...nowhere, windowStart: start, windowEnd: undefined, fallback: start, clamp: false, groupId: 'G-1' },
  slice: { windowStart: window.windowStart, windowEnd: null, idPrefix: 'G-1:', groupId: 'G-1' },
};
const order = '902-1845936-5435065';
const byOrder: Case = {
  tables: { events: orderEvents, entries: orderEntries },
  source: {
    ...{ windowStart: undefined, windowEnd: undefined, fallback: undefined, clamp: false },
    ...{ groupId: undefined, requestedOrderId: order },
  },
  slice: { windowStart: null, windowEnd: null, idPrefix: `${order}:`, requestedOrderId: order },
};

/** The rows of a batch, with 64-bit values as they lie in it: Arrow's own readers go through doubles. */
function rowsOf(table: Table, batch: RecordBatch): Row[] {
  const vectors = table.columns.map((column) => {
    const vector = batch.getChild(column.name);
    if (vector === null) throw new Error(`expected a column ${column.name}`);
    const is64 = ['instant', 'bigint', 'decimal'].includes(column.type);
    return { name: column.name, vector, values: is64 ? int64s(vector) : undefined };
  });
  return Array.from({ length: batch.numRows }, (_, row) =>
    Object.fromEntries(
      vectors.map(({ name, vector, values }): [string, unknown] => [
        name,
        vector.isValid(row) ? (values === undefined ? textOrInteger(vector.data[0], row) : values[row]) : null,
      ]),
    ),
  );
}

/** A value of a column of texts or 32-bit integers. Arrow's own reader drops a byte order mark that a text begins with. */
function textOrInteger(data: Data | undefined, row: number): unknown {
  const values: unknown = data?.values;
  if (data === undefined || !(values instanceof Uint8Array || values instanceof Int32Array)) {
    throw new Error('expected a column of texts or integers');
  }
  if (data.dictionary !== undefined) return textOrInteger(data.dictionary.data[0], Number(values[row]));
  if (values instanceof Int32Array) return values[row];
  const offsets: unknown = data.valueOffsets;
  if (!(offsets instanceof Int32Array)) throw new Error('expected a column of texts');
  return Buffer.from(values.subarray(offsets[row], offsets[row + 1])).toString('utf8');
}

/** A column's values in their memory, whatever array they were put there with. */
function int64s(vector: Vector): BigInt64Array {
  const values: unknown = vector.data[0]?.values;
  if (!ArrayBuffer.isView(values)) throw new Error('expected a column of 64-bit values');
  return new BigInt64Array(values.buffer, values.byteOffset, values.byteLength / 8);
}

function collected({ tables, source }: Case, pages: readonly string[]): { events: Row[]; entries: Row[] } {
  const collector = eventCollector(tables, () => '2024-03');
  for (const page of pages) collector.add({ page: scanPage(Buffer.from(page)), source });
  const batches = [...collector.finish()];
  const of = (table: Table): Row[] =>
    batches.filter((batch) => batch.table === table).flatMap((batch) => rowsOf(table, batch.rows));
  return { events: of(tables.events), entries: of(tables.entries) };
}

/** The judge's rows in the tables' order: by `effective_at`, those without one last, then by receipt. */
function judged({ slice }: Case, pages: readonly string[]): { events: Row[]; entries: Row[] } {
  const rows = referenceRows(pages, slice);
  const last = 2n ** 63n;
  const sorted = rows.events.toSorted((a, b) => {
    const [x, y] = [a.effective_at ?? last, b.effective_at ?? last];
    return x === y ? Number(a.position - b.position) : x < y ? -1 : 1;
  });
  return {
    events: sorted.map((event) => ({ ...event })),
    entries: sorted.flatMap(({ event_id }) =>
      rows.entries.filter((entry) => entry.event_id === event_id).map((entry) => ({ ...entry })),
    ),
  };
}

/** Rare among the generated ones: the first of the item's quantities is there, but null. */
const nullQuantity =
  '{"payload":{"FinancialEvents":{"X":[{"L":[{"QuantityShipped":null,"Quantity":2,' +
  '"M":{"CurrencyCode":"EUR","CurrencyAmount":1}}]}]}}}';

describe.each([
  ['by date', byDate],
  ['by group', byGroup],
  ['by order', byOrder],
])('events received %s', (_, asked) => {
  test('become the rows that the slow judge makes of the same bytes', () => {
    fc.assert(
      fc.property(fc.array(eventsPage, { minLength: 1, maxLength: 3 }), (pages) => {
        expect(collected(asked, pages)).toEqual(judged(asked, pages));
      }),
      { numRuns: 400, examples: [[[nullQuantity]]] },
    );
  });
});
