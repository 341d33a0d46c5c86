import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../sync/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');
const sums = 'account, month, currency';

test.each(['v0', 'both'] as const)('months, fees and payouts are the net amounts of the lake, of %s', async (api) => {
  const seller = createSeller({ seed: 5, events: 2000, profile: 'plausible' }, clock);
  const endpoint = await serving({ ledger: seller, clock });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2025-12-01', api }, { clock });
  const lakes = await database(lake, clock);
  const number = async (sql: string) => Number((await lakes.rows(sql))[0]?.['n']);

  expect(await number('SELECT count(*) AS n FROM pnl_by_month')).toBeGreaterThan(10);
  expect(
    await number(
      `WITH net AS (SELECT ${sums}, sum(amount) AS net FROM ledger GROUP BY ALL) SELECT count(*) AS n ` +
        `FROM pnl_by_month FULL JOIN net USING (${sums}) ` +
        'WHERE net IS DISTINCT FROM earned + loans_and_transfers + unknown ' +
        'OR earned <> sales + promotions + fees + taxes + refunds + reimbursements',
    ),
  ).toBe(0);
  // A seller earns from 55 to 75 of each 100 of sales, and what is moved is apart.
  const shares = 'SELECT sum(earned) / sum(sales) AS share FROM pnl_by_month GROUP BY currency';
  expect(await number(`SELECT count(*) AS n FROM (${shares}) WHERE share NOT BETWEEN 0.4 AND 0.8`)).toBe(0);
  expect(
    await number(
      `WITH fees AS (SELECT ${sums}, sum(total) AS fees FROM fees_by_type GROUP BY ALL) SELECT count(*) AS n ` +
        `FROM pnl_by_month AS pnl LEFT JOIN fees USING (${sums}) WHERE pnl.fees <> coalesce(fees.fees, 0)`,
    ),
  ).toBe(0);
  // Fees have the same names in both services.
  expect(await number("SELECT count(*) AS n FROM fees_by_type WHERE fee = 'Commission'")).toBeGreaterThan(10);
  const unnamed = "fee IS NULL OR lower(fee) IN ('charge', 'refund', 'base')";
  expect(await number(`SELECT count(*) AS n FROM fees_by_type WHERE ${unnamed}`)).toBe(0);

  const settlements =
    'SELECT group_id, any_value(original_total) AS total, sum(amount) FILTER (currency = original_currency) AS lines ' +
    "FROM payout_lines WHERE processing_status = 'Closed' GROUP BY group_id";
  expect(await number(`SELECT count(*) AS n FROM (${settlements})`)).toBeGreaterThan(10);
  expect(await number(`SELECT count(*) AS n FROM (${settlements}) WHERE total IS DISTINCT FROM lines`)).toBe(0);
});
