import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fieldsOf, settlementsIn } from '../../../../src/sources/finances/settlement-reports/report-document.js';
import {
  decodedLines,
  decodeLine,
  encodingOf,
} from '../../../../src/sources/finances/settlement-reports/report-encodings.js';
import { amountLine, reportHeader, reportNames, reportText } from './report-file.js';

function divided(text: string) {
  const lines = text.slice(0, -1).split('\n');
  const { settlements, faults } = settlementsIn(lines.map((raw, at) => ({ number: at + 1, raw })));
  return { settlements: settlements.map(({ id, lines: own }) => [id, own.map(({ number }) => number)]), faults };
}

test('a document that was received has the lines of its text, in its charset or another one', () => {
  const text = fc.string({ unit: 'binary' }).map((some) => some.replaceAll(/[\r\n]/g, ''));
  fc.assert(
    fc.property(fc.array(text), fc.constantFrom('\n', '\r\n'), fc.boolean(), (lines, feed, endsWithFeed) => {
      const document = Buffer.from(lines.join(feed) + (endsWithFeed ? feed : ''));
      const expected = endsWithFeed || lines.at(-1) !== '' ? lines : lines.slice(0, -1);
      for (const charset of ['utf-8', 'iso-8859-1', undefined]) {
        const decoded = decodedLines(document, charset);
        expect(decoded.map(({ raw }) => raw)).toEqual(lines.length === 0 && endsWithFeed ? [''] : expected);
        expect(decoded.map(({ number }) => number)).toEqual(decoded.map((_line, at) => at + 1));
      }
    }),
  );
  // Bytes that are no text in the named charset are decoded as they can be.
  expect(decodedLines(Buffer.from('Größe', 'latin1'), 'utf-8')).toEqual([{ number: 1, raw: 'Größe' }]);
});

test('each line is of the settlement that it names', () => {
  const text = reportText(
    reportHeader('1', '3.00'),
    amountLine('1', '1.00'),
    reportHeader('2', '1.00'),
    amountLine('2', '1.00'),
    amountLine('1', '2.00'),
  );
  expect(divided(text)).toEqual({
    settlements: [
      ['1', [3, 6]],
      ['2', [5]],
    ],
    faults: [],
  });
});

test('of a settlement that a document has twice the last one counts', () => {
  const one = reportText(reportHeader('1', '1.00'), amountLine('1', '1.00'));
  expect(divided(one + one).settlements).toEqual([['1', [6]]]);
});

test('a line that is cut off is one of the settlement above it, and lines without a first line are named', () => {
  const text = reportText(
    reportHeader('1', '1.00'),
    amountLine('1', '1.00').slice(0, 20),
    'x',
    amountLine('9', '1.00'),
    amountLine('9', '2.00'),
  );
  const { settlements, faults } = divided(text);
  expect(settlements).toEqual([['1', [3, 4]]]);
  expect(faults).toMatchObject([{ line: 5 }]);
});

test('a document that lacks a column names it', () => {
  const { faults } = divided(reportText(reportHeader('1', '1.00')).replace('amount-description', 'price-type'));
  expect(faults).toEqual([
    { line: 1, found: 'expected the column amount-description of a settlement report (flat file V2), found none' },
  ]);
});

test('any lines are lines of a settlement, first lines or faults, and none is lost or doubled', () => {
  const ids = fc.constantFrom('1', '2', '3');
  const line = fc.oneof(
    ids.map((id) => reportHeader(id, '1.00')),
    ids.map((id) => amountLine(id, '1.00')),
    fc.string({ unit: fc.constantFrom('1', '2', '\t', 'x', '"') }),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      const all = [reportNames, ...lines].map((raw, at) => ({ number: at + 1, raw }));
      const { settlements } = settlementsIn(all);
      const numbers = settlements.flatMap(({ header, lines: own }) => [header, ...own].map(({ number }) => number));
      expect(new Set(numbers).size).toBe(numbers.length);
      // What came before the last first line of a settlement is of an older state of it.
      for (const { header, lines: own } of settlements)
        for (const { number } of own) expect(number).toBeGreaterThan(header.number);
    }),
  );
});

test('fields in quotes, as spreadsheets write them', () => {
  const line = '1\t"1,234.00"\t"say ""hi"""\t"a"b"\t"\t""';
  expect(fieldsOf(line)).toEqual(['1', '1,234.00', 'say "hi"', '"a"b"', '"', '']);
});

test('encodings are recognised', () => {
  const japan = '1\t\t\t\t100\tJPY';
  const of = (...lines: readonly (string | readonly number[])[]) =>
    encodingOf(lines.map((line) => (typeof line === 'string' ? Buffer.from(line) : Buffer.from(line))));
  expect(of('Größe', japan)).toBe('utf-8');
  expect(of([0x47, 0x72, 0xf6, 0xdf, 0x65])).toBe('windows-1252');
  expect(of([0x83, 0x65, 0x83, 0x58], japan)).toBe('shift_jis');
  expect(of([0x83, 0x65, 0x83, 0x58])).toBe('shift_jis');
  // Kanji alone could be any bytes.
  expect(of([0x8a, 0xbf, 0x8e, 0x9a])).toBe('windows-1252');
  expect(of([0x8a, 0xbf, 0x8e, 0x9a], japan)).toBe('shift_jis');
  expect(of([0xff], japan)).toBe('windows-1252');
});

test('windows-1252 has the euro sign and every other byte', () => {
  expect(decodeLine(Buffer.of(0x80, 0x92, 0xe9, 0x41), 'windows-1252')).toBe('€’éA');
  const all = decodeLine(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), 'windows-1252');
  expect(new Set(all).size).toBe(256);
});
