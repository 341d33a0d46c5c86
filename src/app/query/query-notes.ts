import { dateOrInstant, isoInstant } from '../../core/numeric/instant.js';
import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import type { LoadedSpan } from '../../lake/catalog/load-key.js';
import type { Lake } from '../../lake/lake.js';
import { loadedSpans } from '../../lake/loads/loaded-spans.js';
import { formatCount } from '../../core/text/amounts.js';
import { spanOfGroup, type GroupSlice } from '../../sources/finances/api-v0/group-slices.js';
import { loadingCommand, spansText } from '../command-text.js';
import { apiDays, comparedDays, comparedText, leftOutDays, leftOutText } from '../coverage/api-days.js';
import { unsummedColumn, unsummedIn, unsummedText } from '../unsummed-amounts.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import { tablesOf, type PipelineTables } from '../../core/columns/table.js';
import { listedGroups, unloadedGroups } from '../settlements/listed-groups.js';
import { storedPipelines, storedWindows } from '../coverage/stored-pipelines.js';
import type { StatementScope } from './statement-scope.js';

/** What notes depend on beside the lake. */
interface NotedQueries {
  /** When the lake was first loaded, in milliseconds since 1970; undefined for an empty lake. */
  readonly firstLoad: number | undefined;
  readonly hasCosts: boolean;
}

/** The notes on a statement: what its result lacks, and the commands that load it. */
export function notesOn(scope: StatementScope, lake: Lake, { firstLoad, hasCosts }: NotedQueries): string[] {
  const { names } = scope;
  return [
    knownTooEarly(scope, firstLoad) ?? knownLater(scope, lake),
    emptyNote(scope, lake),
    names.has('v0_amounts') ? leftOutNote(lake) : undefined,
    names.has('outstanding_at') ? outstandingNote(scope, lake) : undefined,
    names.has('api_differences') ? comparedNote(lake) : undefined,
    reconciledNote(names, lake),
    unsummedNote(scope, lake),
    names.has('sku_profit') && !hasCosts ? costsNote : undefined,
  ].filter((note) => note !== undefined);
}

/**
 * A note for a statement that reads an empty table, or a view over such tables: why it is empty, and the command that
 * loads it. Undefined for any other statement, and for an empty lake.
 */
export function emptyNote({ relations }: StatementScope, lake: Lake): string | undefined {
  const accounts = [...lake.snapshot.accounts()].toSorted();
  const [account] = accounts;
  if (account === undefined) return undefined;
  const stored = storedPipelines(lake);
  const isLoaded = ({ name, main }: PipelineTables) =>
    accounts.some(
      (accountName) =>
        lake.snapshot.filesOf(main.name, accountName, name).length > 0 ||
        lake.snapshot.keysOf(accountName, name).size > 0,
    );
  for (const { name, tables } of relations) {
    const all = tables.flatMap((table) =>
      stored.filter((pipeline) => tablesOf(pipeline).some((one) => one.name === table)),
    );
    const [of] = all;
    if (of === undefined) continue;
    if (!all.some(isLoaded)) {
      const windows = [roles.settlements, ...roles.byDate].flatMap((pipeline) =>
        storedWindows(lake, pipeline, account),
      );
      const start = Math.min(...windows.map((window) => window.start));
      const end = Math.max(...windows.map((window) => window.end));
      const orders = of.slicing.loadKeyKind === 'order' ? ' --orders FILE' : '';
      const range = orders === '' && windows.length > 0 ? [{ start, end }] : [];
      const command = `\`${loadingCommand({ pipeline: of.name, account, windows: range })}${orders}\``;
      const instead =
        name === 'payouts' && isLoaded(roles.settlements) ? ', and settlement_payouts has those of settlements' : '';
      return `WARNING: ${name}: nothing of ${of.name} is loaded, so there are no rows: ${command} loads them${instead}`;
    }
    if (name === 'settlement_payouts' && !accounts.some((one) => listedGroups(lake, one).some(isClosed))) {
      return `WARNING: ${name}: no settlement of ${account} has closed yet, so there are no rows: \`ledgerlake status\` lists the open ones`;
    }
    if (name === 'payout_lines') return unloadedNote(lake);
  }
  return undefined;
}

function isClosed({ group }: GroupSlice): boolean {
  return group.end !== null;
}

