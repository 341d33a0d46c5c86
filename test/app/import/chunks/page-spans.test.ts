import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, dayStart, hourMs } from '../../../../src/core/windows.js';
import { spansOf, type SavedPage } from '../lake-model.js';

const start = Date.UTC(2024, 1, 27);

/** A page with the hours of its dated events. */
function page(hours: readonly number[], hasNext = true): SavedPage {
  const events = hours.map((hour) => ({ at: start + hour * hourMs, content: String(hour), isDated: true }));
  return { events, hasNext };
}

/** The days of each page's span since the start, and the hour of its instant. */
function days(pages: readonly SavedPage[]): (readonly [first: number, end: number, hour: number])[] | undefined {
  const spans = spansOf(pages);
  return (
    spans &&
    pages.map((_, at) => [
      ((spans.starts[at] ?? NaN) - start) / dayMs,
      ((spans.ends[at] ?? NaN) - start) / dayMs,
      (Number(spans.instants[at]) / 1000 - start) / hourMs,
    ])
  );
}

test('a page by date reaches from the last date before it to the first behind it, in whole days', () => {
  expect(days([page([1, 20]), page([30, 40]), page([]), page([60, 70]), page([90])])).toEqual([
    [0, 2, 1],
    [0, 3, 30],
    [1, 3, 40],
    [1, 4, 60],
    [2, 4, 90],
  ]);
});

test('without a neighbour it reaches to the first or last date of the file', () => {
  expect(days([page([]), page([30]), page([])])).toEqual([
    [1, 2, 30],
    [1, 2, 30],
    [1, 2, 30],
  ]);
});

test('pages of several answers are in order within each', () => {
  const pages = [page([100]), page([120], false), page([1]), page([30], false), page([], false)];
  expect(days(pages)).toEqual([
    [0, 6, 100],
    [4, 6, 120],
    [0, 2, 1],
    [0, 6, 30],
    [0, 6, 1],
  ]);
});

test('pages in no order have the nearest others by date as neighbours', () => {
  expect(days([page([100, 110]), page([1, 20]), page([60]), page([])])).toEqual([
    [2, 5, 100],
    [0, 3, 1],
    [0, 5, 60],
    [0, 5, 1],
  ]);
});

test('a file without a date has no spans', () => {
  expect(days([page([]), page([])])).toBeUndefined();
});

test('each span has the dates of its page and its instant, and lies within the days of the file', () => {
  const pages = fc.array(fc.tuple(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 3 }), fc.boolean()), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(pages, (given) => {
      const all = given.map(([hours, hasNext]) => page(hours, hasNext));
      const spans = spansOf(all);
      const dates = all.flatMap(({ events }) => events.map(({ at }) => at));
      expect(spans === undefined).toBe(dates.length === 0);
      for (const [at, { events }] of all.entries()) {
        if (spans === undefined) continue;
        const [from, to, instant] = [spans.starts[at] ?? NaN, spans.ends[at] ?? NaN, Number(spans.instants[at]) / 1000];
        expect(from).toBe(dayStart(from));
        expect(to).toBe(dayStart(to));
        expect(from).toBeGreaterThanOrEqual(dayStart(Math.min(...dates)));
        expect(to).toBeLessThanOrEqual(dayStart(Math.max(...dates)) + dayMs);
        for (const date of [instant, ...events.map((event) => event.at)]) {
          expect(date).toBeGreaterThanOrEqual(from);
          expect(date).toBeLessThan(to);
        }
      }
    }),
  );
});
