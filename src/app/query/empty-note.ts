import type { Lake } from '../../lake/lake.js';
import { groupSlices } from '../../sources/finances/api-v0/group-slices.js';
import { loadingCommand } from '../command-text.js';
import { byDate, byGroup, byTransaction, listing, mainTablesOf, type MainTable } from '../verify/checks/main-tables.js';
import { storedWindows, withoutTexts } from './left-out-days.js';

/** Views that are empty where nothing was loaded into one table. */
const views: Readonly<Record<string, MainTable>> = {
  payout_lines: byGroup,
  settlement_payouts: listing,
  reconciliation: byGroup,
  reconciliation_events: byGroup,
  transactions_earned: byTransaction,
  transactions_paid: byTransaction,
  transaction_entries_earned: byTransaction,
  transaction_entries_paid: byTransaction,
};

/**
 * What is to be said of a statement that reads a table of which nothing was loaded, or a view over such tables: why it is empty, and what
 * loads it. Undefined for any other, and for a lake that holds nothing at all.
 */
export function emptyNote(statement: string, lake: Lake): string | undefined {
  const accounts = [...lake.accounts()].toSorted();
  const [account] = accounts;
  if (account === undefined) return undefined;
  const mains = mainTablesOf(lake);
  const isLoaded = ({ pipeline, table }: MainTable) =>
    accounts.some((of) => lake.files(pipeline, table, of).length > 0 || lake.loadKeys(pipeline, table, of).size > 0);
  for (const [, word = ''] of withoutTexts(statement).matchAll(/\b(?:from|join)\s+"?(\w+)/gi)) {
    const name = word.toLowerCase().replace(/_as_known$/, '');
    const of = views[name] ?? mains.find(({ table, entries }) => name === table || name === entries);
    if (of === undefined) continue;
    if (!isLoaded(of)) {
      const windows = [listing, byDate, byTransaction].flatMap((main) => storedWindows(lake, main, account));
      const start = Math.min(...windows.map((window) => window.start));
      const end = Math.max(...windows.map((window) => window.end));
      const orders = of.loadKey === 'order' ? ' --orders FILE' : '';
      const range = orders === '' && windows.length > 0 ? [{ start, end }] : [];
      const command = `\`${loadingCommand(of.pipeline, { account, windows: range })}${orders}\``;
      const instead =
        name === 'payouts' && isLoaded(listing) ? ', and settlement_payouts has those of settlements' : '';
      return `WARNING: ${name}: nothing of ${of.pipeline} is loaded, so there are no rows: ${command} loads them${instead}`;
    }
    if (name === 'settlement_payouts' && !accounts.some((one) => hasClosed(lake, one))) {
      return `WARNING: ${name}: no settlement of ${account} has closed yet, so there are no rows: \`ledgerlake status\` lists the open ones`;
    }
  }
  return undefined;
}

/** Whether a settlement of an account has closed, as its listing says. */
function hasClosed(lake: Lake, account: string): boolean {
  const range = { start: -Infinity, end: Infinity };
  const question = { lake, account, range, refresh: true, orders: [] };
  return groupSlices(question, byGroup.pipeline, byGroup.table, listing.pipeline).some(
    ({ group }) => group.end !== null,
  );
}
