import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { createSeller, type Seller } from '../../../src/emulator/seller/seller.js';
import { eventLists } from '../../../src/sources/finances/api-v0/event-records.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { booksOf } from '../seller/seller-books.js';

/** What is loaded ends an hour before now. */
const endOf = (clock: Clock) => clock.now() - 3_600_000;

/** A lake with all that a seller did, and its books. */
async function loaded(
  seed: number,
  events: number,
  now: string,
  pipelines: readonly string[],
): Promise<Database & { seller: Seller }> {
  const clock = clockAt(now);
  const seller = createSeller({ seed, events, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  // Its history goes back to the beginning of the settlements that ran 90 days before.
  const from = new Date(clock.now() - 105 * 86_400_000).toISOString();
  const to = new Date(endOf(clock)).toISOString();
  await ran({ lake, endpoint, account: 'shop', from, to, pipelines: [...pipelines] }, { clock });
  return Object.assign(await database(lake, clock), { seller });
}

const dollars =
  "CASE currency WHEN 'USD' THEN 1 WHEN 'CAD' THEN 0.73 WHEN 'MXN' THEN 0.054 WHEN 'GBP' THEN 1.27 WHEN 'EUR' THEN 1.08 WHEN 'JPY' THEN 0.0068 END";
const shares = `
  SELECT
    sum(value) FILTER (role = 'net') / sum(value) FILTER (sale) AS net,
    -sum(value) FILTER (name = 'Principal' AND NOT sale AND amount < 0) / sum(value) FILTER (sale) AS refunds,
    -sum(value) FILTER (name = 'Commission') / sum(value) FILTER (sale) AS referral,
    -sum(value) FILTER (name = 'FBAPerUnitFulfillmentFee') / sum(value) FILTER (sale) AS fulfilment,
    sum(value) FILTER (kind = 'fee' AND name = 'refund') / -sum(value) FILTER (kind = 'fee' AND name = 'charge') AS ads,
    -sum(value) FILTER (role = 'net' AND name = 'ReimbursementClawback')
      / sum(value) FILTER (role = 'net' AND name IN ('FBAInventoryReimbursement', 'LostOrDamagedReimbursement')) AS clawback,
    coalesce(sum(abs(value)) FILTER (kind = 'loan'), 0) / sum(value) FILTER (sale) AS loans,
    sum(abs(value)) FILTER (rare) / sum(value) FILTER (sale) AS rare
  FROM (
    SELECT *, CAST(amount AS DOUBLE) * ${dollars} AS value, name = 'Principal' AND event_list = 'ShipmentEventList' AS sale,
      role = 'net' AND event_list NOT IN ('ShipmentEventList', 'RefundEventList', 'ServiceFeeEventList',
        'ProductAdsPaymentEventList', 'CouponPaymentEventList', 'AdjustmentEventList', 'LoanServicingEventList') AS rare
    FROM entries
  )`;

type Shares = Record<'net' | 'refunds' | 'referral' | 'fulfilment' | 'ads' | 'clawback' | 'loans' | 'rare', number>;

function expectPlausible(found: unknown): void {
  const { net, refunds, referral, fulfilment } = found as Shares;
  expect(net).toBeGreaterThan(0.55);
  expect(net).toBeLessThan(0.75);
  expect(refunds).toBeGreaterThan(0.05);
  expect(refunds).toBeLessThan(0.1);
  expect(referral).toBeGreaterThan(0.08);
  expect(referral).toBeLessThan(0.17);
  expect(fulfilment).toBeGreaterThan(0.08);
  expect(fulfilment).toBeLessThan(0.16);
}

describe.each([
  [1, 1000, '2025-04-02T07:00:00Z'],
  [2, 3000, '2025-09-30T23:59:00Z'],
  [77, 9000, '2026-01-15T12:00:00Z'],
])('a lake of the plausible seller of seed %i with %i events in 90 days', (seed, events, now) => {
  test('an accountant nods at', async () => {
    const lake = await loaded(seed, events, now, ['financial-event-groups', 'financial-events']);
    const [all] = await lake.rows(shares);
    expectPlausible(all);
    const { ads, clawback, loans, rare } = all as Shares;
    // Of what ads cost little comes back, and most lost stock that is made good is not found again.
    expect(ads).toBeLessThan(0.02);
    if (events > 5000) {
      expect(clawback).toBeGreaterThan(0);
      expect(clawback).toBeLessThan(0.3);
    }
    expect(loans).toBeLessThan(0.05);
    expect(rare).toBeLessThan(0.06);

    // Each currency is a business of its own, where there is enough of it.
    const dollarShares = await lake.rows(shares.replace('FROM entries', "FROM entries WHERE currency = 'USD'"));
    expectPlausible(dollarShares[0]);

    // Amounts have the currency's digits, in the bytes as well.
    const odd = await lake.rows(`
      SELECT currency, amount, amount_text FROM entries
      WHERE amount_text IS NOT NULL OR amount * 100 <> floor(amount * 100) OR (currency = 'JPY' AND amount <> floor(amount))`);
    expect(odd).toEqual([]);
    const misspelt = await lake.rows(`
      SELECT raw FROM (SELECT raw FROM events UNION ALL SELECT raw FROM groups)
      WHERE regexp_matches(raw, '"CurrencyCode":"JPY","CurrencyAmount":[-0-9]*[^-0-9}]')
        OR regexp_replace(raw, '"CurrencyCode":"(JPY","CurrencyAmount":-?[0-9]+|[A-Z]{3}","CurrencyAmount":-?[0-9]+[.][0-9][0-9])}', '', 'g')
          LIKE '%Currency%' LIMIT 3`);
    expect(misspelt).toEqual([]);
    expect(await lake.rows('SELECT DISTINCT currency FROM entries ORDER BY currency')).toEqual(
      ['CAD', 'EUR', 'GBP', 'JPY', 'MXN', 'USD'].map((currency) => ({ currency })),
    );

    // Every list, most of them seldom.
    const lists = await lake.rows('SELECT event_list, count(*) AS n FROM events GROUP BY ALL ORDER BY n DESC');
    expect(lists).toHaveLength(Object.keys(eventLists).length);
    expect(lists.slice(0, 2).map(({ event_list: list }) => list)).toEqual(['ShipmentEventList', 'RefundEventList']);

    // A few large orders.
    const [orders] = await lake.rows(`
      SELECT avg(CAST(value > 5 * typical AS INTEGER)) AS large FROM (
        SELECT *, median(value) OVER () AS typical FROM (
          SELECT sum(amount) AS value FROM entries
          WHERE name = 'Principal' AND event_list = 'ShipmentEventList' AND currency = 'USD' GROUP BY amazon_order_id))`);
    expect(orders?.['large']).toBeGreaterThan(0);
    expect(orders?.['large']).toBeLessThan(0.03);

    // Warehouses send less at weekends.
    const [week] = await lake.rows(`
      SELECT sum(n) FILTER (day >= 6) / 2 / (sum(n) FILTER (day < 6) / 5) AS weekend
      FROM (SELECT isodow(effective_at) AS day, count(*) AS n FROM events GROUP BY ALL)`);
    expect(week?.['weekend']).toBeLessThan(0.82);
    expect(week?.['weekend']).toBeGreaterThan(0.6);

    // A settlement whose transfer failed begins the next one.
    const carried = await lake.rows(`
      SELECT former.fund_transfer_status AS status, former.original_total = later.beginning_balance AS same
      FROM groups later LEFT JOIN groups former
        ON former.original_currency = later.original_currency AND former.ended_at = later.started_at
      WHERE later.beginning_balance <> 0 AND former.group_id IS NOT NULL`);
    expect(carried.length).toBeGreaterThan(0);
    expect(carried.length).toBeLessThan(3);
    for (const one of carried) expect(one).toEqual({ status: 'Failed', same: true });

    // The books, which no JSON went through, agree.
    const sums = await lake.rows(
      "SELECT currency, CAST(sum(amount) AS VARCHAR) AS net FROM entries WHERE role = 'net' GROUP BY ALL",
    );
    const booked = booksOf(lake.seller).netByMonth({ start: 0, end: endOf(clockAt(now)) });
    const currencyTotals = (rows: Iterable<readonly [string, bigint]>) => {
      const totals = new Map<string, bigint>();
      for (const [currency, net] of rows) totals.set(currency, (totals.get(currency) ?? 0n) + net);
      return totals;
    };
    const inLake = currencyTotals(
      sums.map(({ currency, net }) => [String(currency), BigInt(String(net).replace('.', ''))] as const),
    );
    expect(inLake).toEqual(currencyTotals([...booked.values()].flatMap((month) => [...month])));
  });
});

test('its settlements add up to the cent', async () => {
  const lake = await loaded(4, 600, '2025-06-15T12:00:00Z', []);
  const unsettled = await lake.rows(`
    SELECT group_id FROM groups LEFT JOIN (
      SELECT group_id, sum(amount) AS net FROM group_entries WHERE role = 'net' GROUP BY ALL) USING (group_id)
    WHERE processing_status = 'Closed' AND original_total <> beginning_balance + coalesce(net, 0)`);
  expect(unsettled).toEqual([]);
  const [amounts] = await lake.rows('SELECT count(*) AS n FROM group_entries');
  expect(Number(amounts?.['n'])).toBeGreaterThan(3000);
});

test('December is busier than February, and so is Black Friday than the days around it', () => {
  const clock = clockAt('2026-02-01T00:00:00Z');
  const seller = createSeller({ seed: 5, events: 80_000, days: 380, profile: 'plausible' }, clock);
  const perDay = (from: string, to: string) => {
    const range = { start: Date.parse(from), end: Date.parse(to) };
    const all = [...booksOf(seller).countByList(range).values()].reduce((sum, count) => sum + count, 0);
    return (all * 86_400_000) / (range.end - range.start);
  };
  expect(perDay('2025-12-01', '2026-01-01') / perDay('2025-02-01', '2025-03-01')).toBeGreaterThan(1.3);
  expect(perDay('2025-11-24', '2025-12-01') / perDay('2025-11-10', '2025-11-17')).toBeGreaterThan(1.25);
});

test('so many events in 90 days come on average over the years', () => {
  const clock = clockAt('2026-01-01T00:00:00Z');
  for (const [events, years] of [
    [700, 4],
    [20_000, 1],
  ] as const) {
    const days = years * 365;
    const seller = createSeller(
      { seed: 3, events: Math.round((events * days) / 90), days, profile: 'plausible' },
      clock,
    );
    const counts = booksOf(seller).countByList({ start: clock.now() - days * 86_400_000, end: clock.now() });
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    expect(all / ((events * days) / 90)).toBeCloseTo(1, 1);
  }
});
