import { identifier } from '../../core/duckdb/literals.js';
import { entriesBeforeTransactions, moneyViews, zero, type QueryView } from './money-views.js';

/** Rows of the earned basis: each sale when it happened, without its release, which is a second record of it. */
const isEarned = "status IS DISTINCT FROM 'RELEASED' OR deferred_transaction_id IS NULL";

/** Rows of the paid basis: each amount when it was released, as in settlements and in v0. */
const isPaid = "status = 'RELEASED'";

/** Columns of `ledger` that have the same name in both services. */
const ledgerColumns = [
  ...['account', 'month', 'event_id', 'entry', 'effective_at', 'amazon_order_id', 'sku', 'kind', 'name'],
  ...['amount', 'amount_text', 'currency', 'group_id'],
]
  .map(identifier)
  .join(', ');

const ledger =
  `SELECT 'v0' AS source, ${ledgerColumns} ${entriesBeforeTransactions} AND role = 'net' ` +
  `UNION ALL SELECT '2024-06-19' AS source, ${ledgerColumns} FROM transaction_entries_paid WHERE role = 'net'`;

/** The time for which both services are loaded. */
const spans =
  'SELECT account, greatest(v0_.first_, later_.first_) AS first_, least(v0_.last_, later_.last_) AS last_ FROM ' +
  '(SELECT account, min(window_start) AS first_, max(window_end) AS last_ FROM events GROUP BY account) AS v0_ JOIN ' +
  '(SELECT account, min(window_start) AS first_, max(window_end) AS last_ FROM transactions GROUP BY account) AS later_ ' +
  'USING (account)';

/** Sums of each order in one service: of the shared time, and of everything that is loaded. */
function orderSums(from: string): string {
  return (
    'SELECT account, amazon_order_id AS id_, currency, ' +
    'sum(amount) FILTER (effective_at >= first_ AND effective_at < last_) AS sum_, sum(amount) AS all_, ' +
    'max(effective_at) AS newest_ ' +
    `FROM ${from} JOIN spans_ USING (account) WHERE role = 'net' AND amazon_order_id IS NOT NULL ` +
    'GROUP BY account, amazon_order_id, currency'
  );
}

const sums = `coalesce(v0_.sum_, ${zero}) AS v0, coalesce(later_.sum_, ${zero}) AS transactions`;

/** Settlements that lie wholly within the shared time. */
const settlements =
  'SELECT account, group_id AS id_, original_currency AS currency, started_at, ended_at, ' +
  'CAST(original_total - coalesce(beginning_balance, 0) AS DECIMAL(38,6)) AS sum_ ' +
  "FROM groups JOIN spans_ USING (account) WHERE processing_status = 'Closed' " +
  'AND original_total IS NOT NULL AND started_at >= first_ AND ended_at <= last_';

/** The newest two days of a service may be incomplete. */
const isNew = (instant: string) => `${instant} > last_ - INTERVAL '48 hours'`;

/** Orders whose sums differ, with the likely reason. */
const orderDifferences =
  'SELECT account, id, currency, v0, transactions, transactions - v0 AS difference, newest, ' +
  `CASE WHEN deferred_.id IS NOT NULL THEN 'deferred' WHEN is_equal_ OR ${isNew('newest')} THEN 'late' ` +
  "WHEN is_absent_ THEN 'not there at all' ELSE 'other' END AS reason " +
  'FROM orders_ JOIN spans_ USING (account) LEFT JOIN deferred_ USING (account, id) WHERE v0 <> transactions';

/** A settlement has the reason of its order that differs most, if one differs. */
const settlementDifferences =
  'SELECT account, id, currency, v0, transactions, transactions - v0 AS difference, ' +
  "CASE WHEN is_absent_ THEN 'not there at all' ELSE coalesce((" +
  'SELECT arg_max(reason, abs(difference)) FROM order_differences_ AS of_ ' +
  'WHERE of_.account = both_.account AND of_.currency = both_.currency AND of_.newest >= started_at AND of_.newest < ended_at' +
  `), CASE WHEN ${isNew('ended_at')} THEN 'late' ELSE 'other' END) END AS reason FROM (` +
  `SELECT account, id_ AS id, currency, started_at, ended_at, ${sums}, later_.id_ IS NULL AS is_absent_ ` +
  'FROM settlements_ AS v0_ LEFT JOIN paid_ AS later_ USING (account, id_, currency)) AS both_ ' +
  'JOIN spans_ USING (account) WHERE v0 <> transactions';

