import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eachEvent } from '../../../../src/sources/finances/api-v0/finances-page.js';
import { readPages } from '../../../../src/engine/paging/paginator.js';
import { ReadFailure } from '../../../../src/engine/retry/read-failure.js';
import { setup } from '../../../engine/paging/scripted-server.js';
import { rowOf, simulatedBackend, type SmallEvent, type Troubles } from './simulated-backend.js';

const from = Date.parse('2025-06-01T00:00:00Z');
const query = {
  operation: 'ListFinancialEvents',
  parameters: { PostedAfter: from, PostedBefore: from + 60_000 },
} as const;

const anyEvent: fc.Arbitrary<SmallEvent> = fc.record({
  at: fc.integer({ min: 0, max: 9 }).map((second) => from + second * 500),
  dated: fc.boolean(),
  list: fc.constantFrom('SaleList', 'FeeList'),
  value: fc.integer({ min: 0, max: 1 }),
});

const requestNumber = fc.integer({ min: 1, max: 25 });
const quiet: fc.Arbitrary<Troubles> = fc.record({
  deaths: fc.uniqueArray(requestNumber, { minLength: 1, maxLength: 4 }).map((numbers) => new Set(numbers)),
  arrivals: fc.constant(new Map()),
  gaps: fc.uniqueArray(requestNumber, { maxLength: 3 }).map((numbers) => new Set(numbers)),
  shuffle: fc.constantFrom(0, 1, 3),
});
const busy: fc.Arbitrary<Troubles> = fc
  .tuple(quiet, fc.array(fc.tuple(requestNumber, anyEvent), { maxLength: 6 }))
  .map(([troubles, arrivals]) => ({ ...troubles, arrivals: new Map(arrivals) }));

/** One server for all the backends of a test: each has its turn. */
async function reader(pageSize: number) {
  let current = simulatedBackend([], { deaths: new Set(), arrivals: new Map(), gaps: new Set(), shuffle: 0 });
  let before = 0;
  const of = await setup((number, request) => current.answer(number - before, request));
  return {
    requests: () => of.server.requests.length - before,
    /** The rows that a chain gives, sorted; undefined where the place was lost; and what the backend holds afterwards. */
    read: async (events: readonly SmallEvent[], troubles: Troubles, size = pageSize) => {
      before = of.server.requests.length;
      current = simulatedBackend(events, troubles);
      const rows: string[] = [];
      try {
        for await (const page of readPages(query, { ...of, api: { ...of.api, pageSizes: [size, 1] } })) {
          eachEvent(page, (list, node) => rows.push(`${list} ${page.tape.text(node)}`));
        }
      } catch (error) {
        if (!(error instanceof ReadFailure) || error.kind !== 'cursor-expired') throw error;
        return { rows: undefined, backend: current.backend };
      }
      return { rows: rows.sort(), backend: current.backend };
    },
  };
}

/** What of `rows` isn't in `others`, counting equal ones. */
function without(rows: readonly string[], others: readonly string[]): string[] {
  const left = [...rows];
  for (const other of others) {
    const at = left.indexOf(other);
    if (at !== -1) left.splice(at, 1);
  }
  return left;
}

describe('a chain whose tokens die on the way gives every row once, or says that it can not', () => {
  test.each([1, 2, 3, 5])('on a backend full of twins, ties and events without a date (%d a page)', async (size) => {
    const { read } = await reader(size);
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 24 }), quiet, async (events, troubles) => {
        const { rows } = await read(events, troubles);
        if (rows === undefined) return;
        whole++;
        expect(rows).toEqual(events.map(rowOf).sort());
      }),
      { numRuns: 400 },
    );
    expect(whole).toBeGreaterThan(100);
  });

  test.each([2, 3])(
    'while events arrive (%d a page): what was there at first is there, and nothing twice',
    async (size) => {
      const { read } = await reader(size);
      await fc.assert(
        fc.asyncProperty(fc.array(anyEvent, { maxLength: 24 }), busy, async (events, troubles) => {
          const { rows, backend } = await read(events, troubles);
          if (rows === undefined) return;
          expect(without(events.map(rowOf), rows)).toEqual([]);
          expect(without(rows, backend.map(rowOf))).toEqual([]);
        }),
        { numRuns: 300 },
      );
    },
  );
});

describe('a place that only seems to be the right one', () => {
  /** Events in order; an undated one is `U`, all of whose kind are equal, and a dated one anything else. */
  const backend = (...instants: readonly (readonly [name: string, second: number])[]): SmallEvent[] =>
    instants.map(([name, second], index) => ({
      at: from + second * 1000,
      dated: name !== 'U',
      list: 'SaleList',
      value: name === 'U' ? 0 : index,
    }));
  const dyingBefore3 = { deaths: new Set([3]), arrivals: new Map(), gaps: new Set<number>(), shuffle: 0 };

  test('an event without a date that a page begins with has a twin behind the page', async () => {
    // Second page: U c d. From the date of c on: c d U, which is the same, but behind another U.
    const { read } = await reader(3);
    const events = backend(['a', 1], ['a', 2], ['a', 3], ['U', 4], ['c', 5], ['d', 6], ['U', 7], ['e', 8]);
    expect((await read(events, dyingBefore3)).rows).toEqual(events.map(rowOf).sort());
  });

  test('an event without a date that a page ends with has a twin on the page before, at the instant where it begins', async () => {
    // First page: a b U. Second page: c d U. From the date of c on: U c d, with the first page's U.
    const { read } = await reader(3);
    const events = backend(['a', 1], ['a', 2], ['d', 6], ['U', 5], ['c', 5], ['U', 7], ['e', 8]);
    const asked = await read(events, dyingBefore3);
    expect(asked.rows ?? 'lost').toBe('lost');
  });
});

describe('where rows are mostly dated and not the same', () => {
  /** One event a second; every `undated`th has no date. */
  const steady = (count: number, undated: number): SmallEvent[] =>
    Array.from({ length: count }, (_, value) => ({
      at: from + value * 100,
      dated: undated === 0 || (value + 1) % undated !== 0,
      list: 'SaleList',
      value,
    }));
  const dyingBefore = (...deaths: number[]) => ({
    deaths: new Set(deaths),
    arrivals: new Map(),
    gaps: new Set<number>(),
    shuffle: 1,
  });

  test.each([
    ['no event is undated: one request more', 0, 1],
    ['some are: two more', 7, 2],
    ['the page begins with one: four at most', 10, 4],
  ])('the place is found again; %s', async (_, undated, more) => {
    const { read, requests } = await reader(10);
    const events = steady(95, undated);
    const { rows } = await read(events, dyingBefore(6));
    expect(rows).toEqual(events.map(rowOf).sort());
    // Ten pages, and the one that was refused.
    expect(requests()).toBeLessThanOrEqual(10 + 1 + more);
  });

  test('the place is found again each time that it is lost', async () => {
    const { read, requests } = await reader(10);
    const events = steady(95, 0);
    const { rows } = await read(events, dyingBefore(3, 6, 9, 12));
    expect(rows).toEqual(events.map(rowOf).sort());
    expect(requests()).toBe(10 + 4 * 2);
  });
});
