import type { HttpRefusal } from '../../core/http-server/refusal.js';
import { readParquet } from '../../core/duckdb/literals.js';
import { isoDate } from '../../core/numeric/instant.js';
import type { ResultCell } from '../../core/text/rows.js';
import { dayMs, type Window } from '../../core/windows.js';
import { loadKeyFor } from '../../lake/catalog/load-key.js';
import * as tables from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { latest } from '../lake/committed-files.js';
import { boundsOf, type LakePages, type RangeQuery } from '../lake/lake-pages.js';
import {
  sentColumns,
  inRange,
  rowsAfter,
  rowsInOrder,
  type InstantBounds,
  type PageStart,
  type Selection,
  type SqlQuery,
} from '../lake/stored-rows.js';
import { invalidInput } from '../operation/outcome.js';
import type {
  PayoutQuestion,
  SummaryQuestion,
  TransactionBackend,
  TransactionQuestion,
} from './transaction-backend.js';

/** An instant after every record, milliseconds since 1970. */
const latestMs = Date.parse('9999-12-31');

/** The transactions, summaries and payouts of a lake. */
export function storedTransactions(pages: LakePages): TransactionBackend {
  const transactions = pages.filesOf(tables.transactions);
  const orderTransactions = pages.filesOf(tables.orderTransactions);
  const settlementSummaries = pages.filesOf(tables.settlementSummaries);
  const payouts = pages.filesOf(tables.payouts);
  return {
    transactions: ({ range, orderId, ...filters }, query) =>
      pages.page(query, () => {
        const within = storable(range);
        if (orderId === undefined) {
          const byDate: RangeQuery = (...selection) => transactionsByDate(...selection, filters);
          return pages.byDate(transactions, byDate, within, filters);
        }
        const dated = transactions.all;
        const requested = orderTransactions.withLoadKey(loadKeyFor('order', orderId));
        const key = JSON.stringify(['order', orderId, within, filters]);
        return pages.withoutRange(key, [transactions, orderTransactions], [...dated, ...requested], async (page) => {
          const files = { dated: await pages.addresses(dated), requested: await pages.addresses(requested) };
          const sql = transactionsOfOrder(orderId, files, boundsOf(within), filters, page);
          return pages.rows([...files.dated, ...files.requested], sql);
        });
      }),
    summaries: (question, query) => {
      // Sums of periods aren't stored, and an empty answer would be wrong.
      if (question.settlementId === undefined) return Promise.reject(noPeriods(question));
      const sql = (files: readonly string[], page: PageStart) => summariesOf(question, files, page);
      const key = JSON.stringify(question);
      return pages.page(query, () => pages.ofTable(key, settlementSummaries, settlementSummaries.all, sql));
    },
    payouts: (question, query) =>
      pages.page(query, () => {
        const range = storable(question.range);
        const key = JSON.stringify(['payouts', { ...question, range }]);
        return pages.ofTable(key, payouts, payouts.all, (files, page) =>
          payoutsByDate(question, files, boundsOf(range), page),
        );
      }),
  };
}

/** The refusal of a summary by days: a lake has summaries of settlements only, which cover other days. */
function noPeriods({ days }: SummaryQuestion): HttpRefusal {
  const period = [days?.first, days?.last].map((day) => (day === undefined ? '' : isoDate(day * dayMs)));
  return invalidInput(
    'A lake has summaries of settlements only: use relatedIdentifierName=SETTLEMENT_ID, or add up the transactions of the period.',
    period.join(' to ').trim(),
  );
}

/** A range within the instants that a table can hold. */
function storable({ start, end }: Window): Window {
  return { start: Math.max(start, 0), end: Math.min(end, latestMs) };
}

/** A condition in which `?` is its value. */
type Condition = readonly [sql: string, value: ResultCell];

/** Conditions in SQL, with their values from `$1` on. */
function conjunction(conditions: readonly Condition[]): Selection {
  const clauses = conditions.map(([sql], index) => ` AND ${sql.replaceAll('?', `$${index + 1}`)}`);
  return { where: clauses.join(''), parameters: conditions.map(([, value]) => value) };
}

