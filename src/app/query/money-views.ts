import settlementPayouts from './views/settlement_payouts.sql';
import { categories, columnOf, entryCategory, categorySql } from './categories.js';

/** A view over the views of a lake's tables. */
export interface QueryView {
  readonly name: string;
  /** The parameters, in parentheses: such a view is a table macro. */
  readonly parameter?: string;
  readonly select: string;
}

/** Types of transactions that give a buyer's money back. */
const isRefund = "transaction_type IN ('Refund', 'GuaranteeClaim', 'Chargeback')";

/** The name of an amount in v0: its last breakdown type except Base, Tax and Promo (`AmazonFees/Commission/Base`: `Commission`). */
const feeName = "regexp_extract(regexp_replace(breakdown, '(.)/(?:Base|Tax|Promo)$', '\\1'), '[^/]+$')";

/** The event list of a transaction type in v0; other types stay unchanged. */
const eventList =
  "CASE transaction_type WHEN 'Shipment' THEN 'ShipmentEventList' WHEN 'Refund' THEN 'RefundEventList' " +
  "ELSE coalesce(transaction_type, '') END";

/** By the last breakdown type, also where v0 has another name (`Expenses/Tax`). */
const paidCategory = categorySql({ isRefund, name: 'transaction_entries_paid.name' });

const shared =
  'account, month, effective_at, event_id, entry, amazon_order_id, sku, path, kind, role, amount, amount_text, currency';

/** In SQL: the charge that an amount is the base, the tax or the promotion of; null for an amount that is a charge by itself. */
const splitCharge =
  "CASE WHEN regexp_matches(breakdown, './(?:Base|Tax|Promo)$') THEN concat_ws(' ', event_id, item, path) END";

/** In SQL: the paid amounts of transactions with the names of v0 and their category. */
export const paidAmounts =
  `SELECT ${shared}, ${eventList} AS event_list, ${feeName} AS name, group_id, ${paidCategory} AS category, ` +
  `${splitCharge} AS charge_, transaction_entries_paid.name AS part_ FROM transaction_entries_paid`;

const firstTransactions = 'SELECT account, min(window_start) AS since_ FROM transactions GROUP BY account';

/**
 * In SQL: v0's events without a date in the window in which transactions begin, and whether a transaction matches them, which alone
 * shows on which side of that instant they happened. Events match by order and sum, those with a date first.
 */
const undatedAtChange =
  `WITH since_ AS (${firstTransactions}), ` +
  'events_ AS (SELECT account, event_id, posted_at IS NULL AS is_undated_, since_, window_end FROM events JOIN since_ USING (account) ' +
  'WHERE window_start < since_ AND window_end > since_ AND (posted_at IS NULL OR posted_at >= since_)), ' +
  'v0_ AS (SELECT account, event_id, is_undated_, since_, window_end, amazon_order_id, currency, sum(amount) AS sum_ ' +
  "FROM entries JOIN events_ USING (account, event_id) WHERE role = 'net' GROUP BY ALL), " +
  'later_ AS (SELECT account, event_id, effective_at, amazon_order_id, currency, sum(amount) AS sum_ ' +
  "FROM transaction_entries_paid WHERE role = 'net' GROUP BY ALL), " +
  'numbered_ AS (SELECT *, row_number() OVER (PARTITION BY account, window_end, amazon_order_id, currency, sum_ ' +
  'ORDER BY is_undated_, event_id) AS number_ FROM v0_), ' +
  'matched_ AS (SELECT numbered_.account, numbered_.event_id, numbered_.currency, ' +
  'count(later_.event_id) >= any_value(number_) AS is_later_ FROM numbered_ LEFT JOIN later_ ' +
  'ON later_.account = numbered_.account AND later_.currency = numbered_.currency AND later_.sum_ = numbered_.sum_ ' +
  'AND later_.amazon_order_id IS NOT DISTINCT FROM numbered_.amazon_order_id ' +
  'AND later_.effective_at >= since_ AND later_.effective_at < window_end WHERE is_undated_ GROUP BY ALL) ' +
  'FROM matched_';

/**
 * FROM and WHERE clauses: the entries of v0 before the account's first instant of loaded transactions, and those
 * without a date that no transaction matches.
 */
export const entriesBeforeTransactions =
  `FROM entries LEFT JOIN (${firstTransactions}) USING (account) LEFT JOIN (${undatedAtChange}) USING (account, event_id, currency) ` +
  'WHERE (since_ IS NULL OR coalesce(NOT is_later_, effective_at < since_))';

/** In SQL: the amounts of either service with their category, each once: those of `ledger`, and those of other roles. */
export const accountAmounts =
  `SELECT ${shared}, event_list, name, group_id, ${entryCategory} AS category, ` +
  `CAST(NULL AS VARCHAR) AS charge_, name AS part_ ${entriesBeforeTransactions} ` +
  `UNION ALL ${paidAmounts}`;

