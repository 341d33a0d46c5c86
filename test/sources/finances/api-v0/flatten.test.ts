import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutRuns } from '../../../core/columns/without-runs.js';
import type { Table } from '../../../../src/core/columns/table.js';
import { eventCollector } from '../../../../src/sources/finances/api-v0/collectors.js';
import type { EventTables } from '../../../../src/sources/finances/model/slice-batches.js';
import { scanPage } from '../../../../src/sources/finances/api-v0/finances-page.js';
import type { Subject } from '../../../../src/sources/finances/model/slice-rows.js';
import {
  entries,
  events,
  groupEntries,
  groupEvents,
  orderEntries,
  orderEvents,
} from '../../../../src/sources/finances/api-v0/event-tables.js';
import { rowsOf, type Row } from '../../../arrow-rows.js';
import { eventsPage } from '../../../reference/event-arbitraries.js';
import { referenceRows, type ReferenceSlice } from '../../../reference/flatten.js';

/** One way of asking: what the collector is told and what the judge is told. */
interface Case {
  readonly tables: EventTables;
  readonly subject: Subject;
  readonly slice: ReferenceSlice;
}

const start = Date.parse('2024-03-01T00:00:00Z');
const end = Date.parse('2024-03-08T00:00:00Z');
const nowhere = { groupId: undefined, requestedOrderId: undefined };
const window = { windowStart: BigInt(start) * 1000n, windowEnd: BigInt(end) * 1000n };

const byDate: Case = {
  tables: { events, entries },
  subject: { windowStart: start, windowEnd: end, fallback: start, clamp: true, ...nowhere },
  slice: window,
};
const byGroup: Case = {
  tables: { events: groupEvents, entries: groupEntries },
  subject: { ...nowhere, windowStart: start, windowEnd: undefined, fallback: start, clamp: false, groupId: 'G-1' },
  slice: { windowStart: window.windowStart, windowEnd: null, idPrefix: 'G-1:', groupId: 'G-1' },
};
const order = '902-1845936-5435065';
const byOrder: Case = {
  tables: { events: orderEvents, entries: orderEntries },
  subject: {
    windowStart: undefined,
    windowEnd: undefined,
    fallback: undefined,
    clamp: false,
    groupId: undefined,
    requestedOrderId: order,
  },
  slice: { windowStart: null, windowEnd: null, idPrefix: `${order}:`, requestedOrderId: order },
};

function collected({ tables, subject }: Case, pages: readonly string[]): { events: Row[]; entries: Row[] } {
  const collector = eventCollector(tables, () => '2024-03');
  for (const page of pages) collector.add({ page: scanPage(Buffer.from(page)), subject });
  const batches = [...collector.finish()];
  const of = (table: Table): Row[] =>
    batches.filter((batch) => batch.table === table).flatMap(({ rows }) => rowsOf(table, withoutRuns(table, rows)));
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
      { numRuns: 200, examples: [[[nullQuantity]]] },
    );
  });
});
