import { dayMs, uncovered, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { instantText, loadingCommand, spansText } from '../command-text.js';
import { byTransaction } from '../verify/checks/main-tables.js';
import { statedInstants } from './as-known.js';
import { storedWindows, transactionsSince, withoutTexts } from './left-out-days.js';

/** A loaded time that is shorter may miss sales that were deferred before it and paid after it. */
const longestDeferral = 60 * dayMs;

/**
 * What is to be said of a statement that reads `outstanding_at`: where its instant lies before or after the loaded
 * transactions, or days of them are missing. Undefined for any other.
 */
export function outstandingNote(statement: string, lake: Lake): string | undefined {
  if (!/\boutstanding_at\b/i.test(withoutTexts(statement))) return undefined;
  const stated = statedInstants(statement, 'outstanding_at').map(({ instant }) => instant);
  const instants = stated.length === 0 ? [undefined] : stated;
  const [first, ...others] = instants.flatMap((instant) =>
    [...lake.accounts()].toSorted().flatMap((account) => faultAt(instant, account, lake) ?? []),
  );
  if (first === undefined) return undefined;
  return `WARNING: outstanding_at: ${first}${others.length === 0 ? '' : `; and ${others.length} more of this kind`}`;
}

/** Why `outstanding_at` is not exact for an account; undefined where it is. */
function faultAt(instant: number | undefined, account: string, lake: Lake): string | undefined {
  const since = transactionsSince(lake, account);
  const loaded = storedWindows(lake, byTransaction, account).filter(({ end }) => end > since);
  const end = loaded.at(-1)?.end;
  const load = (windows: readonly Window[]) =>
    `\`${loadingCommand(byTransaction.pipeline, { account, windows })}\` loads `;
  if (end === undefined) return `no transactions of ${account} are loaded, so there are no rows: ${load([])}them`;
  const from = `transactions of ${account} are loaded from ${instantText(since)} on`;
  if (instant !== undefined && instant < since) {
    return `${from}, after ${instantText(instant)}, so there are no rows: ${load([{ start: instant, end: since }])}what is missing`;
  }
  const gaps = uncovered({ start: since, end }, loaded);
  if (gaps.length > 0) {
    return `transactions of ${account} lack ${spansText(gaps)}, so sales and releases are missing: ${load(gaps)}them`;
  }
  if (instant === undefined) return `${from}, until ${instantText(end)}: it holds for an instant between these`;
  if (instant > end) {
    return `transactions of ${account} are loaded until ${instantText(end)}, so what is paid after that counts as outstanding`;
  }
  if (end - since >= longestDeferral) return undefined;
  return (
    `${from}, until ${instantText(end)}: a sale that was deferred before and is paid after that is not in the lake, ` +
    `so it is missing: ${load([{ start: end - longestDeferral, end: since }])}60 days`
  );
}