const lines = `WITH lines_ AS (SELECT * FROM (${accountAmounts}) WHERE role = 'net')`;

/** A sum of no amounts, in SQL. */
export const zero = 'CAST(0 AS DECIMAL(38,6))';
const sumWhere = (condition: string) => `coalesce(sum(amount) FILTER (${condition}), ${zero})`;

const isEarned = "category NOT IN ('transfers', 'unknown')";
const profit =
  `${lines} SELECT account, month, currency, ${sumWhere(isEarned)} AS earned, ` +
  categories.map(({ id }) => `${sumWhere(`category = '${id}'`)} AS ${columnOf(id)}`).join(', ') +
  `, coalesce(sum(amount), ${zero}) AS net_proceeds, count(*) FILTER (amount IS NULL) AS unsummed ` +
  'FROM lines_ GROUP BY account, month, currency ORDER BY account, currency, month';

/** The label of an amount: its name, or its list where it has no name or a generic one. */
export const amountName =
  "CASE WHEN name IS NULL OR lower(name) IN ('charge', 'refund', 'basevalue', 'sales', 'expenses') THEN regexp_replace(event_list, '(Event)?List$', '') ELSE name END";

/** In SQL: false for an empty wrapper, which a flat transaction has in addition to the one with its amounts. */
export const isNoWrapper = (amount: string): string =>
  `coalesce(${amount} <> 0 OR name NOT IN ('Sales', 'Expenses'), true)`;

/**
 * In SQL: the amounts of a FROM clause, summed by columns, with the number of amounts (`lines`), of charges (`times`: one that is split
 * into base, tax and promotion is one) and of the amounts that no sum has (`unsummed`).
 */
export function sumsOfCharges(columns: string, from: string): string {
  const parts =
    `SELECT ${columns}, charge_, count(*) AS lines_, sum(amount) AS total_, count(*) FILTER (amount IS NULL) AS unsummed_ ` +
    `${from} GROUP BY ${columns}, charge_, CASE WHEN charge_ IS NOT NULL THEN part_ END`;
  const charges =
    `SELECT ${columns}, sum(lines_) AS lines_, CASE WHEN charge_ IS NULL THEN sum(lines_) ELSE max(lines_) END AS times_, ` +
    `sum(total_) AS total_, sum(unsummed_) AS unsummed_ FROM (${parts}) GROUP BY ${columns}, charge_`;
  const count = (name: string) => `CAST(sum(${name}_) AS BIGINT) AS ${name}`;
  return (
    `SELECT ${columns}, ${count('lines')}, ${count('times')}, sum(total_) AS total, ${count('unsummed')} ` +
    `FROM (${charges}) GROUP BY ${columns}`
  );
}

const feeLines =
  `FROM (SELECT *, ${amountName} AS fee FROM (${accountAmounts}) WHERE role = 'net' AND category = 'fees') ` +
  `WHERE ${isNoWrapper('amount')}`;
const fees =
  `SELECT * EXCLUDE (lines) FROM (${sumsOfCharges('account, month, currency, fee', feeLines)}) ` +
  'ORDER BY account, currency, month, total';

/** In SQL: the column of `pnl_by_month` for a category. */
const columnName =
  `CASE ${entryCategory} ` + categories.map(({ id }) => `WHEN '${id}' THEN '${columnOf(id)}'`).join(' ') + ' END';

const payoutLines =
  'SELECT account, group_id, started_at, ended_at, line.category, line.name, line.times, line.amount, line.currency, ' +
  'original_total, original_currency, processing_status, fund_transfer_status, fund_transfer_at FROM groups JOIN (' +
  `SELECT account, group_id, ${columnName} AS category, ${amountName} AS name, count(*) AS times, sum(amount) AS amount, currency ` +
  "FROM group_entries WHERE role = 'net' GROUP BY ALL " +
  "UNION ALL SELECT account, group_id, 'beginning balance', NULL, 1, beginning_balance, beginning_currency " +
  'FROM groups WHERE beginning_balance <> 0) AS line USING (account, group_id) ' +
  'ORDER BY account, started_at, group_id, currency, line.category, line.amount';

/** The net amounts of the events of `differing_`, by content. */
const byContent = (entries: string, events: string) =>
  `SELECT account, currency, content_hash, any_value(${entries}.event_list) AS event_list, ` +
  `min(${entries}.effective_at) AS effective_at, any_value(${entries}.amazon_order_id) AS amazon_order_id, ` +
  'count(DISTINCT event_id) AS times, sum(amount) AS amount ' +
  `FROM ${entries} JOIN (SELECT account, event_id, content_hash FROM ${events} SEMI JOIN differing_ USING (account, content_hash)) ` +
  "USING (account, event_id) WHERE role = 'net' GROUP BY account, currency, content_hash";

