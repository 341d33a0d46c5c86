import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import { cycle, day, ever, noon, open, parse, readAll, type Shop, text, textOf } from './reading.js';
import { booksOf } from './seller-books.js';

const instants = fc.integer({ min: noon - 110 * day, max: noon + 5 * day });
const limits = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1 });

const sorted = (items: readonly BackendItem[]) => items.map(text).sort();
const groupIdsOf = async ({ seller }: Shop, asOf = noon) =>
  (await readAll((query) => seller.groups(ever, query), { asOf })).map(({ json }) =>
    textOf(parse(json)['FinancialEventGroupId']),
  );
async function byGroups(shop: Shop, limit?: () => number): Promise<BackendItem[]> {
  const items: BackendItem[] = [];
  for (const id of await groupIdsOf(shop)) {
    items.push(...(await readAll((query) => shop.seller.eventsOfGroup(id, query), limit && { limit })));
  }
  return items;
}

describe('pages', () => {
  test('by date hold each event of the range once and in order, whatever their sizes', async () => {
    const shop = open({ seed: 31, events: 800 });
    const booked = [...booksOf(shop.seller).eventsBooked(ever)];
    const all = await readAll((query) => shop.seller.events(ever, query));
    expect(all).toHaveLength(booked.length);
    await fc.assert(
      fc.asyncProperty(instants, instants, limits, async (a, b, sizes) => {
        const range = { start: Math.min(a, b), end: Math.max(a, b) };
        const items = await readAll((query) => shop.seller.events(range, query), { limit: cycle(sizes) });
        const wanted = all.filter((_, n) => {
          const at = booked[n]?.at ?? NaN;
          return at >= range.start && at < range.end;
        });
        expect(items.map(text)).toEqual(wanted.map(text));
      }),
      { numRuns: 40 },
    );
  });

  test('by group hold together what the pages by date hold, each event once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 500 }), limits, async (seed, events, sizes) => {
        const shop = open({ seed, events });
        const byDate = await readAll((query) => shop.seller.events(ever, query));
        expect(sorted(await byGroups(shop, cycle(sizes)))).toEqual(sorted(byDate));
      }),
      { numRuns: 10 },
    );
  });

  test('of groups hold each group that opened in the range once, by its start', async () => {
    const { seller } = open({ seed: 32, events: 90 });
    const all = await readAll((query) => seller.groups(ever, query));
    const startOf = ({ json }: BackendItem) => Date.parse(textOf(parse(json)['FinancialEventGroupStart']));
    expect(all.map(startOf)).toEqual(all.map(startOf).sort((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(instants, instants, limits, async (a, b, sizes) => {
        const range = { start: Math.min(a, b), end: Math.max(a, b) };
        const found = await readAll((query) => seller.groups(range, query), { limit: cycle(sizes) });
        const wanted = all.filter((item) => startOf(item) >= range.start && startOf(item) < range.end);
        expect(found.map(text)).toEqual(wanted.map(text));
      }),
      { numRuns: 30 },
    );
    const first = all[0];
    const start = first === undefined ? NaN : startOf(first);
    const at = async (from: number, to: number) => readAll((query) => seller.groups({ start: from, end: to }, query));
    expect(await at(start, start + 1)).toEqual([first]);
    expect(await at(start - 1, start)).toEqual([]);
  });

  test('go on with the same events while the clock moves and new ones come up', async () => {
    const { seller, clock } = open({ seed: 33, events: 900 });
    const range = { start: noon - 5 * day, end: noon + day };
    const before = await readAll((query) => seller.events(range, query));
    let moved = 0;
    const during = await readAll(
      (query) => {
        clock.move(day / 3);
        moved++;
        return seller.events(range, query);
      },
      { limit: () => 7 },
    );
    expect(moved).toBeGreaterThan(3);
    expect(during.map(text)).toEqual(before.map(text));
  });

  test('refuse a cursor that none of them gave', async () => {
    const { seller } = open({ seed: 1, events: 90 });
    await expect(seller.events(ever, { cursor: 'twelve', limit: 1, asOf: noon })).rejects.toThrow(/"twelve"/);
    await expect(seller.groups(ever, { cursor: 'twelve', limit: 1, asOf: noon })).rejects.toThrow(/"twelve"/);
  });
});

describe('what is not yet', () => {
  test('stays out by the instant of the question, as if asked then', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 30 * day }), async (seed, ago) => {
        const now = open({ seed, events: 400 });
        const then = open({ seed, events: 400 }, noon - ago);
        for (const ask of ['events', 'groups'] as const) {
          const inHindsight = await readAll((query) => now.seller[ask](ever, query), { asOf: noon - ago });
          const atTheTime = await readAll((query) => then.seller[ask](ever, query), { asOf: noon - ago });
          expect(inHindsight.map(text)).toEqual(atTheTime.map(text));
        }
      }),
      { numRuns: 8 },
    );
  });

  test('stays out by the clock where the question is ahead of it', async () => {
    const { seller } = open({ seed: 5, events: 900 });
    const ahead = await readAll((query) => seller.events(ever, query), { asOf: noon + 9 * day });
    expect(ahead.map(text)).toEqual((await readAll((query) => seller.events(ever, query))).map(text));
  });

  test('an event comes up at its instant, not a millisecond before', async () => {
    const { seller } = open({ seed: 6, events: 900 });
    const last = [...booksOf(seller).eventsBooked(ever)].at(-1)?.at ?? NaN;
    const count = async (asOf: number) => (await readAll((query) => seller.events(ever, query), { asOf })).length;
    expect(await count(last)).toBe(await count(noon));
    expect(await count(last - 1)).toBeLessThan(await count(noon));
    expect(await count(last - 0.5)).toBe(await count(last - 1));
  });
});

test('groups and orders that the seller never had are none', async () => {
  const { seller } = open({ seed: 1, events: 900 });
  const query = { cursor: undefined, limit: 100, asOf: noon };
  for (const id of ['', 'x', 'A'.repeat(43)]) expect(await seller.eventsOfGroup(id, query)).toBeUndefined();
  const [foreign] = await groupIdsOf(open({ seed: 2, events: 900 }));
  expect(await seller.eventsOfGroup(String(foreign), query)).toBeUndefined();
  for (const id of ['', 'x', '902-1845936-5435065']) expect(await seller.eventsOfOrder(id, query)).toBeUndefined();
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^\d{3}-\d{7}-\d{7}$/), async (id) => {
      expect(await seller.eventsOfOrder(id, query)).toBeUndefined();
    }),
  );
});

test('a seller without events has groups, and they are empty', async () => {
  const shop = open({ seed: 1, events: 0 });
  expect(await readAll((query) => shop.seller.events(ever, query))).toEqual([]);
  expect((await groupIdsOf(shop)).length).toBeGreaterThan(20);
  expect(await byGroups(shop)).toEqual([]);
  expect(await shop.seller.eventsOfOrder('902-1845936-5435065', { cursor: undefined, limit: 1, asOf: noon })).toBe(
    undefined,
  );
});

test.each([
  [{ seed: -1, events: 1 }, /seed .* got -1/],
  [{ seed: 0.5, events: 1 }, /seed .* got 0.5/],
  [{ seed: 1, events: 1e9 + 1 }, /events .* from 0 to 1000000000, got 1000000001/],
  [{ seed: 1, events: NaN }, /events .* got NaN/],
  [{ seed: 1, events: 1, days: 0 }, /days .* from 1 to 3650, got 0/],
])('options that can not be are refused: %j', (options, message) => {
  expect(() => open(options)).toThrow(message);
});
