import { extname } from 'node:path';
import { usageError } from '../errors.js';
import { terminalWidth, writeExact, writeText, type Output } from './sink.js';
import { tableText, verticalText, type TableOptions } from './text-table.js';
import {
  type ResultColumn,
  type ResultRows,
  cellText,
  distinctNames,
  type ResultCell,
  type CellKind,
  jsonNumber,
} from './rows.js';
import { printable } from '../printable.js';

/**
 * The values of `--format`. `vertical` has a line for each column of a row; `csv-safe` is for spreadsheets, which
 * interpret some texts as formulas.
 */
export const formats = ['table', 'vertical', 'json', 'csv', 'csv-safe', 'ndjson'] as const;

export type Format = (typeof formats)[number];

export function isFormat(text: string): text is Format {
  return (formats as readonly string[]).includes(text);
}

/** The formats of files that aren't text. */
export type BinaryFormat = 'parquet' | 'xlsx';

/** Formats by file extension. */
const endings: Readonly<Record<string, Format | BinaryFormat>> = {
  csv: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  txt: 'table',
  parquet: 'parquet',
  xlsx: 'xlsx',
};

/**
 * The format by a file's extension; a table where it has none.
 *
 * @throws LedgerlakeError USAGE for an unknown extension
 */
export function formatOfFile(path: string): Format | BinaryFormat {
  const ending = extname(path).slice(1).toLowerCase();
  const format = ending === '' ? 'table' : endings[ending];
  if (format !== undefined) return format;
  const known = Object.keys(endings).map((name) => `.${name}`);
  throw usageError(
    `expected a file that ends with ${known.slice(0, -1).join(', ')} or ${known.at(-1) ?? ''}, or an explicit format (--format, in the ` +
      `shell .format), got ${path}`,
  );
}

export function isBinary(format: Format | BinaryFormat): format is BinaryFormat {
  return format === 'parquet' || format === 'xlsx';
}

/** Rows as text, in pieces. A source that fails leaves a JSON array without its end, so that no reader accepts it as complete. */
export function formatText(
  format: Format,
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
  options?: TableOptions & Pick<CsvOptions, 'isShown'>,
): AsyncGenerator<string> {
  switch (format) {
    case 'table':
      return tableText(columns, chunks, options);
    case 'vertical':
      return verticalText(columns, chunks, options);
    case 'json':
      return jsonText(columns, chunks);
    case 'csv':
      return csvText(columns, chunks, options);
    case 'csv-safe':
      return csvText(columns, chunks, { ...options, isSafe: true });
    case 'ndjson':
      return ndjsonText(columns, chunks);
  }
}

/**
 * Writes rows in a format, chunk by chunk (a table: by 1,000 rows). On a terminal a table fits its width, and CSV has
 * escapes for unsafe characters; elsewhere a CSV field is exactly its cell. False where the reader closed the output
 * early, which is no error.
 */
export function writeRows(
  output: Output,
  format: Format,
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
  options?: Pick<TableOptions, 'footer'>,
): Promise<boolean> {
  const isShown = output.isTTY === true;
  const text = formatText(format, columns, chunks, { ...options, width: terminalWidth(output), isShown });
  const isExact = !isShown && (format === 'csv' || format === 'csv-safe');
  return isExact ? writeExact(output, text) : writeText(output, text);
}

/** Rows in memory as the chunks of `writeRows`. */
export async function* chunksOf(...rows: readonly ResultRows[]): AsyncGenerator<ResultRows> {
  for (const chunk of rows) yield await Promise.resolve(chunk);
}

interface CsvOptions {
  /** Puts an apostrophe before each text that a spreadsheet would interpret as a formula; numbers stay numbers. */
  readonly isSafe?: boolean;
  /** Replaces unsafe characters by escapes, for a terminal; otherwise each field is exactly its cell. */
  readonly isShown?: boolean;
}

/**
 * CSV with a header, quoted by RFC 4180. Lines end in a line feed, like DuckDB's and as Unix tools expect. NULL is an
 * empty field and the empty string a quoted one (`""`), so that they differ.
 */
export async function* csvText(
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
  { isSafe = false, isShown = false }: CsvOptions = {},
): AsyncGenerator<string> {
  const changed = (text: string, kind: CellKind): string => {
    const safe = isSafe && (kind === 'text' || kind === 'json') ? safeText(text) : text;
    return isShown ? printable(safe) : safe;
  };
  const fieldOf = (cell: ResultCell, kind: CellKind): string =>
    cell === null ? '' : quoted(changed(cellText(cell), kind));
  const line = (fields: readonly string[]): string => `${fields.join(',')}\n`;
  yield line(columns.map(({ name }) => fieldOf(name, 'text')));
  for await (const rows of chunks) {
    yield rows.map((row) => line(row.map((cell, at) => fieldOf(cell, columns[at]?.kind ?? 'text')))).join('');
  }
}

function quoted(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Texts that spreadsheets interpret as formulas, also after white space; for some a line break or a tab begins a new cell. */
const formula = /^(?:[\s\p{Control}\p{Format}]*[=+\-@＝＋－＠]|[\t\r\n])/u;
const decimal = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The same within a text: where the system's list separator is a semicolon, each begins a cell, within quotes too. */
const laterFormula = /[;\t\r\n][\s\p{Control}\p{Format}]*(?=[=+\-@＝＋－＠])/gu;

function safeText(text: string): string {
  const safe = text.replaceAll(laterFormula, (separator) => `${separator}'`);
  return formula.test(text) && !decimal.test(text) ? `'${safe}` : safe;
}

/**
 * One JSON array with one object for each row, each on its own line. Numbers are written with all their digits
 * (`25.100000`, 2^64): JSON allows it, and a reader that wants them exact reads them as decimals, not as doubles. NaN
 * and the infinities are null.
 */
export async function* jsonText(
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
): AsyncGenerator<string> {
  const keys = jsonKeys(columns);
  let before = '[';
  for await (const rows of chunks) {
    if (rows.length === 0) continue;
    yield `${before}\n${rows.map((row) => objectText(columns, keys, row)).join(',\n')}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

/** The same objects as newline-delimited JSON. */
export async function* ndjsonText(
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
): AsyncGenerator<string> {
  const keys = jsonKeys(columns);
  for await (const rows of chunks) yield rows.map((row) => `${objectText(columns, keys, row)}\n`).join('');
}

/** Each column's key with its colon. */
function jsonKeys(columns: readonly ResultColumn[]): readonly string[] {
  return distinctNames(columns).map((name) => `${JSON.stringify(name)}:`);
}

function objectText(columns: readonly ResultColumn[], keys: readonly string[], row: readonly ResultCell[]): string {
  return `{${keys.map((key, at) => key + valueText(columns[at]?.kind ?? 'text', row[at] ?? null)).join(',')}}`;
}

function valueText(kind: CellKind, cell: ResultCell): string {
  if (cell === null) return 'null';
  const text = cellText(cell);
  switch (kind) {
    case 'number':
      return jsonNumber(text);
    case 'boolean':
      return text;
    case 'json':
      // In valid JSON these are only white space between tokens; ndjson must not have line breaks.
      return text.replaceAll(/[\t\r\n]+/g, ' ');
    case 'time':
    case 'text':
      return JSON.stringify(text);
  }
}