function optional(sql: string, value: string | undefined): readonly Condition[] {
  return value === undefined ? [] : [[sql, value]];
}

type Filters = Omit<TransactionQuestion, 'range' | 'orderId'>;

function filtersOf({ status, marketplaceId, groupId }: Filters): readonly Condition[] {
  return [
    ...optional('status = ?', status),
    ...optional('coalesce(marketplace_id, ?) = ?', marketplaceId),
    ...optional('group_id = ?', groupId),
  ];
}

/** Transactions that were posted within the range. */
function transactionsByDate(
  files: readonly string[],
  range: InstantBounds,
  page: PageStart,
  filters: Filters,
): SqlQuery {
  const { where, parameters } = conjunction(filtersOf(filters));
  return rowsInOrder(files, { where: inRange(range) + where, parameters }, page, "''");
}

/**
 * The transactions of an order that were posted within the range, and those without a date. Of a transaction that was loaded by
 * date and by order, the version that is no longer deferred is the newer one; else both are equal.
 *
 * @param dated files that were loaded by date
 * @param requested files that were loaded by order
 */
function transactionsOfOrder(
  orderId: string,
  { dated, requested }: { readonly dated: readonly string[]; readonly requested: readonly string[] },
  range: InstantBounds,
  filters: Filters,
  page: PageStart,
): SqlQuery {
  const { where, parameters } = conjunction([['? IS NOT NULL', orderId], ...filtersOf(filters)]);
  const rows = (files: readonly string[], column: string, source: number) =>
    files.length === 0 ? [] : [`SELECT *, ${source} AS source FROM ${readParquet(files)} WHERE ${column} = $1`];
  const sources = [...rows(dated, 'amazon_order_id', 0), ...rows(requested, 'requested_order_id', 1)];
  const identity = "coalesce(nullif(transaction_id, ''), regexp_extract(event_id, '[^:]*$'))";
  const newest =
    `SELECT * FROM (${sources.join(' UNION ALL BY NAME ')}) ` +
    `QUALIFY row_number() OVER (PARTITION BY ${identity} ORDER BY status IS NOT DISTINCT FROM 'DEFERRED', source) = 1`;
  const columns = sentColumns(`coalesce(epoch_us(effective_at), ${latest})`, "''");
  const inBounds = `(effective_at IS NULL OR ${inRange(range)})`;
  return rowsAfter(`SELECT ${columns} FROM (${newest}) WHERE ${inBounds}${where}`, parameters, page);
}

function accountConditions({ accountType, marketplaceIds }: SummaryQuestion | PayoutQuestion): readonly Condition[] {
  return [
    ...optional('account_type = ?', accountType),
    ...optional("marketplace_id IN (SELECT unnest(string_split(?, ',')))", marketplaceIds?.join()),
  ];
}

/** Summaries of a settlement. */
function summariesOf(question: SummaryQuestion, files: readonly string[], page: PageStart): SqlQuery {
  const { where, parameters } = conjunction([
    ['settlement_id = ?', question.settlementId ?? null],
    ...accountConditions(question),
  ]);
  const columns = `coalesce(epoch_us(period_start), 0) AS instant, coalesce(marketplace_id, '') AS key, '' AS list`;
  const sql = `SELECT ${columns}, 0::BIGINT AS "window", position, raw FROM ${readParquet(files)} WHERE true${where}`;
  return rowsAfter(sql, parameters, page);
}

/** Payouts that were created within the range, the newest first; one without a date is sorted at the start of its window. */
function payoutsByDate(
  question: PayoutQuestion,
  files: readonly string[],
  { from, to }: InstantBounds,
  page: PageStart,
): SqlQuery {
  const { where, parameters } = conjunction([
    ...optional('payout_id = ?', question.payoutId),
    ...accountConditions(question),
  ]);
  const instant = 'epoch_us(coalesce(created_at, window_start))';
  const sql =
    `SELECT -${instant} AS instant, coalesce(payout_id, '') AS key, '' AS list, 0::BIGINT AS "window", 0::BIGINT AS position, raw ` +
    `FROM ${readParquet(files)} WHERE ${instant} >= ${from} AND ${instant} < ${to}${where}`;
  return rowsAfter(sql, parameters, page);
}
