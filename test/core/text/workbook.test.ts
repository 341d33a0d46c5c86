import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workbook } from '../../../src/core/text/workbook.js';
import { unzipped } from './unzipped.js';

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
  const sheet = files.get('xl/worksheets/sheet1.xml');
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
      const files = unzipped(workbook([{ name: 'a', columns: [{ name: 'n', kind: 'text' }], rows: [[text]] }]));
      const written = /<\/row><row><c s="0" t="inlineStr"><is><t xml:space="preserve">(.*?)<\/t>/.exec(
        files.get('xl/worksheets/sheet1.xml') ?? '',
      )?.[1];
      // As ECMA-376 has it (22.9.2.19).
      const read = written?.replaceAll(/_x([\da-fA-F]{4})_/g, (_, code: string) =>
        String.fromCharCode(parseInt(code, 16)),
      );
      expect(read).toBe(text);
    }),
  );
});

test('more rows than a sheet can have are refused', () => {
  const rows = Array.from({ length: 1_048_576 }, () => [1]);
  const sheet = { name: 'a', columns: [{ name: 'n', kind: 'number' as const }], rows };
  expect(() => workbook([sheet])).toThrow('expected at most 1,048,575 rows for a sheet, got 1,048,576');
});
