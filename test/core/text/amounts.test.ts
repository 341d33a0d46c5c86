import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatSpan } from '../../../src/core/text/amounts.js';

test.each([
  [-5, '0 s'],
  [0, '0 s'],
  [45_000, '45 s'],
  [90_000, '1 min 30 s'],
  [720_000, '12 min'],
  [3_599_600, '1 h'],
  [12_010_000, '3 h 20 min'],
  [86_399_000, '1 d'],
  [187_200_000, '2 d 4 h'],
])('%d ms are %s', (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});

test('a span is told within half of its smaller unit', () => {
  const sizes: Readonly<Record<string, number>> = { d: 86_400, h: 3600, min: 60, s: 1 };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 400 * 86_400_000 }), (ms) => {
      const told = formatSpan(ms).match(/\d+ \w+/g) ?? [];
      const seconds = told.reduce((sum, part) => {
        const [count = '', unit = ''] = part.split(' ');
        return sum + Number(count) * (sizes[unit] ?? NaN);
      }, 0);
      const grain = seconds >= 86_400 ? 3600 : seconds >= 3600 ? 60 : 1;
      expect(Math.abs(seconds - ms / 1000)).toBeLessThanOrEqual(grain / 2);
    }),
  );
});
