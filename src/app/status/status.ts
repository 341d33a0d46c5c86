import type { GroupSpan } from '../../lake/delta/data-file.js';
import { isoInstant, dateOrInstant } from '../../core/numeric/instant.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import type { ResultColumn, ResultRows } from '../../core/text/rows.js';
import { terminalWidth, writeText } from '../../core/text/sink.js';
import { newestRun, readLastRuns } from '../../lake/upkeep/last-run.js';
import type { Lake } from '../../lake/lake.js';
import { leaseText, readRuns, type LakeRuns, type Lease } from '../../lake/leases.js';
import { accountPattern, demoAccount, refuseUnknownAccount } from '../configuration/account.js';
import { latestBound, readDateRange, type RangeOptions } from '../configuration/range.js';
import { readInstantOption } from '../../core/text/value-forms.js';
import type { ReadingContext, RunContext } from '../context.js';
import type { LakeStatus, RunStatus } from '../results.js';
import { allowMore, lagFailure, readMaxLag } from '../load/freshness.js';
import { readLookBacks } from '../../lake/upkeep/look-backs.js';
import { storedPipelines } from '../coverage/stored-pipelines.js';
import { configuredRanges, readUnfinished, type UnfinishedRange } from '../coverage/unfinished-ranges.js';
import { openExistingLake } from '../query/lake-files.js';
import { catalogVersion } from '../catalog-version.js';
import { commandIn } from '../command-text.js';
import type { KeptReports } from './kept-reports.js';
import { accountCoverage, loadedRange, statusRange, type AccountCoverage, type StatusFacts } from './lake-status.js';
import { statusTexts } from './status-text.js';
import { firstLoad, firstSync, nextSync, type Suggestion, type SuggestionContext } from './suggestions.js';

/** What `status` asks of a lake. */
export interface StatusQuery
  extends RangeOptions, Pick<SuggestionContext, 'pipelineFolder' | 'config' | 'configured' | 'api'> {
  readonly lake: string;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** The accounts that may be shown; left out: all. */
  readonly allowed?: readonly string[] | undefined;
  /** Those of them that load into this lake; they are listed also where the lake has no rows of them. */
  readonly expected?: readonly string[];
  /** Where syncs of the configured accounts begin, ISO 8601; undefined: where they began. */
  readonly syncedFrom?: string | undefined;
}

