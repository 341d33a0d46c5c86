import type { ResultCell } from '../../core/text/rows.js';
import { readParquet } from '../../core/duckdb/literals.js';
import type { PayoutQuestion, SummaryQuestion, TransactionQuestion } from '../http/ledger.js';
import { latest } from './committed-files.js';

/** A row of the lake that is sent. */
export interface StoredRow {
  /** The instant by which it is sorted, microseconds since 1970. */
  readonly at: bigint;
  /** Orders the rows of one instant: an event's content hash, a group's id. */
  readonly key: string;
  /** The list of an event; '' for a group. */
  readonly list: string;
  /** Start of the window that loaded it, microseconds since 1970; -1 without a window. */
  readonly window: bigint;
  /** Order of receipt within the window. */
  readonly position: bigint;
  /** The JSON as received. */
  readonly raw: string;
}

/** A row of a result, by column. */
export type ResultRow = Readonly<Record<string, ResultCell>>;

/** A statement with the values of its parameters `$1`, `$2`, and so on. */
export interface SqlQuery {
  readonly sql: string;
  readonly parameters: readonly ResultCell[];
}

/** Possible rows of an order: certain rows of a file, or the whole file. */
interface FileRows {
  /** Path or URL for DuckDB. */
  readonly file: string;
  readonly rows: readonly number[] | undefined;
}

/** Microseconds since 1970; `from` is included, `to` isn't. */
export interface InstantBounds {
  readonly from: bigint;
  readonly to: bigint;
}

/** The cursor and the size of a page. */
export interface PageStart {
  readonly after: RowCursor | undefined;
  /** Largest number of rows. */
  readonly count: number;
}

/** The columns of a row of events or transactions. */
function eventColumns(instant = 'epoch_us(effective_at)', list = 'event_list'): string {
  const window = 'coalesce(epoch_us(window_start), -1)';
  return `${instant} AS instant, content_hash AS key, ${list} AS list, ${window} AS "window", position, raw`;
}

/** Query for events whose instant lies in the range. `files`, here and below: paths or URLs for DuckDB. */
export function eventsByDate(files: readonly string[], range: InstantBounds, page: PageStart): SqlQuery {
  return rowsInOrder(files, { where: inRange(range), parameters: [] }, page);
}

function inRange({ from, to }: InstantBounds): string {
  return `effective_at >= ${instant(from)} AND effective_at < ${instant(to)}`;
}

/** Query for all events of a group, or those whose instant lies in the range. */
export function eventsOfGroup(
  groupId: string,
  files: readonly string[],
  within: InstantBounds | undefined,
  page: PageStart,
): SqlQuery {
  const inBounds = within === undefined ? '' : ` AND ${inRange(within)}`;
  return rowsInOrder(files, { where: `group_id = $1${inBounds}`, parameters: [groupId] }, page);
}

/** A condition with its parameters. */
interface Selection {
  readonly where: string;
  readonly parameters: readonly ResultCell[];
}

/**
 * Events or transactions with an instant, from a cursor on. Bounds and order on the column itself let DuckDB skip row groups.
 *
 * @param list SQL for the name of the list; left out: the column `event_list`
 */
function rowsInOrder(
  files: readonly string[],
  { where, parameters }: Selection,
  { after, count }: PageStart,
  list?: string,
): SqlQuery {
  const order = `ORDER BY effective_at, content_hash LIMIT ${count}`;
  const rows = `SELECT ${eventColumns(undefined, list)} FROM ${readParquet(files)} WHERE ${where}`;
  if (after === undefined) return { sql: `${rows} ${order}`, parameters };
  const at = instant(after.at);
  const isAfter = `effective_at >= ${at} AND (effective_at > ${at} OR content_hash >= $${parameters.length + 1})`;
  return { sql: `${rows} AND ${isAfter} ${order}`, parameters: [...parameters, after.key] };
}

/**
 * Query for groups that opened in the range; a group without that instant is sorted by the start of the window that
 * listed it.
 */
export function groupsByDate(files: readonly string[], { from, to }: InstantBounds, page: PageStart): SqlQuery {
  const sql =
    `SELECT epoch_us(coalesce(started_at, window_start)) AS instant, coalesce(group_id, '') AS key, '' AS list, 0::BIGINT AS "window", ` +
    `0::BIGINT AS position, raw FROM ${readParquet(files)} WHERE instant >= ${from} AND instant < ${to}`;
  return rowsAfter(sql, [], page);
}

/**
 * Query for all events of an order: those that were loaded by order, and those that were loaded by date alone, because
 * they were posted later or the order was never requested. An event in both tables is the same one if its content is
 * equal. Equal events within one table may be genuine: the result has as many as the table with more of them.
 */
export function eventsOfOrder(
  orderId: string,
  requested: readonly string[],
  dated: readonly FileRows[],
  page: PageStart,
): SqlQuery {
  const columns = eventColumns(`coalesce(epoch_us(effective_at), ${latest})`);
  const copy = 'row_number() OVER (PARTITION BY key ORDER BY instant, position) AS copy';
  const rows = (sources: readonly string[]) =>
    sources.length === 0 ? [] : [`SELECT *, ${copy} FROM (${sources.join(' UNION ALL ')})`];
  const tables = [
    ...rows(
      requested.length === 0 ? [] : [`SELECT ${columns} FROM ${readParquet(requested)} WHERE requested_order_id = $1`],
    ),
    ...rows(dated.map((file) => `SELECT ${columns} FROM ${fileRowsSource(file)} amazon_order_id = $1`)),
  ];
  const [first = '', second] = tables;
  const all =
    second === undefined
      ? first
      : `WITH requested AS MATERIALIZED (${first}) SELECT * FROM requested UNION ALL SELECT * FROM (${second}) AS dated ` +
        'WHERE NOT EXISTS (SELECT 1 FROM requested WHERE requested.key = dated.key AND requested.copy = dated.copy)';
  return rowsAfter(all, [orderId], page);
}

