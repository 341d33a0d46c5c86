import { identifier, literal } from '../../core/duckdb/literals.js';
import { chartQuery, type ChartRow } from './chart.js';
import { costsQuery, type CostRow } from './costs.js';
import { marketplaces } from '../../sources/finances/model/marketplaces.js';
import amountName from './views/amount_name.sql';
import apiDifferences from './views/api_differences.sql';
import categoryOf from './views/category_of.sql';
import changedAmounts from './views/changed_amounts.sql';
import chartOfAccounts from './views/chart_of_accounts.sql';
import clearing from './views/clearing.sql';
import earnedAmounts from './views/earned_amounts.sql';
import feesByType from './views/fees_by_type.sql';
import journalAmounts from './views/journal_amounts.sql';
import journalLines from './views/journal_lines.sql';
import lastLoadedDays from './views/last_loaded_days.sql';
import ledgerAmounts from './views/ledger_amounts.sql';
import ledger from './views/ledger.sql';
import marketplacesView from './views/marketplaces.sql';
import monthOf from './views/month_of.sql';
import monthStart from './views/month_start.sql';
import onlyValue from './views/only_value.sql';
import outstandingAt from './views/outstanding_at.sql';
import paidAmounts from './views/paid_amounts.sql';
import payoutLines from './views/payout_lines.sql';
import percentOf from './views/percent_of.sql';
import pnlByBasis from './views/pnl_by_basis.sql';
import pnlByMonthEarned from './views/pnl_by_month_earned.sql';
import pnlByMonth from './views/pnl_by_month.sql';
import reconciliationByMonth from './views/reconciliation_by_month.sql';
import reconciliationEvents from './views/reconciliation_events.sql';
import reconciliation from './views/reconciliation.sql';
import settlementAmounts from './views/settlement_amounts.sql';
import settlementDifferences from './views/settlement_differences.sql';
import settlementIds from './views/settlement_ids.sql';
import settlementItems from './views/settlement_items.sql';
import settlementPayouts from './views/settlement_payouts.sql';
import skuProfit from './views/sku_profit.sql';
import timeZone from './views/time_zone.sql';
import transactionAmounts from './views/transaction_amounts.sql';
import transactionEntriesEarned from './views/transaction_entries_earned.sql';
import transactionEntriesPaid from './views/transaction_entries_paid.sql';
import transactionSpans from './views/transaction_spans.sql';
import transactionsEarned from './views/transactions_earned.sql';
import transactionsPaid from './views/transactions_paid.sql';
import unitCosts from './views/unit_costs.sql';
import v0Amounts from './views/v0_amounts.sql';
import v0Name from './views/v0_name.sql';

const marketplaceRows = marketplaces
  .map(({ id, name, country, currency, timeZone: zone }) => [id, name, country, currency, zone].map(literal).join(', '))
  .map((values) => `(${values})`)
  .join(',\n  ');

/**
 * The views over a lake's tables by their names: the query of a view, or the statement that creates a macro. Each may read those
 * before it.
 */
export const views: Readonly<Record<string, string>> = {
  time_zone: timeZone,
  month_of: monthOf,
  month_start: monthStart,
  marketplaces: marketplacesView.replace('$rows', () => marketplaceRows),
  amount_name: amountName,
  v0_name: v0Name,
  category_of: categoryOf,
  percent_of: percentOf,
  transactions_earned: transactionsEarned,
  transaction_entries_earned: transactionEntriesEarned,
  transactions_paid: transactionsPaid,
  transaction_entries_paid: transactionEntriesPaid,
  outstanding_at: outstandingAt,
  transaction_amounts: transactionAmounts,
  paid_amounts: paidAmounts,
  settlement_amounts: settlementAmounts,
  changed_amounts: changedAmounts,
  v0_amounts: v0Amounts,
  ledger_amounts: ledgerAmounts,
  earned_amounts: earnedAmounts,
  ledger,
  api_differences: apiDifferences,
  pnl_by_basis: pnlByBasis,
  pnl_by_month: pnlByMonth,
  pnl_by_month_earned: pnlByMonthEarned,
  fees_by_type: feesByType,
  unit_costs: unitCosts,
  sku_profit: skuProfit,
  payout_lines: payoutLines,
  settlement_ids: settlementIds,
  only_value: onlyValue,
  settlement_items: settlementItems,
  settlement_differences: settlementDifferences,
  settlement_payouts: settlementPayouts,
  transaction_spans: transactionSpans,
  reconciliation_events: reconciliationEvents,
  reconciliation,
  clearing,
  reconciliation_by_month: reconciliationByMonth,
  chart_of_accounts: chartOfAccounts,
  last_loaded_days: lastLoadedDays,
  journal_amounts: journalAmounts,
  journal_lines: journalLines,
};

/**
 * The texts of `views` for a time zone, in which months begin and end, a chart of accounts (left out: the default one) and unit costs.
 */
export function viewTexts(
  zone: string,
  chart: readonly ChartRow[] | undefined,
  costs: readonly CostRow[] = [],
): Readonly<Record<string, string>> {
  return {
    ...views,
    time_zone: timeZone.replace("'UTC'", () => literal(zone)),
    ...(chart && { chart_of_accounts: chartQuery(chart) }),
    ...(costs.length > 0 && { unit_costs: costsQuery(costs) }),
  };
}

/**
 * Statements that create the views by their names, except those named like a table of the lake.
 *
 * @param zone, chart, costs as `viewTexts`
 */
export function viewStatements(
  tables: readonly { readonly name: string }[],
  zone = 'UTC',
  chart?: readonly ChartRow[],
  costs?: readonly CostRow[],
): ReadonlyMap<string, string> {
  const own = Object.entries(viewTexts(zone, chart, costs)).filter(
    ([name]) => !tables.some((table) => table.name === name),
  );
  return new Map(
    own.map(([name, text]) => [name, isMacro(text) ? text : `CREATE OR REPLACE VIEW ${identifier(name)} AS\n${text}`]),
  );
}

/** What the first comment of a view's text says, a paragraph in one line. */
export function viewComment(text: string): string {
  const comment = /^(?:--.*\n)+/.exec(text)?.[0] ?? '';
  const paragraphs = comment
    .replaceAll(/^-- ?/gm, '')
    .trim()
    .split(/\n{2,}/);
  return paragraphs.map((paragraph) => paragraph.replaceAll('\n', ' ')).join('\n');
}

/** Whether a text creates a macro. */
export function isMacro(text: string): boolean {
  return text.includes('CREATE OR REPLACE MACRO');
}
