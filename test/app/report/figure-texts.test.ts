import fc from 'fast-check';
import { expect, test } from 'vitest';
import { millionthsText } from '../../../src/core/numeric/decimal.js';
import {
  amountsIn,
  currencyName,
  difference,
  perHundred,
  signOf,
  decimalSum,
} from '../../../src/app/report/figure-texts.js';
import { read } from './reported-lake.js';

const amounts = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });

test('an amount on the page is the amount, whatever its size and currency', () => {
  fc.assert(
    fc.property(amounts, fc.constantFrom('USD', 'JPY', 'KWD', '', 'X'), (millionths, currency) => {
      const text = millionthsText(millionths);
      expect(read(amountsIn(currency)(text))).toBe(text);
    }),
  );
});

test('amounts have the places of their currency, and more where they need them', () => {
  expect(['USD', 'JPY', 'KWD', '', '<b>'].map((currency) => amountsIn(currency)('-1234567.500000'))).toEqual([
    '-1,234,567.50',
    '-1,234,567.5',
    '-1,234,567.500',
    '-1,234,567.50',
    '-1,234,567.50',
  ]);
  expect([amountsIn('JPY')('5000.000000'), amountsIn('USD')('-0.000000'), amountsIn('USD')('0.005000')]).toEqual([
    '5,000',
    '0.00',
    '0.005',
  ]);
});

test('shares are rounded half away from zero, without a float', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 1n, max: 10n ** 30n }), (part, whole) => {
      const hundredths = BigInt((perHundred(millionthsText(part), millionthsText(whole)) ?? '').replace('.', ''));
      const twiceOff = 2n * (hundredths * whole - part * 10_000n);
      expect(twiceOff <= whole && -twiceOff <= whole).toBe(true);
    }),
  );
  expect([
    perHundred('0.005', '100'),
    perHundred('-0.005', '100'),
    perHundred('-0.004', '100'),
    perHundred('1', '0'),
  ]).toEqual(['0.01', '-0.01', '0.00', undefined]);
  expect(perHundred('1', '-5')).toBeUndefined();
});

test('sums and differences are exact', () => {
  fc.assert(
    fc.property(fc.array(amounts), amounts, (many, one) => {
      const sum = many.reduce((all, amount) => all + amount, 0n);
      expect(decimalSum(many.map(millionthsText))).toBe(millionthsText(sum));
      expect(difference(millionthsText(sum), millionthsText(one))).toBe(millionthsText(sum - one));
      expect(signOf(millionthsText(sum))).toBe(sum === 0n ? 0 : sum < 0n ? -1 : 1);
    }),
  );
});

test('currencies have names where they have one', () => {
  expect([currencyName('USD'), currencyName('XXX_'), currencyName(''), currencyName('QQQ')]).toEqual([
    'US Dollar',
    undefined,
    undefined,
    undefined,
  ]);
});
