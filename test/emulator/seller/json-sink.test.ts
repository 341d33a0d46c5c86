import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberText } from '../../../src/emulator/seller/json-sink.js';
import { microsOf } from './reading.js';

const scales = fc.constantFrom(0, 2);
const choices = fc.integer({ min: 0, max: 65_535 });
const small = fc.integer({ min: -999_999_999_999, max: 999_999_999_999 });
const amounts = fc.oneof(
  small,
  small.map((cents) => cents * 10_000),
  fc.integer({ min: -1000, max: 1000 }).map((coins) => coins * 1_000_000),
  fc.constantFrom(0, -0, 1, -1, 125, 70_000_000),
);

test('an amount is spelt as a legal number of the same value, however it is spelt', () => {
  fc.assert(
    fc.property(amounts, scales, choices, (millionths, scale, choice) => {
      const spelt = numberText(millionths, scale, choice);
      expect(microsOf(spelt)).toBe(BigInt(millionths));
      expect(JSON.parse(spelt)).toBeCloseTo(millionths / 1e6, 4);
      expect(microsOf(numberText(BigInt(millionths), scale, choice))).toBe(BigInt(millionths));
    }),
    { numRuns: 2000 },
  );
});

test('totals beyond what a double holds stay exact', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n }),
      scales,
      choices,
      (total, scale, choice) => {
        expect(microsOf(numberText(total, scale, choice))).toBe(total);
      },
    ),
  );
});

test.each([
  [25_100_000, 2, 31, '25.10'],
  [25_000_000, 0, 31, '25'],
  [-3_500_000, 2, 0, '-3.5'],
  [70_000_000, 2, 3, '7E1'],
  [125, 2, 31, '0.000125'],
  [125, 0, 4, '1.25e-4'],
  [0, 2, 9, '-0.00'],
  [0, 2, 8, '0.00'],
  [1_250_000, 2, 2, '1.250'],
  [1_250_000, 2, 5, '1.250000'],
])('%i millionths with scale %i in the way %i are %s', (millionths, scale, choice, spelt) => {
  expect(numberText(millionths, scale, choice)).toBe(spelt);
});
