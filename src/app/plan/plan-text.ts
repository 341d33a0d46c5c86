import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import { wrapped } from '../../core/text/wrapped.js';
import { dayMs } from '../../core/windows.js';
import { instantText } from '../status/backfill-command.js';
import type { PipelinePlan } from './plan-lake.js';
import type { PlanReport } from './plan-rows.js';
import { printable } from '../../core/printable.js';

/** Cells of a line. */
const widest = 80;

/** A plan for people: a column for each pipeline, how long all of it takes, and what isn't certain. */
export function planText(report: PlanReport): string {
  const { pipelines, lake, account, range, isKnown } = report;
  const what = `${instantText(range.start)} to ${instantText(range.end)} for ${printable(account)}`;
  const isDone = isKnown && pipelines.every(({ slices }) => slices === 0);
  const lines = isDone
    ? [`Nothing to do: ${printable(lake)} holds ${what} already. --refresh reads it again.`]
    : [
        `Loading ${what} into ${printable(lake)} would be`,
        '',
        ...grid(rowsOf(report)),
        '',
        totalLine(report),
        ...notes(report),
      ];
  return `${lines.join('\n')}\n`;
}

function rowsOf({ pipelines, range }: PlanReport): string[][] {
  const days = (range.end - range.start) / dayMs;
  const row = (name: string, cellOf: (plan: PipelinePlan) => string): string[] => [name, ...pipelines.map(cellOf)];
  return [
    row('', ({ pipeline }) => printable(pipeline)),
    row('slices', (plan) => atLeast(plan, formatCount(plan.slices))),
    row('requests', (plan) => atLeast(plan, formatCount(plan.requests))),
    row('time', (plan) => (plan.seconds === undefined ? '-' : atLeast(plan, formatSpan(plan.seconds * 1000)))),
    row('events', ({ events }) => known(events, formatCount)),
    row('answers', ({ rawBytes }) => known(rawBytes, formatBytes)),
    row('files', ({ files }) => known(files, formatCount)),
    row('on disk', ({ fileBytes }) => known(fileBytes, formatBytes)),
    row('held', ({ held }) =>
      held.days === null ? formatCount(held.units) : `${formatDays(held.days)} of ${formatDays(days)} d`,
    ),
    row('  events', ({ held }) => formatCount(held.events)),
  ];
}

function atLeast({ isKnown }: PipelinePlan, text: string): string {
  return isKnown ? text : `≥ ${text}`;
}

function known(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '?' : format(value);
}

function formatDays(days: number): string {
  return formatCount(Math.round(days * 10) / 10);
}

/** The first column to the left, the others to the right. */
function grid(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function totalLine({ requests, seconds, isKnown }: PlanReport): string {
  const all = `${isKnown ? '' : 'at least '}${formatCount(requests, 'request')}`;
  if (seconds === undefined) return `In all ${all}; without a quota it takes as long as the answers do.`;
  return `In all ${all}, in ${isKnown ? '' : 'at least '}${formatSpan(seconds * 1000)}.`;
}

function notes({ pipelines, isKnown, probed }: PlanReport): string[] {
  const lines: string[] = [];
  for (const { unlisted, slices } of pipelines) {
    if (unlisted === 0) continue;
    const those = `${formatCount(unlisted)} of ${formatCount(slices, 'group')}`;
    lines.push(`Estimated: ${those}, as the listed ones follow each other; nobody has listed them yet.`);
  }
  const unknown = pipelines.filter((plan) => !plan.isKnown).map(({ pipeline }) => pipeline);
  if (!isKnown) {
    const how = probed === undefined ? ', or let --probe ask the service for a page or two' : '';
    lines.push(
      `The lake can't tell how much there is of ${listOf(unknown)}: ≥ is the least it can be. ` +
        `To know more, load a week first${how}.`,
    );
  } else if (pipelines.some(({ slices, fileBytes }) => slices > 0 && fileBytes === undefined)) {
    lines.push('? is what the lake has no example of yet: load a week to know it.');
  }
  if (probed !== undefined) {
    lines.push(
      probed === 0
        ? 'Nothing was asked of the service: the lake could tell.'
        : `${formatCount(probed, 'request')} sent to know this: from one page it is a rough estimate.`,
    );
  }
  return lines.length === 0 ? [] : ['', ...lines.flatMap((line) => wrapped(line, widest))];
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}
