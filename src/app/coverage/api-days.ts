import { roles } from '../../../pipelines/all-pipelines.js';
import { dayMs, overlap, uncovered, type Window } from '../../core/windows.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import type { Lake } from '../../lake/lake.js';
import { parseImportedKey } from '../../lake/loads/imported-spans.js';
import { loadingCommand, spansText } from '../command-text.js';
import { storedWindows } from './stored-pipelines.js';

const { events, transactions } = roles;

/** The windows of an account that both APIs are loaded for, and those that only one is loaded for. */
export interface ComparedDays {
  readonly account: string;
  /** In order, as the other windows here. */
  readonly both: readonly Window[];
  readonly v0Only: readonly Window[];
  readonly transactionsOnly: readonly Window[];
  /** Whether some days of one API alone have days of both before and after them: the orders of such days differ. */
  readonly isBroken: boolean;
}

/**
 * Compares the loaded windows of both APIs, which neither touch nor overlap within one. Undefined where both
 * are loaded for the same days, or neither is; less than a day does not count.
 */
export function comparedWindows(
  account: string,
  v0: readonly Window[],
  later: readonly Window[],
): ComparedDays | undefined {
  const lacking = (windows: readonly Window[], others: readonly Window[]) =>
    windows.flatMap((window) => uncovered(window, others));
  const days = (windows: readonly Window[]) => windows.filter(({ start, end }) => end - start >= dayMs);
  const v0Only = lacking(v0, later);
  const differences = { v0Only: days(v0Only), transactionsOnly: days(lacking(later, v0)) };
  if (differences.v0Only.length + differences.transactionsOnly.length === 0) return undefined;
  const both = lacking(v0, v0Only);
  const span = { start: both[0]?.start ?? Infinity, end: both.at(-1)?.end ?? -Infinity };
  const isBroken = [...differences.v0Only, ...differences.transactionsOnly].some((window) => overlap(window, span));
  return { account, both, isBroken, ...differences };
}

/** The days of either API; undefined where both are loaded for the same days, or one for none. Less than a day does not count. */
export function comparedDays(lake: Lake, account: string): ComparedDays | undefined {
  return comparedWindows(account, storedWindows(lake, events, account), storedWindows(lake, transactions, account));
}

/** Explains in words which days `api_differences` compares, and which command loads the rest. */
export function comparedText({ account, both, isBroken, v0Only, transactionsOnly }: ComparedDays): string {
  const load = (pipeline: string, windows: readonly Window[]) =>
    `(\`${loadingCommand({ pipeline, account, windows })}\` loads it)`;
  const lacks = [
    v0Only.length > 0 && `transactions lack ${spansText(v0Only)}, which v0 has ${load(transactions.name, v0Only)}`,
    transactionsOnly.length > 0 &&
      `v0 lacks ${spansText(transactionsOnly)}, which transactions have ${load(events.name, transactionsOnly)}`,
  ].filter((text) => text !== false);
  const compared = both.length === 0 ? 'compares nothing of it' : `compares only ${spansText(both)}`;
  const gaps = isBroken ? ', and has the orders of days between these that one of them lacks' : '';
  return `${account}: ${lacks.join('; ')}: api_differences ${compared}${gaps}`;
}

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
  const loaded = storedWindows(lake, transactions, account);
  const latest = Math.max(...loaded.map((window) => window.end));
  const windows = storedWindows(lake, events, account)
    .map((window) => ({ start: Math.max(window.start, since, start), end: Math.min(window.end, end) }))
    .filter((window) => window.start < window.end)
    .flatMap((window) => uncovered(window, loaded))
    .filter((window) => window.start < latest || window.end - window.start >= dayMs);
  return windows.length === 0 ? undefined : { account, windows, loaded: loaded.filter(({ end: to }) => to > since) };
}

/** Start of the first window with transactions, milliseconds since 1970; Infinity: none. `ledger` counts them from there. */
export function transactionsSince(lake: Lake, account: string): number {
  return lake.snapshot
    .filesOf(transactions.main.name, account, transactions.name)
    .flatMap((add) => add.loadKeys.map((key) => (readWindow(key) ?? parseImportedKey(key))?.start ?? Infinity))
    .reduce((first, at) => Math.min(first, at), Infinity);
}

/** The command that loads left-out windows. */
export function leftOutCommand({ account, windows }: LeftOutDays): string {
  return loadingCommand({ pipeline: transactions.name, account, windows });
}

/** A text about left-out windows, with the command that loads them. */
export function leftOutText(leftOut: LeftOutDays): string {
  const { account, windows, loaded } = leftOut;
  return (
    `${account}: v0 has ${spansText(windows)}, transactions have only ${spansText(loaded)}: ledger, pnl_by_month, pnl_by_month_earned, fees_by_type and the report ` +
    'leave out what transactions lack, as v0 counts only before their first day; ' +
    `\`${leftOutCommand(leftOut)}\` loads it`
  );
}
