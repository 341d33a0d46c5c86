import { defaultApi, type Api } from '../../sources/finances/selling-partner/apis.js';
import { defaultPipelines, pipelineNamed, pipelines as allPipelines } from '../../../pipelines/all-pipelines.js';
import type { GroupSpan } from '../../sources/finances/api-v0/collectors.js';
import { groupSlices, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import { settlementBreaks, type SettlementHole } from '../../sources/finances/api-v0/settlement-rows.js';
import type { Lake } from '../../lake/lake.js';
import { endpointToName, type LastRun } from '../../lake/upkeep/last-run.js';
import type { UnfinishedRange } from '../verify/checks/unfinished-ranges.js';
import type { Lease } from '../../lake/upkeep/leases.js';
import { demoAccount } from '../configuration/account.js';
import { rangeMarginMs, readRange, type RangeOptions } from '../configuration/range.js';
import { importedWindows } from '../../lake/loads/imported-days.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { coveredTo, syncRange } from '../../engine/slicing/sync-windows.js';
import { dayMs, type Window } from '../../core/windows.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { byGroup, listing, mainTablesOf, type MainTable } from '../verify/checks/main-tables.js';
import { backfillCommand } from '../command-text.js';
import type { Day, DayState } from '../../engine/slicing/day-states.js';
import { formatCount } from '../../core/text/amounts.js';

/** What is loaded of one pipeline for one account. */
export interface PipelineStatus {
  readonly pipeline: string;
  /** What a load key names: `window`, `group`, `order`. */
  readonly loadKey: string;
  /** Windows, groups or orders that were read. */
  readonly loaded: number;
  /** Days of the range; none for orders, which have no dates. */
  readonly days: readonly Day[];
  /** What of the range isn't loaded; for groups the days on which one opened that isn't. */
  readonly gaps: readonly Window[];
}

export interface TableStatus {
  readonly table: string;
  readonly files: number;
  readonly bytes: number;
  readonly rows: number;
}

export interface AccountStatus {
  readonly account: string;
  readonly range: Window;
  /** Pipelines that have read something, and those of the default set that haven't. */
  readonly pipelines: readonly PipelineStatus[];
  readonly unused: readonly string[];
  /** Those of which nothing is loaded although a run that did not come to its end was asked for them. */
  readonly unfinished: readonly string[];
  /** Those that a sync loads, of which a run was asked for more than is loaded, and that `coveredTo` leaves out. */
  readonly behind: readonly string[];
  /** Up to which instant everything is loaded, milliseconds since 1970; undefined where nothing has a date. */
  readonly coveredTo: number | undefined;
  /** Groups that were open when they were listed last. */
  readonly openGroups: readonly GroupSpan[];
  /** Groups of the range that are listed and whose events aren't loaded by group. */
  readonly groupsToLoad: readonly GroupSpan[];
  /** Where the listing seems to leave settlements out. */
  readonly holes: readonly SettlementHole[];
  readonly tables: readonly TableStatus[];
  /** What loads the gaps; undefined where there are none. */
  readonly command: string | undefined;
  /** The pipelines that have gaps or are unfinished, and those of them that are the user's own. */
  readonly lacking: readonly string[];
  readonly lackingCustom: readonly string[];
}

export interface StatusQuestion {
  readonly lake: Lake;
  /** The lake as the user wrote it. */
  readonly location: string;
  readonly account: string;
  /** From the first loaded instant on; `start` or `end` undefined: as said there. */
  readonly range: Window;
  readonly lastRun: LastRun | undefined;
  /** What runs were asked for, of any account, and isn't loaded. */
  readonly unfinishedRanges?: readonly UnfinishedRange[];
  /** Runs that died. */
  readonly died?: readonly Lease[];
  /** Where the user's own pipelines are defined, if that was said. */
  readonly pipelineFolder?: string | undefined;
  /** The configuration file, if that was said. */
  readonly config?: string | undefined;
}

const namesOf = (api: Api): readonly string[] => defaultPipelines[api].map(({ name }) => name);

/** The pipelines that a lake which uses these is expected to use: those of the API that it was loaded from. */
function defaultsOf(used: readonly string[]): readonly string[] {
  const usesExclusively = (api: Api, other: Api) =>
    namesOf(api).some((name) => used.includes(name) && !namesOf(other).includes(name));
  const isNewer = usesExclusively('2024-06-19', 'v0') && !usesExclusively('v0', '2024-06-19');
  return namesOf(isNewer ? '2024-06-19' : defaultApi);
}

/** What a lake holds for an account and what of a range it lacks, from the logs alone. */
export function accountStatus(question: StatusQuestion): AccountStatus {
  const { lake, location, account, range, lastRun, died = [] } = question;
  const askedRanges = unfinishedOf(question);
  const used = mainTablesOf(lake).filter(({ pipeline, table }) => lake.loadKeys(pipeline, table, account).size > 0);
  const pipelines = used.map((main) => pipelineStatus(main, question));
  const withGaps = pipelines.filter(({ gaps }) => gaps.length > 0);
  const gaps = withGaps.flatMap((status) => status.gaps);
  const defaults = defaultsOf(used.map(({ pipeline }) => pipeline));
  const isBroken = lastRun?.status === 'failed' && lastRun.account === account;
  const asked = new Set([
    ...(isBroken ? (lastRun.asked ?? []) : []),
    ...askedRanges.map(({ pipeline }) => pipeline),
    ...died.flatMap(({ purpose }) => (purpose?.account === account ? purpose.pipelines : [])),
  ]);
  const unfinished = pipelineNames.filter((name) => asked.has(name) && !used.some((main) => main.pipeline === name));
  const lacking = [...withGaps.map(({ pipeline }) => pipeline), ...unfinished];
  const notBegun = askedRanges.filter(({ pipeline }) => unfinished.includes(pipeline));
  const spans = [
    ...gaps,
    ...notBegun,
    ...(unfinished.length === 0 || notBegun.length > 0 ? [] : [isBroken ? rangeOf(lastRun) : range]),
  ];
  const customNames = new Set(used.filter(({ isCustom: isOwn }) => isOwn).map(({ pipeline }) => pipeline));
  const lackingCustom = lacking.filter((pipeline) => customNames.has(pipeline));
  const unnamed = namesOf(defaultApi);
  const isDefault = lacking.length === unnamed.length && unnamed.every((pipeline) => lacking.includes(pipeline));
  const command = {
    pipelines: isDefault ? [] : lacking,
    lake: location,
    account,
    range: spans.length === 0 ? range : spanOf(spans),
    endpoint: endpointToName(lastRun, account),
    pipelineFolder: question.pipelineFolder,
    config: question.config,
  };
  const { listed, lacking: toLoad } = groupsOf(question);
  const isListed = used.includes(byGroup);
  return {
    account,
    range,
    pipelines,
    // Who loads nothing but pipelines of their own has no use for these.
    unused: used.every(({ isCustom: isOwn }) => isOwn)
      ? []
      : defaults.filter(
          (pipeline) => !used.some((main) => main.pipeline === pipeline) && !unfinished.includes(pipeline),
        ),
    unfinished,
    behind: [
      ...unfinished.filter((name) => pipelineNamed(name)?.loadKey !== 'order'),
      ...withGaps.flatMap(({ pipeline, loadKey }) => (loadKey === 'group' && asked.has(pipeline) ? [pipeline] : [])),
    ],
    coveredTo: coveredBy(used, question),
    openGroups: listed.flatMap(({ group }) => (group.end === null ? [group] : [])),
    groupsToLoad: isListed ? toLoad.filter(({ opened }) => isWithin(opened, range)).map(({ group }) => group) : [],
    holes: settlementBreaks(
      listed.map(({ group }) => group),
      loadedWindows(lake, listing.pipeline, listing.table, account),
    ).holes.filter(({ at }) => isWithin(at, range)),
    tables: tableStatuses(lake, account),
    command: spans.length === 0 ? undefined : backfillCommand(command),
    lacking,
    lackingCustom,
  };
}

const pipelineNames = allPipelines.map(({ name }) => name);

/** The range that a run was asked for. */
export function rangeOf({ from, to }: LastRun): Window {
  return { start: Date.parse(from), end: Date.parse(to) };
}

/** Up to which instant all that loads windows has loaded them, as a sync has it. */
function coveredBy(used: readonly MainTable[], question: StatusQuestion): number | undefined {
  const { lake, account, range } = question;
  const covered = used
    .filter(({ loadKey }) => loadKey === 'window')
    .map(({ pipeline, table }) => {
      const loaded = loadedWindows(lake, pipeline, table, account);
      const asked = unfinishedOf(question).filter((of) => of.pipeline === pipeline);
      return coveredTo(loaded, syncRange(loaded, range.end, asked)) ?? -Infinity;
    });
  const least = Math.min(...covered);
  return Number.isFinite(least) ? least : undefined;
}

/** What runs were asked for of the account, and isn't loaded. */
function unfinishedOf({ account, unfinishedRanges = [] }: StatusQuestion): readonly UnfinishedRange[] {
  return unfinishedRanges.filter((range) => range.account === account);
}

/**
 * The first instant that any pipeline (of the user's own only where no others have) has loaded or was asked for, or that was
 * imported for an account, and the end of the last one. Of ends less than a day apart the first counts: the pipelines were loaded
 * one after the other, and what came meanwhile is no gap.
 */
export function loadedRange(
  lake: Lake,
  account: string,
  unfinished: readonly UnfinishedRange[] = [],
): Window | undefined {
  const windowsOf = (mains: readonly MainTable[]): Window[] =>
    mains.flatMap(({ pipeline, table }) => {
      const windows: readonly Window[] = [
        ...loadedWindows(lake, pipeline, table, account),
        ...importedWindows(lake.table(table).snapshot, pipeline, account),
        ...unfinished.filter((range) => range.account === account && range.pipeline === pipeline),
      ];
      return windows.length === 0 ? [] : [spanOf(windows)];
    });
  const byWindow = mainTablesOf(lake).filter(({ loadKey }) => loadKey === 'window');
  const dated = windowsOf(byWindow.filter(({ isCustom: isOwn }) => !isOwn));
  const windows = dated.length > 0 ? dated : windowsOf(byWindow.filter(({ isCustom: isOwn }) => isOwn));
  if (windows.length === 0) return undefined;
  const { start, end: last } = spanOf(windows);
  return { start, end: Math.min(...windows.flatMap(({ end }) => (last - end < dayMs ? end : []))) };
}

function spanOf(windows: readonly Window[]): Window {
  return windows.reduce((a, b) => ({ start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) }));
}

