import type { GroupSpan } from '../../lake/delta/data-file.js';
import { dateOrInstant } from '../../core/numeric/instant.js';
import { printable, printableLines } from '../../core/printable.js';
import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import type { Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { newestRun, type LastRun, type LastRuns } from '../../lake/upkeep/last-run.js';
import { deadText, leaseText, type LakeRuns } from '../../lake/leases.js';
import { listingGapText } from '../../sources/finances/api-v0/listing-gaps.js';
import { catalogLine, catalogVersion } from '../catalog-version.js';
import type { TableStatus } from '../results.js';
import { unreadText } from '../unread-events.js';
import { unsummedText } from '../unsummed-amounts.js';
import { calendarLines, legendLines, type CalendarOptions } from './calendar.js';
import { coverageText, type AccountCoverage, type PipelineCoverage, type StatusFacts } from './lake-status.js';
import type { KeptReports } from './kept-reports.js';
import type { Suggestion } from './suggestions.js';

/** Width of the output in cells where it isn't a terminal. */
const defaultWidth = 80;

/** The report for people. */
export function statusTexts(
  report: StatusFacts,
  { account, color }: { readonly account: string | undefined; readonly color: boolean },
  width = defaultWidth,
): readonly string[] {
  const { location, lake, now, lastRuns, runs, statuses, unloaded, first } = report;
  const style = { width, color };
  const text = (coverage: AccountCoverage) => {
    const isLoading = runs.active.some(({ purpose }) => purpose?.account === coverage.account);
    return `${accountText(coverage, style)}\n${loadText(coverage, { now, isLoading })}\n`;
  };
  const emptyLake = `${location} has nothing${account === undefined ? '' : ` of ${account}`} yet.`;
  const firstText = (suggestion: Suggestion) =>
    suggestion.command === undefined
      ? `${suggestionText(suggestion)}.\n\n`
      : `Load it with\n  ${suggestionText(suggestion)}\n\n`;
  const runsLines = runsText(runs);
  const catalog = catalogVersion(lake);
  return [
    ...(first === undefined ? statuses.map(text) : [`${printable(emptyLake)} ${firstText(first)}`]),
    overviewText(statuses),
    ...unloaded.map((suggestion) => `${printable(suggestion.account)}: nothing loaded yet. ${firstText(suggestion)}`),
    runsLines,
    retentionText(lake),
    catalog === null ? '' : catalogLine(catalog),
    // A dead run without a note is shown instead of the last run.
    lastRuns.size === 0 && runs.dead.length > 0
      ? ''
      : `${runsLines === '' ? '' : '\n'}${lastRunsText(lastRuns, account)}`,
  ];
}

function runsText({ active, dead }: LakeRuns): string {
  const lines = [
    ...active.map((lease) => `Active: ${leaseText(lease)}\n`),
    ...dead.map((lease) => `Died: ${deadText(lease)}\n`),
  ];
  return lines.map((line) => printableLines(line)).join('');
}

/** Several accounts in one line each, as the full text of one fills a screen. */
function overviewText(statuses: readonly AccountCoverage[]): string {
  if (statuses.length < 2) return '';
  const width = Math.max(...statuses.map(({ account }) => printable(account).length));
  const lines = statuses.map(({ account, freshness, lacking }) => {
    const upTo = freshness === undefined ? 'nothing by date' : `loaded up to ${dateOrInstant(freshness.coveredTo)}`;
    const again =
      freshness?.complete === undefined || freshness.complete.start <= freshness.coveredTo
        ? ''
        : `, complete from ${rangeText(freshness.complete)}`;
    const gaps = lacking.length === 0 ? 'no gap' : `gaps in ${printable(lacking.join(', '))}`;
    return `${printable(account).padEnd(width)}  ${upTo}${again}, ${gaps}\n`;
  });
  return `${lines.join('')}\n`;
}

/** A warning that the folders hold files beside those of the tables. */
function retentionText({ snapshot }: Lake): string {
  const { retentionMs } = snapshot.config;
  if (retentionMs === 0) return '';
  return (
    `Replaced files stay for ${formatSpan(retentionMs)}: read the tables through their logs, because a plain read_parquet of the ` +
    'folders returns rows twice\n'
  );
}

function suggestionText({ command, additions: beside }: Suggestion): string {
  return [...(command === undefined ? [] : [command]), ...beside].map(printable).join('\n');
}

/** What loads the gaps of an account; `isLoading`: whether a run is loading it. */
function loadText(
  { load, range, unused, unfinished }: AccountCoverage,
  { now, isLoading }: { readonly now: number; readonly isLoading: boolean },
): string {
  if (load === undefined) {
    const what = unused.length === 0 ? 'everything in the range' : 'every pipeline that has begun';
    return `No gap: ${what} is loaded, up to ${formatSpan(now - range.end)} ago.\n`;
  }
  if (load.command === undefined) return `There are gaps: ${suggestionText(load)}.\n`;
  const after = isLoading ? ', if the active run leaves any' : '';
  return `To load ${unfinished.length > 0 ? 'the rest' : 'the gaps'}${after}:\n  ${suggestionText(load)}\n`;
}

/** Things of one kind that are listed; further ones are counted. */
const mostListed = 10;

/** The text about one account. */
function accountText(status: AccountCoverage, options: CalendarOptions): string {
  const { account, range, pipelines, unused, unfinished, openGroups, groupsToLoad, missingSettlements, holes, tables } =
    status;
  const { reports, loadReports, freshness } = status;
  const complete = freshness?.complete;
  const isLater = complete !== undefined && complete.start > range.start;
  const lines = [
    `${printable(account)}, ${rangeText(range)}`,
    ...(isLater ? [`Complete from ${rangeText(complete)}`] : []),
    '',
  ];
  for (const pipeline of pipelines) lines.push(...pipelineLines(pipeline, options), '');
  const allDays = pipelines.flatMap(({ days }) => days);
  if (allDays.length > 0) lines.push(...legendLines(allDays, options), '');
  if (unfinished.length > 0) {
    lines.push(`Requested and not begun, because the run ended early: ${printable(unfinished.join(', '))}`, '');
  }
  if (unused.length > 0) lines.push(`Nothing loaded yet of: ${printable(unused.join(', '))}`, '');
  const opened = ({ id, start }: { id: string; start: number | null }) =>
    `${printable(id)}${start === null ? '' : `, since ${dateOrInstant(start)}`}`;
  lines.push(...listLines('Open groups', openGroups.map(opened)));
  lines.push(...listLines('Groups listed and not loaded by group-events', groupsToLoad.map(opened)));
  lines.push(
    ...listLines(
      'Settlements that the list may have omitted',
      missingSettlements.map((hole) => printable(listingGapText(hole))),
    ),
  );
  lines.push(
    ...listLines(
      'Events that could not be read',
      holes.map((event) => printable(unreadText(event))),
    ),
  );
  if (reports !== undefined) lines.push(...keptReportsLines(reports, loadReports));
  lines.push(...tableLines(tables));
  return `${lines.join('\n')}\n`;
}

/** The text about settlement reports, which the service keeps for 90 days. */
function keptReportsLines(
  { endedAt, listedAt, lostFrom, expiring }: KeptReports,
  load: Suggestion | undefined,
): readonly string[] {
  const upTo = endedAt === undefined ? 'no dates' : `settlements that ended up to ${dateOrInstant(endedAt)}`;
  const from = listedAt === undefined ? 'all imported' : `last read from the service at ${dateOrInstant(listedAt)}`;
  const closed = ({ id, end }: GroupSpan) => `${printable(id)}${end === null ? '' : `, until ${dateOrInstant(end)}`}`;
  return [
    `Settlement reports: ${upTo}, ${from}`,
    '',
    ...(lostFrom === undefined
      ? []
      : [
          `The service keeps them for 90 days: those written since then are lost from ${dateOrInstant(lostFrom)} on`,
          '',
        ]),
    ...listLines('Closed settlements without a report, which the service keeps for 90 days', expiring.map(closed)),
    ...(load === undefined ? [] : ['To load the reports that it has:', `  ${suggestionText(load)}`, '']),
  ];
}

/** The text about the last run of one account; of all: about the newest one, and each account's last one that failed. */
function lastRunsText(lastRuns: LastRuns, asked: string | undefined): string {
  const newest = newestRun(lastRuns);
  if (newest === undefined) return 'Last run: unknown\n';
  const shown = [...lastRuns.values()].filter((run) =>
    asked === undefined ? run === newest || run.status === 'failed' : run.account === asked,
  );
  if (shown.length === 0) {
    return `Last run: of another account (${printable(newest.account)}, ${dateOrInstant(Date.parse(newest.endedAt))})\n`;
  }
  return shown.toReversed().map(lastRunText).join('');
}

function lastRunText(run: LastRun): string {
  const { command, status, startedAt, endedAt, account, from, to, failure, code, pipelines } = run;
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  // An import without rows shows when it ran in the place of its days.
  const isOfDays = from !== startedAt || to !== endedAt;
  const days = isOfDays ? ` of ${dateOrInstant(Date.parse(from))} to ${dateOrInstant(Date.parse(to))}` : '';
  const lines = [
    `Last run: ${printable(command)}${days} for ${printable(account)}`,
    `  ${code === 'STOPPED' ? 'stopped' : printable(status)} at ${dateOrInstant(Date.parse(endedAt))} after ${seconds.toFixed(1)} s`,
    ...(failure === null ? [] : [`  ${printable(code === undefined ? failure : `${code}: ${failure}`)}`]),
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
  return `${dateOrInstant(start)} to ${dateOrInstant(end)}`;
}

function pipelineLines(
  { pipeline, loadKeyKind, loaded, days, gaps, takenOut }: PipelineCoverage,
  options: CalendarOptions,
): string[] {
  const read = formatCount(loaded, loadKeyKind);
  if (days.length === 0) {
    const missing = listLines('Taken out by repair, and not loaded again', takenOut.map(printable), false);
    return [`${printable(pipeline)}: ${read}`, ...missing];
  }
  return [
    `${printable(pipeline)}: ${read}, ${coverageText(days, 'imported')}`,
    ...calendarLines(days, options),
    ...(gaps.length === 0 ? ['No gap'] : listLines('Gaps', gaps.map(rangeText), false)),
  ];
}

function listLines(title: string, items: readonly string[], spaced = true): string[] {
  if (items.length === 0) return [];
  const more = items.length > mostListed ? [`  and ${formatCount(items.length - mostListed)} more`] : [];
  const end = spaced ? [''] : [];
  return [`${title}:`, ...items.slice(0, mostListed).map((item) => `  ${item}`), ...more, ...end];
}

function tableLines(tables: readonly TableStatus[]): string[] {
  const cells = ({ table, files, bytes, rows }: TableStatus) => [
    printable(table),
    formatCount(files),
    formatBytes(bytes),
    formatCount(rows),
  ];
  return [
    ...alignedLines([['table', 'files', 'size', 'rows'], ...tables.map(cells)]),
    ...tables
      .filter(({ unsummed }) => unsummed > 0)
      .map(({ table, unsummed }) => `${table}: ${unsummedText(unsummed)}`),
  ];
}
