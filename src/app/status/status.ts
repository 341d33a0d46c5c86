import { isoInstant } from '../../core/numeric/instant.js';
import { printable, printableLines } from '../../core/printable.js';
import { formatBytes, formatCount, formatSpan } from '../../core/text/amounts.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import { alignedLines, wrapWords } from '../../core/text/width.js';
import type { ResultColumn, ResultRows } from '../../core/text/rows.js';
import { terminalWidth, writeText } from '../../core/text/sink.js';
import type { Window } from '../../core/windows.js';
import { readLastRun, type LastRun } from '../../lake/upkeep/last-run.js';
import type { Hole } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import { noteFault, readForgottenNote } from '../../lake/upkeep/erasure.js';
import { leaseText, readRuns, type LakeRuns, type Lease } from '../../lake/upkeep/leases.js';
import { holeText } from '../../sources/finances/api-v0/settlement-holes.js';
import { demoAccount, refuseUnknownAccount } from '../configuration/account.js';
import { latestBound, readDateRange, readInstantOption, type RangeOptions } from '../configuration/range.js';
import type { ReadingContext } from '../context.js';
import type { LakeStatus, RunStatus, TableStatus, UnreadEvent } from '../results.js';
import { allowMore, lagFailure, readMaxLag } from '../load/freshness.js';
import { plainLog } from '../../observe/log/plain-log.js';
import { mainTablesOf } from '../verify/checks/main-tables.js';
import { configuredRanges, readUnfinished, type UnfinishedRange } from '../verify/checks/unfinished-ranges.js';
import { openExistingLake } from '../query/lake-files.js';
import { unreadText } from '../unread-events.js';
import { unsummedText } from '../unsummed-amounts.js';
import { catalogLine, catalogVersion } from '../catalog-version.js';
import { commandIn, shortIsoInstant } from '../command-text.js';
import { calendarLines, legendLines, type CalendarOptions } from './calendar.js';
import {
  accountStatus,
  coverageText,
  loadedRange,
  reportedRange,
  type AccountStatus,
  type PipelineStatus,
} from './lake-status.js';
import { firstLoad, firstSync, nextSync, type Suggestion, type SuggestionContext } from './suggestions.js';

/** What `status` asks of a lake. */
export interface StatusQuery
  extends RangeOptions, Pick<SuggestionContext, 'pipelineFolder' | 'config' | 'configured' | 'api'> {
  readonly lake: string;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** Those of them that load into this lake; they are listed also where the lake has no rows of them. */
  readonly expected?: readonly string[];
  /** Where syncs of the configured accounts begin, ISO 8601; undefined: where they began. */
  readonly syncedFrom?: string | undefined;
}

export interface StatusOptions extends StatusQuery {
  /** The greatest age of the data, such as `2h`; undefined: any. */
  readonly maxLag?: string | undefined;
  readonly format: Format;
  /** Whether the output is coloured; colours add no information. */
  readonly color: boolean;
}

/** Width of the output in cells where it isn't a terminal. */
const defaultWidth = 80;

/**
 * `ledgerlake status`: what the lake holds, what of the range it lacks, and the command that loads the rest. Reads the
 * logs only. The default range is from the first loaded instant to now less the margin. It ends at the last loaded
 * instant where less than a day has passed since then, as a lake can't hold those hours yet.
 *
 * `table` is for people, `json` is a `LakeStatus` of the library, with `retention_hours`. `csv` and `ndjson` have a row
 * for each account, pipeline and day: `account`, `pipeline`, `day`, `state`.
 *
 * @throws LedgerlakeError USAGE for an invalid range, where there is no lake, and for an account that is not among
 * those of the lake and that no run has begun; LAKE_STORE and LAKE_LOG where the lake can't be read; LAKE_LAG after all
 * output where an account's data is older than `maxLag`, or a run was asked for settlements that aren't loaded
 */