/**
 * What a lake is compared with: the range that is given, else from the first loaded instant to now less the margin; where
 * less than a day has gone by since the last loaded instant it ends there, as what a lake can't hold yet is no gap.
 *
 * @throws LedgerlakeError USAGE for a range that is none
 */
export function reportedRange(options: RangeOptions, loaded: Window | undefined, now: number): Window {
  // Orders alone have no dates: then the default range shows what there could be.
  if (loaded === undefined || options.from !== undefined) return readRange(options, now);
  if (options.to !== undefined) return readRange({ ...options, from: isoInstant(loaded.start) }, now);
  const latest = Math.floor((now - rangeMarginMs) / 1000) * 1000;
  // A clock that was put back must not hide what is there.
  return { start: loaded.start, end: latest - loaded.end >= dayMs ? latest : loaded.end };
}

function pipelineStatus(main: MainTable, { lake, account, range }: StatusQuestion): PipelineStatus {
  const { pipeline, table, loadKey } = main;
  const imported = importedWindows(lake.table(table).snapshot, pipeline, account);
  const loaded = lake.loadKeys(pipeline, table, account).size - imported.length;
  return { pipeline, loadKey, loaded, ...(main.coverage?.(lake, account, range) ?? { days: [], gaps: [] }) };
}

/** Every group that was listed, and those of them that group-events hasn't loaded. */
function groupsOf({ lake, account }: StatusQuestion): { listed: GroupSlice[]; lacking: GroupSlice[] } {
  const range = { start: -Infinity, end: Infinity };
  const of = (refresh: boolean) =>
    groupSlices({ lake, account, range, refresh, orders: [] }, byGroup.pipeline, byGroup.table, listing.pipeline);
  return { listed: of(true), lacking: of(false) };
}

