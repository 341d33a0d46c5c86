import { eventLists } from '../../sources/finances/model/records.js';
import { entries } from '../../sources/finances/model/tables.js';
import { entriesOf } from '../reconcile/event-history.js';
import reconciliationEvents from '../query/views/reconciliation_events.sql';
import reconciliation from '../query/views/reconciliation.sql';
import { haveGaps, netSumColumns } from '../verify/checks/index-tables.js';
import { categories, type CategoryId } from '../query/categories.js';
import { timestampLiteral, literal } from '../../core/duckdb/literals.js';
import type { Database } from '../../core/duckdb/connection.js';
import type { ResultCell } from '../../core/text/rows.js';

/** Conversions of a column's cells; a decimal keeps its exact text. */
const readers = {
  text: (cell: ResultCell) => String(cell ?? ''),
  textOrNull: (cell: ResultCell) => (cell === null ? null : String(cell)),
  decimal: (cell: ResultCell) => String(cell ?? '0'),
  count: (cell: ResultCell) => Number(cell ?? 0),
};

type Kinds = Readonly<Record<string, keyof typeof readers>>;

/** A query with a small result, and the type of each column: `seenAt` is the column `seen_at`. */
interface Query<K extends Kinds> {
  readonly columns: K;
  readonly sql: string;
}

function query<const K extends Kinds>(columns: K, sql: string): Query<K> {
  return { columns, sql };
}

type RowOf<K extends Kinds> = { readonly [Name in keyof K]: ReturnType<(typeof readers)[K[Name]]> };

/** A result row of the query with this name. */
export type FigureRow<Name extends keyof Statements> =
  Statements[Name] extends Query<infer K>
    ? RowOf<K>
    : Statements[Name] extends (...ids: never[]) => Query<infer K>
      ? RowOf<K>
      : never;

/** A reader of the figures of one scope. */
export interface FigureReader {
  readonly scope: Scope;
  readonly database: Database;
  readonly signal: AbortSignal | undefined;
  readonly sql: Statements;
  readonly rows: <K extends Kinds>(query: Query<K>) => Promise<RowOf<K>[]>;
}

export function figureReader(database: Database, scope: Scope, signal: AbortSignal | undefined): FigureReader {
  return {
    ...{ scope, database, signal, sql: statementsOf(scope) },
    rows: async <K extends Kinds>({ columns, sql }: Query<K>) => {
      const rows = await database.rows(sql, { signal });
      const fields = Object.entries(columns).map(([name, kind]) => ({
        ...{ name, read: readers[kind] },
        column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      }));
      return rows.map(
        (row) =>
          Object.fromEntries(fields.map(({ name, column, read }) => [name, read(row[column] ?? null)])) as RowOf<K>,
      );
    },
  };
}

