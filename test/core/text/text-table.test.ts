import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tableText } from '../../../src/core/text/text-table.js';
import { displayWidth } from '../../../src/core/text/width.js';
import { chunked, textOf } from './streams.js';
import type { ResultCell, ResultColumn } from '../../../src/core/text/rows.js';

const money: readonly ResultColumn[] = [
  { name: 'kind', kind: 'text' },
  { name: 'amount', kind: 'number' },
];

test('numbers stand to the right, text to the left, wide characters count double', async () => {
  const rows = [
    ['fee', '-1.500000'],
    ['税金👍', '1250.000000'],
    [null, null],
    ['NULL', 0n],
  ];
  expect(await textOf(tableText(money, chunked(rows)))).toBe(`┌────────┬─────────────┐
│ kind   │      amount │
├────────┼─────────────┤
│ fee    │   -1.500000 │
│ 税金👍 │ 1250.000000 │
│ NULL   │        NULL │
│ "NULL" │           0 │
└────────┴─────────────┘
4 rows
`);
});

test('amounts have the digits of their currency, with their points below each other', async () => {
  const columns: readonly ResultColumn[] = [
    { name: 'amount', kind: 'number', isAmount: true },
    { name: 'currency', kind: 'text' },
    { name: 'original_total', kind: 'number', isAmount: true },
    { name: 'original_currency', kind: 'text' },
  ];
  const rows = [
    ['1.005000', 'USD', '1.500000', 'KWD'],
    ['-1250.500000', 'JPY', '-2.000000', null],
    [null, 'EUR', '0.000100', null],
  ];
  expect(await textOf(tableText(columns, chunked(rows))))
    .toBe(`┌──────────┬──────────┬────────────────┬───────────────────┐
│   amount │ currency │ original_total │ original_currency │
├──────────┼──────────┼────────────────┼───────────────────┤
│     1.00 │ USD      │         1.500  │ KWD               │
│ -1250    │ JPY      │        -2.00   │ NULL              │
│     NULL │ EUR      │         0.0001 │ NULL              │
└──────────┴──────────┴────────────────┴───────────────────┘
3 rows
2 amounts rounded to the currency's digits (exactly 1.005, -1250.5): csv and json are exact
`);
});

test('no row still shows the columns', async () => {
  expect(await textOf(tableText(money, chunked()))).toBe(`┌──────┬────────┐
│ kind │ amount │
├──────┼────────┤
└──────┴────────┘
0 rows
`);
});

test('the footer can be left out', async () => {
  expect(await textOf(tableText(money, chunked([['x', 1]]), { footer: false }))).not.toContain('row');
});

test('small chunks share a box; rows that need more room later get a wider one', async () => {
  const columns: readonly ResultColumn[] = [{ name: 'n', kind: 'number' }];
  const small = Array.from({ length: 1000 }, (): ResultCell[][] => [[7]]);
  const text = await textOf(tableText(columns, chunked(...small, [[123456]])));
  expect(text.match(/┌.*┐/g)).toEqual(['┌───┐', '┌────────┐']);
  expect(text).toContain('│ 123456 │');
  expect(text.endsWith('1,001 rows\n')).toBe(true);
});

describe('on a terminal', () => {
  test('text is cut with an ellipsis, numbers and times are not', async () => {
    const columns: readonly ResultColumn[] = [
      { name: 'at', kind: 'time' },
      { name: 'raw', kind: 'text' },
      { name: 'amount', kind: 'number' },
    ];
    const row = ['2025-03-04T05:06:07Z', '{"a":'.repeat(40), '999999999999.999999'];
    expect(await textOf(tableText(columns, chunked([row]), { width: 64 }))).toContain(
      '│ 2025-03-04T05:06:07Z │ {"a":{"a":{"a"… │ 999999999999.999999 │',
    );
  });

  test('of amounts those columns stay that say what each is, and those go first that are NULL throughout', async () => {
    const names = [
      'account',
      'event_id',
      'event_list',
      'posted_at',
      'item',
      'sku',
      'fnsku',
      'kind',
      'name',
      'role',
      'amount',
      'amount_text',
      'currency',
    ];
    const named = names.map((name): ResultColumn => ({ name, kind: 'text' }));
    const row = [
      'shop',
      'x'.repeat(32),
      'ShipmentEventList',
      '2026-01-01',
      '0',
      'sku',
      null,
      'fee',
      'Commission',
      'net',
      '-1.50',
      null,
      'EUR',
    ];
    const headOf = (text: string) => text.split('\n')[1]?.match(/[\w…]+/g);
    const at = async (width: number) => headOf(await textOf(tableText(named, chunked([row]), { width })));
    const about = ['kind', 'name', 'role', 'amount', 'currency'];
    expect(await at(100)).toEqual(expect.arrayContaining([...about, '…', 'account', 'event_list']));
    expect(await at(100)).not.toContain('fnsku');
    expect(await at(52)).toEqual(['…', ...about]);
    expect(await at(1000)).toEqual(names);
  });

  test('columns that find no room are left out from the middle, and the footer says so', async () => {
    const columns = Array.from({ length: 9 }, (_, at): ResultColumn => ({ name: `column ${at}`, kind: 'text' }));
    const row = columns.map(({ name }) => `value of ${name}`);
    const text = await textOf(tableText(columns, chunked([row]), { width: 60 }));
    expect(text).toContain('│ value of column… │ value of colum… │ … │ value of colum… │');
    expect(text).toContain('1 row, 3 of 9 columns shown\n');
    expect(text.replaceAll('\n', ' ')).toMatch(
      / no room for column 2, column 3, .*, column 7: a wider terminal, a SELECT of fewer columns, or /,
    );
    const cut = await textOf(tableText(columns, chunked([row]), { width: 60, footer: false }));
    expect(cut).toMatch(/^no room for column 2, [^│]*\n$/m);
    expect(await textOf(tableText(columns, chunked([row])))).not.toContain('no room');
  });

  const kind = fc.constantFrom<ResultColumn['kind']>('text', 'json', 'number', 'time');
  test('every line has the same width, which is that of the terminal at most', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(kind, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.integer({ min: 40, max: 130 }),
        async (cells, width) => {
          const columns = cells.map(([kind], at): ResultColumn => ({ name: `c${at}`, kind }));
          // One number or time of 20 digits fits 40 cells.
          const row = cells.map(([kind, text]) => (kind === 'number' || kind === 'time' ? text.slice(0, 20) : text));
          const lines = (await textOf(tableText(columns, chunked([row]), { width })))
            .split('\n')
            .filter((line) => /^[┌│├└]/.test(line));
          const widths = new Set(lines.map(displayWidth));
          expect(widths.size).toBe(1);
          expect([...widths][0]).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});