function tableStatuses(lake: Lake, account: string): TableStatus[] {
  const statuses = new Map<string, { table: string; files: number; bytes: number; rows: number }>();
  for (const { table, add } of lake.committedAdds()) {
    if (add.partitionValues['account'] !== account) continue;
    const { name } = table.schema;
    const status = statuses.get(name) ?? { table: name, files: 0, bytes: 0, rows: 0 };
    status.files++;
    status.bytes += add.size;
    status.rows += Number(add.tags?.['rows'] ?? 0);
    statuses.set(name, status);
  }
  return [...statuses.values()];
}

function isWithin(at: number, { start, end }: Window): boolean {
  return at >= start && at < end;
}

/** `5 of 16 days loaded, 11 missing`. */
export function coverageText(days: readonly Day[], imported = 'imported only'): string {
  const count = (...states: readonly DayState[]) => days.filter(({ state }) => states.includes(state)).length;
  const others = [
    [count('partial'), 'in part'],
    [count('imported'), imported],
    [count('missing'), 'missing'],
  ] as const;
  return [
    `${formatCount(count('full', 'empty'))} of ${formatCount(days.length, 'day')} loaded`,
    ...others.flatMap(([found, what]) => (found === 0 ? [] : [`${formatCount(found)} ${what}`])),
  ].join(', ');
}

/** Whether a backfill for an account needs `--endpoint`; `configured`: accounts whose upstream the configuration names. */
export function needsEndpoint(
  account: string,
  lastRun: LastRun | undefined,
  configured: readonly string[] = [],
): boolean {
  return account !== demoAccount && !configured.includes(account) && endpointToName(lastRun, account) === undefined;
}
