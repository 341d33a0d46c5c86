import type { GroupSpan } from '../../lake/delta/data-file.js';
import { spanIn, type LoadKeyKind } from '../../lake/catalog/load-key.js';
import { apiNames, defaultApi, type Api } from '../../sources/finances/api-names.js';
import { defaultPipelines, pipelineNamed, pipelines as allPipelines, roles } from '../../../pipelines/all-pipelines.js';
import { listingGaps, type ListingGap } from '../../sources/finances/api-v0/listing-gaps.js';
import type { Lake } from '../../lake/lake.js';
import { endpointToName, type LastRuns } from '../../lake/upkeep/last-run.js';
import type { UnfinishedRange } from '../coverage/unfinished-ranges.js';
import type { LakeRuns, Lease } from '../../lake/leases.js';
import { rangeMarginMs, readDateRange, type RangeOptions } from '../configuration/range.js';
import { importedDays } from '../../lake/loads/imported-spans.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { contains, dayMs, joined, spanOf, type Window } from '../../core/windows.js';
import { listedGroups, unloadedGroups } from '../settlements/listed-groups.js';
import { storedPipelines, type StoredPipeline } from '../coverage/stored-pipelines.js';
import type { Day, DayState } from '../../engine/run/day-states.js';
import { formatCount } from '../../core/text/amounts.js';
import type { TableStatus, UnreadEvent } from '../results.js';
import { unreadEvents } from '../unread-events.js';
import { unsummedIn } from '../unsummed-amounts.js';
import { keptReports, type KeptReports } from './kept-reports.js';
import { freshnessOf, type Freshness } from '../load/freshness.js';
import type { LookBacks } from '../../lake/upkeep/look-backs.js';
import { requestedRange, suggestion, type Suggestion, type SuggestionContext } from './suggestions.js';

/** The coverage of one pipeline for one account. */
export interface PipelineCoverage {
  readonly pipeline: string;
  readonly loadKeyKind: LoadKeyKind;
  /** Number of windows, groups or orders that were read. */
  readonly loaded: number;
  /** Days of the range; none for orders, which have no dates. */
  readonly days: readonly Day[];
  /**
   * The parts of the range that aren't loaded; for groups the days on which one opened that isn't, for settlement reports those of a
   * settlement that was taken out.
   */
  readonly gaps: readonly Window[];
  /** The load keys of settlements that were taken out of the lake, and that the service still has. */
  readonly takenOut: readonly string[];
}

export interface AccountCoverage {
  readonly account: string;
  readonly range: Window;
  /** The instant before which its rows are forgotten, milliseconds since 1970. */
  readonly forgottenBefore: number | undefined;
  /** The pipelines that have loaded something, and those of the default set that have not. */
  readonly pipelines: readonly PipelineCoverage[];
  readonly unused: readonly string[];
  /** The pipelines that an unfinished run requested and of which nothing is loaded. */
  readonly unfinished: readonly string[];
  /**
   * The pipelines that a sync loads, of which a run requested more than is loaded, and that `freshness` does not
   * count.
   */
  readonly behind: readonly string[];
  /** Of the pipelines that read windows; undefined where nothing has a date. */
  readonly freshness: Freshness | undefined;
  /** Groups that were open when they were listed last. */
  readonly openGroups: readonly GroupSpan[];
  /** Groups of the range that are listed and whose events aren't loaded by group. */
  readonly groupsToLoad: readonly GroupSpan[];
  /** Times in which the listing seems to lack settlements. */
  readonly missingSettlements: readonly ListingGap[];
  readonly holes: readonly UnreadEvent[];
  /** Undefined where the lake has no settlement reports. */
  readonly reports: KeptReports | undefined;
  /** What loads settlement reports before the service has them no more; undefined where that is not due. */
  readonly loadReports: Suggestion | undefined;
  readonly tables: readonly TableStatus[];
  /** What loads the gaps; undefined where there are none. */
  readonly load: Suggestion | undefined;
  /** The pipelines that have gaps or are unfinished. */
  readonly lacking: readonly string[];
}

