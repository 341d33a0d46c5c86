import type { Cell } from '../../core/text/rows.js';
import type { PayoutQuestion, SummaryQuestion, TransactionQuestion } from '../http/ledger.js';
import { behind, type InstantBounds, inRange, type Query, read, type RowRange, rowsInOrder } from './stored-rows.js';

/** A condition whose `?` stands for its value. */
type Condition = readonly [sql: string, value: Cell];

/** Conditions in SQL, with their values from `$1` on. */
function allOf(conditions: readonly Condition[]): { readonly where: string; readonly parameters: readonly Cell[] } {
  const parts = conditions.map(([sql], index) => ` AND ${sql.replaceAll('?', `$${index + 1}`)}`);
  return { where: parts.join(''), parameters: conditions.map(([, value]) => value) };
}

function wanted(sql: string, value: string | undefined): readonly Condition[] {
  return value === undefined ? [] : [[sql, value]];
}

/** Transactions that were posted within the range. */
export function transactionsByDate(
  { files, from, to, after, count }: RowRange,
  { status, marketplaceId, orderId, groupId }: Omit<TransactionQuestion, 'range'>,
): Query {
  const { where, parameters } = allOf([
    ...wanted('status = ?', status),
    ...wanted('coalesce(marketplace_id, ?) = ?', marketplaceId),
    ...wanted('amazon_order_id = ?', orderId),
    ...wanted('group_id = ?', groupId),
  ]);
  return rowsInOrder(files, inRange({ from, to }) + where, parameters, after, count, "''");
}

function ofAccounts({ accountType, marketplaceIds }: SummaryQuestion | PayoutQuestion): readonly Condition[] {
  return [
    ...wanted('account_type = ?', accountType),
    ...wanted("marketplace_id IN (SELECT unnest(string_split(?, ',')))", marketplaceIds?.join()),
  ];
}

type Page = Pick<RowRange, 'after' | 'count'>;

/** Summaries of a settlement. */
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

/** Payouts that were created within the range, the newest first; one without a date stands at the start of its window. */
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
