import { expect, test, beforeEach } from 'vitest';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { viewStatements } from '../../../src/app/query/views.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { viewTables, type ViewTables } from './view-tables.js';

let database: Database;
let insert: ViewTables['insert'];
beforeEach(async () => {
  ({ database, insert } = await viewTables());
});

const march = (day: number): string => `2026-03-${String(day).padStart(2, '0')}T00:00:00Z`;
const window = { window_start: march(1), window_end: march(31) };

/** One order's net amount in v0. */
async function v0Sale(order: string, day: number, amount: string): Promise<void> {
  const at = { effective_at: march(day), amazon_order_id: order };
  await insert('events', [{ event_id: `v-${order}`, ...at, ...window }]);
  await insert('entries', [{ event_id: `v-${order}`, ...at, role: 'net', kind: 'charge', amount, currency: 'USD' }]);
}

interface Sale {
  readonly status: string;
  readonly defers?: string;
  readonly group?: string;
}

/** One transaction of an order, with its total as memo beside the net amount. */
async function transaction(id: string, order: string, day: number, amount: string, of: Sale): Promise<void> {
  const shared = {
    event_id: id,
    transaction_id: id,
    effective_at: march(day),
    amazon_order_id: order,
    status: of.status,
    ...(of.defers !== undefined && { deferred_transaction_id: of.defers }),
    ...(of.group !== undefined && { group_id: of.group }),
  };
  await insert('transactions', [{ ...shared, total_amount: amount, currency: 'USD', ...window }]);
  await insert('transaction_entries', [
    { ...shared, entry: 0, role: 'memo', kind: 'unknown', amount, currency: 'USD' },
    { ...shared, entry: 1, role: 'net', kind: 'charge', sku: 'S', amount, currency: 'USD' },
  ]);
}

async function deferredSale(): Promise<void> {
  await transaction('sale', 'o-1', 2, '10.00', { status: 'DEFERRED_RELEASED' });
  await transaction('release', 'o-1', 9, '10.00', { status: 'RELEASED', defers: 'sale' });
  await transaction('open', 'o-2', 10, '5.00', { status: 'DEFERRED' });
  await transaction('fee', 'o-3', 11, '-1.00', { status: 'RELEASED' });
  await transaction('odd', 'o-4', 12, '0.25', { status: 'RELEASED' });
  await database.execute("UPDATE transactions SET status = NULL WHERE event_id = 'odd'");
  await database.execute("UPDATE transaction_entries SET status = NULL WHERE event_id = 'odd'");
}

test('a deferred sale counts once on each basis', async () => {
  await deferredSale();
  const ids = async (view: string) =>
    (await database.rows(`SELECT event_id FROM ${view} ORDER BY effective_at`)).map(({ event_id: id }) => id);
  expect(await ids('transactions_earned')).toEqual(['sale', 'open', 'fee', 'odd']);
  expect(await ids('transactions_paid')).toEqual(['release', 'fee']);
  const sum = async (view: string) =>
    (await database.rows(`SELECT sum(amount)::VARCHAR AS net FROM ${view} WHERE role = 'net'`))[0]?.['net'];
  expect(await sum('transaction_entries_earned')).toBe('14.250000');
  expect(await sum('transaction_entries_paid')).toBe('9.000000');
});

test('the ledger has v0 before the first loaded transactions, and the paid basis from then on', async () => {
  await deferredSale();
  await database.execute(`UPDATE transactions SET window_start = TIMESTAMPTZ '${march(9)}'`);
  await v0Sale('o-0', 8, '3.00');
  await v0Sale('o-1', 9, '10.00');
  await insert('entries', [{ account: 'other', event_id: 'x', effective_at: march(20), role: 'net', amount: '7' }]);
  await insert('entries', [{ event_id: 'memo', effective_at: march(1), role: 'memo', amount: '9' }]);
  const rows = await database.rows(
    'SELECT account, source, amazon_order_id, sku, kind, amount::VARCHAR AS amount FROM ledger ORDER BY effective_at',
  );
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['shop', 'v0', 'o-0', null, 'charge', '3.000000'],
    ['shop', '2024-06-19', 'o-1', 'S', 'charge', '10.000000'],
    ['shop', '2024-06-19', 'o-3', 'S', 'charge', '-1.000000'],
    ['other', 'v0', null, null, null, '7.000000'],
  ]);
  const described = (await database.rows('DESCRIBE ledger')).map(({ column_name: name }) => name);
  expect(described).toEqual(
    expect.arrayContaining([
      'source',
      'effective_at',
      'amazon_order_id',
      'sku',
      'kind',
      'name',
      'amount',
      'currency',
      'group_id',
    ]),
  );
});

