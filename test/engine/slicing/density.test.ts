import { expect, test } from 'vitest';
import { Density } from '../../../src/engine/slicing/volume-estimate.js';
import { dayMs } from '../../../src/core/windows.js';

const days = (from: number, to: number) => ({ start: from * dayMs, end: to * dayMs });

test('nothing is expected while nothing is known', () => {
  expect(new Density([]).expected(days(0, 5))).toBeUndefined();
  expect(new Density([{ window: days(3, 3), results: 7 }]).expected(days(0, 5))).toBeUndefined();
});

test('days like all others hold what all others hold', () => {
  const density = new Density([0, 10, 200].map((at) => ({ window: days(at, at + 5), results: 500 })));
  expect(density.expected(days(400, 410))).toBeCloseTo(1000);
});

test('what lies near counts for more, and days that were found empty count too', () => {
  const density = new Density([
    { window: days(0, 10), results: 0 },
    { window: days(300, 310), results: 1000 },
  ]);
  expect(density.expected(days(290, 291))).toBeGreaterThan(90);
  expect(density.expected(days(20, 21))).toBeLessThan(5);
});

test('the newest word of a slice is the one that counts', () => {
  const density = new Density([]);
  density.learn('a', { window: days(0, 1), results: 100 });
  density.learn('a', { window: days(0, 2), results: 100 });
  density.learn('b', { window: days(2, 2), results: 100 });
  expect(density.expected(days(0, 4))).toBeCloseTo(200);
});
