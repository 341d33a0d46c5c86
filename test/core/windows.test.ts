import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  covers,
  cut,
  dayMs,
  joined,
  monthNamed,
  monthNumberOf,
  monthOf,
  overlap,
  uncovered,
  within,
  type Window,
} from '../../src/core/windows.js';

const instant = fc.integer({ min: Date.UTC(2023, 0), max: Date.UTC(2026, 0) });
const range = fc
  .tuple(instant, fc.integer({ min: 1, max: 400 * dayMs }))
  .map(([start, length]): Window => ({ start, end: start + length }));

/** Total length of windows, and that they follow each other without overlapping. */
function lengthOf(windows: readonly Window[]): number {
  return windows.reduce((sum, { start, end }) => sum + end - start, 0);
}

describe('cut', () => {
  test('the slices of a range are the range, in order, without a gap', () => {
    fc.assert(
      fc.property(range, fc.integer({ min: 1, max: 40 }), (whole, days) => {
        const slices = cut(whole, days);
        expect(slices[0]?.start).toBe(whole.start);
        expect(slices.at(-1)?.end).toBe(whole.end);
        for (const [index, slice] of slices.entries()) {
          expect(slice.end).toBeGreaterThan(slice.start);
          expect(slice.end - slice.start).toBeLessThanOrEqual(days * dayMs);
          expect(monthOf(slice.start)).toBe(monthOf(slice.end - 1));
          if (index > 0) expect(slice.start).toBe(slices[index - 1]?.end);
          if (slice.end !== whole.end) expect(slice.end % dayMs).toBe(0);
        }
      }),
    );
  });

  test('weeks of a month begin on its first day', () => {
    const slices = cut({ start: Date.UTC(2025, 1, 3, 5), end: Date.UTC(2025, 2, 2) }, 7);
    expect(slices.map(({ end }) => new Date(end).toISOString().slice(0, 10))).toEqual([
      '2025-02-08',
      '2025-02-15',
      '2025-02-22',
      '2025-03-01',
      '2025-03-02',
    ]);
  });

  test('a cut that stops in the middle goes on where it would have', () => {
    fc.assert(
      fc.property(range, fc.integer({ min: 1, max: 20 }), fc.nat(50), (whole, days, upTo) => {
        const slices = cut(whole, days);
        const done = slices.slice(0, upTo % slices.length);
        const rest = uncovered(whole, done).flatMap((gap) => cut(gap, days));
        expect([...done, ...rest]).toEqual(slices);
      }),
    );
  });
});

describe('uncovered', () => {
  test('what windows leave of a range, and the windows, are the range', () => {
    const windows = fc.array(range, { maxLength: 8 }).map((all) => {
      const apart: Window[] = [];
      for (const window of all) if (!apart.some((other) => overlap(window, other))) apart.push(window);
      return apart;
    });
    fc.assert(
      fc.property(range, windows, (whole, loaded) => {
        const gaps = uncovered(whole, loaded);
        for (const gap of gaps) {
          expect(gap.end).toBeGreaterThan(gap.start);
          expect(loaded.some((window) => overlap(window, gap))).toBe(false);
        }
        const inside = loaded
          .filter((window) => overlap(window, whole))
          .map(({ start, end }) => ({ start: Math.max(start, whole.start), end: Math.min(end, whole.end) }));
        expect(lengthOf(gaps) + lengthOf(inside)).toBe(lengthOf([whole]));
      }),
    );
  });
});

test('what windows have of a range, and what none of them has, is the range', () => {
  fc.assert(
    fc.property(range, fc.array(range, { maxLength: 8 }), (whole, windows) => {
      const inside = within(whole, windows);
      expect(inside.every((part) => covers(whole, part))).toBe(true);
      expect(inside).toHaveLength(windows.filter((window) => overlap(window, whole)).length);
      expect(joined([...inside, ...uncovered(whole, windows)])).toEqual([whole]);
    }),
  );
});

test('a month has its name back from its number, and the next one has the next number', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9998 }), fc.integer({ min: 1, max: 12 }), (year, month) => {
      const name = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
      const number = monthNumberOf(name);
      expect(monthNamed(number)).toBe(name);
      const next = monthNamed(number + 1);
      expect(monthNumberOf(next)).toBe(number + 1);
      expect(next > name).toBe(true);
    }),
  );
});