/** The statuses of a lake's accounts, its runs, and the commands that load what is missing. */
export interface StatusFacts {
  /** The lake as the command line names it. */
  readonly location: string;
  readonly lake: Lake;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly lastRuns: LastRuns;
  readonly runs: LakeRuns;
  readonly statuses: readonly AccountCoverage[];
  /** Configured accounts without rows, with the commands that load them. */
  readonly unloaded: readonly (Suggestion & { readonly account: string })[];
  /** The command that loads into an empty lake, by the notes of earlier runs; undefined without a note. */
  readonly known: Suggestion | undefined;
  /** The command that loads into an empty lake; undefined where the lake has rows. */
  readonly first: Suggestion | undefined;
  readonly suggestionContext: SuggestionContext;
}

export interface StatusQuestion extends SuggestionContext {
  readonly lake: Lake;
  readonly account: string;
  /** Begins at the first loaded instant; without `start` or `end` where the range says so. */
  readonly range: Window;
  /** Dead runs. */
  readonly dead?: readonly Lease[];
  /** The look-backs of earlier syncs. */
  readonly lookBacks?: LookBacks | undefined;
  /** By the API's clock: milliseconds since 1970. */
  readonly now: number;
}

const namesOf = (api: Api): readonly string[] => defaultPipelines[api].map(({ name }) => name);

/** The default pipelines of the API that a lake was loaded from, by the pipelines that it uses. */
function defaultsOf(used: readonly string[]): readonly string[] {
  const isOfAnother = (name: string, api: Api) =>
    apiNames.some((other) => other !== api && namesOf(other).includes(name));
  const loadedFrom = apiNames.filter((api) =>
    namesOf(api).some((name) => used.includes(name) && !isOfAnother(name, api)),
  );
  const [api = defaultApi] = loadedFrom.length === 1 ? loadedFrom : [];
  return namesOf(api);
}

