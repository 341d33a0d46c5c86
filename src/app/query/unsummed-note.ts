import { formatCount } from '../../core/text/amounts.js';
import type { Lake } from '../../lake/lake.js';
import { unsummedColumn as column, unsummedIn, unsummedText } from '../unsummed-amounts.js';
import { withoutTexts } from './left-out-days.js';

/** Views over the amounts of a table, in which the sums lack such amounts. */
const readers: Readonly<Record<string, RegExp>> = {
  entries: /\b(?:entries|ledger|pnl_by_month|fees_by_type|reconciliation|reconciliation_events|api_differences)\b/i,
  group_entries: /\b(?:group_entries|payout_lines|reconciliation|reconciliation_events)\b/i,
  order_entries: /\border_entries\b/i,
  transaction_entries:
    /\b(?:transaction_entries|transaction_entries_paid|transaction_entries_earned|ledger|pnl_by_month|fees_by_type|api_differences)\b/i,
  order_transaction_entries: /\border_transaction_entries\b/i,
};

/** A note for a statement that reads amounts of which no sum has all; undefined for any other, and for one that reads their texts. */
export function unsummedNote(statement: string, lake: Lake): string | undefined {
  const words = withoutTexts(statement);
  if (new RegExp(`\\b${column}\\b`, 'i').test(words)) return undefined;
  const read = Object.keys(readers).filter((table) => readers[table]?.test(words) === true);
  if (read.length === 0) return undefined;
  const counts = new Map<string, number>();
  for (const { table, add } of lake.committedAdds()) {
    const { name } = table.schema;
    if (read.includes(name)) counts.set(name, (counts.get(name) ?? 0) + unsummedIn(add));
  }
  const [first, ...others] = [...counts].filter(([, count]) => count > 0);
  if (first === undefined) return undefined;
  const [table, count] = first;
  const more = others.map(([name, of]) => `; ${formatCount(of)} of ${name}`).join('');
  return (
    `WARNING: ${table}: ${unsummedText(count)}${more}: ` +
    `\`SELECT currency, ${column} FROM ${table} WHERE ${column} IS NOT NULL\` lists them`
  );
}