test('an event without a date counts before transactions begin, whatever its currency, unless one of them has its amount', async () => {
  await deferredSale();
  for (const [order, amount] of [
    ['o-5', '4.00'],
    ['o-6', '6.00'],
  ] as const) {
    await v0Sale(order, 20, amount);
    await database.execute(`UPDATE entries SET currency = NULL WHERE event_id = 'v-${order}'`);
  }
  await transaction('later', 'o-6', 21, '6.00', { status: 'RELEASED' });
  await database.execute("UPDATE transaction_entries SET currency = NULL WHERE event_id = 'later'");
  await database.execute(`UPDATE transactions SET window_start = TIMESTAMPTZ '${march(9)}'`);
  const rows = await database.rows(
    "SELECT source, amazon_order_id, amount::VARCHAR AS amount FROM ledger WHERE amazon_order_id IN ('o-5', 'o-6') ORDER BY ALL",
  );
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['2024-06-19', 'o-6', '6.000000'],
    ['v0', 'o-5', '4.000000'],
  ]);
});

test('differences between both APIs have their likely reason', async () => {
  const differences = async () =>
    (
      await database.rows(
        'SELECT subject, id, v0::VARCHAR, transactions::VARCHAR, difference::VARCHAR, reason FROM api_differences ORDER BY ALL',
      )
    ).map((row) => Object.values(row));
  await v0Sale('same', 5, '10.00');
  expect(await differences()).toEqual([]);
  await transaction('t-same', 'same', 6, '10.00', { status: 'RELEASED' });
  await v0Sale('waits', 5, '4.00');
  await transaction('t-waits', 'waits', 5, '4.00', { status: 'DEFERRED' });
  await v0Sale('lacks', 5, '2.00');
  await transaction('t-more', 'more', 5, '8.00', { status: 'RELEASED' });
  await v0Sale('newest', 30, '1.00');
  await v0Sale('cents', 5, '1.00');
  await transaction('t-cents', 'cents', 5, '1.01', { status: 'RELEASED' });
  // Loaded on both sides, but outside of the days that both have.
  await v0Sale('edge', 5, '6.00');
  await transaction('t-edge', 'edge', 5, '6.00', { status: 'RELEASED' });
  await database.execute(`UPDATE entries SET effective_at = TIMESTAMPTZ '2026-02-27' WHERE amazon_order_id = 'edge'`);
  const closed = { processing_status: 'Closed', original_currency: 'USD', started_at: march(2), ended_at: march(16) };
  await insert('groups', [
    { group_id: 'G-1', original_total: '30.00', beginning_balance: '2.00', ...closed },
    { group_id: 'G-2', original_total: '9.00', ...closed },
    { group_id: 'G-3', original_total: '5.00', ...closed, started_at: march(17), ended_at: march(24) },
    { group_id: 'open', original_total: '5.00', ...closed, processing_status: 'Open' },
    { group_id: 'before', original_total: '5.00', ...closed, started_at: '2026-02-20' },
  ]);
  await transaction('g-1', 'more-1', 6, '28.00', { status: 'RELEASED', group: 'G-1' });
  await v0Sale('more-1', 6, '28.00');
  await transaction('g-3', 'more-3', 20, '4.00', { status: 'RELEASED', group: 'G-3' });
  await v0Sale('more-3', 20, '4.00');
  expect(await differences()).toEqual([
    ['order', 'cents', '1.000000', '1.010000', '0.010000', 'other'],
    ['order', 'edge', '0.000000', '6.000000', '6.000000', 'late'],
    ['order', 'lacks', '2.000000', '0.000000', '-2.000000', 'not there at all'],
    ['order', 'more', '0.000000', '8.000000', '8.000000', 'not there at all'],
    ['order', 'newest', '1.000000', '0.000000', '-1.000000', 'late'],
    ['order', 'waits', '4.000000', '0.000000', '-4.000000', 'deferred'],
    ['settlement', 'G-2', '9.000000', '0.000000', '-9.000000', 'not there at all'],
    ['settlement', 'G-3', '5.000000', '4.000000', '-1.000000', 'other'],
  ]);
});

