import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayMs, joined, uncovered, type Window } from '../../../src/core/windows.js';
import { dayStates } from '../../../src/engine/run/day-states.js';

const hour = 3_600_000;
const windows = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 24 * 40 }), fc.integer({ min: 1, max: 24 * 9 })), { maxLength: 6 })
  .map((pairs) => pairs.map(([start, hours]) => ({ start: start * hour, end: (start + hours) * hour })));
const ranges = fc
  .tuple(fc.integer({ min: 0, max: 24 * 20 }), fc.integer({ min: 1, max: 24 * 20 }))
  .map(([start, hours]) => ({ start: start * hour, end: (start + hours) * hour }));

test('a day is what its hours say', () => {
  fc.assert(
    fc.property(ranges, windows, windows, (range, loaded, held) => {
      const within = (all: readonly Window[], at: number) => all.some(({ start, end }) => at >= start && at < end);
      const hours = Array.from({ length: (range.end - range.start) / hour }, (_, index) => range.start + index * hour);
      const expected = new Map<number, string>();
      for (const start of new Set(hours.map((at) => Math.floor(at / dayMs) * dayMs))) {
        const own = hours.filter((at) => at >= start && at < start + dayMs);
        const there = own.filter((at) => within(loaded, at)).length;
        const all = Array.from({ length: 24 }, (_, index) => start + index * hour);
        const state = all.some((at) => within(held, at)) ? 'full' : 'empty';
        expected.set(start, there === 0 ? 'missing' : there < own.length ? 'partial' : state);
      }
      const days = dayStates(range, uncovered(range, loaded), held);
      expect(new Map(days.map(({ start, state }) => [start, state]))).toEqual(expected);
    }),
  );
});

test('joined windows cover the same and neither touch nor overlap', () => {
  fc.assert(
    fc.property(windows, (all) => {
      const few = joined(all);
      const range = { start: 0, end: 60 * dayMs };
      expect(uncovered(range, few)).toEqual(uncovered(range, all));
      for (const [index, { start }] of few.entries()) expect(start).toBeGreaterThan(few[index - 1]?.end ?? -1);
    }),
  );
});
