import { csvText, type CsvOptions } from './csv.js';
import { jsonText, ndjsonText } from './json.js';
import { terminalWidth, writeExact, writeText, type Output } from './sink.js';
import { tableText, type TableOptions } from './table.js';
import type { Column, Rows } from './rows.js';

/** What `--format` takes; `csv-safe` is for spreadsheets, which take some texts for formulas. */
export const formats = ['table', 'json', 'csv', 'csv-safe', 'ndjson'] as const;

export type Format = (typeof formats)[number];

export function isFormat(text: string): text is Format {
  return (formats as readonly string[]).includes(text);
}

/** Rows as text, piece by piece. A source that fails leaves an array without its end: no reader takes it for whole. */
export function formatText(
  format: Format,
  columns: readonly Column[],
  chunks: AsyncIterable<Rows>,
  options?: TableOptions & Pick<CsvOptions, 'isShown'>,
): AsyncGenerator<string> {
  switch (format) {
    case 'table':
      return tableText(columns, chunks, options);
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
 * Writes rows in a format, as they come: memory holds a chunk (a table: 1,000 rows). On a terminal a table keeps to its
 * width, and CSV shows as escapes what a terminal must not get; elsewhere each of its fields is what its cell is. False when the reader of the output closed it before the end, which is no error.
 */
export function writeRows(
  output: Output,
  format: Format,
  columns: readonly Column[],
  chunks: AsyncIterable<Rows>,
  options?: Pick<TableOptions, 'footer'>,
): Promise<boolean> {
  const isShown = output.isTTY === true;
  const text = formatText(format, columns, chunks, { ...options, width: terminalWidth(output), isShown });
  const isExact = !isShown && (format === 'csv' || format === 'csv-safe');
  return isExact ? writeExact(output, text) : writeText(output, text);
}

/** Rows that are there already, for `writeRows`. */
export async function* chunksOf(...rows: readonly Rows[]): AsyncGenerator<Rows> {
  for (const chunk of rows) yield await Promise.resolve(chunk);
}
