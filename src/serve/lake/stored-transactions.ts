import type { Cell } from '../../core/text/rows.js';
import type { PayoutQuestion, SummaryQuestion, TransactionQuestion } from '../http/ledger.js';
import { latest } from './committed-files.js';
import {
  behind,
  eventColumns,
  type InstantBounds,
  inRange,
  type Query,
  read,
  type RowRange,
  rowsInOrder,
} from './stored-rows.js';

/** A condition in SQL in which `?` stands for its value. */
type Condition = readonly [sql: string, value: Cell];

/** Conditions joined for a WHERE clause, with their values from `$1` on. */
function allOf(conditions: readonly Condition[]): { readonly where: string; readonly parameters: readonly Cell[] } {
  const parts = conditions.map(([sql], index) => ` AND ${sql.replaceAll('?', `$${index + 1}`)}`);
  return { where: parts.join(''), parameters: conditions.map(([, value]) => value) };
}

function wanted(sql: string, value: string | undefined): readonly Condition[] {
  return value === undefined ? [] : [[sql, value]];
}

type Filters = Omit<TransactionQuestion, 'range' | 'orderId'>;

function filtersOf({ status, marketplaceId, groupId }: Filters): readonly Condition[] {
  return [
    ...wanted('status = ?', status),
    ...wanted('coalesce(marketplace_id, ?) = ?', marketplaceId),
    ...wanted('group_id = ?', groupId),
  ];
}

/** Query for transactions that were posted in the range. */
export function transactionsByDate({ files, from, to, after, count }: RowRange, filters: Filters): Query {
  const { where, parameters } = allOf(filtersOf(filters));
  return rowsInOrder({ files, where: inRange({ from, to }) + where, parameters, after, count, list: "''" });
}

/** Files with an order's transactions: loaded by date, and loaded by order. */
export interface OrderFiles {
  readonly dated: readonly string[];
  readonly asked: readonly string[];
}

/**
 * Query for the transactions of an order that were posted in the range, and those without a date. Of a transaction that
 * was loaded both by date and by order, the row that is no longer deferred is the newer one; else both are the same.
 */
export function transactionsOfOrder(
  orderId: string,
  { dated, asked }: OrderFiles,
  { from, to }: InstantBounds,
  filters: Filters,
  { after, count }: Page,
): Query {
  const { where, parameters } = allOf([['? IS NOT NULL', orderId], ...filtersOf(filters)]);
  const rows = (files: readonly string[], column: string, source: number) =>
    files.length === 0 ? [] : [`SELECT *, ${source} AS source FROM ${read(files)} WHERE ${column} = $1`];
  const sources = [...rows(dated, 'amazon_order_id', 0), ...rows(asked, 'requested_order_id', 1)];
  const one = "coalesce(nullif(transaction_id, ''), regexp_extract(event_id, '[^:]*$'))";
  const newest =
    `SELECT * FROM (${sources.join(' UNION ALL BY NAME ')}) ` +
    `QUALIFY row_number() OVER (PARTITION BY ${one} ORDER BY status IS NOT DISTINCT FROM 'DEFERRED', source) = 1`;
  const columns = eventColumns(`coalesce(epoch_us(effective_at), ${latest})`, "''");
  const isWithin = `(effective_at IS NULL OR ${inRange({ from, to })})`;
  return behind(`SELECT ${columns} FROM (${newest}) WHERE ${isWithin}${where}`, parameters, after, count);
}

function ofAccounts({ accountType, marketplaceIds }: SummaryQuestion | PayoutQuestion): readonly Condition[] {
  return [
    ...wanted('account_type = ?', accountType),
    ...wanted("marketplace_id IN (SELECT unnest(string_split(?, ',')))", marketplaceIds?.join()),
  ];
}

type Page = Pick<RowRange, 'after' | 'count'>;

/** Query for the summaries of a settlement. */
export function summariesOf(question: SummaryQuestion, files: readonly string[], { after, count }: Page): Query {
  const { where, parameters } = allOf([['settlement_id = ?', question.settlementId ?? null], ...ofAccounts(question)]);
  const columns = `coalesce(epoch_us(period_start), 0) AS instant, coalesce(marketplace_id, '') AS key, '' AS list`;
  return behind(
    `SELECT ${columns}, 0::BIGINT AS "window", position, raw FROM ${read(files)} WHERE true${where}`,
    parameters,
    after,
    count,
  );
}

/**
 * Query for payouts that were created in the range, newest first; a payout without a date is sorted by the start of its
 * window.
 */
export function payoutsByDate(
  question: PayoutQuestion,
  files: readonly string[],
  { from, to }: InstantBounds,
  { after, count }: Page,
): Query {
  const { where, parameters } = allOf([...wanted('payout_id = ?', question.payoutId), ...ofAccounts(question)]);
  const instant = 'epoch_us(coalesce(created_at, window_start))';
  return behind(
    `SELECT -${instant} AS instant, coalesce(payout_id, '') AS key, '' AS list, 0::BIGINT AS "window", 0::BIGINT AS position, raw ` +
      `FROM ${read(files)} WHERE ${instant} >= ${from} AND ${instant} < ${to}${where}`,
    parameters,
    after,
    count,
  );
}
