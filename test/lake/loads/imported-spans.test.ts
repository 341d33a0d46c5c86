import fc from 'fast-check';
import { spanIn } from '../../../src/lake/catalog/load-key.js';
import { expect, test } from 'vitest';
import { dayMs } from '../../../src/core/windows.js';
import { dayOf, importedKey } from '../../../src/lake/loads/imported-spans.js';

test('a day is a whole UTC day, and a load key of another kind has no span', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 4e12 }), fc.integer({ min: 1, max: 40 }), (at, days) => {
      const day = dayOf(at);
      expect(day.end - day.start).toBe(dayMs);
      expect(Number.isInteger(day.start / dayMs)).toBe(true);
      expect(at >= day.start && at < day.end).toBe(true);
      const span = { start: day.start, end: day.start + days * dayMs };
      expect(spanIn('imported', importedKey(span))).toEqual(span);
    }),
  );
  expect(spanIn('imported', 'window/2025-03-01T00:00:00.000Z/2025-03-02T00:00:00.000Z')).toBeUndefined();
  expect(spanIn('imported', 'group/G1')).toBeUndefined();
});
