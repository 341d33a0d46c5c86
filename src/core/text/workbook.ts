import { crc32, deflateRawSync } from 'node:zlib';
import { formatCount } from './amounts.js';
import { currencyPlaces } from './money.js';
import { usageError } from '../errors.js';
import { dayMs } from '../windows.js';
import { cellText, type ResultCell, type ResultColumn, type ResultRows } from './rows.js';

/** A sheet of a workbook, with the column names in the first row. */
export interface Sheet {
  /** At most 31 characters, none of `[]:*?/\`. */
  readonly name: string;
  readonly columns: readonly ResultColumn[];
  readonly rows: ResultRows;
}

/** The comment at the end of a report's workbook: a report overwrites no other file. */
export const workbookMark = 'ledgerlake report';

/**
 * Sheets as an Office Open XML workbook (`.xlsx`, ECMA-376): numbers are numbers with all their digits, dates and instants are dates,
 * in UTC, and all other cells are text, so that nothing becomes a formula. Amounts are shown with the decimals of the currency in the
 * column `currency`, and keep all their digits. A spreadsheet keeps 15 digits of a number. The same sheets give the same bytes.
 *
 * @param comment at its end
 * @throws LedgerlakeError USAGE for more rows than a sheet can have
 */
export function workbook(sheets: readonly Sheet[], comment = workbookMark): Buffer {
  for (const { rows } of sheets) {
    if (rows.length > mostRows)
      throw usageError(
        `expected at most ${formatCount(mostRows, 'row')} for a sheet, got ${formatCount(rows.length)}; .csv and .parquet take any number`,
      );
  }
  const files: [string, string | readonly string[]][] = [
    ['[Content_Types].xml', contentTypes(sheets)],
    ['_rels/.rels', relations([['officeDocument', 'xl/workbook.xml']])],
    ['xl/workbook.xml', book(sheets)],
    [
      'xl/_rels/workbook.xml.rels',
      relations([
        ...sheets.map((_, at): [string, string] => ['worksheet', `worksheets/sheet${at + 1}.xml`]),
        ['styles', 'styles.xml'],
      ]),
    ],
    ['xl/styles.xml', styles],
    ...sheets.map((sheet, at): [string, readonly string[]] => [`xl/worksheets/sheet${at + 1}.xml`, sheetXml(sheet)]),
  ];
  const bytes = (text: string | readonly string[]): Buffer =>
    Buffer.concat(['<?xml version="1.0" encoding="UTF-8"?>\n', ...[text].flat()].map((piece) => Buffer.from(piece)));
  return zipped(
    files.map(([name, text]) => [name, bytes(text)]),
    comment,
  );
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packages = 'http://schemas.openxmlformats.org/package/2006';
const format = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

function contentTypes(sheets: readonly Sheet[]): string {
  const part = (path: string, type: string) => `<Override PartName="/xl/${path}" ContentType="${format}.${type}+xml"/>`;
  return (
    `<Types xmlns="${packages}/content-types">` +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Default Extension="xml" ContentType="application/xml"/>${part('workbook.xml', 'sheet.main')}` +
    `${part('styles.xml', 'styles')}${sheets.map((_, at) => part(`worksheets/sheet${at + 1}.xml`, 'worksheet')).join('')}</Types>`
  );
}

function relations(targets: readonly (readonly [type: string, target: string])[]): string {
  const all = targets.map(
    ([type, target], at) => `<Relationship Id="r${at + 1}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${packages}/relationships">${all.join('')}</Relationships>`;
}

function book(sheets: readonly Sheet[]): string {
  const all = sheets.map(({ name }, at) => `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="r${at + 1}"/>`);
  return `<workbook xmlns="${main}" xmlns:r="${office}"><sheets>${all.join('')}</sheets></workbook>`;
}

/** Formats of amounts, by their decimal places. */
const amountFormats = ['#,##0', '#,##0.0', '#,##0.00', '#,##0.000', '#,##0.0000'];
/** Formats of dates, and of instants. */
const timeFormats = ['yyyy\\-mm\\-dd', 'yyyy\\-mm\\-dd\\ hh:mm:ss'];
const formats = [...amountFormats, ...timeFormats];
/** Lower ids are built-in formats. */
const firstFormat = 164;

/** Styles: 0: default; 1: a bold heading; from 2 on: an amount without decimals, with one, and so on; then a date, and an instant. */
const firstAmountStyle = 2;
const firstTimeStyle = firstAmountStyle + amountFormats.length;

const cellStyles = [
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
  '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>',
  ...formats.map(
    (_, at) => `<xf numFmtId="${firstFormat + at}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
  ),
];

const styles =
  `<styleSheet xmlns="${main}"><numFmts count="${formats.length}">` +
  formats.map((code, at) => `<numFmt numFmtId="${firstFormat + at}" formatCode="${code}"/>`).join('') +
  '</numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
  '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>' +
  '<fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  `<cellXfs count="${cellStyles.length}">${cellStyles.join('')}</cellXfs></styleSheet>`;

/** Maximum width of a column in characters. */
const widest = 48;

/** Maximum rows of a sheet, without its heading. */
const mostRows = 1_048_575;

/** The heading row is frozen, and a printed page is as wide as the table. In pieces: a text of all rows may be too long. */
function sheetXml({ columns, rows }: Sheet): readonly string[] {
  const letters = columns.map((_, at) => columnLetters(at));
  const rowXml = (number: number, cells: readonly string[]) =>
    `<row r="${number}">${cells.map((cell, at) => `<c r="${letters[at] ?? ''}${number}"${cell.slice('<c'.length)}`).join('')}</row>`;
  const head = columns.map(({ name }) => textCell(name, 1));
  const currencyAt = columns.findIndex(({ name }) => name === 'currency');
  const body = rows.map((row, at) => {
    const places = currencyPlaces(cellText(row[currencyAt] ?? ''));
    const cells = row.map((cell, at) => cellXml(cell, columns[at], places));
    return rowXml(at + 2, cells);
  });
  const widths = columns.map(({ name }, at) => {
    const longest = rows.reduce((most, row) => Math.max(most, cellText(row[at] ?? '').length), name.length);
    return `<col min="${at + 1}" max="${at + 1}" width="${Math.min(longest, widest) + 3}" customWidth="1"/>`;
  });
  return [
    `<worksheet xmlns="${main}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>` +
      '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews>' +
      `<sheetFormatPr defaultRowHeight="15"/><cols>${widths.join('')}</cols><sheetData>${rowXml(1, head)}`,
    ...body,
    '</sheetData><pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/></worksheet>',
  ];
}

/** The name of a column in a spreadsheet: A to Z, then AA. Some readers need the names of cells, which ECMA-376 leaves optional (18.3.1.4). */
function columnLetters(at: number): string {
  const letter = String.fromCharCode(65 + (at % 26));
  return at < 26 ? letter : `${columnLetters(Math.floor(at / 26) - 1)}${letter}`;
}

function cellXml(cell: ResultCell, column: ResultColumn | undefined, places: number): string {
  if (cell === null) return '<c/>';
  const text = cellText(cell);
  if (column?.kind === 'time') return timeCell(text);
  if (column?.kind !== 'number' || !/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(text)) return textCell(text, 0);
  return `<c${column.isAmount === true ? ` s="${firstAmountStyle + places}"` : ''}><v>${text}</v></c>`;
}

/** The days of spreadsheets from 1900-03-01 to 9999-12-31, which they all count alike, and the first of them in milliseconds since 1970. */
const spreadsheetDays = { first: 61, last: 2_958_465, start: Date.UTC(1899, 11, 30) };

/** A date or an instant (ISO 8601 in UTC) as the days since 1899-12-30; a text where spreadsheets have no such day. */
function timeCell(text: string): string {
  const [, date, time, fraction = ''] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d+))?Z)?$/.exec(text) ?? [];
  const ms = Date.parse(`${date ?? ''}T${time ?? '00:00:00'}Z`);
  const days = (ms - spreadsheetDays.start) / dayMs + (Number(`0.${fraction}0`) * 1000) / dayMs;
  if (!(days >= spreadsheetDays.first && days < spreadsheetDays.last + 1)) return textCell(text, 0);
  return `<c s="${firstTimeStyle + (time === undefined ? 0 : 1)}"><v>${Number(days.toFixed(9))}</v></c>`;
}

function textCell(text: string, style: number): string {
  return `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`;
}

/** Maximum characters of a cell. */
const mostText = 32_767;

/** Characters that XML doesn't allow become replacement characters. `_x0041_` is an A to a spreadsheet, so its first character is escaped. */
function escaped(text: string): string {
  return text
    .slice(0, mostText)
    .toWellFormed()
    .replaceAll(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll(/_(?=x[\da-fA-F]{4}_)/g, '_x005F_')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Files as a ZIP archive with a comment, each dated 1980-01-01. */
function zipped(files: readonly (readonly [name: string, bytes: Buffer])[], text: string): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const packed = deflateRawSync(bytes);
    const path = Buffer.from(name);
    // Version 2.0, UTF-8 names, deflated, the date, then checksum and sizes.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x0800, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt16LE(0x21, 8);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(bytes.length, 18);
    shared.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, path]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), shared, rest, path]));
    parts.push(local, packed);
    offset += local.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const comment = Buffer.from(text);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  end.writeUInt16LE(comment.length, 16);
  return Buffer.concat([...parts, listed, Buffer.from('PK\x05\x06'), end, comment]);
}
