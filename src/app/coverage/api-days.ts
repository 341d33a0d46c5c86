import { roles } from '../../../pipelines/all-pipelines.js';
import { spanIn } from '../../lake/catalog/load-key.js';
import { dayMs, joined, overlap, spanOf, uncovered, within, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { apiWith } from '../../sources/finances/finances-apis.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { FinancesApi } from '../../sources/finances/selling-partner/finances-api.js';
import { loadingCommand, spansText } from '../command-text.js';
import { storedWindows } from './stored-pipelines.js';

/** An API, and its pipeline by date. */
interface ApiByDate {
  readonly api: FinancesApi;
  readonly pipeline: FinancesPipeline;
}

/** The oldest first. */
export const apisByDate: readonly ApiByDate[] = roles.byDate.flatMap((pipeline) => {
  const api = apiWith(pipeline.operation);
  return api === undefined ? [] : [{ api, pipeline }];
});

/** What an account has of an API by date. */
export interface ApiDays extends ApiByDate {
  /** The windows that are loaded or imported, in order. */
  readonly loaded: readonly Window[];
  /** Start of the first window with rows, milliseconds since 1970; Infinity: none. Figures have its amounts from there on. */
  readonly since: number;
  /** Where a newer API begins, whose amounts figures have from there on; Infinity: there is none. */
  readonly until: number;
}

/** What an account has of each API by date, the oldest first: which one counts on which day. */
export function apiDays(lake: Lake, account: string): readonly ApiDays[] {
  let until = Infinity;
  const newestFirst = apisByDate.toReversed().map(({ api, pipeline }) => {
    const since = firstInstant(lake, account, pipeline);
    const days = { api, pipeline, loaded: storedWindows(lake, pipeline, account), since, until };
    until = Math.min(since, until);
    return days;
  });
  return newestFirst.toReversed();
}

/** Start of the first window that an account has rows of, milliseconds since 1970; Infinity: none. */
function firstInstant(lake: Lake, account: string, { name, main }: FinancesPipeline): number {
  return lake.snapshot
    .filesOf(main.name, account, name)
    .flatMap((file) =>
      file.loadKeys.map((key) => (spanIn('window', key) ?? spanIn('imported', key))?.start ?? Infinity),
    )
    .reduce((first, at) => Math.min(first, at), Infinity);
}

type LoadedDays = Pick<ApiDays, 'api' | 'pipeline' | 'loaded'>;

/** How the loaded windows of some APIs differ. */
export interface ComparedDays {
  readonly account: string;
  /** Those of all of them, in order, as the other windows here. */
  readonly common: readonly Window[];
  /** What one lacks that another one has. */
  readonly lacking: readonly { readonly of: LoadedDays; readonly windows: readonly Window[] }[];
  /** Whether some lacking days have common ones before and after them: the orders of such days differ. */
  readonly isBroken: boolean;
}

/** Compares the loaded windows of APIs; undefined where they are the same. Less than a day does not count. */
export function comparedDays(account: string, days: readonly LoadedDays[]): ComparedDays | undefined {
  const all = joined(days.flatMap(({ loaded }) => loaded));
  const gaps = days.map((of) => ({ of, windows: all.flatMap((window) => uncovered(window, of.loaded)) }));
  const lacking = gaps
    .map(({ of, windows }) => ({ of, windows: windows.filter(({ start, end }) => end - start >= dayMs) }))
    .filter(({ windows }) => windows.length > 0);
  if (lacking.length === 0) return undefined;
  const anyGap = gaps.flatMap(({ windows }) => windows);
  const common = all.flatMap((window) => uncovered(window, anyGap));
  const span = spanOf(common);
  const isBroken = lacking.some(({ windows }) => windows.some((window) => overlap(window, span)));
  return { account, common, lacking, isBroken };
}

/** Explains in words which days `api_differences` compares, and which commands load the rest. */
export function comparedText({ account, common, lacking, isBroken }: ComparedDays): string {
  const lacks = lacking.map(({ of: { api, pipeline }, windows }) => {
    const command = loadingCommand({ pipeline: pipeline.name, account, windows });
    return `${api.name} lacks ${spansText(windows)} (\`${command}\` loads it)`;
  });
  const compared = common.length === 0 ? 'compares nothing of it' : `compares only ${spansText(common)}`;
  const orders = isBroken ? ', and has the orders of days between these that an API lacks' : '';
  return `${account}: ${lacks.join('; ')}: api_differences ${compared}${orders}`;
}

/** Windows in no figure of an account: an older API has them, and the one that counts there doesn't. */
export interface LeftOutDays {
  readonly account: string;
  readonly older: FinancesApi;
  readonly newer: ApiDays;
  /** In order. */
  readonly windows: readonly Window[];
}

/**
 * The windows of a range, by default of all time, that the figures of an account leave out; undefined where there are none. Hours
 * by which the older API is ahead don't count: the next sync loads them.
 */
export function leftOutDays(
  lake: Lake,
  account: string,
  { start = -Infinity, end = Infinity }: Partial<Window> = {},
): LeftOutDays | undefined {
  const days = apiDays(lake, account);
  for (const [at, newer] of days.entries()) {
    const latest = newer.loaded.at(-1)?.end ?? -Infinity;
    const counted = { start: Math.max(newer.since, start), end: Math.min(newer.until, end) };
    for (const older of days.slice(0, at)) {
      const windows = within(counted, older.loaded)
        .flatMap((window) => uncovered(window, newer.loaded))
        .filter((window) => window.start < latest || window.end - window.start >= dayMs);
      if (windows.length > 0) return { account, older: older.api, newer, windows };
    }
  }
  return undefined;
}

/** The windows that the API has which counts where windows are left out. */
export function countedText({ newer: { loaded, since } }: LeftOutDays): string {
  return spansText(loaded.filter(({ end }) => end > since));
}

/** The command that loads left-out windows. */
export function leftOutCommand({ account, newer, windows }: LeftOutDays): string {
  return loadingCommand({ pipeline: newer.pipeline.name, account, windows });
}

/** A text about left-out windows, with the command that loads them. */
export function leftOutText(leftOut: LeftOutDays): string {
  const { account, older, newer, windows } = leftOut;
  return (
    `${account}: ${older.name} has ${spansText(windows)}, ${newer.api.name} has only ${countedText(leftOut)}: ` +
    'ledger, pnl_by_month, pnl_by_month_earned, fees_by_type and the report leave out what it lacks, ' +
    'as an older API counts only before the first day of a newer one; ' +
    `\`${leftOutCommand(leftOut)}\` loads it`
  );
}