/** An amount of v0 by date and in a settlement, which may have it on another day. */
async function v0Amount(id: string, group: string, day: number, amount: string, dayInGroup = day): Promise<void> {
  const shared = { role: 'net', kind: 'fee', amount, currency: 'USD' };
  await insert('events', [{ event_id: id, content_hash: id, effective_at: march(day), ...window }]);
  await insert('entries', [{ event_id: id, effective_at: march(day), ...shared }]);
  const inGroup = { event_id: `${group}:${id}`, group_id: group, effective_at: march(dayInGroup) };
  await insert('group_events', [{ ...inGroup, content_hash: id }]);
  await insert('group_entries', [{ ...inGroup, ...shared }]);
}

/** A closed settlement with its days, its balances and its transfer. */
async function closedGroup(
  id: string,
  days: readonly [start: number, end: number],
  balances: readonly [string, string],
  paid?: number,
) {
  const transfer = paid === undefined ? { fund_transfer_status: 'Failed' } : { fund_transfer_at: march(paid) };
  await insert('groups', [
    {
      group_id: id,
      processing_status: 'Closed',
      started_at: march(days[0]),
      ended_at: march(days[1]),
      beginning_balance: balances[0],
      beginning_currency: 'USD',
      original_total: balances[1],
      original_currency: 'USD',
      fund_transfer_status: 'Succeeded',
      ...transfer,
    },
  ]);
}

/** What is open before a day, and the sums of the other lines until then. */
async function cleared(day: number): Promise<Record<string, number>> {
  const before = `effective_at < TIMESTAMPTZ '${march(day)}'`;
  const rows = await database.rows(
    `SELECT line, sum(amount) AS amount FROM clearing WHERE ${before} GROUP BY ALL ` +
      `UNION ALL SELECT 'open', coalesce(sum(amount), 0) FROM clearing WHERE ${before}`,
  );
  const sums: Record<string, number> = {};
  for (const { line, amount } of rows) if (Number(amount) !== 0) sums[String(line)] = Number(amount);
  return sums;
}

test('what is open follows each settlement to the day of its deposit, and nothing is left over', async () => {
  await v0Amount('sale', 'G-1', 2, '10');
  // Without a date: by date it is on another day than in its settlement.
  await v0Amount('fee', 'G-1', 3, '-2', 5);
  await closedGroup('G-1', [1, 6], ['0', '8'], 9);
  await v0Amount('refund', 'G-2', 8, '-3');
  await closedGroup('G-2', [6, 12], ['0', '-3']);
  await v0Amount('more', 'G-3', 14, '7.5');
  await closedGroup('G-3', [12, 18], ['-3', '4.5'], 20);
  // It does not add up.
  await v0Amount('odd', 'G-4', 19, '1');
  await closedGroup('G-4', [18, 24], ['0', '1.01'], 25);
  await v0Amount('late', 'G-5', 25, '4');
  await insert('groups', [{ group_id: 'G-5', processing_status: 'Open', started_at: march(24) }]);

  expect(await cleared(4)).toEqual({ 'by date': 8, 'on other days': 2, open: 10 });
  // Closed, and its payout is on its way.
  expect(await cleared(7)).toEqual({ 'by date': 8, open: 8 });
  expect(await cleared(10)).toEqual({ 'by date': 5, 'paid out': -8, open: -3 });
  // What was carried over is open once.
  expect(await cleared(13)).toEqual({ 'by date': 5, 'paid out': -8, open: -3 });
  expect(await cleared(21)).toEqual({ 'by date': 13.5, 'paid out': -12.5, open: 1 });
  expect(await cleared(26)).toEqual({ 'by date': 17.5, 'paid out': -13.51, 'not explained': 0.01, open: 4 });

  const rows = await database.rows(
    "SELECT month, line, amount FROM reconciliation_by_month WHERE line <> 'in no loaded settlement'",
  );
  expect(rows.map((row) => [row['month'], row['line'], Number(row['amount'])])).toEqual([
    ['2026-03', 'open at the beginning', 0],
    ['2026-03', 'by date', 17.5],
    ['2026-03', 'in a settlement, not by date', 0],
    ['2026-03', 'on other days', 0],
    ['2026-03', 'beginning balances', 0],
    ['2026-03', 'settlements without events', 0],
    ['2026-03', 'not explained', 0.01],
    ['2026-03', 'paid out', -13.51],
    ['2026-03', 'open at the end', 4],
  ]);
});

