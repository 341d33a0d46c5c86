import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workbook } from '../../../src/core/text/workbook.js';
import { sheetIn, unzipped } from './unzipped.js';

test('sheets have numbers with all their digits, and texts that are no formulas', () => {
  const book = workbook([
    {
      name: 'a <b>',
      columns: [
        { name: 'name', kind: 'text' },
        { name: 'currency', kind: 'text' },
        { name: 'total', kind: 'number', isAmount: true },
        { name: 'times', kind: 'number' },
      ],
      rows: [
        ['=1+1 & "x"\u0000', 'USD', '12345678901.000001', 3],
        [null, 'JPY', '7.500000', 'NaN'],
        [null, 'KWD', '7.500000', null],
        [null, null, '7.500000', null],
      ],
    },
    { name: 'empty', columns: [{ name: 'n', kind: 'number' }], rows: [] },
  ]);
  const files = unzipped(book);
  expect([...files.keys()].filter((name) => name.includes('sheets/'))).toEqual([
    'xl/worksheets/sheet1.xml',
    'xl/worksheets/sheet2.xml',
  ]);
  expect(files.get('xl/workbook.xml')).toContain('<sheet name="a &lt;b&gt;" sheetId="1" r:id="r1"/>');
  const sheet = sheetIn(book);
  expect(sheet).toContain('<t xml:space="preserve">=1+1 &amp; &quot;x&quot;\uFFFD</t>');
  expect(sheet).toContain('<c s="4"><v>12345678901.000001</v></c><c><v>3</v></c></row>');
  expect(sheet).toContain(
    '<c s="2"><v>7.500000</v></c><c s="0" t="inlineStr"><is><t xml:space="preserve">NaN</t></is></c></row>',
  );
  expect(sheet).toContain('<c s="5"><v>7.500000</v></c><c/></row>');
  expect(sheet).toContain('<row><c/><c/><c s="4"><v>7.500000</v></c><c/></row>');
  expect(workbook([])).toEqual(workbook([]));
});

test('a text that looks like an escape of a spreadsheet is read as it is', () => {
  const piece = fc.constantFrom('_', 'x', '_x0041_', '_x00e9_', 'x005F', '_x005F_', '0042_', 'a', '_X0041_');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join('');
      const sheet = sheetIn(workbook([{ name: 'a', columns: [{ name: 'n', kind: 'text' }], rows: [[text]] }]));
      const written = /<\/row><row><c s="0" t="inlineStr"><is><t xml:space="preserve">(.*?)<\/t>/.exec(sheet)?.[1];
      // As ECMA-376 has it (22.9.2.19).
      const read = written?.replaceAll(/_x([\da-fA-F]{4})_/g, (_, code: string) =>
        String.fromCharCode(parseInt(code, 16)),
      );
      expect(read).toBe(text);
    }),
  );
});

test('dates and instants are days of spreadsheets, and texts where these have none', () => {
  const sheetOf = (texts: readonly string[]) => {
    const columns = [{ name: 'at', kind: 'time' as const }];
    const cells = [
      ...sheetIn(workbook([{ name: 'a', columns, rows: texts.map((text) => [text]) }])).matchAll(
        /<row>(<c s="[^1]".*?)<\/row>/g,
      ),
    ];
    return cells.map(([, cell]) => cell);
  };
  expect(sheetOf(['2026-03-01', '2026-03-01T12:00:00Z', '1900-03-01', '9999-12-31T23:59:59.999Z'])).toEqual([
    '<c s="7"><v>46082</v></c>',
    '<c s="8"><v>46082.5</v></c>',
    '<c s="7"><v>61</v></c>',
    '<c s="8"><v>2958465.999999988</v></c>',
  ]);
  for (const text of [
    '1900-02-28',
    '0001-01-01T00:00:00Z',
    'infinity',
    '12345-01-01',
    '2026-03-01T24:00:00',
    '08:00:00',
  ])
    expect(sheetOf([text])).toEqual([`<c s="0" t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`]);
  // To a tenth of a millisecond: a spreadsheet's numbers have no more digits.
  const instant = fc.integer({ min: Date.UTC(1900, 2, 1), max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(instant, fc.integer({ min: 0, max: 999 }), (ms, micros) => {
      const text = new Date(ms).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`);
      const [, days = ''] = /<v>(.*)<\/v>/.exec(sheetOf([text])[0] ?? '') ?? [];
      const read = (Number(days) - 25_569) * 86_400_000;
      expect(Math.abs(read - (ms + micros / 1000))).toBeLessThan(0.1);
    }),
  );
});

test('cells have the names of their places, behind Z as well', () => {
  const columns = Array.from({ length: 800 }, (_, at) => ({ name: `c${at}`, kind: 'number' as const }));
  const book = workbook([{ name: 'a', columns, rows: [columns.map(() => 1), columns.map(() => null)] }]);
  expect(sheetIn(book).match(/<c>/g)).toHaveLength(800);
});

test('more rows than a sheet can have are refused', () => {
  const rows = Array.from({ length: 1_048_576 }, () => [1]);
  const sheet = { name: 'a', columns: [{ name: 'n', kind: 'number' as const }], rows };
  expect(() => workbook([sheet])).toThrow('expected at most 1,048,575 rows for a sheet, got 1,048,576');
});
