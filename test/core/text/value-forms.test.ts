import { describe, expect, test } from 'vitest';
import { schemaNodes } from '../../../src/core/text/schema-nodes.js';
import {
  anyText,
  instantText,
  numberForm,
  oneOf,
  optionOf,
  positiveNumber,
  someOf,
  timeZoneName,
  wholeNumber,
  type ValueForm,
} from '../../../src/core/text/value-forms.js';

test('numbers are taken whole or not at all', () => {
  expect(wholeNumber('--burst', '30', 1)).toBe(30);
  expect(positiveNumber('--rate', '0.5')).toBe(0.5);
  for (const text of ['', '-1', '1.5', '1e3', 'x', '0x10'])
    expect(() => wholeNumber('--burst', text, 1)).toThrow(/expected --burst/);
  expect(() => wholeNumber('--burst', '0', 1)).toThrow(/from 1/);
  for (const text of ['', '0', '-1', 'x', 'Infinity', '1e3'])
    expect(() => positiveNumber('--rate', text)).toThrow(/expected --rate/);
});

describe('a form takes the same values as a text and in the configuration', () => {
  const cases: readonly (readonly [string, ValueForm<unknown>, [string, unknown][], [string, unknown][]])[] = [
    ['any text', anyText('a folder'), [['data', 'data']], []],
    ['an instant', instantText, [['2025-01-31', '2025-01-31']], [['2025-13-01', '2025-13-01']]],
    [
      'a positive number',
      numberForm({ expected: 'a number' }),
      [['0.5', 0.5]],
      [
        ['0', 0],
        ['-1', -1],
      ],
    ],
    [
      'a number within bounds',
      numberForm({ least: 2, most: 1440, expected: 'a number of minutes' }),
      [
        ['2', 2],
        ['2.5', 2.5],
        ['1440', 1440],
      ],
      [
        ['1.9', 1.9],
        ['1441', 1441],
      ],
    ],
    [
      'a whole number',
      numberForm({ isWhole: true, least: 0, most: 9, expected: 'a whole number' }),
      [
        ['0', 0],
        ['9', 9],
      ],
      [
        ['10', 10],
        ['1.5', 1.5],
      ],
    ],
    [
      'a time zone',
      timeZoneName,
      [
        ['Asia/Kolkata', 'Asia/Kolkata'],
        ['UTC', 'UTC'],
      ],
      [
        ['+02:00', '+02:00'],
        ['Nowhere', 'Nowhere'],
        ['', ''],
      ],
    ],
    ['a word', oneOf(['a', 'b']), [['a', 'a']], [['c', 'c']]],
    [
      'words',
      someOf(['a', 'b']),
      [
        ['a, b', ['a', 'b']],
        ['none', []],
      ],
      [['a,c', ['a', 'c']]],
    ],
  ];

  test.each(cases)('%s', (_what, { read, schema }, valid, invalid) => {
    const node = schema(schemaNodes);
    for (const [text, value] of valid) {
      expect(read('--x', text)).toEqual(value);
      expect(node.safeParse(value)).toEqual({ success: true, data: value });
    }
    for (const [text, value] of invalid) {
      expect(() => read('--x', text)).toThrow(/^expected --x to be /);
      expect(node.safeParse(value).success).toBe(false);
    }
  });
});

test.each([
  ['lake', 'lake'],
  ['metricsPort', 'metrics-port'],
  ['tokenLifeMinutes', 'token-life-minutes'],
])('the option of %s is --%s', (name, option) => {
  expect(optionOf(name)).toBe(option);
});