/** Computes what a lake holds for an account and what of a range it lacks, from the logs alone. */
export function accountCoverage(question: StatusQuestion): AccountCoverage {
  const { lake, account, range, lastRuns, dead = [] } = question;
  const requestedRanges = unfinishedOf(question);
  const used = storedPipelines(lake).filter(({ name }) => lake.snapshot.keysOf(account, name).size > 0);
  const pipelines = used.map((pipeline) => pipelineCoverage(pipeline, question));
  const withGaps = pipelines.filter(({ gaps }) => gaps.length > 0);
  const gaps = withGaps.flatMap((status) => status.gaps);
  const defaults = defaultsOf(used.map(({ name }) => name));
  const lastRun = lastRuns.get(account);
  const failed = lastRun?.status === 'failed' ? lastRun : undefined;
  const requested = new Set([
    ...(failed?.requested ?? []),
    ...requestedRanges.map(({ pipeline }) => pipeline),
    ...dead.flatMap(({ purpose }) => (purpose?.account === account ? purpose.pipelines : [])),
  ]);
  const unfinished = pipelineNames.filter(
    (name) => requested.has(name) && !used.some((pipeline) => pipeline.name === name),
  );
  const lacking = [...withGaps.map(({ pipeline }) => pipeline), ...unfinished];
  const notBegun = requestedRanges.filter(({ pipeline }) => unfinished.includes(pipeline));
  const spans = [
    ...gaps,
    ...notBegun,
    ...(unfinished.length === 0 || notBegun.length > 0 ? [] : [failed === undefined ? range : requestedRange(failed)]),
  ];
  const unnamed = namesOf(question.api ?? defaultApi);
  const isDefault = lacking.length === unnamed.length && unnamed.every((pipeline) => lacking.includes(pipeline));
  const named = {
    pipelines: isDefault ? [] : lacking,
    api: undefined,
    endpoint: endpointToName(lastRuns, account),
    pipelineFolder: question.pipelineFolder,
  };
  const groups = listedGroups(lake, account).map(({ group }) => group);
  const reports = keptReports(lake, account, groups, question);
  const isDue = reports !== undefined && (reports.lostFrom !== undefined || reports.expiring.length > 0);
  const isListed = used.some(({ name }) => name === roles.bySettlement.name);
  return {
    account,
    range,
    forgottenBefore: lake.snapshot.forgottenBefore(account),
    pipelines,
    // A lake that has custom pipelines alone is not expected to have the default ones.
    unused: used.every(hasCustomTable)
      ? []
      : defaults.filter((pipeline) => !used.some(({ name }) => name === pipeline) && !unfinished.includes(pipeline)),
    unfinished,
    behind: [
      ...unfinished.filter((name) => pipelineNamed(name)?.slicing.loadKeyKind !== 'order'),
      ...withGaps.flatMap(({ pipeline, loadKeyKind }) =>
        loadKeyKind !== 'window' && requested.has(pipeline) ? [pipeline] : [],
      ),
    ],
    freshness: freshnessBy(used, question),
    openGroups: groups.filter(({ end }) => end === null),
    groupsToLoad: isListed
      ? unloadedGroups(lake, account).flatMap(({ group, opened }) => (contains(range, opened) ? [group] : []))
      : [],
    missingSettlements: listingGaps(groups, loadedWindows(lake, roles.settlements.name, account)).gaps.filter(
      ({ at }) => contains(range, at),
    ),
    holes: unreadEvents(lake, account),
    reports,
    loadReports: isDue ? suggestion('sync', account, [roles.reports.name], question) : undefined,
    tables: tableStatuses(lake, account),
    load:
      spans.length === 0
        ? undefined
        : suggestion('backfill', account, lacking, question, { ...named, range: spanOf(spans) }),
    lacking,
  };
}

const pipelineNames = allPipelines.map(({ name }) => name);

/** Whether a stored pipeline is a custom one: its definition may be gone. */
function hasCustomTable({ main }: StoredPipeline): boolean {
  return main.customPipeline !== undefined;
}

/** The freshness of the pipelines that read windows, as `sync` computes it: where an API is configured without those of another one. */
function freshnessBy(used: readonly StoredPipeline[], question: StatusQuestion): Freshness | undefined {
  const { lake, account, range, api = 'both' } = question;
  const isLeft = (name: string) => namesOf('both').includes(name) && !namesOf(api).includes(name);
  const windowed = used.filter(({ name, slicing }) => slicing.loadKeyKind === 'window' && !isLeft(name));
  return freshnessOf(lake, account, windowed, { end: range.end, requested: unfinishedOf(question) });
}

/** The ranges of the account that runs requested and have not loaded. */
function unfinishedOf({ account, unfinishedRanges = [] }: StatusQuestion): readonly UnfinishedRange[] {
  return unfinishedRanges.filter((range) => range.account === account);
}

/**
 * The first instant that any pipeline has loaded, a run requested or an import has brought for an account, and the end of the last
 * one; custom pipelines count only where there are no others. Of ends less than a day apart the first counts: pipelines
 * load one after the other, and what happened meanwhile is no gap.
 */
export function loadedRange(
  lake: Lake,
  account: string,
  unfinished: readonly UnfinishedRange[] = [],
): Window | undefined {
  const windowsOf = (pipelines: readonly StoredPipeline[]): Window[] =>
    pipelines.flatMap(({ name }) => {
      const windows: readonly Window[] = [
        ...loadedWindows(lake, name, account),
        ...importedDays(lake.snapshot, name, account),
        ...unfinished.filter((range) => range.account === account && range.pipeline === name),
      ];
      return windows.length === 0 ? [] : [spanOf(windows)];
    });
  const byWindow = storedPipelines(lake).filter(({ slicing }) => slicing.loadKeyKind === 'window');
  const dated = windowsOf(byWindow.filter((pipeline) => !hasCustomTable(pipeline)));
  const windows = dated.length > 0 ? dated : windowsOf(byWindow.filter(hasCustomTable));
  if (windows.length === 0) return undefined;
  const { start, end: last } = spanOf(windows);
  return { start, end: Math.min(...windows.flatMap(({ end }) => (last - end < dayMs ? end : []))) };
}

