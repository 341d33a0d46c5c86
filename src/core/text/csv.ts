import { cellText } from './rows.js';
import type { Cell, Column, Rows } from './rows.js';

/**
 * CSV with a header, quoted as RFC 4180 says. Lines end in a bare line feed, as DuckDB's do and Unix tools want it.
 * NULL is an empty field and the empty string a quoted one (`""`), so that the two stay apart.
 */
export async function* csvText(columns: readonly Column[], chunks: AsyncIterable<Rows>): AsyncGenerator<string> {
  yield line(columns.map((column) => column.name));
  for await (const rows of chunks) yield rows.map(line).join('');
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\n`;
}

function field(cell: Cell): string {
  if (cell === null) return '';
  const text = cellText(cell);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
