import { printable } from '../printable.js';
import { cellText, type Cell, type Column, type Kind, type Rows } from './rows.js';

export interface CsvOptions {
  /** Puts an apostrophe before each text that a spreadsheet would take for a formula; numbers stay numbers. */
  readonly isSafe?: boolean;
  /** Shows as escapes what a terminal must not get; else each field is exactly what its cell is. */
  readonly isShown?: boolean;
}

/**
 * CSV with a header, quoted as RFC 4180 says. Lines end in a bare line feed, as DuckDB's do and Unix tools want it.
 * NULL is an empty field and the empty string a quoted one (`""`), so that the two stay apart.
 */
export async function* csvText(
  columns: readonly Column[],
  chunks: AsyncIterable<Rows>,
  { isSafe = false, isShown = false }: CsvOptions = {},
): AsyncGenerator<string> {
  const changed = (text: string, kind: Kind): string => {
    const safe = isSafe && (kind === 'text' || kind === 'json') ? safeText(text) : text;
    return isShown ? printable(safe) : safe;
  };
  const fieldOf = (cell: Cell, kind: Kind): string => (cell === null ? '' : quoted(changed(cellText(cell), kind)));
  const line = (fields: readonly string[]): string => `${fields.join(',')}\n`;
  yield line(columns.map(({ name }) => fieldOf(name, 'text')));
  for await (const rows of chunks) {
    yield rows.map((row) => line(row.map((cell, at) => fieldOf(cell, columns[at]?.kind ?? 'text')))).join('');
  }
}

function quoted(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What spreadsheets begin a formula with, after white space too; a line break or a tab begins a cell for some. */
const formula = /^(?:[\s\p{Control}\p{Format}]*[=+\-@＝＋－＠]|[\t\r\n])/u;
const decimal = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function safeText(text: string): string {
  return formula.test(text) && !decimal.test(text) ? `'${text}` : text;
}
