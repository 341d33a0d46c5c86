import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';
import { reported, shown } from './reported-lake.js';

const clock = setClock('2026-03-10T02:00:00Z');

async function loaded(
  api: 'v0' | '2024-06-19' | 'both',
  from: string,
  first = from,
): Promise<{ root: string; clock: typeof clock }> {
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock),
    clock,
  });
  const root = await temporaryFolder();
  await ran({ lake: root, endpoint, account: 'shop', from, api }, { clock });
  if (first < from) await ran({ lake: root, endpoint, account: 'shop', from: first, to: from, api: 'v0' }, { clock });
  return { root, clock };
}

test('a lake of transactions is reported on the paid basis, and deferred money stands apart', async () => {
  const lake = await loaded('2024-06-19', '2026-01-01');
  const { page } = await reported(lake);
  expect(page.texts('.basis')[0]).toMatch(/paid basis.* They come from Finances 2024-06-19\.$/);
  const sql = await database(lake.root, clock);
  const moved =
    "('LoanServicing', 'DebtRecovery', 'ServiceProviderCredit', 'AdhocDisbursement', 'FailedAdhocDisbursement')";
  const paysDirectly =
    "(name LIKE 'CollectOnDelivery%' OR name LIKE 'StoredValueCard%' OR name LIKE 'PrivateLabelCreditCard%')";
  const isMoved = `transaction_type <> 'Refund' AND (transaction_type IN ${moved} OR coalesce(${paysDirectly}, false))`;
  const months = await sql.rows(
    `SELECT currency, month, sum(amount) FILTER (NOT (${isMoved}))::VARCHAR AS earned, sum(amount) FILTER (${isMoved})::VARCHAR AS moved, ` +
      "coalesce(sum(amount) FILTER (transaction_type <> 'Refund' AND (kind = 'fee' OR name = 'BaseExpense')), 0)" +
      "::DECIMAL(18,6)::VARCHAR AS fees FROM transaction_entries_paid WHERE role = 'net' GROUP BY ALL ORDER BY ALL",
  );
  expect(months.length).toBeGreaterThan(4);
  for (const { currency, month, earned, moved: other, fees } of months) {
    const row = page.table(`${page.chapter(String(currency))}-months`).find((cells) => cells['Month'] === month);
    expect(row?.['Earned']).toBe(shown(earned, String(currency)));
    expect(row?.['Fees']).toBe(shown(fees, String(currency)));
    if (other !== null) expect(row?.['Loans and transfers']).toBe(shown(other, String(currency)));
    expect(row).not.toHaveProperty('Unknown');
  }
  expect(months.filter(({ moved: other }) => other !== null).length).toBeGreaterThan(1);
  const sums = await sql.rows(
    'SELECT currency, sum(earned)::VARCHAR AS earned, sum(net_proceeds)::VARCHAR AS net, ' +
      '(SELECT sum(earned)::VARCHAR FROM pnl_by_month_earned AS other WHERE other.currency = paid.currency) AS happened, ' +
      "(SELECT coalesce(sum(original_total), 0)::VARCHAR FROM groups WHERE original_currency = currency AND fund_transfer_status = 'Succeeded') AS payouts " +
      'FROM pnl_by_month AS paid GROUP BY currency',
  );
  for (const { currency, earned, happened, net, payouts } of sums) {
    const totals = page.table(`${page.chapter(String(currency))}-months`, 1);
    expect(totals.map((row) => row['Amount'])).toEqual(
      [earned, happened, net, payouts].map((text) => shown(text, String(currency))),
    );
    expect(happened).not.toBe(earned);
  }
  const deferred = await sql.rows(
    "SELECT currency, sum(total_amount)::VARCHAR AS total, count(*)::INTEGER AS times FROM transactions WHERE status = 'DEFERRED' GROUP BY ALL ORDER BY ALL",
  );
  const lines = page.texts('.deferred li');
  expect(lines).toHaveLength(deferred.length);
  for (const [at, { currency, total, times }] of deferred.entries()) {
    const [, amount = '', of, count] =
      /^Deferred: (\S+) (\S+) of (\S+) transactions? is not paid at the end of this period, and in no other figure/.exec(
        lines[at] ?? '',
      ) ?? [];
    expect([amount, of, Number(count?.replace(',', ''))]).toEqual([shown(total, String(currency)), currency, times]);
  }
  const transferred = await sql.rows('SELECT group_id, trace_id FROM groups WHERE trace_id IS NOT NULL');
  expect(transferred.length).toBeGreaterThan(3);
  const details = page.texts('details > p').join('\n');
  for (const { group_id: id, trace_id: trace } of transferred) {
    expect(details).toMatch(new RegExp(`Settlement ${String(id)}; payout: .*; transfer ${String(trace)}`));
  }
  const verdicts = page.texts('.verdict');
  expect(verdicts.length).toBeGreaterThan(3);
  expect(verdicts.filter((text) => /not|differ/i.test(text))).toEqual([]);
});

test('a lake of v0 says that it is on the same basis', async () => {
  const { page } = await reported(await loaded('v0', '2026-02-20'));
  expect(page.texts('.basis')).toEqual([expect.stringMatching(/paid basis.* They come from Finances v0\.$/)]);
  expect(page.texts('.deferred li')).toEqual([]);
  expect(page.texts('.calendar h4')).toEqual([
    'List of settlements (Finances v0)',
    'Events by date (Finances v0): the figures by month',
    'Entries of settlements (Finances v0)',
  ]);
});

test('of both APIs the report says which figures come from which', async () => {
  const byDate = async (lake: Awaited<ReturnType<typeof loaded>>) => {
    const { page } = await reported(lake);
    return [page.texts('.basis')[0], ...page.texts('.calendar h4').filter((text) => text.includes('by date'))];
  };
  expect(await byDate(await loaded('both', '2026-03-01'))).toEqual([
    expect.stringMatching(/ They come from Finances 2024-06-19\.$/),
    'Events by date (Finances v0), in no figure by month',
    'Transactions by date (Finances 2024-06-19): the figures by month',
  ]);
  expect(await byDate(await loaded('both', '2026-03-01', '2026-02-20'))).toEqual([
    expect.stringMatching(
      /from Finances v0 until 2026-03-01 00:00 UTC, then from Finances 2024-06-19\. The APIs have 2026-03-01 to /,
    ),
    'Events by date (Finances v0): the figures by month until 2026-03-01',
    'Transactions by date (Finances 2024-06-19): the figures by month from 2026-03-01 on',
  ]);
});
