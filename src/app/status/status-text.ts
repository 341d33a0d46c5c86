import { holeText, type SettlementHole } from '../../sources/finances/api-v0/settlement-rows.js';
import type { LastRun } from '../../lake/upkeep/last-run.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import type { Window } from '../../core/windows.js';
import { instantText } from './backfill-command.js';
import { calendarLines, legendLines, type CalendarOptions } from './calendar.js';
import type { DayState } from '../../engine/slicing/day-states.js';
import type { AccountStatus, PipelineStatus, TableStatus } from './lake-status.js';
import { grid } from '../../core/text/grid.js';

/** Things of one kind that are listed; the rest is counted. */
const mostListed = 10;

/** What an account holds, for people. */
export function accountText(status: AccountStatus, options: CalendarOptions): string {
  const { account, range, pipelines, unused, openGroups, groupsToLoad, holes, tables } = status;
  const lines = [`${printable(account)}, ${rangeText(range)}`, ''];
  for (const pipeline of pipelines) lines.push(...pipelineLines(pipeline, options), '');
  const isImporting = pipelines.some(({ days }) => days.some(({ state }) => state === 'imported'));
  if (pipelines.some(({ days }) => days.length > 0)) lines.push(...legendLines(options, isImporting), '');
  if (unused.length > 0) lines.push(`Nothing loaded yet of: ${printable(unused.join(', '))}`, '');
  const opened = ({ id, start }: { id: string; start: number | null }) =>
    `${printable(id)}${start === null ? '' : `, since ${instantText(start)}`}`;
  lines.push(...listLines('Open groups', openGroups.map(opened)));
  lines.push(...listLines('Groups listed and not loaded by group-events', groupsToLoad.map(opened)));
  lines.push(...listLines('Settlements that the listing may have left out', holes.map(holeLine)));
  lines.push(...tableLines(tables));
  return `${lines.join('\n')}\n`;
}

/** A hole's text, whatever characters an id has. */
function holeLine(hole: SettlementHole): string {
  return printable(holeText(hole));
}

/** The run that ended last, for people. */
export function lastRunText(run: LastRun | undefined): string {
  if (run === undefined) return 'Last run: no word of one\n';
  const { command, status, startedAt, endedAt, account, from, to, failure, pipelines } = run;
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  const what = `${instantText(Date.parse(from))} to ${instantText(Date.parse(to))} for ${printable(account)}`;
  const lines = [
    `Last run: ${printable(command)} of ${what}`,
    `  ${printable(status)} at ${instantText(Date.parse(endedAt))} after ${seconds.toFixed(1)} s`,
    ...(failure === null ? [] : [`  ${printable(failure)}`]),
    ...Object.entries(pipelines).map(
      ([name, { slices, requests, files, bytes }]) =>
        `  ${printable(name)}: ${formatCount(slices, 'slice')}, ${formatCount(requests, 'request')}, ` +
        `${formatCount(files, 'file')}, ${formatBytes(bytes)}`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

/** `2025-03-01 to 2025-03-08`; the end is not part of it. */
function rangeText({ start, end }: Window): string {
  return `${instantText(start)} to ${instantText(end)}`;
}

function pipelineLines({ pipeline, unit, loaded, days, gaps }: PipelineStatus, options: CalendarOptions): string[] {
  const units = formatCount(loaded, unit);
  if (days.length === 0) return [`${printable(pipeline)}: ${units}`];
  const count = (state: DayState) => days.filter((day) => day.state === state).length;
  const held = count('full') + count('empty');
  const parts = [`${formatCount(held)} of ${formatCount(days.length, 'day')} loaded`];
  if (count('partial') > 0) parts.push(`${formatCount(count('partial'))} in part`);
  if (count('imported') > 0) parts.push(`${formatCount(count('imported'))} imported`);
  if (count('missing') > 0) parts.push(`${formatCount(count('missing'))} missing`);
  return [
    `${printable(pipeline)}: ${units}, ${parts.join(', ')}`,
    ...calendarLines(days, options),
    ...(gaps.length === 0 ? ['No gap'] : listLines('Gaps', gaps.map(rangeText), false)),
  ];
}

function listLines(title: string, items: readonly string[], spaced = true): string[] {
  if (items.length === 0) return [];
  const more = items.length > mostListed ? [`  and ${formatCount(items.length - mostListed, 'more')}`] : [];
  const end = spaced ? [''] : [];
  return [`${title}:`, ...items.slice(0, mostListed).map((item) => `  ${item}`), ...more, ...end];
}

function tableLines(tables: readonly TableStatus[]): string[] {
  const rows = [
    ['table', 'files', 'size', 'rows'],
    ...tables.map(({ table, files, bytes, rows: count }) => [
      printable(table),
      formatCount(files),
      formatBytes(bytes),
      formatCount(count),
    ]),
  ];
  return grid(rows);
}
