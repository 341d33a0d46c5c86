import { dayMs, uncovered, type Window } from '../../core/windows.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import { parseImportedKey } from '../../lake/loads/imported-spans.js';
import { loadingCommand, spansText } from '../command-text.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { transactionsPipeline } from '../../../pipelines/transactions.js';
import { storedWindows } from './stored-pipelines.js';

/** Windows in no figure of an account: v0 is loaded for them; transactions, which count from their first day on, are not. */
export interface LeftOutDays {
  readonly account: string;
  /** In order. */
  readonly windows: readonly Window[];
  /** The windows that transactions are loaded for. */
  readonly loaded: readonly Window[];
}

/**
 * The windows of a range, by default of all time, that the figures of an account leave out; undefined where there are none. Hours
 * by which v0 is ahead don't count: the next sync loads them.
 */
export function leftOutDays(
  lake: Lake,
  account: string,
  { start = -Infinity, end = Infinity }: Partial<Window> = {},
): LeftOutDays | undefined {
  const since = transactionsSince(lake, account);
  const loaded = storedWindows(lake, transactionsPipeline, account);
  const latest = Math.max(...loaded.map((window) => window.end));
  const windows = storedWindows(lake, financialEvents, account)
    .map((window) => ({ start: Math.max(window.start, since, start), end: Math.min(window.end, end) }))
    .filter((window) => window.start < window.end)
    .flatMap((window) => uncovered(window, loaded))
    .filter((window) => window.start < latest || window.end - window.start >= dayMs);
  return windows.length === 0 ? undefined : { account, windows, loaded: loaded.filter(({ end: to }) => to > since) };
}

/** Start of the first window with transactions, milliseconds since 1970; Infinity: none. `ledger` counts them from there. */
export function transactionsSince(lake: Lake, account: string): number {
  return lake
    .files(transactionsPipeline.name, transactionsPipeline.main.name, account)
    .flatMap((add) => loadKeysOf(add).map((key) => (readWindow(key) ?? parseImportedKey(key))?.start ?? Infinity))
    .reduce((first, at) => Math.min(first, at), Infinity);
}

/** A text about left-out windows, with the command that loads them. */
export function leftOutText({ account, windows, loaded }: LeftOutDays): string {
  return (
    `${account}: v0 has ${spansText(windows)}, transactions have only ${spansText(loaded)}: ledger, pnl_by_month, pnl_by_month_earned, fees_by_type and the report ` +
    'leave out what transactions lack, as v0 counts only before their first day; ' +
    `\`${loadingCommand({ pipeline: transactionsPipeline.name, account, windows })}\` loads it`
  );
}
