import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventLists } from '../../../src/sources/finances/api-v0/event-records.js';
import { dateless, dateOf, day, ever, noon, open, readAll, text } from './reading.js';
import { booksOf } from './seller-books.js';

const seeds = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const midnight = Math.floor(noon / day) * day;

describe('what happens on a day', () => {
  test('is the same for two sellers of one seed, and another for another seed', async () => {
    const read = async (seed: number, groupsFirst = false) => {
      const { seller } = open({ seed, events: 700 });
      const groups = () => readAll((query) => seller.groups(ever, query));
      // What a seller was asked before must not matter.
      if (groupsFirst) await groups();
      const events = await readAll((query) => seller.events(ever, query));
      return [...events, ...(await groups())].map(text);
    };
    const first = await read(11);
    expect(first.length).toBeGreaterThan(700);
    expect(await read(11)).toEqual(first);
    expect(await read(11, true)).toEqual(first);
    expect(await read(12)).not.toEqual(first);
  });

  test('is the same tomorrow and in a month', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, fc.integer({ min: 1, max: 40 * day }), async (seed, later) => {
        const { seller, clock } = open({ seed, events: 300 });
        const range = { start: noon - 50 * day, end: noon };
        const today = await readAll((query) => seller.events(range, query));
        clock.move(later);
        const then = await readAll((query) => seller.events(range, query), { asOf: noon + later });
        expect(then.map(text)).toEqual(today.map(text));
        expect(today.length).toBeGreaterThan(100);
      }),
      { numRuns: 15 },
    );
  });

  test('adds up to exactly the number asked for in any so many whole days', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 0, max: 900 }),
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 0, max: 3000 }),
        (seed, events, days, later) => {
          const { seller } = open({ seed, events, days }, noon + later * day);
          const to = midnight + later * day;
          const counts = booksOf(seller).countByList({ start: to - days * day, end: to });
          expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(events);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('has as many events as its number says', () => {
    const { seller } = open({ seed: 4, events: 1000 });
    for (let d = midnight / day - 90; d < midnight / day; d++) {
      const booked = [...booksOf(seller).eventsBooked({ start: d * day, end: (d + 1) * day })];
      expect(booked).toHaveLength(Math.floor((1000 * (d + 1)) / 90) - Math.floor((1000 * d) / 90));
    }
  });
});

describe('the instants', () => {
  test('the dates are those of the books to the millisecond, and events without one stand where they were booked', async () => {
    await fc.assert(
      fc.asyncProperty(seeds, async (seed) => {
        const { seller } = open({ seed, events: 600 });
        const items = await readAll((query) => seller.events(ever, query));
        const booked = [...booksOf(seller).eventsBooked(ever)];
        expect(items.map(({ list }) => list)).toEqual(booked.map(({ list }) => list));
        expect(items.map((item, n) => dateOf(item) ?? booked[n]?.at)).toEqual(booked.map(({ at }) => at));
        expect(booked.map(({ at }) => at)).toEqual(booked.map(({ at }) => at).sort((a, b) => a - b));
      }),
      { numRuns: 10 },
    );
  });

  test('a range takes events without a date by the instant of their booking', async () => {
    const { seller } = open({ seed: 21, events: 900 });
    const hidden = [...booksOf(seller).eventsBooked({ start: noon - 60 * day, end: noon })].filter(({ list }) =>
      dateless.includes(list),
    );
    expect(new Set(hidden.map(({ list }) => list))).toEqual(new Set(dateless));
    for (const { at, list } of hidden) {
      const lists = async (from: number, to: number) =>
        (await readAll((query) => seller.events({ start: from, end: to }, query))).map((item) => item.list);
      expect(await lists(at, at + 1)).toContain(list);
      expect((await lists(at - 1, at)).length + (await lists(at, at + 1)).length).toBe(
        (await lists(at - 1, at + 1)).length,
      );
    }
  });

  test('some events share an instant, and some instants have milliseconds', () => {
    const instants = [...booksOf(open({ seed: 1, events: 2000 }).seller).eventsBooked(ever)].map(({ at }) => at);
    expect(new Set(instants).size).toBeLessThan(instants.length);
    expect(instants.filter((at) => at % 1000 !== 0).length).toBeGreaterThan(50);
    expect(instants.filter((at) => at % 1000 === 0).length).toBeGreaterThan(1000);
  });

  test('identical events come now and then, with a date and without', async () => {
    const { seller } = open({ seed: 8, events: 3000 });
    const seen = new Set<string>();
    const twice: string[] = [];
    for (const item of await readAll((query) => seller.events(ever, query))) {
      if (seen.has(text(item))) twice.push(item.list);
      seen.add(text(item));
    }
    expect(twice).toContain('ServiceFeeEventList');
    // With the same date, too: that is no accident of the draw.
    expect(twice.filter((list) => list === 'AdjustmentEventList').length).toBeGreaterThan(5);
    expect(twice).not.toContain('ShipmentEventList');
  });
});

describe('a million events', () => {
  test('a page anywhere comes at once, and goes on where the one before ended', async () => {
    const { seller } = open({ seed: 2, events: 1_000_000 });
    for (const back of [90, 45, 1]) {
      const range = { start: noon - back * day, end: noon };
      const first = await seller.events(range, { cursor: undefined, limit: 100, asOf: noon });
      const second = await seller.events(range, { cursor: first.next, limit: 100, asOf: noon });
      const booked: string[] = [];
      for (const { list } of booksOf(seller).eventsBooked(range)) if (booked.push(list) === 200) break;
      expect([...first.items, ...second.items].map(({ list }) => list)).toEqual(booked);
    }
    const hour = { start: noon - day, end: noon - day + 3_600_000 };
    const lists = booksOf(seller).countByList(hour);
    expect([...lists.values()].reduce((sum, count) => sum + count, 0)).toBeCloseTo(1_000_000 / 90 / 24, -1);
    expect(lists.size).toBe(Object.keys(eventLists).length);
  });
});
