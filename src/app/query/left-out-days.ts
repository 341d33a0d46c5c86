import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import { readWindow, loadedWindows } from '../../engine/slicing/window-slices.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import { importedWindows, parseImportedKey } from '../../lake/loads/imported-days.js';
import { loadingCommand, spansText } from '../command-text.js';
import { byDate, byTransaction, type PipelineTable } from '../verify/checks/main-tables.js';

/**
 * Windows that are in no figure of an account: v0 is loaded for them and transactions, which count from their first day
 * on, are not.
 */
export interface LeftOutDays {
  readonly account: string;
  /** In order. */
  readonly windows: readonly Window[];
  /** The windows that transactions are loaded for. */
  readonly loaded: readonly Window[];
}

/**
 * The windows that the figures of an account leave out, within a range where one is given; undefined for none. Hours by
 * which v0 is ahead are not among them: the next sync loads them.
 */
export function leftOutDays(
  lake: Lake,
  account: string,
  { start = -Infinity, end = Infinity }: Partial<Window> = {},
): LeftOutDays | undefined {
  const since = transactionsSince(lake, account);
  const loaded = storedWindows(lake, byTransaction, account);
  const latest = Math.max(...loaded.map((window) => window.end));
  const windows = storedWindows(lake, byDate, account)
    .map((window) => ({ start: Math.max(window.start, since, start), end: Math.min(window.end, end) }))
    .filter((window) => window.start < window.end)
    .flatMap((window) => uncovered(window, loaded))
    .filter((window) => window.start < latest || window.end - window.start >= dayMs);
  return windows.length === 0 ? undefined : { account, windows, loaded: loaded.filter(({ end: to }) => to > since) };
}

/**
 * The first instant of loaded transactions, as `ledger` has it: of the first window with rows, not of the first that was read;
 * Infinity where there is none. Milliseconds since 1970.
 */
export function transactionsSince(lake: Lake, account: string): number {
  return lake
    .files(byTransaction.pipeline, byTransaction.table, account)
    .flatMap((add) => loadKeysOf(add).map((key) => (readWindow(key) ?? parseImportedKey(key))?.start ?? Infinity))
    .reduce((first, at) => Math.min(first, at), Infinity);
}

/** The windows that an account has loaded or imported in a main table, in order. */
export function storedWindows(lake: Lake, { pipeline, table }: PipelineTable, account: string): Window[] {
  const { snapshot } = lake.table(table);
  return joined([...loadedWindows(lake, pipeline, table, account), ...importedWindows(snapshot, pipeline, account)]);
}

/** The same as a text. */
export function leftOutText({ account, windows, loaded }: LeftOutDays): string {
  return (
    `${account}: v0 has ${spansText(windows)}, transactions have only ${spansText(loaded)}: ledger, pnl_by_month, fees_by_type and the report ` +
    'leave out what transactions lack, as v0 counts only before their first day; ' +
    `\`${loadingCommand(byTransaction.pipeline, { account, windows })}\` loads it`
  );
}

/** A statement without its quoted texts. */
export function withoutTexts(statement: string): string {
  return statement.replaceAll(/'[^']*'/g, '');
}

/** Views whose figures leave such days out. */
const views = /\b(?:ledger|pnl_by_month|fees_by_type)\b/i;

/** A note for a statement that reads such figures; undefined for any other, and where nothing is left out. */
export function leftOutNote(statement: string, lake: Lake): string | undefined {
  if (!views.test(withoutTexts(statement))) return undefined;
  const [first, ...others] = [...lake.accounts()].toSorted().flatMap((account) => leftOutDays(lake, account) ?? []);
  if (first === undefined) return undefined;
  const more = others.length === 0 ? '' : `; the same holds for ${others.map(({ account }) => account).join(', ')}`;
  return `WARNING: ${leftOutText(first)}${more}`;
}
