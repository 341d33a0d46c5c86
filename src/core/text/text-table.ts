import { formatCount } from './amounts.js';
import { cellText, type ResultCell, type ResultColumn, type ResultRows } from './rows.js';
import { printable } from '../printable.js';
import { currencyPlaces, roundedDecimal, trimmedDecimal } from './money.js';
import { displayWidth, truncateToWidth, wrapWords } from './width.js';

export interface TableOptions {
  /** Width of the terminal in cells; undefined: no limit, and nothing is cut. */
  readonly width?: number | undefined;
  /** Whether the number of rows is printed below the table; default: true. */
  readonly footer?: boolean;
}

/** Rows whose cells determine the widths of a box. */
const batch = 1000;

/**
 * Rows as a boxed table for people: numbers right-aligned, NULL as `NULL` (the same text is quoted), amounts with their
 * currency's decimals and aligned on the point, with a note below the table where some are rounded. Memory holds 1,000
 * rows at a time; where later rows need wider columns, the box is closed and a wider one opened.
 */
export async function* tableText(
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
  options: TableOptions = {},
): AsyncGenerator<string> {
  const named = columns.map(({ name, kind }) => ({ name: printable(name), kind }));
  const amounts = new AmountTexts(columns);
  let count = 0;
  let preferred: PreferredWidths | undefined;
  let layout: Layout | undefined;
  for await (const rows of batches(chunks)) {
    count += rows.length;
    const texts = amounts.aligned(
      rows.map((row) => row.map((cell, at) => amounts.textOf(cell, at, row) ?? shownText(cell))),
    );
    preferred = preferredWidths(named, texts, preferred);
    const next = layoutOf(named, preferred, options.width);
    let text = '';
    if (layout === undefined || !same(layout, next)) {
      if (layout !== undefined) text += rule(layout, '└', '┴', '┘');
      text += head(named, next);
      layout = next;
    }
    yield text + texts.map((row) => line(named, row, next)).join('');
  }
  if (layout === undefined) {
    layout = layoutOf(named, preferredWidths(named, []), options.width);
    yield head(named, layout);
  }
  yield rule(layout, '└', '┴', '┘');
  if (options.footer ?? true) yield footer(count, layout.shown.length, columns.length);
  yield hiddenNote(named, layout, options.width);
  yield amounts.footnote();
}

/** Width of a row's heading in cells. */
const headingWidth = 40;

/** Rows in vertical form, a line for each column, for rows that are too wide for a table: cells as in a table, but never cut. */
export async function* verticalText(
  columns: readonly ResultColumn[],
  chunks: AsyncIterable<ResultRows>,
  options: Pick<TableOptions, 'footer'> = {},
): AsyncGenerator<string> {
  const names = columns.map(({ name }) => printable(name));
  const width = Math.max(0, ...names.map(displayWidth));
  const labels = names.map((name) => name + ' '.repeat(width - displayWidth(name)));
  const amounts = new AmountTexts(columns);
  let count = 0;
  for await (const rows of chunks) {
    let text = '';
    for (const row of rows) {
      text += `${`── row ${formatCount(++count)} `.padEnd(headingWidth, '─')}\n`;
      for (const [at, cell] of row.entries()) {
        text += `${labels[at] ?? ''} │ ${amounts.textOf(cell, at, row) ?? shownText(cell)}\n`;
      }
    }
    yield text;
  }
  if (options.footer ?? true) yield footer(count, columns.length, columns.length);
  yield amounts.footnote();
}

/** Maximum number of exact amounts in a footnote. */
const mostExact = 3;

/**
 * Formats amounts for people: with the decimals of the row's currency, rounded half to even; without a currency column
 * exactly, with at least two decimals.
 */
class AmountTexts {
  /** The number of rounded amounts, and the first exact ones. */
  #rounded = 0;
  readonly #exact: string[] = [];
  /** By column of amounts: the column with their currency. */
  readonly #currencies = new Map<number, number | undefined>();
  /** By column of amounts: the maximum number of decimals so far. */
  readonly #places = new Map<number, number>();

  constructor(columns: readonly ResultColumn[]) {
    const columnIndex = new Map(columns.map(({ name }, at) => [name, at]));
    for (const [at, { name, isAmount = false }] of columns.entries()) {
      if (!isAmount) continue;
      // `original_total` is in `original_currency`, `amount` in `currency`.
      const currencyColumn = columnIndex.get(name.replace(/[^_]*$/, 'currency'));
      this.#currencies.set(at, currencyColumn ?? columnIndex.get('currency'));
    }
  }