export async function status(options: StatusOptions, context: ReadingContext): Promise<void> {
  const { output } = context;
  const maxLagMs = readMaxLag(options.maxLag, options.marginMinutes);
  const report = await readStatus(options, context);
  switch (options.format) {
    case 'table': {
      const width = terminalWidth(output) ?? defaultWidth;
      await writeText(output, reportTexts(report, options, width), { isColoured: options.color });
      break;
    }
    case 'json':
      await writeText(output, [`${JSON.stringify(statusObject(report), undefined, 2)}\n`]);
      break;
    case 'vertical':
    case 'csv':
    case 'csv-safe':
    case 'ndjson':
      await writeRows(output, options.format, dayColumns, chunksOf(...report.statuses.map(dayRows)));
  }
  refuseLag(report, options, maxLagMs);
}

/** The statuses of a lake's accounts, its runs, and the commands that load what is missing. */
export interface StatusReport {
  readonly lake: Lake;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly lastRun: LastRun | undefined;
  readonly runs: LakeRuns;
  readonly statuses: readonly AccountStatus[];
  /** Configured accounts without rows, with the commands that load them. */
  readonly unloaded: readonly (Suggestion & { readonly account: string })[];
  /** The command that loads into an empty lake, by the notes of earlier runs; undefined without a note. */
  readonly known: Suggestion | undefined;
  readonly suggestionContext: SuggestionContext;
}

/**
 * Reads what `status` shows.
 *
 * @throws as {@link status}, but for LAKE_LAG
 */
export async function readStatus(
  options: StatusQuery,
  { clock, log }: Pick<ReadingContext, 'clock' | 'log'>,
): Promise<StatusReport> {
  // The range is checked before anything is read.
  if (options.from !== undefined) readDateRange(options, clock.now());
  const lake = await openExistingLake(options.lake, clock, log);
  const lastRun = await readLastRun(lake.store);
  // By the API's clock: where ours is slow, the lake would look younger than it is.
  const now = clock.now() + (lastRun?.clockOffsetSeconds ?? 0) * 1000;
  const runs = await readRuns(lake.store, clock);
  const isBegun = [lastRun, ...[...runs.active, ...runs.died].map(({ purpose }) => purpose)].some(
    (run) => run?.account === options.account,
  );
  if (!isBegun) refuseUnknownAccount(options.account, lake.accounts(), options.lake);
  const accounts = [...lake.accounts()]
    .filter((name) => options.account === undefined || name === options.account)
    .toSorted();
  const unfinishedRanges = [
    ...(await readUnfinished(lake, plainLog(log))),
    ...(await unsyncedRanges(lake, accounts, options, now)),
  ];
  const { lake: location, pipelineFolder, config, configured, api } = options;
  const suggestionContext = { location, pipelineFolder, config, lastRun, unfinishedRanges, configured, api };
  const forgotten = await Promise.all(accounts.map((account) => readForgottenNote(lake.store, account)));
  const statuses = accounts.map((account, at) => {
    const range = reportedRange(options, loadedRange(lake, account, unfinishedRanges), now);
    const known = { died: runs.died, forgotten: forgotten[at] };
    return accountStatus({ ...suggestionContext, ...known, lake, account, range });
  });
  const unloaded = unloadedAccounts(options, lake).map((account) => ({
    account,
    ...firstSync(account, suggestionContext),
  }));
  const known = firstLoad(options.account, [...runs.active, ...runs.died], suggestionContext);
  return { lake, now, lastRun, runs, statuses, unloaded, known, suggestionContext };
}

/** What the configured accounts lack of the range that their syncs load. */
async function unsyncedRanges(
  lake: Lake,
  accounts: readonly string[],
  { syncedFrom, configured = [], marginMinutes }: StatusQuery,
  now: number,
): Promise<UnfinishedRange[]> {
  if (syncedFrom === undefined) return [];
  const range = { start: readInstantOption('from', syncedFrom), end: latestBound(now, marginMinutes) };
  const synced = accounts.filter((account) => configured.length === 0 || configured.includes(account));
  const ranges = synced.map((account) => {
    const begun = mainTablesOf(lake).filter(({ pipeline }) => lake.loadKeys(pipeline, account).size > 0);
    return configuredRanges(
      lake,
      account,
      begun.map(({ pipeline }) => pipeline),
      range,
    );
  });
  return (await Promise.all(ranges)).flat();
}

