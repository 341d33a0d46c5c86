import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDecimal, readInteger } from '../../../src/core/numeric/decimal.js';
import { numberText } from '../../reference/arbitraries.js';
import { int64Of, millionthsOf } from '../../reference/decimals.js';

function millionths(text: string): bigint | null {
  const halves = { low: 0, high: 0 };
  const bytes = Buffer.from(`[${text}]`);
  if (!readDecimal(bytes, 1, bytes.length - 1, halves)) return null;
  return (BigInt(halves.high) << 32n) + BigInt(halves.low >>> 0);
}

describe('amounts', () => {
  test.each([
    ['25.10', 25_100_000n],
    ['7E1', 70_000_000n],
    ['-0.00', 0n],
    ['0.000001', 1n],
    ['-0.000001', -1n],
    ['1.0000000', 1_000_000n],
    ['12345678901.234567', 12_345_678_901_234_567n],
    ['999999999999.999999', 999_999_999_999_999_999n],
    ['-999999999999.999999', -999_999_999_999_999_999n],
    ['0e999999999999', 0n],
    ['4294.967296', 4_294_967_296n],
    ['-4294.967296', -4_294_967_296n],
    ['100000e-11', 1n],
  ])('%s is exact', (text, expected) => {
    expect(millionths(text)).toBe(expected);
  });

  test.each(['0.0000001', '1000000000000', '1e12', '1e400', '-1e-7', '1.2345678', '1e999999999999', '1e-999999999999'])(
    '%s does not fit',
    (text) => {
      expect(millionths(text)).toBeNull();
    },
  );

  test('every number of JSON is read as the reference reads it', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        expect(millionths(text)).toBe(millionthsOf(text));
      }),
      { numRuns: 20_000 },
    );
  });

  test('all that fits comes back', () => {
    const limit = 10n ** 18n - 1n;
    fc.assert(
      fc.property(fc.bigInt(-limit, limit), fc.nat(3), (value, zeros) => {
        const digits = (value < 0n ? -value : value).toString().padStart(7, '0');
        const text = `${value < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}${'0'.repeat(zeros)}`;
        expect(millionths(text)).toBe(value);
      }),
      { numRuns: 10_000 },
    );
  });
});

test('whole numbers in any spelling are read as the reference reads them', () => {
  fc.assert(
    fc.property(fc.oneof(numberText, fc.bigInt(-(2n ** 64n), 2n ** 64n).map(String)), (text) => {
      expect(readInteger(text) ?? null).toBe(int64Of(text));
    }),
    { numRuns: 20_000 },
  );
});
