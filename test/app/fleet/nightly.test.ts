import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nightlyPattern, nightlySecond } from '../../../src/app/fleet/nightly.js';

const hour = 3_600_000;
const night = { startMs: 22 * hour, lengthMs: 6 * hour };

test('every sync begins within the night, on a second that is its own', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(24 * hour - 1), fc.nat(24 * hour), (account, startMs, lengthMs) => {
      const second = nightlySecond(account, { startMs, lengthMs });
      expect(second).toBeGreaterThanOrEqual(0);
      expect(second).toBeLessThan(86_400);
      // Whole seconds: of both ends the one that they lie in counts.
      const into = (second * 1000 - Math.floor(startMs / 1000) * 1000 + 24 * hour) % (24 * hour);
      expect(into).toBeLessThan(lengthMs + 1000);
      expect(nightlySecond(account, { startMs, lengthMs })).toBe(second);
    }),
  );
});

test('a thousand accounts are spread evenly over it', () => {
  const counts = new Array<number>(6).fill(0);
  for (let n = 0; n < 6000; n++) {
    const hourOf = Math.floor(nightlySecond(`seller-${n}`, night) / 3600);
    const place = (hourOf + 2) % 24;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
});

test('its pattern names that second', () => {
  const second = nightlySecond('my-shop', night);
  const [s = 0, m = 0, h = 0, ...rest] = nightlyPattern('my-shop', night).split(' ');
  expect(Number(h) * 3600 + Number(m) * 60 + Number(s)).toBe(second);
  expect(rest).toEqual(['*', '*', '*']);
});
