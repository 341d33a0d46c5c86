import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { lakeTables, openLakeReader } from '../../../src/app/query/lake-files.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { Kept } from '../../core/text/streams.js';
import type { Api } from '../../../src/sources/finances/api-names.js';
import { status } from '../../../src/app/status/status.js';
import { setClock, synced } from '../load/synced.js';
import { verified } from '../verify/verified.js';

const clock = setClock('2026-03-10T02:00:00Z');

async function loaded(): Promise<{ lake: string; endpoint: string; database: Database }> {
  const seller = createSeller({ seed: 5, events: 3000, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2025-12-01', api: 'both' }, { clock });
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  await createViews(database, lakeTables, await (await openLakeReader(lake, clock)).lakeFiles());
  return { lake, endpoint, database };
}

test('both APIs come into one lake with the same money, and nothing is asked for twice', async () => {
  const { lake, endpoint, database } = await loaded();
  const one = async (sql: string) => (await database.rows(sql))[0];

  const orders = await one(
    'WITH v0 AS (SELECT amazon_order_id, currency, sum(amount) AS net FROM entries ' +
      "WHERE role = 'net' AND amazon_order_id IS NOT NULL GROUP BY ALL), " +
      'paid AS (SELECT amazon_order_id, currency, sum(total_amount) AS net FROM transactions ' +
      "WHERE status = 'RELEASED' AND transaction_type <> 'Transfer' AND amazon_order_id IS NOT NULL GROUP BY ALL) " +
      'SELECT count(*) AS orders, count(*) FILTER (v0.net IS DISTINCT FROM paid.net) AS differ ' +
      'FROM v0 FULL JOIN paid USING (amazon_order_id, currency)',
  );
  expect(Number(orders?.['orders'])).toBeGreaterThan(1500);
  expect(Number(orders?.['differ'])).toBe(0);

  const sums = await one(
    'SELECT count(*) AS transactions, count(*) FILTER (net IS DISTINCT FROM total_amount) AS odd FROM (' +
      "SELECT event_id, any_value(total_amount) AS total_amount, sum(amount) FILTER (role = 'net') AS net " +
      "FROM transactions JOIN transaction_entries USING (event_id) WHERE transactions.transaction_type <> 'Transfer' GROUP BY event_id)",
  );
  expect(Number(sums?.['transactions'])).toBeGreaterThan(3000);
  expect(Number(sums?.['odd'])).toBe(0);

  const settlements = await one(
    'WITH paid AS (SELECT group_id, sum(total_amount) AS net FROM transactions ' +
      "WHERE status = 'RELEASED' AND transaction_type <> 'Transfer' AND group_id IS NOT NULL GROUP BY ALL) " +
      'SELECT count(*) AS settlements, count(*) FILTER (coalesce(net, 0) <> original_total - coalesce(beginning_balance, 0)) AS differ ' +
      "FROM groups LEFT JOIN paid USING (group_id) WHERE processing_status = 'Closed' AND original_total IS NOT NULL",
  );
  expect(Number(settlements?.['settlements'])).toBeGreaterThan(10);
  expect(Number(settlements?.['differ'])).toBe(0);

  const again = await ran({ lake, endpoint, account: 'shop', from: '2025-12-01', api: 'both' }, { clock });
  expect(Object.values(again.summary.pipelines).map(({ requests }) => requests)).toEqual([0, 0, 0, 0]);
});

test('payouts and summaries agree with the settlements', async () => {
  const { lake, endpoint, database } = await loaded();
  const range = { lake, endpoint, account: 'shop', from: '2025-12-01' };
  const { summary } = await ran({ ...range, pipelines: ['payouts', 'settlement-summaries'] }, { clock });
  expect(summary.pipelines['transactions']?.['requests']).toBe(0);
  await createViews(database, lakeTables, await (await openLakeReader(lake, clock)).lakeFiles());

  const [summaries] = await database.rows(
    'SELECT count(*) AS settlements, count(*) FILTER (net_proceeds <> original_total - coalesce(beginning_balance, 0)) AS differ ' +
      'FROM settlement_summaries JOIN (SELECT DISTINCT settlement_id, group_id FROM transactions WHERE group_id IS NOT NULL) ' +
      "USING (settlement_id) JOIN groups USING (group_id) WHERE processing_status = 'Closed'",
  );
  expect(Number(summaries?.['settlements'])).toBeGreaterThan(10);
  expect(Number(summaries?.['differ'])).toBe(0);

  const [payouts] = await database.rows(
    'SELECT count(*) AS payouts, count(*) FILTER (amount IS DISTINCT FROM abs(total_amount)) AS differ FROM payouts JOIN ' +
      "(SELECT settlement_id, total_amount FROM transactions WHERE transaction_type = 'Transfer') USING (settlement_id) " +
      "WHERE status = 'PAID'",
  );
  expect(Number(payouts?.['payouts'])).toBeGreaterThan(10);
  expect(Number(payouts?.['differ'])).toBe(0);

  const { verdict, checks } = await verified({ root: lake, clock });
  expect(verdict).toBe('whole');
  const checked = new Map(checks.map((of) => [of.check, of.checked]));
  expect(checked.get('paid-totals')).toBeGreaterThan(10);
  expect(checked.get('net-proceeds')).toBeGreaterThan(10);
  expect(checked.get('both-apis')).toBe(1);
});

test('orders are read one by one', async () => {
  const { lake, endpoint, database } = await loaded();
  const named = await database.rows(
    'SELECT DISTINCT amazon_order_id AS id FROM transactions WHERE amazon_order_id IS NOT NULL ORDER BY id LIMIT 7',
  );
  const orders = [...named.map(({ id }) => String(id)), '999-0000000-0000000'];
  await ran({ lake, endpoint, account: 'shop', pipelines: ['order-transactions'], orders }, { clock });
  await createViews(database, lakeTables, await (await openLakeReader(lake, clock)).lakeFiles());
  const [row] = await database.rows(
    'SELECT (SELECT count(*) FROM order_transactions) AS rows, ' +
      '(SELECT count(*) FROM (SELECT raw FROM transactions WHERE amazon_order_id IN ' +
      '(SELECT requested_order_id FROM order_transactions) EXCEPT ALL SELECT raw FROM order_transactions)) AS missing, ' +
      "(SELECT count(*) FROM order_transactions WHERE event_id NOT LIKE requested_order_id || ':%') AS unnamed",
  );
  expect(Number(row?.['rows'])).toBeGreaterThan(7);
  expect([Number(row?.['missing']), Number(row?.['unnamed'])]).toEqual([0, 0]);
});

test('a sync that leaves out what the lake holds of the other API says how to load it, unless its API was said', async () => {
  const clock = setClock('2026-03-10T02:00:00Z');
  const backend = createSeller({ seed: 5, events: 300, profile: 'plausible' }, clock);
  const given = { endpoint: await serving({ backend, clock }), account: 'shop', lookBack: 0 };
  const loadedBy = async (api: 'both' | '2024-06-19') => {
    const lake = await temporaryFolder();
    await ran({ ...given, lake, from: '2026-03-08', api }, { clock });
    return lake;
  };
  const warning = /^the lake also has (.*) of shop, which this sync does not load; --api (\S+) loads/m;
  const warned = async (options: Parameters<typeof synced>[0]) =>
    warning.exec((await synced({ ...given, ...options }, { clock })).logged)?.slice(1);
  const lake = await loadedBy('both');
  expect(await warned({ lake })).toEqual(['transactions', 'both']);
  expect(await warned({ lake, api: 'v0' })).toBeUndefined();
  expect(await warned({ lake, api: 'both' })).toBeUndefined();
  expect(await warned({ lake, pipelines: ['financial-events'] })).toBeUndefined();
  expect(await warned({ lake: await loadedBy('2024-06-19') })).toEqual(['transactions', '2024-06-19']);

  // Four nights later the lake is as old as the API that was left out, unless one was said.
  clock.set('2026-03-14T02:00:00Z');
  const nightly = { ...given, lake, maxLag: '2d' };
  const late = await synced(nightly, { clock });
  expect(late.failure).toMatchObject({ code: 'LAKE_LAG' });
  expect(String(late.failure)).toContain(
    'at most 2 d old, with transactions, which this sync did not load, it is 4 d old: it is complete up to 2026-03-10T01:55:00Z',
  );
  expect(String(late.failure)).toMatch(/; add --api both, or allow more with --max-lag$/);
  const { signal } = new AbortController();
  const statusAs = async (api?: Api) => {
    const question = { lake, account: undefined, from: undefined, to: undefined, color: false, maxLag: '2d', api };
    await status({ ...question, format: 'json' }, { clock, signal, output: new Kept(), emit: () => undefined });
  };
  await expect(statusAs()).rejects.toMatchObject({ code: 'LAKE_LAG' });
  expect(late.summary.lag_seconds).toBe(4 * 86_400 + 300);
  expect((await synced({ ...nightly, api: 'v0' }, { clock })).failure).toBeUndefined();
  await statusAs('v0');
  expect((await synced({ ...nightly, api: 'both' }, { clock })).summary.lag_seconds).toBe(300);
  await statusAs();
});
