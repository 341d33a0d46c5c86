import { layoutOf, wishesOf, type Layout, type Wishes } from './layout.js';
import { cellText, type Cell, type Column, type Rows } from './rows.js';
import { printable } from '../printable.js';
import { displayWidth, fitted } from './width.js';

export interface TableOptions {
  /** Cells of the terminal; undefined: no limit, and nothing is cut. */
  readonly width?: number | undefined;
  /** Whether the number of rows stands below the table; true unless said otherwise. */
  readonly footer?: boolean;
}

/** So many rows are looked at before their widths are settled. */
const batch = 1000;

/**
 * Rows as a table in a box for people: numbers to the right, NULL as `NULL` (a text that says the same is quoted). Holds
 * 1,000 rows at a time; where later ones need wider columns the box is closed and a wider one opened.
 */
export async function* tableText(
  columns: readonly Column[],
  chunks: AsyncIterable<Rows>,
  options: TableOptions = {},
): AsyncGenerator<string> {
  const named = columns.map(({ name, kind }) => ({ name: printable(name), kind }));
  let count = 0;
  let wishes: Wishes | undefined;
  let layout: Layout | undefined;
  for await (const rows of batches(chunks)) {
    count += rows.length;
    const texts = rows.map((row) => row.map(shownText));
    wishes = wishesOf(named, texts, wishes);
    const next = layoutOf(named, wishes, options.width);
    let text = '';
    if (layout === undefined || !same(layout, next)) {
      if (layout !== undefined) text += rule(layout, '└', '┴', '┘');
      text += head(named, next);
      layout = next;
    }
    yield text + texts.map((row) => line(named, row, next)).join('');
  }
  if (layout === undefined) {
    layout = layoutOf(named, wishesOf(named, []), options.width);
    yield head(named, layout);
  }
  yield rule(layout, '└', '┴', '┘');
  if (options.footer ?? true) yield footer(count, layout.shown.length, columns.length);
}

/** The rows in batches of 1,000 or a little more, so that a filter's many small chunks don't each get a box. */
async function* batches(chunks: AsyncIterable<Rows>): AsyncGenerator<Rows> {
  let waiting: (readonly Cell[])[] = [];
  for await (const rows of chunks) {
    for (const row of rows) waiting.push(row);
    if (waiting.length < batch) continue;
    yield waiting;
    waiting = [];
  }
  if (waiting.length > 0) yield waiting;
}

function shownText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (cell === 'NULL') return '"NULL"';
  return printable(cellText(cell));
}

function head(columns: readonly Column[], layout: Layout): string {
  const names = columns.map((column) => column.name);
  return rule(layout, '┌', '┬', '┐') + line(columns, names, layout) + rule(layout, '├', '┼', '┤');
}

function line(columns: readonly Column[], texts: readonly string[], layout: Layout): string {
  const cells = layout.shown.map((at) => {
    const width = layout.widths[at] ?? 0;
    const text = fitted(texts[at] ?? '', width);
    const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
    return columns[at]?.kind === 'number' ? space + text : text + space;
  });
  return `│ ${withGap(cells, layout, '…').join(' │ ')} │\n`;
}

function rule(layout: Layout, left: string, middle: string, right: string): string {
  const parts = layout.shown.map((at) => '─'.repeat((layout.widths[at] ?? 0) + 2));
  return `${left}${withGap(parts, layout, '───').join(middle)}${right}\n`;
}

/** Puts `mark` where columns are left out. */
function withGap(parts: readonly string[], { shown, widths }: Layout, mark: string): readonly string[] {
  if (shown.length === widths.length) return parts;
  const gap = shown.findIndex((at, index) => at !== index);
  return parts.toSpliced(gap < 0 ? shown.length : gap, 0, mark);
}

function footer(rows: number, shown: number, columns: number): string {
  const text = `${rows.toLocaleString('en-US')} ${rows === 1 ? 'row' : 'rows'}`;
  return shown < columns ? `${text}, ${shown} of ${columns} columns shown\n` : `${text}\n`;
}

function same(one: Layout, other: Layout): boolean {
  return one.shown.join() === other.shown.join() && one.widths.join() === other.widths.join();
}