/** The account and range of a report; bounds in milliseconds since 1970, undefined where there is none. */
interface Scope {
  readonly account: string;
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** Columns of an amount that belongs to a settlement. */
const settledColumns =
  'group_id, effective_at, event_id, entry, event_list, kind, name, amazon_order_id, sku, role, amount, amount_text, currency';

/**
 * All SQL of the report. Statements run over the views of a lake for one scope after another; those that create
 * temporary tables run first. Sums of decimals stay decimals, and the order of every result is determined by its rows.
 */
function statementsOf(scope: Scope) {
  const dated = scopeCondition(scope, 'effective_at');
  const account = `account = ${literal(scope.account)}`;
  const opened = scopeCondition(scope, 'started_at');
  // A materialised CTE would keep all columns of its rows.
  const ofAccount = (table: string) => `${table} AS NOT MATERIALIZED (FROM main.${table} WHERE ${account})`;
  const netOf = (ids: readonly string[]) =>
    `FROM settled WHERE role = 'net' AND amount IS NOT NULL AND group_id IN (${literals(ids)})`;
  const feesOf = (most: number) =>
    `WITH named AS (SELECT currency, amount_name(event_list, name) AS fee, sum(times) AS times, sum(total) AS total, ` +
    'CASE WHEN min(event_list) = max(event_list) THEN min(event_list) END AS list ' +
    `FROM totals WHERE category = 'fees' AND coalesce(total <> 0 OR name NOT IN ('Sales', 'Expenses'), true) GROUP BY ALL), ` +
    'ranked AS (SELECT *, row_number() OVER (PARTITION BY currency ORDER BY abs(total) DESC, fee) AS rank FROM named) ' +
    `SELECT currency, CASE WHEN rank <= ${most} THEN fee END AS fee, CASE WHEN min(rank) <= ${most} THEN min(list) END AS list, ` +
    'count(*) AS fees, sum(times) AS times, ' +
    `sum(total) AS total, min(rank) AS first_rank FROM ranked GROUP BY currency, CASE WHEN rank <= ${most} THEN fee END ` +
    'ORDER BY currency, first_rank';
  return {
    /** The account's amounts: of v0 until the first loaded transaction, of released transactions from then on. */
    makeAmounts: `CREATE OR REPLACE TEMP VIEW amounts AS FROM ledger_amounts WHERE ${account}`,
    /** The amounts of the account's settlements: of v0; of released transactions for settlements without events of v0. */
    makeSettled:
      `CREATE OR REPLACE TEMP VIEW settled AS SELECT ${settledColumns} FROM group_entries WHERE ${account} ` +
      `UNION ALL SELECT ${settledColumns} FROM paid_amounts WHERE ${account} ` +
      `AND group_id NOT IN (SELECT group_id FROM group_events WHERE ${account} AND group_id IS NOT NULL)`,
    /** `since`: first instant of loaded transactions, null: none. `before`: whether v0 is loaded before it. */
    basis: query(
      { since: 'textOrNull', before: 'count' },
      `SELECT min(window_start) AS since, CAST((SELECT min(window_start) FROM events WHERE ${account}) < min(window_start) AS INTEGER) AS before ` +
        `FROM transactions WHERE ${account}`,
    ),
    /** Deferred transactions, which aren't paid yet. `matures`: the latest maturity date. */
    deferred: query(
      { currency: 'text', times: 'count', total: 'decimal', matures: 'textOrNull' },
      `SELECT ${currency}, count(*) AS times, coalesce(sum(total_amount), 0) AS total, max(maturity_at) AS matures ` +
        `FROM transactions WHERE status = 'DEFERRED' AND ${dated} GROUP BY ALL ORDER BY currency`,
    ),
    /** Net amounts, summed by all columns that later queries need. */
    makeTotals:
      `CREATE OR REPLACE TEMP TABLE totals AS SELECT * REPLACE (coalesce(total, ${zero}) AS total) FROM (` +
      sumsOfCharges(
        'month, currency, category, event_list, kind, name',
        `FROM (SELECT * REPLACE (coalesce(currency, '') AS currency) FROM amounts) WHERE role = 'net' AND ${dated}`,
      ) +
      ')',
    /** `times`: number of net amounts; `inexact`: number of those outside of DECIMAL(18,6), which no sum includes. */
    currencies: query(
      { currency: 'text', times: 'count', inexact: 'count', net: 'decimal' },
      'SELECT currency, sum(lines) AS times, sum(unsummed) AS inexact, sum(total) AS net FROM totals ' +
        'GROUP BY currency ORDER BY times DESC, currency',
    ),
    months: query(
      { currency: 'text', month: 'text', category: 'text', total: 'decimal', inexact: 'count' },
      'SELECT currency, month, category, sum(total) AS total, sum(unsummed) AS inexact FROM totals GROUP BY currency, month, category ORDER BY ALL',
    ),
    /** Fees by name: the largest ones, and the others as one line without a name. `list`: null for several. */
    fees: query(feeKinds, feesOf(mostFees)),
    everyFee: query(feeKinds, feesOf(Number.MAX_SAFE_INTEGER)),
    makeSkus:
      `CREATE OR REPLACE TEMP TABLE skus AS SELECT *, row_number() OVER (PARTITION BY currency ORDER BY sales DESC, sku) AS rank ` +
      `FROM (SELECT ${currency}, sku, count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS orders, ` +
      `${skuSums}, ` +
      `sum(amount) AS net FROM amounts WHERE role = 'net' AND sku IS NOT NULL AND ${dated} GROUP BY ALL)`,
    /** The SKUs with the highest sales, and the others as one line without a SKU. */
    skus: query(
      { currency: 'text', sku: 'textOrNull', skus: 'count', orders: 'count', ...skuKinds, net: 'decimal' },
      `SELECT currency, CASE WHEN rank <= ${mostSkus} THEN sku END AS sku, count(*) AS skus, sum(orders) AS orders, ` +
        `${skuColumns.map((id) => `sum(${id}) AS ${id}`).join(', ')}, sum(net) AS net, ` +
        `min(rank) AS first_rank FROM skus GROUP BY currency, CASE WHEN rank <= ${mostSkus} THEN sku END ORDER BY currency, first_rank`,
    ),
    /** All SKUs, and last the amounts without a SKU (`sku` null). */
    everySku: query(
      { currency: 'text', sku: 'textOrNull', orders: 'count', ...skuKinds, net: 'decimal' },
      `SELECT currency, sku, orders, ${skuColumns.join(', ')}, net, rank FROM skus UNION ALL ` +
        `SELECT ${currency}, NULL, NULL, ${skuSums}, sum(amount) AS net, NULL FROM amounts ` +
        `WHERE role = 'net' AND sku IS NULL AND ${dated} GROUP BY ALL ORDER BY currency, rank NULLS LAST`,
    ),
    /** Shipped and refunded orders, by month and for all months (`ofMonth` null). */
    refunds: query(
      { currency: 'text', ofMonth: 'textOrNull', shipped: 'count', refunded: 'count' },
      "SELECT coalesce(currency, '') AS currency, CASE WHEN grouping(month) = 0 THEN month END AS of_month, " +
        "count(DISTINCT amazon_order_id) FILTER (event_list = 'ShipmentEventList') AS shipped, " +
        "count(DISTINCT amazon_order_id) FILTER (event_list = 'RefundEventList') AS refunded FROM amounts " +
        `WHERE event_list IN ('ShipmentEventList', 'RefundEventList') AND role = 'net' AND ${dated} ` +
        "GROUP BY GROUPING SETS ((coalesce(currency, ''), month), (coalesce(currency, ''))) ORDER BY currency, of_month NULLS LAST",
    ),

    /** FROM clause of the settlements that opened in the range. */
    settlements: `(SELECT * FROM groups WHERE ${opened})`,
    nets: query(
      {
        groupId: 'text',
        currency: 'textOrNull',
        net: 'textOrNull',
        inexact: 'count',
        unknown: 'count',
        times: 'count',
      },
      `SELECT group_id, currency, ${netSumColumns}, count(*) AS times FROM settled ` +
        'GROUP BY group_id, currency ORDER BY ALL',
    ),
    /** Settlements that were paid by the transfer of a later one. */
    laterPayments: query(
      { groupId: 'text', paidBy: 'text', paidAt: 'textOrNull' },
      `SELECT group_id, paid_by, paid_at FROM settlement_payouts WHERE ${account} AND paid_by <> group_id ORDER BY group_id`,
    ),
    /** The account's lines of the view `reconciliation`. */
    reconciliation: query(
      { currency: 'text', line: 'text', amount: 'decimal' },
      `WITH ${['groups', 'events', 'entries', 'group_events', 'group_entries'].map(ofAccount).join(', ')}, ` +
        `reconciliation_events AS (${reconciliationEvents}) ` +
        `SELECT currency, line, amount FROM (${reconciliation}) ORDER BY currency, list_position([${literals(bankLines)}], line)`,
    ),
    brokenGroups: query({ groupId: 'text' }, `SELECT account, group_id FROM group_events WHERE ${account} ${haveGaps}`),
    /** Net entries of settlements by list, kind and name: the largest sums, and the others as one line with nulls. */
    lines: (ids: readonly string[]) =>
      query(
        {
          ...{ groupId: 'text', currency: 'text', eventList: 'textOrNull', kind: 'textOrNull', name: 'textOrNull' },
          ...{ lines: 'count', times: 'count', total: 'decimal' },
        },
        'WITH lines AS (SELECT group_id, currency, event_list, kind, name, count(*) AS times, sum(amount) AS total ' +
          `FROM settled WHERE role = 'net' AND group_id IN (${literals(ids)}) GROUP BY ALL), ` +
          'ranked AS (SELECT *, row_number() OVER (PARTITION BY group_id ORDER BY abs(total) DESC NULLS LAST, currency, ' +
          `event_list, kind, name) AS rank FROM lines), kept AS (SELECT *, rank <= ${mostLines} AS shown FROM ranked) ` +
          'SELECT group_id, currency, CASE WHEN shown THEN event_list END AS event_list, CASE WHEN shown THEN kind END AS kind, ' +
          'CASE WHEN shown THEN name END AS name, count(*) AS lines, sum(times) AS times, sum(total) AS total, ' +
          'min(rank) AS first_rank FROM kept GROUP BY group_id, currency, shown, CASE WHEN shown THEN rank END, ' +
          'CASE WHEN shown THEN event_list END, CASE WHEN shown THEN kind END, CASE WHEN shown THEN name END ' +
          'ORDER BY group_id, first_rank',
      ),
    /** Instants of the largest amounts of settlements, microseconds since 1970. */
    largestAt: (ids: readonly string[]) =>
      query(
        { micros: 'text' },
        `WITH net AS NOT MATERIALIZED (SELECT group_id, amount, effective_at ${netOf(ids)}), ` +
          `bounds AS (SELECT group_id, list_min(max(abs(amount), ${mostLargest})) AS least FROM net GROUP BY group_id), ` +
          'large AS (SELECT effective_at FROM net JOIN bounds USING (group_id) WHERE abs(amount) >= least QUALIFY ' +
          `row_number() OVER (PARTITION BY group_id ORDER BY abs(amount) DESC, effective_at) <= ${mostLargest}) ` +
          'SELECT DISTINCT epoch_us(effective_at) AS micros FROM large ORDER BY micros',
      ),
    /** The largest amounts of settlements, at known instants: ranking all of the wide rows takes ten times as long. */
    largest: (ids: readonly string[], instants: readonly string[]) =>
      query(
        {
          ...{ groupId: 'text', effectiveAt: 'text', eventList: 'text', kind: 'text', name: 'textOrNull' },
          ...{ amazonOrderId: 'textOrNull', sku: 'textOrNull', amount: 'decimal', currency: 'text' },
        },
        `SELECT group_id, effective_at, event_list, kind, name, amazon_order_id, sku, amount, currency ${netOf(ids)} ` +
          `AND effective_at IN (${instants.map((at) => `make_timestamptz(${at}::BIGINT)`).join(', ')}) ` +
          'QUALIFY row_number() OVER (PARTITION BY group_id ORDER BY abs(amount) DESC, effective_at, event_id, entry) ' +
          `<= ${mostLargest} ORDER BY group_id, abs(amount) DESC, effective_at, event_id, entry`,
      ),

    makeLate:
      'CREATE OR REPLACE TEMP TABLE late AS SELECT change, seen_at, event_id, event_list, amazon_order_id, effective_at, ' +
      `posted_at, entries FROM event_history WHERE source = 'events' AND ${dated}`,
    /** Net amounts of the events that appeared late or vanished; the entries of vanished ones are in `event_history`. */
    makeLateAmounts:
      'CREATE OR REPLACE TEMP TABLE late_amounts AS WITH loaded AS (SELECT event_id, currency, role, amount FROM entries ' +
      `WHERE ${account} AND event_id IN (SELECT event_id FROM late)), ` +
      'removed AS (SELECT event_id, entries FROM late WHERE entries IS NOT NULL AND event_id NOT IN (SELECT event_id FROM loaded) ' +
      'QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY seen_at DESC) = 1), ' +
      `stored AS (SELECT event_id, unnest(${entriesOf(entries)}, recursive := true) FROM removed) ` +
      `SELECT event_id, ${currency}, sum(amount) AS net FROM (SELECT * FROM loaded UNION ALL ` +
      'SELECT event_id, currency, role, CAST(amount AS DECIMAL(18,6)) FROM stored) ' +
      "WHERE role = 'net' GROUP BY ALL",
    /** The newest runs that found changes, with the range of the changed events. `runs`, `changes`: totals of all runs. */
    lateRuns: query(
      {
        ...{ seenAt: 'text', appeared: 'count', vanished: 'count', earliest: 'text', latest: 'text' },
        ...{ runs: 'count', changes: 'count' },
      },
      "SELECT seen_at, count(*) FILTER (change = 'appeared') AS appeared, count(*) FILTER (change = 'vanished') AS vanished, " +
        'min(effective_at) AS earliest, max(effective_at) AS latest, count(*) OVER () AS runs, ' +
        'sum(count(*)) OVER () AS changes FROM late GROUP BY seen_at ' +
        `ORDER BY seen_at DESC LIMIT ${mostLateRuns}`,
    ),
    /** `changed`: net amount of the appeared events less that of the vanished ones. */
    lateMonths: query(
      {
        ...{ currency: 'text', month: 'text', appeared: 'count', vanished: 'count' },
        ...{ changed: 'decimal', lastSeen: 'text' },
      },
      "SELECT currency, strftime(effective_at, '%Y-%m') AS month, count(*) FILTER (change = 'appeared') AS appeared, " +
        "count(*) FILTER (change = 'vanished') AS vanished, " +
        "sum(CASE WHEN change = 'appeared' THEN net ELSE -net END) AS changed, max(seen_at) AS last_seen " +
        'FROM late JOIN late_amounts USING (event_id) GROUP BY ALL ORDER BY currency, month DESC',
    ),
    lateEvents: query(
      {
        ...{ change: 'text', seenAt: 'text', effectiveAt: 'text', eventList: 'text' },
        ...{ amazonOrderId: 'textOrNull', currency: 'textOrNull', net: 'textOrNull' },
      },
      'SELECT change, seen_at, effective_at, event_list, amazon_order_id, currency, net FROM late ' +
        `LEFT JOIN late_amounts USING (event_id) ORDER BY seen_at DESC, effective_at DESC, event_id, currency LIMIT ${mostLateEvents}`,
    ),

    unknownLists: query(
      { eventList: 'text', events: 'count', groupEvents: 'count' },
      'SELECT event_list, count(*) FILTER (by_date) AS events, count(*) FILTER (NOT by_date) AS group_events FROM (' +
        `SELECT event_list, true AS by_date FROM events WHERE ${dated} UNION ALL ` +
        `SELECT event_list, false FROM group_events WHERE ${dated}) ` +
        `WHERE event_list NOT IN (${literals(Object.keys(eventLists))}) GROUP BY ALL ORDER BY events DESC, event_list`,
    ),
    unknownAmounts: query(
      { currency: 'text', eventList: 'text', path: 'text', times: 'count', total: 'decimal' },
      `SELECT ${currency}, event_list, path, count(*) AS times, sum(amount) AS total FROM amounts ` +
        `WHERE role = 'unknown' AND ${dated} GROUP BY ALL ORDER BY times DESC, currency, event_list, path`,
    ),
    unknownKinds: query(
      { currency: 'text', eventList: 'text', path: 'text', name: 'text', times: 'count', total: 'decimal' },
      `SELECT ${currency}, event_list, path, coalesce(name, '') AS name, count(*) AS times, sum(amount) AS total FROM amounts ` +
        `WHERE role = 'net' AND category = 'unknown' AND ${dated} GROUP BY ALL ORDER BY times DESC, currency, event_list, path, name`,
    ),
    /** `example`: one of the amounts as received; null where it is no number. */
    inexactAmounts: query(
      { currency: 'text', eventList: 'text', path: 'text', role: 'text', times: 'count', example: 'textOrNull' },
      `SELECT ${currency}, event_list, path, role, count(*) AS times, min(amount_text) AS example FROM amounts ` +
        `WHERE amount IS NULL AND ${dated} GROUP BY ALL ORDER BY times DESC, currency, event_list, path, role`,
    ),
  };
}

type Statements = ReturnType<typeof statementsOf>;

/** A sum of no amounts, in SQL. */
const zero = 'CAST(0 AS DECIMAL(38,6))';

/**
 * In SQL: the amounts of a FROM clause, summed by columns, with the number of amounts (`lines`), of charges (`times`: one that is split
 * into base, tax and promotion is one) and of the amounts that no sum has (`unsummed`).
 */
function sumsOfCharges(columns: string, from: string): string {
  const parts =
    `SELECT ${columns}, charge, count(*) AS lines_, sum(amount) AS total_, count(*) FILTER (amount IS NULL) AS unsummed_ ` +
    `${from} GROUP BY ${columns}, charge, CASE WHEN charge IS NOT NULL THEN part END`;
  const charges =
    `SELECT ${columns}, sum(lines_) AS lines_, CASE WHEN charge IS NULL THEN sum(lines_) ELSE max(lines_) END AS times_, ` +
    `sum(total_) AS total_, sum(unsummed_) AS unsummed_ FROM (${parts}) GROUP BY ${columns}, charge`;
  const count = (name: string) => `CAST(sum(${name}_) AS BIGINT) AS ${name}`;
  return (
    `SELECT ${columns}, ${count('lines')}, ${count('times')}, sum(total_) AS total, ${count('unsummed')} ` +
    `FROM (${charges}) GROUP BY ${columns}`
  );
}

/** The lines of `reconciliation`, in order. */
export const bankLines = [
  'by date',
  'in no loaded settlement',
  'in a settlement, not by date',
  'in open settlements',
  'beginning balances',
  'settlements without events',
  'closed, not paid out',
  'total',
] as const;

export type BankLine = (typeof bankLines)[number];

/** Largest numbers of listed rows; further rows are summed in one line or left out. */
const mostFees = 12;
const mostSkus = 20;
const mostLines = 40;
const mostLargest = 8;
const mostLateRuns = 20;
const mostLateEvents = 20;

const feeKinds = {
  ...({ currency: 'text', fee: 'textOrNull', list: 'textOrNull' } as const),
  ...({ fees: 'count', times: 'count', total: 'decimal' } as const),
};

/** The categories of a SKU's amounts: all of them, so that they add up to its net. */
export const skuColumns = categories.map(({ id }) => id);
const skuKinds = Object.fromEntries(skuColumns.map((id) => [id, 'decimal'])) as Record<CategoryId, 'decimal'>;

const currency = "coalesce(currency, '') AS currency";

const skuSums = skuColumns
  .map((id) => `coalesce(sum(amount) FILTER (category = ${literal(id)}), ${zero}) AS ${id}`)
  .join(', ');

function scopeCondition({ account, from, to }: Scope, column: string): string {
  const after = from === undefined ? '' : ` AND ${column} >= ${timestampLiteral(from)}`;
  const before = to === undefined ? '' : ` AND ${column} < ${timestampLiteral(to)}`;
  return `account = ${literal(account)}${after}${before}`;
}

function literals(texts: readonly string[]): string {
  return texts.map(literal).join(', ');
}
