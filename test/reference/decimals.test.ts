import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { int64Of, int64OfDigits, millionthsOf } from './decimals.js';

describe('the reference reading of numbers', () => {
  test.each([
    ['25.10', 25_100_000n],
    ['7E1', 70_000_000n],
    ['-0.00', 0n],
    ['1e-6', 1n],
    ['1.0000000', 1_000_000n],
    ['999999999999.999999', 999_999_999_999_999_999n],
    ['-999999999999.9999990', -999_999_999_999_999_999n],
    ['0e999999999999999999999', 0n],
    ['0.0000001e1', 1n],
    ['100000000000000000000e-20', 1_000_000n],
  ])('%s is exact in millionths', (text, millionths) => {
    expect(millionthsOf(text)).toBe(millionths);
  });

  test.each([
    '1e-7',
    '0.1234567',
    '1000000000000',
    '1e12',
    '999999999999.9999991',
    '1e400',
    '-1e-400',
    '1e99999999999999999999',
  ])('%s does not fit DECIMAL(18,6)', (text) => {
    expect(millionthsOf(text)).toBeNull();
  });

  test('any spelling of a decimal gives the same millionths', () => {
    const max = 10n ** 18n - 1n;
    fc.assert(
      fc.property(
        fc.bigInt({ min: -max, max }),
        fc.integer({ min: -40, max: 40 }),
        fc.nat(5),
        (value, shift, zeros) => {
          const sign = value < 0n ? '-' : '';
          const digits = String(value < 0n ? -value : value).padStart(60, '0') + '0'.repeat(60);
          const point = 60 - 6 - shift;
          const whole = digits.slice(0, point).replace(/^0+(?=.)/, '');
          const text = `${sign}${whole}.${digits.slice(point)}${'0'.repeat(zeros)}e${shift}`;
          expect(millionthsOf(text)).toBe(value);
        },
      ),
    );
  });

  test('whole numbers are 64-bit in every spelling', () => {
    expect(['2', '2.0', '2e0', '20e-1', '-0', '9223372036854775807', '-9223372036854775808'].map(int64Of)).toEqual([
      ...[2n, 2n, 2n, 2n, 0n, 9223372036854775807n, -9223372036854775808n],
    ]);
    expect(['2.5', '1e-1', '9223372036854775808', '-9223372036854775809', '1e19', '1e400'].map(int64Of)).toEqual(
      Array(6).fill(null),
    );
  });

  test('a string of digits is a 64-bit integer', () => {
    expect(['007', '-5', '-0', '9223372036854775807'].map(int64OfDigits)).toEqual([7n, -5n, 0n, 9223372036854775807n]);
    expect(['', '-', '+1', '1.0', '1e1', ' 1', '٣', '9223372036854775808'].map(int64OfDigits)).toEqual(
      Array(8).fill(null),
    );
  });
});
