import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planConcurrency, maxPages, equalParts } from '../../../src/engine/run/concurrency-plan.js';

const quota = { rate: 0.5, burst: 30, level: 30 };
const months = (count: number, pages: number) => Array.from({ length: count }, () => ({ pages, isCuttable: true }));

describe('how slices are opened', () => {
  test('one at a time and uncut, where answers come faster than tokens', () => {
    expect(planConcurrency({ open: [], stretches: months(12, 34), quota, latency: 0.4 })).toEqual({
      open: 1,
      pages: maxPages,
    });
  });

  test('several months at once and uncut, where answers are slow and there are months enough', () => {
    const { open, pages } = planConcurrency({ open: [], stretches: months(12, 34), quota, latency: 10 });
    expect(open).toBeGreaterThanOrEqual(5);
    expect(pages).toBeGreaterThanOrEqual(34);
  });

  test('a single month is cut where it would take longer than the quota', () => {
    const { open, pages } = planConcurrency({ open: [], stretches: months(1, 102), quota, latency: 10 });
    expect(pages).toBeLessThanOrEqual(16);
    expect(open).toBeGreaterThanOrEqual(7);
  });

  test('what can be done with the tokens at hand is opened all at once', () => {
    expect(planConcurrency({ open: [], stretches: months(8, 1), quota, latency: 5 }).open).toBeGreaterThanOrEqual(8);
  });

  test('is within bounds, whatever is left', () => {
    const some = fc.double({ min: 0.01, max: 500, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(
          some.map((pages) => Math.max(1, pages)),
          { maxLength: 20 },
        ),
        fc.array(fc.record({ pages: some, isCuttable: fc.boolean() }), { maxLength: 30 }),
        fc.double({ min: 0.001, max: 30, noNaN: true }),
        fc.double({ min: 0, max: 30, noNaN: true }),
        (open, stretches, latency, level) => {
          const opening = planConcurrency({ open, stretches, quota: { ...quota, level }, latency });
          expect(opening.open).toBeGreaterThanOrEqual(1);
          expect(opening.open).toBeLessThanOrEqual(20);
          expect(opening.pages).toBeGreaterThanOrEqual(7);
          expect(opening.pages).toBeLessThanOrEqual(maxPages);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test('pieces are equal, all there, and hardly larger than asked for', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 1e5, noNaN: true }), fc.integer({ min: 1, max: 100 }), (pages, size) => {
      const parts = equalParts(pages, size);
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(pages, 5);
      expect(new Set(parts).size).toBe(1);
      expect(parts[0]).toBeLessThanOrEqual(size * 1.16);
    }),
  );
});
