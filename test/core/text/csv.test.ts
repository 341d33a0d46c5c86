import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvText } from '../../../src/core/text/formats.js';
import { writeRows } from '../../../src/core/text/formats.js';
import { parseCsv } from './parsed-csv.js';
import { chunked, Kept, textOf } from './streams.js';

const cell = fc.oneof(
  fc.constant(null),
  fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '日') }),
  fc.bigInt(),
  fc.boolean(),
);

test('another reader gets every cell back, and NULL apart from the empty string', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }).chain((width) =>
        fc.tuple(
          fc.array(fc.string({ minLength: 1 }), { minLength: width, maxLength: width }),
          fc.array(fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 4 }), {
            maxLength: 3,
          }),
        ),
      ),
      async ([names, chunks]) => {
        const columns = names.map((name) => ({ name, kind: 'text' }) as const);
        const parsed = parseCsv(await textOf(csvText(columns, chunked(...chunks))));
        const rows = chunks.flat().map((row) => row.map((value) => (value === null ? null : String(value))));
        expect(parsed).toEqual([names, ...rows]);
      },
    ),
  );
});

test('decimals keep their digits, and only what needs quotes has them', async () => {
  const columns = [
    { name: 'amount', kind: 'number' },
    { name: 'a, b', kind: 'text' },
    { name: 'none', kind: 'text' },
    { name: 'empty', kind: 'text' },
  ] as const;
  expect(await textOf(csvText(columns, chunked([['25.100000', 'say "x"', null, '']])))).toBe(
    'amount,"a, b",none,empty\n25.100000,"say ""x""",,""\n',
  );
});

test('csv-safe gives no cell that a spreadsheet takes for a formula, and numbers stay numbers', async () => {
  const columns = [
    { name: 'amount', kind: 'number' },
    { name: '=name', kind: 'text' },
  ] as const;
  const texts = [
    '=1+1',
    '+1',
    '-12.50',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n',
    ' =1',
    '＝1',
    'a=1',
    '',
    'é',
    'x;=1',
    'a; @b',
    'a\n-1;+c',
  ];
  const rows = parseCsv(
    await textOf(csvText(columns, chunked(texts.map((text) => ['-12.50', text])), { isSafe: true })),
  );
  expect(rows.map(([amount]) => amount)).toEqual(['amount', ...texts.map(() => '-12.50')]);
  expect(rows.map(([, text]) => text)).toEqual([
    ...[
      "'=name",
      "'=1+1",
      '+1',
      '-12.50',
      "'-1+1",
      "'@SUM(A1)",
      "'\t'=1",
      "'\r'=1",
      "'\n",
      "' =1",
      "'＝1",
      'a=1',
      '',
      'é',
      "x;'=1",
      "a; '@b",
      "a\n'-1;'+c",
    ],
  ]);
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', ';', ' ', '1', '.', 'a') }),
      async (text) => {
        const [, [, cell = ''] = []] = parseCsv(await textOf(csvText(columns, chunked([[1, text]]), { isSafe: true })));
        expect(cell === null || !/^[=+\-@\t\r]/.test(cell) || Number.isFinite(Number(cell))).toBe(true);
        expect((cell ?? '').replaceAll("'", '')).toBe(text);
        // With a semicolon as the list separator quotes inside of a cell separate nothing.
        const [, ...later] = (cell ?? '').split(/[;\t\r\n]/);
        expect(later.filter((each) => /^\s*[=+\-@]/.test(each))).toEqual([]);
      },
    ),
  );
});

test('only on a terminal CSV shows escapes: elsewhere each field is what its cell is', async () => {
  const columns = [{ name: 'x\u001b[2J', kind: 'text' }] as const;
  const csvOn = async (output: Kept): Promise<string> => {
    await writeRows(output, 'csv', columns, chunked([['a\u009b\nb']]));
    return output.text;
  };
  expect(await csvOn(new Kept())).toBe('x\u001b[2J\n"a\u009b\nb"\n');
  expect(await csvOn(new Kept(80))).toBe('x\\u001b[2J\na\\u009b\\nb\n');
});
