import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  groupExpectation,
  meanPages,
  orderExpectation,
  windowExpectation,
} from '../../../src/engine/slicing/volume-estimate';
import { windowSlice } from '../../../src/engine/run/window-slices';
import { dayMs } from '../../../src/core/windows';

test('the mean of pages lies between those that it takes at least and one more', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (results) => {
      const pages = meanPages(results);
      expect(pages).toBeGreaterThanOrEqual(1);
      expect(pages).toBeGreaterThanOrEqual(results / 100);
      expect(pages).toBeLessThanOrEqual(results / 100 + 1.1);
    }),
  );
});

test('more results never take fewer pages', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e5, noNaN: true }), fc.double({ min: 0, max: 1e5, noNaN: true }), (a, b) => {
      expect(meanPages(Math.min(a, b))).toBeLessThanOrEqual(meanPages(Math.max(a, b)) + 1e-3);
    }),
  );
});

test('few results take one page, and a little more than two pages take two or three', () => {
  expect(meanPages(0)).toBe(1);
  expect(meanPages(30)).toBeCloseTo(1, 3);
  expect(meanPages(205)).toBeGreaterThan(2.4);
  expect(meanPages(205)).toBeLessThan(2.8);
});

test('a window that is read again holds what it held, another what its neighbours did', () => {
  const window = (day: number, days: number) => ({ start: day * dayMs, end: (day + days) * dayMs });
  const known = windowExpectation([
    { window: window(0, 10), results: 1000 },
    { window: window(10, 10), results: 3000 },
  ]);
  expect(known?.results(windowSlice(window(0, 10)))).toBe(1000);
  expect(known?.results(windowSlice(window(5, 10)))).toBeCloseTo(2000);
  expect(windowExpectation([])).toBeUndefined();
  expect(windowExpectation([{ window: window(0, 10), results: 0 }])).toBeUndefined();
});

test('a settlement holds what others of its row did, not what others did', () => {
  const span = (day: number) => ({ start: day * dayMs, end: (day + 14) * dayMs });
  const slice = (day: number) => ({
    group: { id: 'g', ...span(day) },
    opened: day * dayMs,
    name: 'g',
    label: 'g',
    units: [],
  });
  const known = groupExpectation({
    loaded: [
      { window: span(0), results: 140 },
      { window: span(5), results: 1400 },
    ],
    byDate: [],
    atOnce: 2,
    now: 1000 * dayMs,
  });
  expect(known?.results(slice(28))).toBeCloseTo(140);
  expect(known?.results(slice(33))).toBeCloseTo(1400);
  // Of a row that nobody knows: as unlike the mean as the known ones.
  const mean = known?.results(slice(23)) ?? 0;
  expect(mean).toBeGreaterThan(140);
  expect(mean).toBeLessThan(1400);
  const byDate = groupExpectation({
    loaded: [],
    byDate: [{ window: span(0), results: 2800 }],
    atOnce: 4,
    now: 1000 * dayMs,
  });
  expect(byDate?.results(slice(28))).toBeCloseTo(700);
  // What hasn't happened yet isn't there.
  const soon = groupExpectation({
    loaded: [{ window: span(0), results: 140 }],
    byDate: [],
    atOnce: 1,
    now: 21 * dayMs,
  });
  expect(soon?.results(slice(14))).toBeCloseTo(70);
});

test('orders take a request each', () => {
  const order = { orders: ['a', 'b', 'c'], name: 'o', label: 'o', units: [] };
  expect(orderExpectation(4).pages(order)).toBe(3);
  expect(orderExpectation(4).results(order)).toBe(12);
});
