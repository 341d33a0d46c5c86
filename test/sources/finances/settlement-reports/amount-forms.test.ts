import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimalMarkOf, plainAmount } from '../../../../src/sources/finances/settlement-reports/amount-forms.js';

describe('amounts', () => {
  test.each([
    ['1234.56', '.', '1234.56'],
    ['1,234.56', '.', '1234.56'],
    ['1,234,567', '.', '1234567'],
    ['(55.00)', '.', '-55.00'],
    ['-0.05', '.', '-0.05'],
    ['+3', '.', '3'],
    ['.5', '.', '0.5'],
    ['12.30-', '.', '-12.30'],
    ['−7.10', '.', '-7.10'],
    ['1.234,56', ',', '1234.56'],
    ['1234,56', ',', '1234.56'],
    ['-95,00', ',', '-95.00'],
    ['1 234,56', ',', '1234.56'],
    ['1\u00a0234,56', ',', '1234.56'],
    ['(1.234,56)', ',', '-1234.56'],
    ["1'234.50", '.', '1234.50'],
  ] as const)('%s with %s', (text, mark, expected) => {
    expect(plainAmount(text, mark)).toBe(expected);
  });

  test.each([
    ['', '.'],
    ['-', '.'],
    ['.', '.'],
    ['1,23', '.'],
    ['12,34,567', '.'],
    ['0,123.00', '.'],
    ['1.2.3', '.'],
    ['1,234 567', '.'],
    ['(5', '.'],
    ['--5', '.'],
    ['(-5)', '.'],
    ['1e3', '.'],
    ['NaN', '.'],
    ['$5', '.'],
    ['1.23', ','],
  ] as const)('%j with %s is none', (text, mark) => {
    expect(plainAmount(text, mark)).toBeUndefined();
  });

  /** An amount of cents in a form. */
  function written(cents: bigint, mark: '.' | ',', isGrouped: boolean, sign: 'before' | 'behind' | 'parentheses') {
    const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
    const whole = digits.slice(0, -2);
    const group = mark === '.' ? ',' : '.';
    const grouped = isGrouped ? whole.replaceAll(/\B(?=(?:\d{3})+$)/g, group) : whole;
    const text = `${grouped}${mark}${digits.slice(-2)}`;
    if (cents >= 0n) return text;
    return sign === 'before' ? `-${text}` : sign === 'behind' ? `${text}-` : `(${text})`;
  }

  test('any amount of cents in any form is that amount, and its form is recognised', () => {
    const cents = fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n });
    const forms = fc.record({
      mark: fc.constantFrom('.' as const, ',' as const),
      isGrouped: fc.boolean(),
      sign: fc.constantFrom('before' as const, 'behind' as const, 'parentheses' as const),
    });
    fc.assert(
      fc.property(fc.array(cents, { minLength: 1, maxLength: 20 }), forms, (all, { mark, isGrouped, sign }) => {
        const texts = all.map((each) => written(each, mark, isGrouped, sign));
        expect(decimalMarkOf(texts)).toBe(mark);
        const read = texts.map((text) => {
          const [whole = '', decimals = ''] = (plainAmount(text, mark) ?? '').split('.');
          return BigInt(whole + decimals);
        });
        expect(read).toEqual(all);
      }),
    );
  });

  test('any text is a plain decimal or none', () => {
    const parts = fc.constantFrom('1', '23', '456', '.', ',', '-', '(', ')', ' ', '\u00a0', "'", 'x', '+');
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 9 }), fc.constantFrom('.' as const, ',' as const), (pieces, mark) => {
        const plain = plainAmount(pieces.join(''), mark);
        if (plain !== undefined) expect(plain).toMatch(/^-?\d+(?:\.\d+)?$/);
      }),
    );
  });
});

describe('the form of a settlement', () => {
  test.each([
    [['1,234', '5.00'], '.'],
    [['1,234', '5,00'], ','],
    [['1.234', '5,00'], ','],
    [['1,234', '1,234,567'], '.'],
    [['12', '-5', ''], '.'],
    [['1,234', 'x'], undefined],
    [['1,234'], undefined],
    [['1.234'], undefined],
    [['1,234', '7'], undefined],
    [['5.00', '6.00', '7,00'], '.'],
    [['5.00', '7,00'], undefined],
  ] as const)('%j: %s', (texts, mark) => {
    const found = decimalMarkOf(texts);
    expect(typeof found === 'string' ? found : undefined).toBe(mark);
  });

  test('an amount that could be either is named with both readings', () => {
    expect(decimalMarkOf(['7', '1,234'])).toEqual({ text: '1,234', found: '1234 or 1.234' });
  });
});
