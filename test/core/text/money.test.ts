import { expect, test } from 'vitest';
import { currencyPlaces, roundedDecimal, trimmedDecimal } from '../../../src/core/text/money.js';

test('amounts are rounded half to even, and nothing is a negative zero', () => {
  const cases: [string, number, string][] = [
    ['1.005000', 2, '1.00'],
    ['1.015000', 2, '1.02'],
    ['1.005001', 2, '1.01'],
    ['-1.015000', 2, '-1.02'],
    ['-0.004000', 2, '0.00'],
    ['-0.005000', 2, '0.00'],
    ['0.999999', 2, '1.00'],
    ['2.500000', 0, '2'],
    ['3.500000', 0, '4'],
    ['1234.000000', 0, '1234'],
    ['0.1', 3, '0.100'],
    ['99999999999999999999999999999999.995000', 2, '100000000000000000000000000000000.00'],
  ];
  for (const [text, places, expected] of cases) expect([text, roundedDecimal(text, places)]).toEqual([text, expected]);
});

test('no more digits than an amount needs', () => {
  expect(['1.500000', '-8.590000', '0.000001', '12', '3.000000'].map((text) => trimmedDecimal(text, 2))).toEqual([
    '1.50',
    '-8.59',
    '0.000001',
    '12.00',
    '3.00',
  ]);
  expect(trimmedDecimal('3.000000', 0)).toBe('3');
});

test('currencies have their own digits', () => {
  expect(['USD', 'JPY', 'KWD', 'eur', '', 'XXXX'].map(currencyPlaces)).toEqual([2, 0, 3, 2, 2, 2]);
});