const differences =
  `WITH spans_ AS (${spans}), ` +
  `v0_orders_ AS (${orderSums('entries')}), later_orders_ AS (${orderSums('transaction_entries_paid')}), ` +
  'orders_ AS (SELECT account, id_ AS id, currency, ' +
  `${sums}, v0_.all_ IS NOT DISTINCT FROM later_.all_ AS is_equal_, v0_.id_ IS NULL OR later_.id_ IS NULL AS is_absent_, ` +
  'greatest(v0_.newest_, later_.newest_) AS newest ' +
  'FROM v0_orders_ AS v0_ FULL JOIN later_orders_ AS later_ USING (account, id_, currency)), ' +
  "deferred_ AS (SELECT DISTINCT account, amazon_order_id AS id FROM transactions WHERE status = 'DEFERRED'), " +
  `order_differences_ AS (${orderDifferences}), settlements_ AS (${settlements}), ` +
  'paid_ AS (SELECT account, group_id AS id_, currency, sum(amount) AS sum_ FROM transaction_entries_paid ' +
  "WHERE role = 'net' GROUP BY account, group_id, currency) " +
  "SELECT account, 'order' AS subject, * EXCLUDE (account, newest) FROM order_differences_ " +
  `UNION ALL SELECT account, 'settlement', * EXCLUDE (account) FROM (${settlementDifferences})`;

/** The first release of each deferred transaction. */
const releases =
  "SELECT * FROM transactions WHERE status = 'RELEASED' AND deferred_transaction_id IS NOT NULL " +
  'QUALIFY row_number() OVER (PARTITION BY account, deferred_transaction_id ORDER BY effective_at, event_id) = 1';

const ofEither = (...columns: readonly string[]) =>
  columns.map((name) => `coalesce(sale_.${name}, release_.${name}) AS ${name}`).join(', ');

/**
 * What was earned before an instant and not paid by then. The lake lacks a sale that was deferred before the first loaded day, but
 * has its release with the same amounts: such a sale counts from that day on.
 */
const outstanding =
  'WITH since_ AS (SELECT account, min(window_start) AS first_ FROM transactions GROUP BY account), ' +
  `sales_ AS (SELECT * FROM transactions WHERE status LIKE 'DEFERRED%'), releases_ AS (${releases}) ` +
  `SELECT ${ofEither('account')}, coalesce(sale_.transaction_id, release_.deferred_transaction_id) AS transaction_id, ` +
  `${ofEither('transaction_type', 'marketplace', 'amazon_order_id')}, sale_.effective_at AS earned_at, ` +
  `release_.effective_at AS paid_at, sale_.maturity_at, ${ofEither('total_amount', 'total_text', 'currency')} ` +
  'FROM sales_ AS sale_ FULL JOIN releases_ AS release_ ' +
  'ON sale_.account = release_.account AND sale_.transaction_id = release_.deferred_transaction_id ' +
  'JOIN since_ ON since_.account = coalesce(sale_.account, release_.account) ' +
  'WHERE first_ <= CAST(instant AS TIMESTAMPTZ) ' +
  'AND (sale_.effective_at IS NULL OR sale_.effective_at < CAST(instant AS TIMESTAMPTZ)) ' +
  'AND (release_.effective_at IS NULL OR release_.effective_at >= CAST(instant AS TIMESTAMPTZ))';

/** The views of the earned and the paid basis, and those over both services; each may read the ones before it. */
export const transactionViews: readonly QueryView[] = [
  { name: 'transactions_earned', select: `SELECT * FROM transactions WHERE ${isEarned}` },
  { name: 'transaction_entries_earned', select: `SELECT * FROM transaction_entries WHERE ${isEarned}` },
  { name: 'transactions_paid', select: `SELECT * FROM transactions WHERE ${isPaid}` },
  { name: 'transaction_entries_paid', select: `SELECT * FROM transaction_entries WHERE ${isPaid}` },
  { name: 'outstanding_at', parameter: 'instant', select: outstanding },
  { name: 'ledger', select: ledger },
  { name: 'api_differences', select: differences },
];

/** Statements that create the views, except those named like a table of the lake. */
export function viewStatements(tables: readonly { readonly name: string }[]): readonly string[] {
  return [...transactionViews, ...moneyViews]
    .filter(({ name }) => !tables.some((table) => table.name === name))
    .map(({ name, parameter, select }) =>
      parameter === undefined
        ? `CREATE OR REPLACE VIEW ${identifier(name)} AS ${select}`
        : `CREATE OR REPLACE MACRO ${identifier(name)}(${parameter}) AS TABLE ${select}`,
    );
}
