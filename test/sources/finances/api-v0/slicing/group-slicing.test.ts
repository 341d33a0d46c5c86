import { expect, test } from 'vitest';
import { dayMs } from '../../../../../src/core/windows.js';
import { groupExpectation } from '../../../../../src/sources/finances/api-v0/slicing/group-slicing.js';

test('a settlement holds what others of its row did, not what others did', () => {
  const span = (day: number) => ({ start: day * dayMs, end: (day + 14) * dayMs });
  const slice = (day: number) => ({
    group: { id: 'g', ...span(day) },
    opened: day * dayMs,
    name: 'g',
    label: 'g',
    loadKeys: [],
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