/**
 * The range that a lake is compared with: the given one, else from the first loaded instant to now less the margin. It
 * ends at the last loaded instant where less than a day has passed since then, as a lake can't hold those hours yet.
 *
 * @throws LedgerlakeError USAGE for an invalid range
 */
export function statusRange(options: RangeOptions, loaded: Window | undefined, now: number): Window {
  // Orders have no dates: where nothing else is loaded, the default range is shown.
  if (loaded === undefined || options.from !== undefined) return readDateRange(options, now);
  if (options.to !== undefined) {
    const range = readDateRange(options, now);
    // An account that began later is shown as one that has nothing of the default range.
    return loaded.start < range.end ? { start: loaded.start, end: range.end } : range;
  }
  const latest = Math.floor((now - rangeMarginMs) / 1000) * 1000;
  // A clock that was put back must not hide what is loaded.
  return { start: loaded.start, end: latest - loaded.end >= dayMs ? latest : loaded.end };
}

function pipelineCoverage({ name, slicing }: StoredPipeline, question: StatusQuestion): PipelineCoverage {
  const { loadKeyKind, coverage } = slicing;
  const { lake, account, range } = question;
  // Imported days don't count as loaded; an imported settlement is whole.
  const loaded = [...lake.snapshot.keysOf(account, name).keys()].filter(
    (key) => spanIn('imported', key) === undefined,
  ).length;
  const takenOut = unfinishedOf(question).filter(({ pipeline, loadKey }) => pipeline === name && loadKey !== undefined);
  const { days, gaps } = coverage?.(lake, account, range) ?? { days: [], gaps: joined(takenOut) };
  const forgottenBefore = lake.snapshot.forgottenBefore(account) ?? -Infinity;
  const isForgotten = ({ start, state }: Day) => state === 'empty' && start < forgottenBefore;
  return {
    pipeline: name,
    loadKeyKind,
    loaded,
    gaps,
    takenOut: takenOut.flatMap(({ loadKey }) => loadKey ?? []),
    days: days.map((day) => (isForgotten(day) ? { ...day, state: 'forgotten' } : day)),
  };
}

function tableStatuses(lake: Lake, account: string): TableStatus[] {
  const statuses = new Map<string, { table: string; files: number; bytes: number; rows: number; unsummed: number }>();
  for (const file of lake.files()) {
    const { table } = file;
    if (file.account !== account) continue;
    const status = statuses.get(table) ?? { table, files: 0, bytes: 0, rows: 0, unsummed: 0 };
    status.files++;
    status.bytes += file.size;
    status.rows += file.rows;
    status.unsummed += unsummedIn(file);
    statuses.set(table, status);
  }
  return [...statuses.values()];
}

/** `5 of 16 days loaded, 11 missing`. */
export function coverageText(days: readonly Day[], imported = 'imported only'): string {
  const count = (...states: readonly DayState[]) => days.filter(({ state }) => states.includes(state)).length;
  const others = [
    [count('forgotten'), 'forgotten'],
    [count('partial'), 'in part'],
    [count('imported'), imported],
    [count('missing'), 'missing'],
  ] as const;
  return [
    `${formatCount(count('full', 'empty'))} of ${formatCount(days.length, 'day')} loaded`,
    ...others.flatMap(([found, what]) => (found === 0 ? [] : [`${formatCount(found)} ${what}`])),
  ].join(', ');
}
