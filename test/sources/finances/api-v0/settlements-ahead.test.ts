import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mostSimultaneous, settlementsAhead } from '../../../../src/sources/finances/api-v0/listing-gaps.js';
import { dayMs, uncovered, type Window } from '../../../../src/core/windows.js';

const hour = 3_600_000;

/** Rows of settlements, one after the other, from day 0 to day 200. */
function rowsOf(origins: readonly number[], days: number): Window[] {
  return origins.flatMap((origin) =>
    Array.from({ length: Math.ceil(200 / days) }, (_, at) => ({
      start: origin + at * days * dayMs,
      end: origin + (at + 1) * days * dayMs,
    })),
  );
}

const startsIn = (spans: readonly Window[], windows: readonly Window[]): number[] =>
  spans
    .map(({ start }) => start)
    .filter((at) => windows.some(({ start, end }) => at >= start && at < end))
    .toSorted((a, b) => a - b);

test('rows of settlements are followed in both directions, through gaps, and none is doubled', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(7, 14, 30),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 20, max: 80 }),
      (places, days, from, to) => {
        // Far enough from each other to be told apart.
        const origins = places.map((place) => (place * days * dayMs) / 4 + place * hour);
        const all = rowsOf(origins, days);
        const seen = { start: 70 * dayMs, end: (100 + days) * dayMs };
        const unseen = uncovered({ start: from * dayMs, end: (100 + days + to) * dayMs }, [seen]);
        const known = all.filter(({ start }) => start >= seen.start && start < seen.end);
        const ahead = settlementsAhead(known, unseen);
        expect(ahead.map(({ start }) => start)).toEqual(
          startsIn(all, unseen).filter((start) => start < (100 + days + to) * dayMs),
        );
      },
    ),
  );
});

test('between two listed stretches a row is followed once', () => {
  const all = rowsOf([0], 14);
  const listed = [
    { start: 0, end: 50 * dayMs },
    { start: 110 * dayMs, end: 160 * dayMs },
  ];
  const unseen = uncovered({ start: 0, end: 200 * dayMs }, listed);
  const known = all.filter(({ start }) => startsIn([{ start, end: start }], listed).length > 0);
  expect(settlementsAhead(known, unseen).map(({ start }) => start)).toEqual(startsIn(all, unseen));
});

test('nothing known, nothing ahead', () => {
  expect(settlementsAhead([], [{ start: 0, end: dayMs }])).toEqual([]);
  expect(settlementsAhead([{ start: 0, end: 14 * dayMs }], [])).toEqual([]);
});

test('the most that are open at once', () => {
  expect(mostSimultaneous(rowsOf([0, dayMs, 2 * dayMs], 14))).toBe(3);
  expect(mostSimultaneous(rowsOf([0], 14))).toBe(1);
  expect(mostSimultaneous([])).toBe(0);
});