/** The command that loads into an empty lake; undefined where the lake has rows. */
function firstCommand({ statuses, known, suggestionContext }: StatusReport): Suggestion | undefined {
  return statuses.length > 0 ? undefined : (known ?? demoLoad(suggestionContext));
}

/** The report for people. */
function reportTexts(report: StatusReport, options: StatusOptions, width: number): readonly string[] {
  const { lake, now, lastRun, runs, statuses, unloaded } = report;
  const style = { width, color: options.color };
  const text = (of: AccountStatus) => {
    const isLoading = runs.active.some(({ purpose }) => purpose?.account === of.account);
    return `${accountText(of, style)}\n${loadText(of, { now, isLoading })}\n`;
  };
  const emptyLake = `${options.lake} has nothing${options.account === undefined ? '' : ` of ${options.account}`} yet.`;
  const firstText = (of: Suggestion) =>
    of.command === undefined ? `${suggestionText(of)}.\n\n` : `Load it with\n  ${suggestionText(of)}\n\n`;
  const first = firstCommand(report);
  const runsLines = runsText(runs);
  const catalog = catalogVersion(lake);
  return [
    ...(first === undefined ? statuses.map(text) : [`${printable(emptyLake)} ${firstText(first)}`]),
    overviewText(statuses),
    ...unloaded.map((of) => `${printable(of.account)}: nothing loaded yet. ${firstText(of)}`),
    runsLines,
    ...statuses
      .flatMap(({ forgotten }) => (forgotten && noteFault(forgotten)) ?? [])
      .map((fault) => `${wrapWords(printable(fault), defaultWidth).join('\n')}\n\n`),
    retentionText(lake),
    catalog === null ? '' : catalogLine(catalog),
    // A dead run without a note is shown instead of the last run.
    lastRun === undefined && runs.died.length > 0
      ? ''
      : `${runsLines === '' ? '' : '\n'}${lastRunText(lastRun, options.account)}`,
  ];
}

/** The report for programs. */
export function statusObject(report: StatusReport): LakeStatus {
  const { lake, now, lastRun, runs, statuses, suggestionContext } = report;
  return {
    lake: suggestionContext.location,
    at: isoInstant(now),
    runs: [...runs.active.map(runObject('active')), ...runs.died.map(runObject('died'))],
    last_run: lastRun ?? null,
    catalog: catalogVersion(lake),
    retention_hours: lake.retentionMs / 3_600_000,
    command: firstCommand(report)?.command ?? null,
    accounts: statuses.map((of) => accountObject(of, now)),
  };
}

/** @throws LedgerlakeError LAKE_LAG for the first account whose data is older than allowed */
function refuseLag(report: StatusReport, { account }: StatusOptions, maxLagMs: number | undefined): void {
  const { now, runs, statuses, unloaded, known, suggestionContext } = report;
  const remedyOf = (name: string | undefined, suggested: string) =>
    `${activeRunText(runs, name)}${suggested}, ${allowMore}`;
  const failures = [
    ...statuses.map((of) => {
      const remedy = remedyOf(of.account, remedyText(nextSync(of, suggestionContext)));
      const about = { subject: `account ${of.account}`, remedy, unfinished: of.behind };
      return lagFailure(of.coveredTo, maxLagMs, now, about);
    }),
    ...unloaded.map((of) => {
      const about = { subject: `account ${of.account}`, remedy: remedyOf(of.account, remedyText(of)) };
      return lagFailure(undefined, maxLagMs, now, about);
    }),
  ];
  if (statuses.length === 0) {
    const remedy = remedyOf(account, known === undefined ? 'load it first' : remedyText(known));
    failures.push(lagFailure(undefined, maxLagMs, now, { remedy }));
  }
  const failure = failures.find((found) => found !== undefined);
  if (failure !== undefined) throw failure;
}

/** Configured accounts that the lake has no rows of, beside others that it has; none beside the synthetic seller. */
function unloadedAccounts({ account, expected = [] }: StatusQuery, lake: Lake): readonly string[] {
  const lakeAccounts = lake.accounts();
  if (lakeAccounts.size === 0 || lakeAccounts.has(demoAccount)) return [];
  return expected.filter((name) => !lakeAccounts.has(name) && (account === undefined || account === name));
}

