import { formatCount } from '../../core/text/amounts.js';
import { dayMs, monthOf } from '../../core/windows.js';
import type { Day, DayState } from '../../engine/run/day-states.js';

/** The sign of each state of a day, clear without colour, and its colour. */
const signs: Readonly<Record<DayState, { readonly sign: string; readonly color: number; readonly about: string }>> = {
  full: { sign: '█', color: 32, about: 'loaded' },
  empty: { sign: '░', color: 32, about: 'loaded, nothing in it' },
  forgotten: { sign: 'f', color: 32, about: 'loaded, its rows forgotten' },
  partial: { sign: '▄', color: 33, about: 'loaded in part' },
  imported: { sign: '▒', color: 36, about: 'imported, not loaded' },
  missing: { sign: '·', color: 31, about: 'missing' },
};

const daysPerMonth = 31;
const labelWidth = '2025-03 '.length;
const monthWidth = labelWidth + daysPerMonth;
const gap = 2;
const ruler = '1   5    10   15   20   25   30';

export interface CalendarOptions {
  /** Width in cells of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

/**
 * Draws days as a strip with a sign for each, month by month: as many months side by side as the width has room for, or
 * a month in two lines where it hasn't room for one. A series of missing months becomes one line.
 */
export function calendarLines(days: readonly Day[], options: CalendarOptions): string[] {
  const months = [...monthsOf(days)];
  if (options.width < monthWidth) return months.flatMap(([month, states]) => narrowLines(month, states, options.color));
  const stretches = stretchesOf(months);
  const most = Math.max(0, ...stretches.map((stretch) => (isFolded(stretch) ? 0 : stretch.length)));
  const perRow = Math.min(most, Math.floor((options.width + gap) / (monthWidth + gap)));
  const between = ' '.repeat(gap);
  const lines = stretches.flatMap((stretch) => {
    if (isFolded(stretch)) return [foldedLine(stretch, options.color)];
    return Array.from({ length: Math.ceil(stretch.length / perRow) }, (_, row) =>
      stretch
        .slice(row * perRow, (row + 1) * perRow)
        .map(([month, states]) => `${month} ${strip(states, options.color)}`)
        .join(between)
        .trimEnd(),
    );
  });
  if (perRow === 0) return lines;
  return [Array.from({ length: perRow }, () => ' '.repeat(labelWidth) + ruler).join(between), ...lines];
}

type Month = readonly [month: string, states: DayStates];

/** Consecutive months without any loaded day that are drawn; more of them are folded into a line. */
const mostMissing = 3;

function isMissing([, states]: Month): boolean {
  return states.every((state) => state === undefined || state === 'missing');
}

function isFolded(stretch: readonly Month[]): boolean {
  return stretch.length > mostMissing && stretch.every(isMissing);
}

/** Divides the months into runs that are folded into a line, and those between. */
function stretchesOf(months: readonly Month[]): Month[][] {
  const runs: Month[][] = [];
  for (const month of months) {
    const last = runs.at(-1);
    if (last?.[0] !== undefined && isMissing(last[0]) === isMissing(month)) last.push(month);
    else runs.push([month]);
  }
  const stretches: Month[][] = [];
  for (const run of runs) {
    const last = stretches.at(-1);
    if (last !== undefined && !isFolded(last) && !isFolded(run)) last.push(...run);
    else stretches.push([...run]);
  }
  return stretches;
}

function foldedLine(months: readonly Month[], isColoured: boolean): string {
  const { sign, color } = signs.missing;
  const between = painted(sign.repeat(3), color, isColoured);
  return `${months[0]?.[0] ?? ''} ${between} ${months.at(-1)?.[0] ?? ''} ${formatCount(months.length, 'month')} missing`;
}

/** States that the legend explains only where a day has them. */
const rareStates: ReadonlySet<string> = new Set<DayState>(['imported', 'forgotten']);

/** The legend of the days' signs, on as many lines as the width needs. */
export function legendLines(days: readonly Day[], { width, color }: CalendarOptions): string[] {
  const lines: string[] = [];
  let used = 0;
  for (const [state, { sign, color: tone, about }] of Object.entries(signs)) {
    if (rareStates.has(state) && !days.some((day) => day.state === state)) continue;
    const text = `${painted(sign, tone, color)} ${about}`;
    const length = sign.length + 1 + about.length;
    const last = lines.length - 1;
    if (last >= 0 && used + 3 + length <= width) {
      lines[last] = `${lines[last] ?? ''}   ${text}`;
      used += 3 + length;
    } else {
      lines.push(text);
      used = length;
    }
  }
  return lines;
}

type DayStates = readonly (DayState | undefined)[];

/** The states of the 31 days of each month, undefined outside of the range. */
function monthsOf(days: readonly Day[]): Map<string, DayStates> {
  const months = new Map<string, (DayState | undefined)[]>();
  for (const { start, state } of days) {
    const month = monthOf(start);
    const states = months.get(month) ?? Array.from({ length: daysPerMonth }, () => undefined);
    states[Math.round((start - Date.parse(`${month}-01T00:00:00Z`)) / dayMs)] = state;
    months.set(month, states);
  }
  return months;
}

function narrowLines(month: string, states: DayStates, color: boolean): string[] {
  const lines = [
    `${month} ${strip(states.slice(0, 15), color)}`.trimEnd(),
    `${' '.repeat(labelWidth)}${strip(states.slice(15), color)}`.trimEnd(),
  ];
  return lines.filter((line) => line !== '');
}

function strip(states: DayStates, color: boolean): string {
  return states
    .map((state) => {
      if (state === undefined) return ' ';
      const { sign, color: tone } = signs[state];
      return painted(sign, tone, color);
    })
    .join('');
}

function painted(text: string, tone: number, color: boolean): string {
  return color ? `\u001b[${tone}m${text}\u001b[0m` : text;
}