test('the views are there over a lake without transactions, and leave tables of their names alone', async () => {
  const empty = await openDatabase();
  await createViews(empty, lakeTables, new Map());
  for (const statement of viewStatements(lakeTables).values()) await empty.execute(statement);
  expect(await empty.rows('SELECT count(*)::INTEGER AS n FROM ledger')).toEqual([{ n: 0 }]);
  expect(await empty.rows('SELECT count(*)::INTEGER AS n FROM api_differences')).toEqual([{ n: 0 }]);
  empty.close();
  expect([...viewStatements([...lakeTables, { name: 'ledger' }]).keys()]).not.toContain('ledger');
});

test('settlement_ids has the number that transactions name, or that of the only report with the values of a group', async () => {
  const paid = { started_at: march(1), ended_at: march(15), original_currency: 'USD', original_total: '10.00' };
  const closed = { processing_status: 'Closed', ...window };
  const groups = [
    { group_id: 'named', ...paid },
    { group_id: 'twice', ...paid, original_total: '11.00' },
    { group_id: 'matched', ...paid, started_at: '2026-03-01T00:00:00.250Z' },
    { group_id: 'empty', ...paid, original_total: '0' },
    { group_id: 'empty too', ...paid, original_total: '0' },
    { group_id: 'euro', ...paid, original_currency: 'EUR', original_total: '12.00' },
  ];
  await insert(
    'groups',
    groups.map((group) => ({ ...closed, ...group })),
  );
  const named = { effective_at: march(2), ...window };
  await insert('transactions', [
    { event_id: 't1', group_id: 'named', settlement_id: '1', ...named },
    { event_id: 't2', group_id: 'named', settlement_id: '1', ...named },
    { event_id: 't3', group_id: 'twice', settlement_id: '2', ...named },
    { event_id: 't4', group_id: 'twice', settlement_id: '3', ...named },
  ]);
  const report = { started_at: march(1), ended_at: march(15), currency: 'USD', lines: 1 };
  await insert('settlement_reports', [
    { settlement_id: '1', total_amount: '10.00', ...report },
    { settlement_id: '4', total_amount: '10.00', ...report },
    { settlement_id: '5', total_amount: '0', ...report },
    { settlement_id: '6', total_amount: '12.00', ...report },
  ]);
  expect(await database.rows('FROM settlement_ids ORDER BY ALL')).toEqual([
    { account: 'shop', group_id: 'matched', settlement_id: '4' },
    { account: 'shop', group_id: 'named', settlement_id: '1' },
  ]);
});

/** The lines of journals on a basis: day, settlement, account of the ledger, and its amount, positive is debit. */
async function posted(basis: 'paid' | 'earned'): Promise<unknown[][]> {
  const rows = await database.rows(
    'SELECT CAST(date AS VARCHAR) AS date, settlement_id, ledger_account, CAST(debit - credit AS DOUBLE) AS amount ' +
      `FROM journal_lines WHERE basis = '${basis}' ORDER BY date, journal, ledger_code`,
  );
  return rows.map(({ date, settlement_id, ledger_account, amount }) => [date, settlement_id, ledger_account, amount]);
}