/** A line, before the suggestions, about a run that is active, for the named account; empty where none is. */
function activeRunText({ active }: LakeRuns, account: string | undefined): string {
  const loading = active.find(
    ({ purpose }) =>
      (purpose?.command === 'sync' || purpose?.command === 'backfill') &&
      (account === undefined || purpose.account === account),
  );
  return loading === undefined ? '' : `a run is active (${leaseText(loading)}): wait for it, or `;
}

function runsText({ active, died }: LakeRuns): string {
  const lines = [
    ...active.map((lease) => `Active: ${leaseText(lease)}\n`),
    ...died.map(
      (lease) => `Died: ${leaseText(lease)}; what it committed stays, and the next successful run removes the rest\n`,
    ),
  ];
  return lines.map((line) => printableLines(line)).join('');
}

/** Several accounts in one line each, as the full text of one fills a screen. */
function overviewText(statuses: readonly AccountStatus[]): string {
  if (statuses.length < 2) return '';
  const width = Math.max(...statuses.map(({ account }) => printable(account).length));
  const lines = statuses.map(({ account, coveredTo, lacking }) => {
    const upTo = coveredTo === undefined ? 'nothing by date' : `loaded up to ${shortIsoInstant(coveredTo)}`;
    const gaps = lacking.length === 0 ? 'no gap' : `gaps in ${printable(lacking.join(', '))}`;
    return `${printable(account).padEnd(width)}  ${upTo}, ${gaps}\n`;
  });
  return `${lines.join('')}\n`;
}

/** A warning that the folders hold files beside those of the tables. */
function retentionText({ retentionMs }: Lake): string {
  if (retentionMs === 0) return '';
  return (
    `Replaced files stay for ${formatSpan(retentionMs)}: read the tables through their logs, because a plain read_parquet of the ` +
    'folders returns rows twice\n'
  );
}

function runObject(state: RunStatus['state']): (lease: Lease) => RunStatus {
  return ({ host, pid, startedAt, renewedAt, purpose }) => ({
    state,
    command: purpose?.command ?? null,
    account: purpose?.account ?? null,
    pipelines: purpose?.pipelines ?? [],
    host,
    pid,
    started_at: isoInstant(startedAt),
    renewed_at: isoInstant(renewedAt),
  });
}

/** The advice for a lake without any note of a run. */
function demoLoad({ location, config }: SuggestionContext): Suggestion {
  return {
    command: commandIn({ lake: location, config }, 'ledgerlake backfill'),
    additions: ['which loads a synthetic seller unless an account is configured, or named by --account and --endpoint'],
  };
}

function suggestionText({ command, additions: beside }: Suggestion): string {
  return [...(command === undefined ? [] : [command]), ...beside].map(printable).join('\n');
}

/** The same as a part of a line. */
function remedyText({ command, additions: beside }: Suggestion): string {
  return [...(command === undefined ? [] : [`run \`${command}\``]), ...beside].join(', ');
}