  /** Undefined for a cell that isn't an amount. */
  textOf(cell: ResultCell, at: number, row: readonly ResultCell[]): string | undefined {
    if (cell === null || !this.#currencies.has(at)) return undefined;
    const currency = row[this.#currencies.get(at) ?? -1];
    const exact = cellText(cell);
    if (typeof currency !== 'string') return this.#noted(at, trimmedDecimal(exact, 2));
    const places = currencyPlaces(currency);
    const text = roundedDecimal(exact, places);
    if (text !== trimmedDecimal(exact, places)) {
      this.#rounded++;
      if (this.#exact.length < mostExact) this.#exact.push(trimmedDecimal(exact, places));
    }
    return this.#noted(at, text);
  }

  #noted(at: number, text: string): string {
    this.#places.set(at, Math.max(this.#places.get(at) ?? 0, placesOf(text)));
    return text;
  }

  /** The note on rounded amounts; empty where none is rounded. */
  footnote(): string {
    if (this.#rounded === 0) return '';
    const more = this.#rounded > this.#exact.length ? ' …' : '';
    return `${formatCount(this.#rounded, 'amount')} rounded to the currency's digits (exactly ${this.#exact.join(', ')}${more}): csv and json are exact\n`;
  }

  /** Aligns the points of each column. */
  aligned(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
    if (this.#places.size === 0) return rows;
    return rows.map((row) =>
      row.map((text, at) => {
        const most = this.#places.get(at) ?? 0;
        const places = placesOf(text);
        return most === 0 || text === 'NULL' ? text : text + ' '.repeat(most - places + (places === 0 ? 1 : 0));
      }),
    );
  }
}

/** The number of decimals. */
function placesOf(text: string): number {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
}

/** Batches of 1,000 rows or slightly more, so that the many small chunks of a filter share a box. */
async function* batches(chunks: AsyncIterable<ResultRows>): AsyncGenerator<ResultRows> {
  let waiting: (readonly ResultCell[])[] = [];
  for await (const rows of chunks) {
    for (const row of rows) waiting.push(row);
    if (waiting.length < batch) continue;
    yield waiting;
    waiting = [];
  }
  if (waiting.length > 0) yield waiting;
}

function shownText(cell: ResultCell): string {
  if (cell === null) return 'NULL';
  if (cell === 'NULL') return '"NULL"';
  return printable(cellText(cell));
}

function head(columns: readonly ResultColumn[], layout: Layout): string {
  const names = columns.map((column) => column.name);
  return rule(layout, '┌', '┬', '┐') + line(columns, names, layout) + rule(layout, '├', '┼', '┤');
}

function line(columns: readonly ResultColumn[], texts: readonly string[], layout: Layout): string {
  const cells = layout.shown.map((at) => {
    const width = layout.widths[at] ?? 0;
    const text = truncateToWidth(texts[at] ?? '', width);
    const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
    return columns[at]?.kind === 'number' ? space + text : text + space;
  });
  return `│ ${withGap(cells, layout, '…').join(' │ ')} │\n`;
}

function rule(layout: Layout, left: string, middle: string, right: string): string {
  const cells = layout.shown.map((at) => '─'.repeat((layout.widths[at] ?? 0) + 2));
  return `${left}${withGap(cells, layout, '───').join(middle)}${right}\n`;
}

/** Inserts `mark` where columns are left out. */
function withGap(lines: readonly string[], { shown, widths }: Layout, mark: string): readonly string[] {
  if (shown.length === widths.length) return lines;
  const gap = shown.findIndex((at, index) => at !== index);
  return lines.toSpliced(gap < 0 ? shown.length : gap, 0, mark);
}

function footer(rows: number, shown: number, columns: number): string {
  const text = formatCount(rows, 'row');
  return shown < columns ? `${text}, ${shown} of ${columns} columns shown\n` : `${text}\n`;
}

/** Maximum number of listed names of left-out columns. */
const mostNames = 12;

/** The note on left-out columns and how to see them; empty where all are shown. */
function hiddenNote(columns: readonly ResultColumn[], { shown }: Layout, width: number | undefined): string {
  const hidden = columns.filter((_, at) => !shown.includes(at)).map(({ name }) => name);
  if (hidden.length === 0) return '';
  const more = hidden.length > mostNames ? ` and ${hidden.length - mostNames} more` : '';
  const names = hidden.slice(0, mostNames).join(', ');
  const text = `no room for ${names}${more}: a wider terminal, a SELECT of fewer columns, or the format vertical (--format, in the shell .format) shows them`;
  return `${width === undefined ? text : wrapWords(text, width).join('\n')}\n`;
}

function same(one: Layout, other: Layout): boolean {
  return one.shown.join() === other.shown.join() && one.widths.join() === other.widths.join();
}

/** The columns that a table shows, and their widths in cells. */
interface Layout {
  /** Indices of the columns shown, ascending; a column with an ellipsis replaces those that are left out. */
  readonly shown: readonly number[];
  /** For every column, shown or not. */
  readonly widths: readonly number[];
}

/** The preferred widths of columns in cells: those of their names and of their widest cells. */
interface PreferredWidths {
  readonly names: readonly number[];
  readonly cells: readonly number[];
  /** Which columns have a value that isn't NULL. */
  readonly filled: readonly boolean[];
}

/** Minimum width of a text column; columns are left out before text is cut further. */
const leastText = 12;

/** The preferred widths of these rows and of the earlier ones. */
function preferredWidths(
  columns: readonly ResultColumn[],
  texts: readonly (readonly string[])[],
  before?: PreferredWidths,
): PreferredWidths {
  const cells = columns.map((_, at) => before?.cells[at] ?? 0);
  const filled = columns.map((_, at) => before?.filled[at] ?? false);
  for (const row of texts) {
    for (const [at, text] of row.entries()) {
      cells[at] = Math.max(cells[at] ?? 0, displayWidth(text));
      // A text that reads the same is quoted.
      filled[at] ||= text !== 'NULL';
    }
  }
  return { names: before?.names ?? columns.map((column) => displayWidth(column.name)), cells, filled };
}

/** The columns of an amount that say what it is. */
const aboutAmounts: ReadonlySet<string> = new Set(['kind', 'name', 'role', 'amount', 'currency']);

/**
 * The columns in the order in which they are left out: those that are NULL throughout, then from the middle, of a result
 * with amounts those last that say what an amount is.
 */
function leftOutFirst(columns: readonly ResultColumn[], filled: readonly boolean[]): readonly number[] {
  const hasAmount = columns.some(({ name }) => name === 'amount');
  const isAbout = (at: number) => hasAmount && aboutAmounts.has(columns[at]?.name ?? '');
  const fromMiddle: number[] = [];
  for (const left = columns.map((_, at) => at); left.length > 0;) fromMiddle.push(...left.splice(left.length >> 1, 1));
  // Without rows, no column is known to be empty.
  const isEmpty = (at: number) => filled.includes(true) && filled[at] !== true;
  return [isEmpty, (at: number) => !isEmpty(at) && !isAbout(at), (at: number) => !isEmpty(at) && isAbout(at)].flatMap(
    (isNext) => fromMiddle.filter(isNext),
  );
}

/**
 * Fits the columns into `limit` cells (undefined: any width). Text columns shrink first; then columns are left out. Numbers and times are never cut, so a single column may exceed the limit.
 */
function layoutOf(columns: readonly ResultColumn[], preferred: PreferredWidths, limit: number | undefined): Layout {
  const wanted = columns.map((_, at) => Math.max(preferred.names[at] ?? 0, preferred.cells[at] ?? 0, 1));
  const all = columns.map((_, at) => at);
  if (limit === undefined || total(all, wanted, all.length) <= limit) return { shown: all, widths: wanted };

  const least = columns.map(({ kind, name }, at) => {
    const elastic = kind === 'text' || kind === 'json';
    const nameWidth = name === 'amount' ? (preferred.names[at] ?? 0) : 4;
    return Math.min(wanted[at] ?? 1, elastic ? leastText : Math.max(preferred.cells[at] ?? 0, nameWidth));
  });
  let shown = all;
  for (const at of leftOutFirst(columns, preferred.filled)) {
    if (shown.length === 1 || total(shown, least, all.length) <= limit) break;
    shown = shown.filter((other) => other !== at);
  }

  // The remaining width is distributed evenly until it is used up or all columns have their preferred width.
  const widths = [...least];
  let spare = limit - total(shown, widths, all.length);
  if (shown.length === 1 && spare < 0) return { shown, widths: narrowed(columns, shown, widths, spare) };
  for (let open = shown; spare > 0 && open.length > 0;) {
    open = open.filter((at) => (widths[at] ?? 0) < (wanted[at] ?? 0));
    const share = Math.max(1, Math.floor(spare / Math.max(open.length, 1)));
    for (const at of open) {
      const more = Math.min(share, spare, (wanted[at] ?? 0) - (widths[at] ?? 0));
      widths[at] = (widths[at] ?? 0) + more;
      spare -= more;
    }
  }
  return { shown, widths };
}

/** Shrinks the last remaining column where it is text, for a very narrow terminal. */
function narrowed(
  columns: readonly ResultColumn[],
  shown: readonly number[],
  widths: number[],
  spare: number,
): number[] {
  const [at = 0] = shown;
  const kind = columns[at]?.kind;
  if (kind === 'text' || kind === 'json') widths[at] = Math.max(1, (widths[at] ?? 1) + spare);
  return widths;
}

/** Width of the box: a space on both sides of each cell, a line between and around them. */
function total(shown: readonly number[], widths: readonly number[], count: number): number {
  const gap = shown.length < count ? 4 : 0;
  return shown.reduce((sum, at) => sum + (widths[at] ?? 0) + 3, 1) + gap;
}
