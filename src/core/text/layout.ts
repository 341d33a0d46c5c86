import { displayWidth } from './width.js';
import type { Column } from './rows.js';

/** Which columns a table shows and how wide, in cells of the terminal. */
export interface Layout {
  /** Indices of the columns shown, ascending; where one is left out stands a column with an ellipsis. */
  readonly shown: readonly number[];
  /** For every column, shown or not. */
  readonly widths: readonly number[];
}

/** What the columns would like to have: how wide the widest cell of each is, and how wide its name. */
export interface Wishes {
  readonly names: readonly number[];
  readonly cells: readonly number[];
}

/** Text is not cut to less than this before columns are left out. */
const leastText = 12;

/** The wishes of these rows, and of those before them. */
export function wishesOf(columns: readonly Column[], texts: readonly (readonly string[])[], before?: Wishes): Wishes {
  const cells = columns.map((_, at) => before?.cells[at] ?? 0);
  for (const row of texts) {
    for (const [at, text] of row.entries()) cells[at] = Math.max(cells[at] ?? 0, displayWidth(text));
  }
  return { names: before?.names ?? columns.map((column) => displayWidth(column.name)), cells };
}

/**
 * Fits the columns into `limit` cells (undefined: any width). Text gives way first, the widest before the others; then
 * columns are left out from the middle. Numbers and times are never cut, so a single one may be wider than the limit.
 */
export function layoutOf(columns: readonly Column[], wishes: Wishes, limit: number | undefined): Layout {
  const wanted = columns.map((_, at) => Math.max(wishes.names[at] ?? 0, wishes.cells[at] ?? 0, 1));
  const all = columns.map((_, at) => at);
  if (limit === undefined || total(all, wanted, all.length) <= limit) return { shown: all, widths: wanted };

  const least = columns.map(({ kind }, at) => {
    const elastic = kind === 'text' || kind === 'json';
    return Math.min(wanted[at] ?? 1, elastic ? leastText : Math.max(wishes.cells[at] ?? 0, 4));
  });
  const shown = [...all];
  while (shown.length > 1 && total(shown, least, all.length) > limit) shown.splice(shown.length >> 1, 1);

  // What is left over is given out evenly, one cell to each column in turn, until it is gone or all have their fill.
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

/** A last column of text on a very narrow terminal. */
function narrowed(columns: readonly Column[], shown: readonly number[], widths: number[], spare: number): number[] {
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