/** What loads the gaps of an account; `isLoading`: whether a run is loading it. */
function loadText(
  { load, range, unused, unfinished }: AccountStatus,
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

function accountObject(of: AccountStatus, now: number): LakeStatus['accounts'][number] {
  const group = ({ id, start, end }: AccountStatus['openGroups'][number]) => ({
    group_id: id,
    started_at: start === null ? null : isoInstant(start),
    ended_at: end === null ? null : isoInstant(end),
  });
  return {
    account: of.account,
    from: isoInstant(of.range.start),
    to: isoInstant(of.range.end),
    command: of.load?.command ?? null,
    forgotten_before: of.forgotten?.before === undefined ? null : isoInstant(of.forgotten.before),
    forgotten_fault: (of.forgotten && noteFault(of.forgotten)) ?? null,
    pipelines: of.pipelines.map(({ pipeline, loadKey, loaded, days, gaps }) => ({
      pipeline,
      unit: loadKey,
      loaded,
      gaps: gaps.map(({ start, end }) => ({ from: isoInstant(start), to: isoInstant(end) })),
      days: days.map(({ start, state }) => ({ day: shortIsoInstant(start), state })),
    })),
    not_loaded: of.unused,
    unfinished: of.unfinished,
    lag_seconds: of.coveredTo === undefined ? null : Math.round((now - of.coveredTo) / 1000),
    open_groups: of.openGroups.map(group),
    groups_to_load: of.groupsToLoad.map(group),
    missing_settlements: of.holes.map(({ at, side, beside }) => ({ at: isoInstant(at), side, group_id: beside.id })),
    holes: of.unread.map(({ pipeline, loadKey, hole }) => ({ pipeline, unit: loadKey, ...holeObject(hole) })),
    tables: of.tables,
  };
}

function holeObject(hole: Hole): Pick<UnreadEvent, 'byte'> & Partial<UnreadEvent> {
  if ('file' in hole) return hole;
  const { page, byte, requestId } = hole;
  return { page, byte, request_id: requestId ?? null };
}

const dayColumns: readonly ResultColumn[] = [
  { name: 'account', kind: 'text' },
  { name: 'pipeline', kind: 'text' },
  { name: 'day', kind: 'time' },
  { name: 'state', kind: 'text' },
];

function dayRows({ account, pipelines }: AccountStatus): ResultRows {
  return pipelines.flatMap(({ pipeline, days }) =>
    days.map(({ start, state }) => [account, pipeline, shortIsoInstant(start), state]),
  );
}

/** Things of one kind that are listed; further ones are counted. */
const mostListed = 10;

/** The text about one account. */
function accountText(status: AccountStatus, options: CalendarOptions): string {
  const { account, range, pipelines, unused, unfinished, openGroups, groupsToLoad, holes, unread, tables } = status;
  const lines = [`${printable(account)}, ${rangeText(range)}`, ''];
  for (const pipeline of pipelines) lines.push(...pipelineLines(pipeline, options), '');
  const allDays = pipelines.flatMap(({ days }) => days);
  if (allDays.length > 0) lines.push(...legendLines(allDays, options), '');
  if (unfinished.length > 0) {
    lines.push(`Requested and not begun, because the run ended early: ${printable(unfinished.join(', '))}`, '');
  }
  if (unused.length > 0) lines.push(`Nothing loaded yet of: ${printable(unused.join(', '))}`, '');
  const opened = ({ id, start }: { id: string; start: number | null }) =>
    `${printable(id)}${start === null ? '' : `, since ${shortIsoInstant(start)}`}`;
  lines.push(...listLines('Open groups', openGroups.map(opened)));
  lines.push(...listLines('Groups listed and not loaded by group-events', groupsToLoad.map(opened)));
  lines.push(
    ...listLines(
      'Settlements that the list may have omitted',
      holes.map((hole) => printable(holeText(hole))),
    ),
  );
  lines.push(
    ...listLines(
      'Events that could not be read',
      unread.map((event) => printable(unreadText(event))),
    ),
  );
  lines.push(...tableLines(tables));
  return `${lines.join('\n')}\n`;
}

/** The text about the last run, for one account or all. */
function lastRunText(run: LastRun | undefined, asked: string | undefined): string {
  if (run === undefined) return 'Last run: unknown\n';
  if (asked !== undefined && run.account !== asked) {
    return `Last run: of another account (${printable(run.account)}, ${shortIsoInstant(Date.parse(run.endedAt))})\n`;
  }
  const { command, status, startedAt, endedAt, account, from, to, failure, code, pipelines } = run;
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  // An import without rows shows when it ran in the place of its days.
  const isOfDays = from !== startedAt || to !== endedAt;
  const days = isOfDays ? ` of ${shortIsoInstant(Date.parse(from))} to ${shortIsoInstant(Date.parse(to))}` : '';
  const lines = [
    `Last run: ${printable(command)}${days} for ${printable(account)}`,
    `  ${code === 'STOPPED' ? 'stopped' : printable(status)} at ${shortIsoInstant(Date.parse(endedAt))} after ${seconds.toFixed(1)} s`,
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
  return `${shortIsoInstant(start)} to ${shortIsoInstant(end)}`;
}

function pipelineLines({ pipeline, loadKey, loaded, days, gaps }: PipelineStatus, options: CalendarOptions): string[] {
  const read = formatCount(loaded, loadKey);
  if (days.length === 0) return [`${printable(pipeline)}: ${read}`];
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