test('journals post a settlement in two months and its payout, and what the chart does not name to suspense', async () => {
  const days = { window_start: march(1), window_end: '2026-05-01T00:00:00Z' };
  const posts = [
    ['sale', 'ShipmentEventList', 'charge', 'Principal', '100', march(21)],
    ['sale', 'ShipmentEventList', 'fee', 'Commission', '-15', march(21)],
    ['refund', 'RefundEventList', 'charge', 'Principal', '-40', '2026-04-02T00:00:00Z'],
    ['refund', 'RefundEventList', 'fee', 'Commission', '6', '2026-04-02T00:00:00Z'],
    ['odd', 'AdjustmentEventList', 'adjustment', 'NobodyKnowsIt', '-1', '2026-04-02T00:00:00Z'],
  ] as const;
  for (const [id, list, kind, name, amount, at] of posts) {
    const month = at.slice(0, 7);
    const entry = { month, event_list: list, effective_at: at, role: 'net', kind, name, amount, currency: 'USD' };
    await insert('entries', [{ event_id: id, ...entry }]);
    await insert('group_entries', [{ event_id: `G-1:${id}`, group_id: 'G-1', ...entry }]);
  }
  for (const [id, at] of new Map(posts.map(([id, , , , , at]) => [id, at]))) {
    const event = { month: at.slice(0, 7), content_hash: id, effective_at: at, ...days };
    await insert('events', [{ event_id: id, ...event }]);
    await insert('group_events', [{ event_id: `G-1:${id}`, group_id: 'G-1', ...event }]);
  }
  await insert('groups', [
    {
      group_id: 'G-1',
      processing_status: 'Closed',
      started_at: march(20),
      ended_at: '2026-04-03T12:00:00Z',
      original_total: '50',
      original_currency: 'USD',
      fund_transfer_status: 'Succeeded',
      fund_transfer_at: '2026-04-05T00:00:00Z',
    },
  ]);
  const expected = [
    ['2026-03-31', 'G-1', 'Amazon clearing', 85],
    ['2026-03-31', 'G-1', 'Sales', -100],
    ['2026-03-31', 'G-1', 'Referral fees', 15],
    ['2026-04-03', 'G-1', 'Amazon clearing', -35],
    ['2026-04-03', 'G-1', 'Suspense', 1],
    ['2026-04-03', 'G-1', 'Refunds', 40],
    ['2026-04-03', 'G-1', 'Referral fees', -6],
    ['2026-04-05', 'G-1', 'Bank', 50],
    ['2026-04-05', 'G-1', 'Amazon clearing', -50],
  ];
  expect(await posted('paid')).toEqual(expected);
  // The same without transactions.
  expect(await posted('earned')).toEqual(expected);
  expect(await database.rows("SELECT DISTINCT name FROM journal_amounts WHERE ledger_account = 'Suspense'")).toEqual([
    { name: 'NobodyKnowsIt' },
  ]);
});

test('on the earned basis deferred sales are posted at the end of the loaded days, and those of before are reversed', async () => {
  await transaction('sale', 'waits', 10, '30', { status: 'DEFERRED' });
  await transaction('release', 'before', 5, '20', { status: 'RELEASED', defers: 'not loaded' });
  const paid = [
    ['2026-03-30', null, 'Suspense', 20],
    ['2026-03-30', null, 'Sales', -20],
  ];
  expect(await posted('paid')).toEqual(paid);
  expect(await posted('earned')).toEqual(
    expect.arrayContaining([
      ...paid,
      ['2026-03-01', null, 'Amazon deferred sales', -20],
      ['2026-03-01', null, 'Sales', 20],
      ['2026-03-30', null, 'Amazon deferred sales', 30],
      ['2026-03-30', null, 'Sales', -30],
    ]),
  );
  expect((await posted('earned')).length).toBe(6);
});