/** Contents of events that are not equally frequent in both tables: few, so that most amounts are not read. */
const differing =
  'SELECT account, content_hash FROM (SELECT account, content_hash, 1 AS way_ FROM events UNION ALL ' +
  'SELECT account, content_hash, -1 FROM group_events) GROUP BY ALL HAVING sum(way_) <> 0';

const notSettled = 'in no loaded settlement';
const notByDate = 'in a settlement, not by date';
const withoutEvents = 'settlements without events';

/** The events that are more frequent by date than in settlements, or the reverse, with one row for each content. */
const reconciledEvents =
  `WITH differing_ AS MATERIALIZED (${differing}), dated_ AS (${byContent('entries', 'events')}), settled_ AS (${byContent('group_entries', 'group_events')}) ` +
  'SELECT account, currency, ' +
  `CASE WHEN coalesce(settled_.times, 0) > coalesce(dated_.times, 0) THEN '${notByDate}' ELSE '${notSettled}' END AS line, ` +
  'coalesce(dated_.event_list, settled_.event_list) AS event_list, ' +
  'coalesce(dated_.effective_at, settled_.effective_at) AS effective_at, ' +
  'coalesce(dated_.amazon_order_id, settled_.amazon_order_id) AS amazon_order_id, content_hash, ' +
  'coalesce(dated_.times, 0) AS times_by_date, coalesce(settled_.times, 0) AS times_in_settlements, ' +
  'coalesce(settled_.amount, 0) - coalesce(dated_.amount, 0) AS amount ' +
  'FROM dated_ FULL JOIN settled_ USING (account, currency, content_hash) ' +
  'WHERE dated_.times IS DISTINCT FROM settled_.times ORDER BY account, currency, line, effective_at, content_hash';

/** The lines of `reconciliation`, in order. */
export const bankLines = [
  'by date',
  notSettled,
  notByDate,
  'in open settlements',
  'beginning balances',
  withoutEvents,
  'closed, not paid out',
  'total',
] as const;

export type BankLine = (typeof bankLines)[number];

/** In SQL: the lines from the net amounts by date to the amount that the bank received, which is their sum. */
export const reconciliation =
  "WITH closed_ AS (SELECT *, original_currency AS currency, fund_transfer_status IS NOT DISTINCT FROM 'Succeeded' AS is_paid " +
  "FROM groups WHERE processing_status = 'Closed'), " +
  "parts_ AS (SELECT 1 AS place, account, currency, sum(amount) AS amount FROM entries WHERE role = 'net' GROUP BY ALL " +
  `UNION ALL SELECT CASE WHEN line = '${notByDate}' THEN 3 ELSE 2 END, account, currency, amount FROM (${reconciledEvents}) ` +
  'UNION ALL SELECT 4, account, currency, -sum(amount) FROM group_entries ANTI JOIN closed_ USING (account, group_id, currency) ' +
  "WHERE role = 'net' GROUP BY ALL " +
  'UNION ALL SELECT 5, account, currency, beginning_balance FROM closed_ ' +
  // Their events by date are among those in no loaded settlement.
  'UNION ALL SELECT 6, account, currency, original_total - coalesce(beginning_balance, 0) FROM closed_ ' +
  'ANTI JOIN group_events USING (account, group_id) ' +
  'UNION ALL SELECT CASE WHEN is_paid THEN 8 ELSE 7 END, account, currency, ' +
  'CASE WHEN is_paid THEN original_total ELSE -original_total END FROM closed_), ' +
  `lines_ AS (FROM (VALUES ${bankLines.map((line, at) => `(${at + 1}, '${line}')`).join(', ')}) AS lines_(place, line)) ` +
  'SELECT account, currency, line, coalesce(sum(amount), 0) AS amount ' +
  'FROM (SELECT DISTINCT account, currency FROM parts_ WHERE currency IS NOT NULL) CROSS JOIN lines_ ' +
  'LEFT JOIN parts_ USING (account, currency, place) ' +
  'GROUP BY account, currency, place, line ORDER BY account, currency, place';

/** The views of money by month, fee type and settlement. */
export const moneyViews: readonly QueryView[] = [
  { name: 'pnl_by_month', select: profit },
  { name: 'fees_by_type', select: fees },
  { name: 'payout_lines', select: payoutLines },
  { name: 'settlement_payouts', select: settlementPayouts },
  { name: 'reconciliation', select: reconciliation },
  { name: 'reconciliation_events', select: reconciledEvents },
];