/** The rows of a statement from a cursor on, in order. */
function rowsAfter(sql: string, parameters: readonly ResultCell[], { after, count }: PageStart): SqlQuery {
  const key = `$${parameters.length + 1}`;
  const where = after === undefined ? '' : `WHERE instant > ${after.at} OR (instant = ${after.at} AND key >= ${key}) `;
  return {
    sql: `SELECT instant, key, list, "window", position, raw FROM (${sql}) ${where}ORDER BY instant, key, raw LIMIT ${count}`,
    parameters: after === undefined ? parameters : [...parameters, after.key],
  };
}

/** Reads a result row of any of these queries. */
export function storedRow(row: ResultRow): StoredRow {
  const text = (name: string) => String(row[name] ?? '');
  const whole = (name: string) => BigInt(text(name));
  return {
    at: whole('instant'),
    key: text('key'),
    list: text('list'),
    window: whole('window'),
    position: whole('position'),
    raw: text('raw'),
  };
}

/** A table in SQL with a WHERE clause to which a condition is appended. */
function fileRowsSource({ file, rows }: FileRows): string {
  return `${numberedRows(file)} WHERE ${rows === undefined ? '' : `file_row_number IN (${rows.join(', ')}) AND`}`;
}

/** A file as a table in SQL, with a column `file_row_number`, from 0. */
export function numberedRows(file: string): string {
  return readParquet([file], 'file_row_number = true');
}

function instant(micros: bigint): string {
  return `make_timestamptz(${micros}::BIGINT)`;
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
export function transactionsByDate(
  files: readonly string[],
  range: InstantBounds,
  page: PageStart,
  filters: Filters,
): SqlQuery {
  const { where, parameters } = conjunction(filtersOf(filters));
  return rowsInOrder(files, { where: inRange(range) + where, parameters }, page, "''");
}

/** Files with an order's transactions: those that were loaded by date, and those that were loaded by order. */
interface FilesByLoad {
  readonly dated: readonly string[];
  readonly requested: readonly string[];
}

/**
 * The transactions of an order that were posted within the range, and those without a date. Of a transaction that was loaded by
 * date and by order, the version that is no longer deferred is the newer one; else both are equal.
 */
export function transactionsOfOrder(
  orderId: string,
  { dated, requested }: FilesByLoad,
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
  const columns = eventColumns(`coalesce(epoch_us(effective_at), ${latest})`, "''");
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
export function summariesOf(question: SummaryQuestion, files: readonly string[], page: PageStart): SqlQuery {
  const { where, parameters } = conjunction([
    ['settlement_id = ?', question.settlementId ?? null],
    ...accountConditions(question),
  ]);
  const columns = `coalesce(epoch_us(period_start), 0) AS instant, coalesce(marketplace_id, '') AS key, '' AS list`;
  const sql = `SELECT ${columns}, 0::BIGINT AS "window", position, raw FROM ${readParquet(files)} WHERE true${where}`;
  return rowsAfter(sql, parameters, page);
}

/** Payouts that were created within the range, the newest first; one without a date is sorted at the start of its window. */
export function payoutsByDate(
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

/** The sort key of a row. */
interface RowPosition {
  /** Microseconds since 1970. */
  readonly at: bigint;
  readonly key: string;
}

/**
 * The last delivered row, identified by its instant, its content and the number of equal rows, not by its position:
 * commits between two pages neither repeat nor lose a row that stays, even where it has moved.
 */
export interface RowCursor extends RowPosition {
  /** Number of delivered rows with the same instant and key, this one included. */
  readonly copies: number;
}

export function cursorText({ at, key, copies }: RowCursor): string {
  return JSON.stringify([String(at), key, copies]);
}

/** Reads the text of `cursorText`. It isn't validated: tokens are signed, so no other text arrives. */
export function readCursor(text: string): RowCursor {
  const [at, key, copies] = JSON.parse(text) as [string, string, number];
  return { at: BigInt(at), key, copies };
}

/** The cursor after `rows`, which follow the cursor `before`. */
export function cursorAfter(rows: readonly RowPosition[], before: RowCursor | undefined): RowCursor | undefined {
  const last = rows.at(-1);
  if (last === undefined) return before;
  const first = rows.findLastIndex((row) => !isEqual(row, last)) + 1;
  const carried = first === 0 && before !== undefined && isEqual(before, last) ? before.copies : 0;
  return { at: last.at, key: last.key, copies: rows.length - first + carried };
}

/** Of rows from a cursor's instant and key on, those that are not delivered. */
export function undeliveredRows<T extends RowPosition>(
  rows: readonly T[],
  cursor: RowCursor | undefined,
): readonly T[] {
  if (cursor === undefined) return rows;
  let delivered = 0;
  while (delivered < cursor.copies) {
    const row = rows[delivered];
    if (row === undefined || !isEqual(row, cursor)) break;
    delivered++;
  }
  return rows.slice(delivered);
}

function isEqual(a: RowPosition, b: RowPosition): boolean {
  return a.at === b.at && a.key === b.key;
}
