import fc from 'fast-check';
import { expect, test } from 'vitest';
import { meanPages } from '../../../src/engine/slicing/volume-estimate.js';
import { windowExpectation } from '../../../src/engine/slicing/window-slicing.js';
import { windowSlice } from '../../../src/engine/slicing/window-slices.js';
import { dayMs } from '../../../src/core/windows.js';

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
