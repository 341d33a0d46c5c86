import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readDecimal } from '../../../src/core/numeric/decimal.js';
import { eventMoney, fitsDecimal, normalised, Places, walkMoney } from '../../../src/app/verify/common/money-walk.js';

const walked = (raw: string) => walkMoney(raw, eventMoney, () => new Places('other').root(''));

const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
    fc.option(fc.stringMatching(/^\d{1,9}$/), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.nat(30)), { nil: undefined }),
  )
  .map(([sign, whole, fraction, exponent]) =>
    [sign, whole, fraction === undefined ? '' : `.${fraction}`, exponent === undefined ? '' : exponent.join('')].join(
      '',
    ),
  );

test('a number fits DECIMAL(18,6) just where it is read into one', () => {
  fc.assert(
    fc.property(numbers, (text) => {
      const bytes = Buffer.from(text);
      expect(fitsDecimal(text)).toBe(readDecimal(bytes, 0, bytes.length, { low: 0, high: 0 }));
    }),
  );
});

test('two spellings of one number are one, and a digit more makes another', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 17n }), fc.integer({ min: -9, max: 9 }), (digits, power) => {
      const plain = `${digits}e${power}`;
      expect(normalised(`${digits}00E${power - 2}`)).toBe(normalised(plain));
      expect(normalised(`${digits}.000e+0${Math.abs(power)}`)).toBe(normalised(`${digits}e${Math.abs(power)}`));
      expect(normalised(`${digits + 1n}e${power}`)).not.toBe(normalised(plain));
      expect(normalised(`-${plain}`)).not.toBe(normalised(plain));
    }),
  );
  expect(['0', '-0', '0.000', '0e9', '-0.0E-7'].map(normalised)).toEqual(['0', '0', '0', '0', '0']);
});

describe('the walk', () => {
  test('finds money at any depth, outer before inner, in the order of the text', () => {
    const {
      amounts,
      isOrdered,
      numbers: texts,
    } = walked(
      '{"B":[[{"CurrencyAmount":2,"CurrencyCode":"EUR","X":{"CurrencyCode":"USD","CurrencyAmount":3}}]],' +
        '"A":{"CurrencyCode":null,"CurrencyAmount":"-4e2"},"D":{"CurrencyCode":"USD","CurrencyAmount":"04"},"":{"CurrencyCode":"JPY","CurrencyAmount":5.50}}',
    );
    expect(amounts.map(({ place: { path }, amount, currency }) => ({ path, amount, currency }))).toEqual([
      { path: 'B[][]', amount: 2, currency: 'EUR' },
      { path: 'B[][].X', amount: 3, currency: 'USD' },
      { path: 'A', amount: -400, currency: null },
      { path: 'D', amount: null, currency: 'USD' },
      { path: '', amount: 5.5, currency: 'JPY' },
    ]);
    expect(isOrdered).toBe(true);
    expect(texts).toEqual(['2e0', '3e0', '-4e2', '55e-1'].toSorted());
  });

  test.each([
    ['a key that is a number', '{"7":{},"1":{}}'],
    ['a key that comes twice', '{"A":1,"A":2}'],
  ])('knows that JSON.parse changes the order for %s', (_name, raw) => {
    expect(walked(raw).isOrdered).toBe(false);
  });

  test('does not take keys within texts for keys', () => {
    const raw = String.raw`{"A":"\"CurrencyAmount\":1","B\"CurrencyAmount":2,"C":{"CurrencyCode":"USD","CurrencyAmount":9}}`;
    expect(walked(raw)).toMatchObject({ isOrdered: true, numbers: undefined });
    expect(walked('{"A":"\\"B\\":","C":{"CurrencyCode":"USD","CurrencyAmount":9}}').numbers).toEqual(['9e0']);
  });

  test('does not overflow on deep nesting', () => {
    const depth = 5000;
    const raw = `${'{"A":['.repeat(depth)}{"CurrencyCode":"USD","CurrencyAmount":1}${']}'.repeat(depth)}`;
    expect(walked(raw).amounts).toHaveLength(1);
  });
});
