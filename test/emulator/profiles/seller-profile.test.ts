import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEvenDensity } from '../../../src/emulator/profiles/seller-profile.js';

const amounts = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 1e9 }));
const spans = fc.integer({ min: 1, max: 3650 });
const someDay = fc.integer({ min: -40_000, max: 80_000 });

test('any so many whole days in a row have exactly the number asked for', () => {
  fc.assert(
    fc.property(amounts, spans, someDay, (events, days, day) => {
      const { firstOf } = createEvenDensity(events, days);
      expect(firstOf(day + days) - firstOf(day)).toBe(events);
    }),
  );
});

test('an event is on the day whose events it is counted with', () => {
  fc.assert(
    fc.property(amounts, spans, someDay, fc.nat(), (events, days, day, nth) => {
      const { firstOf, dayOf } = createEvenDensity(events, days);
      const count = firstOf(day + 1) - firstOf(day);
      fc.pre(count > 0);
      for (const ordinal of [firstOf(day), firstOf(day) + (nth % count), firstOf(day + 1) - 1]) {
        expect(dayOf(ordinal)).toBe(day);
      }
    }),
    { numRuns: 1000 },
  );
});
