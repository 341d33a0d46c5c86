import { formatCount, formatSpan } from '../../core/text/amounts.js';
import { displayWidth, truncateToWidth } from '../../core/text/width.js';
import { printable } from '../../core/printable.js';
import type { LogLevel } from '../../core/events/run-event.js';

/** Width in cells below which a name has a line of its own. */
const narrow = 64;
const barWidth = { least: 8, most: 30 };
const indent = '  ';

/**
 * A view as lines of at most `width` cells (1 or more), colour codes not counted. Parts that don't fit are left out,
 * the least important first; only names and subjects are cut.
 */
export function viewLines(view: View, width: number, paint: Paint): string[] {
  const title = fittingParts([view.command, ...view.subject.map(printable), formatSpan(view.elapsedMs)], width);
  const nameWidth = Math.max(0, ...view.rows.map(({ name }) => displayWidth(printable(name))));
  return [
    paint('strong', title),
    ...view.rows.flatMap((row) => (width < narrow ? stacked(row, width, paint) : wide(row, nameWidth, width, paint))),
  ];
}

/** Name, bar and figures on one line, details and retries below. */
function wide(row: ViewRow, nameWidth: number, width: number, paint: Paint): string[] {
  const room = Math.min(nameWidth, Math.floor(width / 3));
  const name = padded(truncateToWidth(printable(row.name), Math.max(1, room)), room);
  const start = indent.length + room + 2;
  const head = indent + paint(row.state === 'waits' ? 'dim' : 'plain', name) + indent;
  return [head + figures(row, width - start, paint), ...below(row, start, width, paint)];
}

function stacked(row: ViewRow, width: number, paint: Paint): string[] {
  const start = Math.min(indent.length, width - 1);
  const name = paint(row.state === 'waits' ? 'dim' : 'plain', truncateToWidth(printable(row.name), width));
  const rest = width - start;
  return [name, ' '.repeat(start) + figures(row, rest, paint), ...below(row, start, width, paint)];
}

/** The bar, equally wide in every row, then as many of these as fit: percentage, time left, amount. */
function figures({ state, share, amount, leftMs }: ViewRow, width: number, paint: Paint): string {
  if (state === 'waits') return paint('dim', truncateToWidth('waits', width));
  const cells = Math.min(width, barWidth.most, Math.max(barWidth.least, Math.floor(width / 3)));
  const percent = share === undefined ? '' : `${Math.floor(Math.min(1, Math.max(0, share)) * 100)} %`.padStart(5);
  const left = leftMs === undefined || leftMs < 1000 ? '' : `${formatSpan(leftMs)} left`;
  let line = paint(state === 'done' ? 'good' : 'bar', barOf(state === 'done' ? 1 : (share ?? 0), cells));
  let used = cells;
  for (const part of state === 'done' ? [' done', amount] : [percent, left, amount]) {
    if (part === '') continue;
    used += indent.length + displayWidth(part);
    if (used > width) break;
    line += indent + part;
  }
  return line;
}

function barOf(share: number, cells: number): string {
  const full = Math.floor(Math.min(1, Math.max(0, share)) * cells);
  return '█'.repeat(full) + '░'.repeat(Math.max(0, cells - full));
}

function below({ state, details, retries, nextTryMs }: ViewRow, start: number, width: number, paint: Paint): string[] {
  if (state !== 'runs') return [];
  const counts = retries.map(([cause, times]) => `${formatCount(times)} ${cause}`);
  const warnings = [
    ...(nextTryMs < 1000 ? [] : [`next try in ${formatSpan(nextTryMs)}`]),
    ...(counts.length === 0 ? [] : [`retries: ${counts[0] ?? ''}`, ...counts.slice(1)]),
  ];
  const lines = [
    details.length === 0 ? '' : paint('dim', fittingParts(details, width - start)),
    warnings.length === 0 ? '' : paint('warn', fittingParts(warnings, width - start, ', ')),
  ];
  return lines.filter((line) => line !== '').map((line) => ' '.repeat(start) + line);
}

/** As many parts as fit; the first one is cut if it doesn't fit alone. */
function fittingParts([first = '', ...more]: readonly string[], width: number, between = ' · '): string {
  let line = truncateToWidth(first, Math.max(1, width));
  for (const part of more) {
    const longer = line + between + part;
    if (displayWidth(longer) > width) break;
    line = longer;
  }
  return line;
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** The content of a live view at one instant. */
export interface View {
  readonly command: string;
  /** The account, where it is known, and the lake. */
  readonly subject: readonly string[];
  readonly elapsedMs: number;
  readonly rows: readonly ViewRow[];
}

/** One pipeline, or the inputs of an import. */
export interface ViewRow {
  readonly name: string;
  readonly state: 'waits' | 'runs' | 'done';
  /** The share that is done, 0 to 1; undefined while unknown. */
  readonly share: number | undefined;
  /** `1,234 of ~2,700 pages` */
  readonly amount: string;
  /** Estimated milliseconds left; undefined while unknown. */
  readonly leftMs: number | undefined;
  /** Further figures, the most important first. */
  readonly details: readonly string[];
  /** Number of retries by cause, such as `throttled`. */
  readonly retries: readonly (readonly [cause: string, times: number])[];
  /** Milliseconds until a failed request is retried; 0 for none. */
  readonly nextTryMs: number;
}

type Style = 'plain' | 'strong' | 'dim' | 'bar' | 'good' | 'warn' | 'bad';

/** Adds the colour codes of a style to a text. */
export type Paint = (style: Style, text: string) => string;

const codes: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '1',
  dim: '2',
  bar: '36',
  good: '32',
  warn: '33',
  bad: '31',
};

/** A painter with colour codes, or one that returns texts unchanged. */
export function paintIn(isColoured: boolean): Paint {
  return (style, text) =>
    isColoured && codes[style] !== '' && text !== '' ? `\u001b[${codes[style]}m${text}\u001b[0m` : text;
}

const levelStyles: Readonly<Record<LogLevel, Style>> = { debug: 'dim', info: 'plain', warn: 'warn', error: 'bad' };

/** A line in the colour of its level. */
export function paintLevel(paint: Paint): (level: LogLevel, line: string) => string {
  return (level, line) => paint(levelStyles[level], line);
}
