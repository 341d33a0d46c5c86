import { dayMs, overlap, uncovered, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { loadingCommand, spansText } from '../command-text.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { transactionsPipeline } from '../../../pipelines/transactions.js';
import { storedWindows } from './stored-pipelines.js';

/** The windows of an account that both services are loaded for, and those that only one is loaded for. */
export interface ComparedDays {
  readonly account: string;
  /** In order, as the other windows here. */
  readonly both: readonly Window[];
  readonly v0Only: readonly Window[];
  readonly transactionsOnly: readonly Window[];
  /** Whether days that only one service is loaded for lie between days of both: orders of such days differ. */
  readonly isBroken: boolean;
}

/**
 * Compares the loaded windows of both services, which neither touch nor overlap within a service. Undefined where both
 * are loaded for the same days, or neither is; less than a day does not count.
 */
export function comparedWindows(
  account: string,
  v0: readonly Window[],
  transactions: readonly Window[],
): ComparedDays | undefined {
  const lacking = (windows: readonly Window[], others: readonly Window[]) =>
    windows.flatMap((window) => uncovered(window, others));
  const days = (windows: readonly Window[]) => windows.filter(({ start, end }) => end - start >= dayMs);
  const v0Only = lacking(v0, transactions);
  const differences = { v0Only: days(v0Only), transactionsOnly: days(lacking(transactions, v0)) };
  if (differences.v0Only.length + differences.transactionsOnly.length === 0) return undefined;
  const both = lacking(v0, v0Only);
  const span = { start: both[0]?.start ?? Infinity, end: both.at(-1)?.end ?? -Infinity };
  const isBroken = [...differences.v0Only, ...differences.transactionsOnly].some((window) => overlap(window, span));
  return { account, both, isBroken, ...differences };
}

/** The days of either service; undefined where both are loaded for the same days, or one for none. Less than a day does not count. */
export function comparedDays(lake: Lake, account: string): ComparedDays | undefined {
  return comparedWindows(
    account,
    storedWindows(lake, financialEvents, account),
    storedWindows(lake, transactionsPipeline, account),
  );
}

/** Explains in words which days `api_differences` compares, and which command loads the rest. */
export function comparedText({ account, both, isBroken, v0Only, transactionsOnly }: ComparedDays): string {
  const lacks = [
    v0Only.length > 0 &&
      `transactions lack ${spansText(v0Only)}, which v0 has (\`${loadingCommand({ pipeline: transactionsPipeline.name, account, windows: v0Only })}\` loads it)`,
    transactionsOnly.length > 0 &&
      `v0 lacks ${spansText(transactionsOnly)}, which transactions have ` +
        `(\`${loadingCommand({ pipeline: financialEvents.name, account, windows: transactionsOnly })}\` loads it)`,
  ].filter((text) => text !== false);
  const compared = both.length === 0 ? 'compares nothing of it' : `compares only ${spansText(both)}`;
  const gaps = isBroken ? ', and has the orders of days between these that one of them lacks' : '';
  return `${account}: ${lacks.join('; ')}: api_differences ${compared}${gaps}`;
}