/** A note on closed settlements that lack lines, as their events or transactions aren't loaded; undefined where there are none. */
function unloadedNote(lake: Lake): string | undefined {
  const [first] = ofAccounts(lake, (account) => {
    const later = laterDays(lake, account);
    const spans = unloadedGroups(lake, account)
      .filter(isClosed)
      .flatMap((slice) => {
        const span = spanOfGroup(slice) ?? { start: slice.opened, end: slice.opened + 1000 };
        const missing = uncovered(span, later.loaded);
        return missing.length === 0 ? [] : [{ opened: slice.opened, missing }];
      });
    return spans.length === 0 ? undefined : { account, later, spans };
  });
  if (first === undefined) return undefined;
  const { account, later, spans } = first;
  const opened = spans.map((span) => span.opened);
  const isByGroup = later.loaded.length === 0 || lake.snapshot.keysOf(account, roles.bySettlement.name).size > 0;
  const windows = isByGroup
    ? [{ start: Math.min(...opened), end: Math.max(...opened) + 1000 }]
    : joined(spans.flatMap(({ missing }) => missing));
  const pipeline = isByGroup ? roles.bySettlement.name : later.pipeline;
  const command = `\`${loadingCommand({ pipeline, account, windows })}\``;
  const found = formatCount(spans.length, 'closed settlement');
  const [what, which] = isByGroup
    ? ['events', 'which have no lines but their beginning balances and what is not explained']
    : ['transactions', 'so what they lack is not explained'];
  return `WARNING: payout_lines: the ${what} of ${found} of ${account} are not loaded, ${which}: ${command} loads them`;
}

/** What is found of each account that has it, by name. */
function ofAccounts<T>(lake: Lake, find: (account: string) => T | undefined): T[] {
  return [...lake.snapshot.accounts()].toSorted().flatMap((account) => find(account) ?? []);
}

/** What an account has of the APIs after v0 by date, and the pipeline that loads more of it. */
function laterDays(lake: Lake, account: string) {
  const later = apiDays(lake, account).filter(({ api }) => api.figures !== undefined);
  const used = later.findLast(({ loaded }) => loaded.length > 0) ?? later[0];
  return {
    since: Math.min(...later.map(({ since }) => since)),
    loaded: joined(later.flatMap(({ loaded }) => loaded)),
    pipeline: used?.pipeline.name ?? '',
  };
}

/** A note on figures that leave windows out; undefined where they leave none out. */
function leftOutNote(lake: Lake): string | undefined {
  const [first, ...others] = ofAccounts(lake, (account) => leftOutDays(lake, account));
  if (first === undefined) return undefined;
  const more = others.length === 0 ? '' : `; the same holds for ${others.map(({ account }) => account).join(', ')}`;
  return `WARNING: ${leftOutText(first)}${more}`;
}

/**
 * A note for a statement that compares sums by settlement, which are those of v0 where it is loaded, with sums by date; undefined where
 * all loaded APIs are loaded up to the same instant.
 */
function reconciledNote(names: ReadonlySet<string>, lake: Lake): string | undefined {
  const view = ['reconciliation', 'reconciliation_by_month', 'clearing'].find((name) => names.has(name));
  if (view === undefined) return undefined;
  const [first] = ofAccounts(lake, (account) => {
    const ends = apiDays(lake, account).flatMap(({ api, loaded }) =>
      loaded.slice(-1).map(({ end }) => ({ text: `${api.name} up to ${isoInstant(end)}`, end })),
    );
    return new Set(ends.map(({ end }) => end)).size < 2 ? undefined : { account, ends };
  });
  if (first === undefined) return undefined;
  const { account, ends } = first;
  return (
    `WARNING: ${view}: ${account} is loaded from ${ends.map(({ text }) => text).join(' and ')}, ` +
    `so that sums by settlement and those of pnl_by_month may differ: \`ledgerlake sync --account ${account} --api both\` loads the rest`
  );
}

/** A note on `api_differences`; undefined where the APIs are loaded for the same days. */
function comparedNote(lake: Lake): string | undefined {
  const [first, ...others] = ofAccounts(lake, (account) => {
    const days = apiDays(lake, account);
    const loaded = days.filter((api) => api.loaded.length > 0);
    // Of a single one it says what the others lack.
    return comparedDays(account, loaded.length < 2 ? days : loaded);
  });
  if (first === undefined) return undefined;
  const more =
    others.length === 0 ? '' : `; other days are missing of ${others.map(({ account }) => account).join(', ')}`;
  return `WARNING: ${comparedText(first)}${more}`;
}

/** A note on `sku_profit`, where no unit costs are given. */
const costsNote =
  'WARNING: sku_profit: no unit costs are given, so cost and net_margin are null: --costs FILE, or the setting costs, names a CSV file ' +
  'with the columns sku, from, unit_cost and currency';

/** The longest time between a sale and its release: less loaded time may lack sales that were deferred before it. */
const longestDeferral = 60 * dayMs;

/**
 * A note on `outstanding_at`, where its instant is outside of the loaded transactions, or days of them are
 * missing; else undefined. An instant that is no literal, such as `now()`, counts as the last loaded one.
 */