export interface StatusCommand extends StatusQuery {
  /** The greatest age of the data, such as `2h`; undefined: any. */
  readonly maxLag?: string | undefined;
  readonly format: Format;
  /** Whether the output is coloured; colours add no information. */
  readonly color: boolean;
}

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
export async function status(options: StatusCommand, context: ReadingContext): Promise<void> {
  const { output } = context;
  const maxLagMs = readMaxLag(options.maxLag, options.marginMinutes);
  const report = await readStatus(options, context);
  switch (options.format) {
    case 'table':
      await writeText(output, statusTexts(report, options, terminalWidth(output)), { isColoured: options.color });
      break;
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

/**
 * Reads what `status` shows.
 *
 * @throws as {@link status}, but for LAKE_LAG
 */
export async function readStatus(
  options: StatusQuery,
  { clock, emit }: Pick<RunContext, 'clock' | 'emit'>,
): Promise<StatusFacts> {
  // The range is checked before anything is read.
  readDateRange(options, clock.now());
  const lake = await openExistingLake(options.lake, clock, emit);
  const { allowed } = options;
  if (allowed !== undefined) lake.limitTo(allowed);
  const isAllowed = (account: string | undefined) => allowed?.includes(account ?? '') ?? true;
  const everyLastRun = await readLastRuns(lake.store);
  // A foreign lake can have notes under any name.
  const lastRuns = new Map([...everyLastRun].filter(([account]) => accountPattern.test(account) && isAllowed(account)));
  // By the API's clock: where ours is slow, the lake would look younger than it is.
  const now = clock.now() + (newestRun(everyLastRun)?.clockOffsetSeconds ?? 0) * 1000;
  const { active, dead } = await readRuns(lake.store, clock);
  const isShown = ({ purpose }: Lease) => isAllowed(purpose?.account);
  const runs: LakeRuns = { active: active.filter(isShown), dead: dead.filter(isShown) };
  const isBegun = [...lastRuns.values(), ...[...runs.active, ...runs.dead].map(({ purpose }) => purpose)].some(
    (run) => run?.account === options.account,
  );
  if (!isBegun) refuseUnknownAccount(options.account, lake.snapshot.accounts(), options.lake);
  const accounts = [...lake.snapshot.accounts()]
    .filter((name) => options.account === undefined || name === options.account)
    .toSorted();
  const unfinishedRanges = [
    ...(await readUnfinished(lake, emit)).filter(({ account }) => isAllowed(account)),
    ...unsyncedRanges(lake, accounts, options, now),
  ];
  const { lake: location, pipelineFolder, config, configured, api } = options;
  const suggestionContext = { location, pipelineFolder, config, lastRuns, unfinishedRanges, configured, api };
  const lookBacks = await Promise.all(accounts.map((account) => readLookBacks(lake.store, account)));
  const statuses = accounts.map((account, at) => {
    const range = statusRange(options, loadedRange(lake, account, unfinishedRanges), now);
    const known = { dead: runs.dead, lookBacks: lookBacks[at], now };
    return accountCoverage({ ...suggestionContext, ...known, lake, account, range });
  });
  const unloaded = unloadedAccounts(options, lake).map((account) => ({
    account,
    ...firstSync(account, suggestionContext),
  }));
  const known = firstLoad(options.account, [...runs.active, ...runs.dead], suggestionContext);
  // Without any note of a run.
  const demo = {
    command: commandIn({ lake: location, config }, 'ledgerlake backfill'),
    additions: ['which loads a synthetic seller unless an account is configured, or named by --account and --endpoint'],
  };
  const first = statuses.length > 0 ? undefined : (known ?? demo);
  return { location, lake, now, lastRuns, runs, statuses, unloaded, known, first, suggestionContext };
}

/** What the configured accounts lack of the range that their syncs load. */
function unsyncedRanges(
  lake: Lake,
  accounts: readonly string[],
  { syncedFrom, configured = [], marginMinutes }: StatusQuery,
  now: number,
): UnfinishedRange[] {
  if (syncedFrom === undefined) return [];
  const range = { start: readInstantOption('from', syncedFrom), end: latestBound(now, marginMinutes) };
  const synced = accounts.filter((account) => configured.length === 0 || configured.includes(account));
  return synced.flatMap((account) => {
    const begun = storedPipelines(lake).filter(({ name }) => lake.snapshot.keysOf(account, name).size > 0);
    return configuredRanges(
      lake,
      account,
      begun.map(({ name }) => name),
      range,
    );
  });
}

/** The report for programs. */
export function statusObject(report: StatusFacts): LakeStatus {
  const { location, lake, now, lastRuns, runs, statuses, first } = report;
  return {
    lake: location,
    at: isoInstant(now),
    runs: [...runs.active.map(runObject('active')), ...runs.dead.map(runObject('died'))],
    last_run: newestRun(lastRuns) ?? null,
    last_runs: [...lastRuns.values()].toReversed(),
    catalog: catalogVersion(lake),
    retention_hours: lake.snapshot.config.retentionMs / 3_600_000,
    command: first?.command ?? null,
    accounts: statuses.map((coverage) => accountObject(coverage, now)),
  };
}

/** @throws LedgerlakeError LAKE_LAG for the first account whose data is older than allowed */
function refuseLag(report: StatusFacts, { account }: StatusCommand, maxLagMs: number | undefined): void {
  const { now, runs, statuses, unloaded, known, suggestionContext } = report;
  const remedyOf = (name: string | undefined, suggested: string) =>
    `${activeRunText(runs, name)}${suggested}, ${allowMore}`;
  const failures = [
    ...statuses.map((coverage) => {
      const remedy = remedyOf(coverage.account, remedyText(coverage.load ?? nextSync(coverage, suggestionContext)));
      const about = { subject: `account ${coverage.account}`, remedy, unfinished: coverage.behind };
      return lagFailure(coverage.freshness, maxLagMs, now, about);
    }),
    ...unloaded.map((suggestion) => {
      const about = {
        subject: `account ${suggestion.account}`,
        remedy: remedyOf(suggestion.account, remedyText(suggestion)),
      };
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
  const lakeAccounts = lake.snapshot.accounts();
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

/** A suggestion as a part of a line. */
function remedyText({ command, additions: beside }: Suggestion): string {
  return [...(command === undefined ? [] : [`run \`${command}\``]), ...beside].join(', ');
}

function accountObject(coverage: AccountCoverage, now: number): LakeStatus['accounts'][number] {
  return {
    account: coverage.account,
    from: isoInstant(coverage.range.start),
    to: isoInstant(coverage.range.end),
    command: coverage.load?.command ?? null,
    forgotten_before: coverage.forgottenBefore === undefined ? null : isoInstant(coverage.forgottenBefore),
    pipelines: coverage.pipelines.map(({ pipeline, loadKeyKind, loaded, days, gaps, takenOut }) => ({
      pipeline,
      sliced_by: loadKeyKind,
      loaded,
      taken_out: takenOut,
      gaps: gaps.map(({ start, end }) => ({ from: isoInstant(start), to: isoInstant(end) })),
      days: days.map(({ start, state }) => ({ day: dateOrInstant(start), state })),
    })),
    not_loaded: coverage.unused,
    unfinished: coverage.unfinished,
    lag_seconds: coverage.freshness === undefined ? null : Math.round((now - coverage.freshness.coveredTo) / 1000),
    complete_from: instantOrNull(coverage.freshness?.complete?.start),
    complete_to: instantOrNull(coverage.freshness?.complete?.end),
    open_groups: coverage.openGroups.map(groupObject),
    groups_to_load: coverage.groupsToLoad.map(groupObject),
    missing_settlements: coverage.missingSettlements.map(({ at, side, beside }) => ({
      at: isoInstant(at),
      side,
      group_id: beside.id,
    })),
    holes: coverage.holes,
    settlement_reports:
      coverage.reports === undefined ? null : keptReportsObject(coverage.reports, coverage.loadReports),
    tables: coverage.tables,
  };
}

const groupObject = ({ id, start, end }: GroupSpan) => ({
  group_id: id,
  started_at: instantOrNull(start),
  ended_at: instantOrNull(end),
});

function keptReportsObject({ endedAt, listedAt, lostFrom, expiring }: KeptReports, load: Suggestion | undefined) {
  return {
    ended_at: instantOrNull(endedAt),
    listed_at: instantOrNull(listedAt),
    lost_from: instantOrNull(lostFrom),
    expiring_groups: expiring.map(groupObject),
    command: load?.command ?? null,
  };
}

function instantOrNull(ms: number | null | undefined): string | null {
  return ms == null ? null : isoInstant(ms);
}

const dayColumns: readonly ResultColumn[] = [
  { name: 'account', kind: 'text' },
  { name: 'pipeline', kind: 'text' },
  { name: 'day', kind: 'time' },
  { name: 'state', kind: 'text' },
];

function dayRows({ account, pipelines }: AccountCoverage): ResultRows {
  return pipelines.flatMap(({ pipeline, days }) =>
    days.map(({ start, state }) => [account, pipeline, dateOrInstant(start), state]),
  );
}