function outstandingNote({ instants }: StatementScope, lake: Lake): string | undefined {
  const stated = instants.flatMap(({ macro, instant }) => (macro.toLowerCase() === 'outstanding_at' ? instant : []));
  const [first, ...others] = (stated.length === 0 ? [undefined] : stated).flatMap((instant) =>
    ofAccounts(lake, (account) => faultAt(instant, account, lake)),
  );
  if (first === undefined) return undefined;
  return `WARNING: outstanding_at: ${first}${others.length === 0 ? '' : `; and ${others.length} more of this kind`}`;
}

/** Why `outstanding_at` is not exact for an account; undefined where it is. */
function faultAt(instant: number | undefined, account: string, lake: Lake): string | undefined {
  const { since, loaded: stored, pipeline } = laterDays(lake, account);
  const loaded = stored.filter((window) => window.end > since);
  const end = loaded.at(-1)?.end;
  const load = (windows: readonly Window[]) => `\`${loadingCommand({ pipeline, account, windows })}\` loads `;
  if (end === undefined) return `no transactions of ${account} are loaded, so there are no rows: ${load([])}them`;
  const from = `transactions of ${account} are loaded from ${dateOrInstant(since)} on`;
  if (instant !== undefined && instant < since) {
    const isEmpty = uncovered({ start: instant, end: since }, stored).length === 0;
    if (isEmpty)
      return `${account} has no transactions before ${dateOrInstant(since)}, so there are no rows for ${dateOrInstant(instant)}`;
    return `${from}, after ${dateOrInstant(instant)}, so there are no rows: ${load([{ start: instant, end: since }])}what is missing`;
  }
  const gaps = uncovered({ start: since, end }, loaded);
  if (gaps.length > 0) {
    return `transactions of ${account} lack ${spansText(gaps)}, so sales and releases are missing: ${load(gaps)}them`;
  }
  if (instant !== undefined && instant > end) {
    return `transactions of ${account} are loaded until ${dateOrInstant(end)}, so what is paid after that counts as outstanding`;
  }
  if (end - since >= longestDeferral) return undefined;
  return (
    `${from}, until ${dateOrInstant(end)}: a sale that was deferred before and is paid after that is not in the lake, ` +
    `so it is missing: ${load([{ start: end - longestDeferral, end: since }])}60 days`
  );
}

/** The calls of macros of what was known at an instant. */
function knownAt({ instants }: StatementScope): StatementScope['instants'] {
  return instants.filter(({ macro }) => /_as_known$/i.test(macro));
}

/** A note for a statement that asks what was known before `firstLoad` (milliseconds since 1970); undefined for any other. */
export function knownTooEarly(scope: StatementScope, firstLoad: number | undefined): string | undefined {
  for (const { macro, instant } of knownAt(scope)) {
    if (firstLoad === undefined || instant >= firstLoad) continue;
    return `WARNING: ${macro}: this lake was first loaded at ${isoInstant(firstLoad)}, after ${isoInstant(instant)}, so there are no rows`;
  }
  return undefined;
}

/**
 * A note for a statement that asks what was known at an instant of days that the lake loaded later; undefined for any other. What
 * was not loaded is not known, also where the days were over: its rows are left out.
 */
function knownLater(scope: StatementScope, lake: Lake): string | undefined {
  for (const { macro, instant } of knownAt(scope)) {
    const source = roles.byDate.find((pipeline) =>
      tablesOf(pipeline).some((table) => table.name === macro.replace('_as_known', '')),
    );
    for (const account of source === undefined ? [] : [...lake.snapshot.accounts()].toSorted()) {
      const keys = [...lake.snapshot.keysOf(account, source?.name ?? '').values()];
      const isLater = ({ start, since }: LoadedSpan) => start < instant && since > instant;
      const later = joined(keys.flatMap(loadedSpans).filter(isLater));
      if (later.length === 0) continue;
      const days = later.map(({ start, end }) => ({ start, end: Math.min(end, instant) }));
      return `WARNING: ${macro}: what ${account} has of ${spansText(days)} was loaded after ${isoInstant(instant)}, so it is left out`;
    }
  }
  return undefined;
}

/** A note on tables with amounts that no sum has; undefined where there are none, and for a statement that reads their texts. */
function unsummedNote({ words, names }: StatementScope, lake: Lake): string | undefined {
  if (words.has(unsummedColumn)) return undefined;
  const counts = new Map<string, number>();
  for (const file of lake.files()) {
    const { table } = file;
    if (names.has(table)) counts.set(table, (counts.get(table) ?? 0) + unsummedIn(file));
  }
  const [first, ...others] = [...counts].filter(([, count]) => count > 0);
  if (first === undefined) return undefined;
  const [table, count] = first;
  const more = others.map(([name, rows]) => `; ${formatCount(rows)} of ${name}`).join('');
  return (
    `WARNING: ${table}: ${unsummedText(count)}${more}: ` +
    `\`SELECT currency, ${unsummedColumn} FROM ${table} WHERE ${unsummedColumn} IS NOT NULL\` lists them`
  );
}
