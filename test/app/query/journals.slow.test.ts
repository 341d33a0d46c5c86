import { describe, expect, test } from 'vitest';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { computeOnce, database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';
import { plainViewsOf } from './plain-views.js';

const clock = setClock('2026-03-10T02:00:00Z');

async function numberOf(db: Database, sql: string): Promise<number> {
  return Number((await db.rows(sql))[0]?.['n']);
}

/** Creates the table `lines` of journal_lines, and compares it with the other views. */
async function expectTied(db: Database): Promise<void> {
  await db.execute('CREATE TABLE lines AS FROM journal_lines');
  await computeOnce(db, ['pnl_by_month', 'pnl_by_month_earned', 'reconciliation_by_month']);
  expect(await numberOf(db, 'SELECT count(DISTINCT journal) AS n FROM lines')).toBeGreaterThan(300);

  // A journal balances, has one of each of these, and its date lies in its month.
  const single = ['account', 'date', 'basis', 'settlement_id', 'month', 'currency', 'memo'];
  const unequal =
    'SELECT journal FROM lines GROUP BY journal HAVING sum(debit) <> sum(credit) OR sum(debit) = 0 ' +
    single.map((column) => `OR count(DISTINCT ${column}) > 1 OR count(${column}) NOT IN (0, count(*))`).join(' ');
  expect(await db.rows(unequal)).toEqual([]);
  const odd =
    "FROM lines WHERE strftime(date, '%Y-%m') <> month OR (debit = 0) = (credit = 0) OR debit < 0 OR credit < 0 " +
    'OR ledger_code IS NULL OR length(journal) > 21';
  expect(await db.rows(odd)).toEqual([]);

  for (const [basis, view] of [
    ['paid', 'pnl_by_month'],
    ['earned', 'pnl_by_month_earned'],
  ] as const) {
    // Profit and loss are the column `earned`.
    const posted =
      'SELECT account, month, currency, sum(credit - debit) AS posted FROM lines ' +
      `WHERE basis = '${basis}' AND regexp_matches(ledger_code, '^(22|4|5)') GROUP BY ALL`;
    const apart =
      `FROM (${posted}) FULL JOIN (FROM ${view}) USING (account, month, currency) ` +
      'WHERE coalesce(posted, 0) <> coalesce(earned, 0)';
    expect(await db.rows(apart), view).toEqual([]);
    expect(await numberOf(db, `SELECT count(*) AS n FROM ${view} WHERE earned <> 0`)).toBeGreaterThan(40);

    // What the clearing account has at the end of each month is open then.
    const balances =
      'SELECT currency, month, sum(moved) OVER (PARTITION BY currency ORDER BY month) AS balance FROM ' +
      `(SELECT currency, month, sum(debit - credit) AS moved FROM lines WHERE basis = '${basis}' AND ledger_code = '1100' GROUP BY ALL)`;
    const open = "SELECT currency, month, amount FROM reconciliation_by_month WHERE line = 'open at the end'";
    const found = await db.rows(
      `SELECT currency, month, balance, amount FROM (${open}) LEFT JOIN (${balances}) USING (currency, month)`,
    );
    expect(new Set(found.map(({ month }) => month)).size).toBeGreaterThan(12);
    // A month without lines has the balance of the month before.
    const last = new Map<unknown, unknown>();
    const rows = found.toSorted((one, other) => String(one['month']).localeCompare(String(other['month'])));
    for (const { currency, month, balance, amount } of rows) {
      if (balance !== null) last.set(currency, balance);
      expect([currency, month, Number(last.get(currency) ?? 0)]).toEqual([currency, month, Number(amount)]);
    }
  }
}

describe.each(['plausible', 'edge-cases'] as const)('%s', (profile) => {
  test.each(['v0', '2024-06-19', 'both'] as const)('journals of %s agree with the other views', async (api) => {
    const seller = createSeller({ seed: 5, events: 2000, days: 420, profile }, clock);
    const endpoint = await serving({ backend: seller, clock });
    const lake = await temporaryFolder();
    await ran({ lake, endpoint, account: 'shop', from: '2025-01-20', api }, { clock });
    const db = await database(lake, clock);
    await expectTied(db);

    // A settlement that is loaded and paid leaves nothing open.
    const left =
      "SELECT settlement_id, sum(debit - credit) AS left_open FROM lines WHERE basis = 'paid' AND ledger_code = '1100' " +
      'AND settlement_id IN (SELECT coalesce(settlement_id, group_id) FROM groups LEFT JOIN settlement_ids USING (account, group_id) ' +
      "WHERE fund_transfer_status = 'Succeeded' AND beginning_balance = 0 AND started_at > '2025-01-20') GROUP BY ALL";
    expect(await numberOf(db, `SELECT count(*) AS n FROM (${left})`)).toBeGreaterThan(20);
    if (api === '2024-06-19') expect(await db.rows(`FROM (${left}) WHERE left_open <> 0`)).toEqual([]);

    // The deferred sales at the end of a month are those that are outstanding then.
    const ends = await db.rows(
      "SELECT month, CAST(last_day(CAST(month || '-01' AS DATE)) + 1 AS VARCHAR) AS until FROM lines " +
        "WHERE month BETWEEN '2025-02' AND '2026-02' GROUP BY ALL ORDER BY ALL",
    );
    expect(ends.length).toBe(13);
    for (const { month, until } of ends) {
      const deferred =
        "SELECT currency, sum(debit - credit)::VARCHAR AS amount FROM lines WHERE basis = 'earned' AND ledger_code = '1110' " +
        `AND month = '${String(month)}' AND memo LIKE 'Deferred%' GROUP BY ALL ORDER BY ALL`;
      const outstanding =
        'SELECT currency, CAST(sum(total_amount) AS DECIMAL(38,6))::VARCHAR AS amount FROM ' +
        `outstanding_at('${String(until)}') GROUP BY ALL HAVING sum(total_amount) <> 0 ORDER BY ALL`;
      expect(await db.rows(deferred)).toEqual(await db.rows(outstanding));
    }
    const earned = await db.rows("FROM lines WHERE basis = 'earned' AND ledger_code = '1110'");
    if (api === 'v0') expect(earned).toEqual([]);
    else expect(earned.length).toBeGreaterThan(60);

    // A plain DuckDB has the same lines; in another time zone others, which agree with the other views there.
    if (api !== 'both' || profile !== 'plausible') return;
    const plain = await plainViewsOf(lake, clock, 'UTC');
    expect(await plain.rows('FROM journal_lines ORDER BY ALL')).toEqual(await db.rows('FROM lines ORDER BY ALL'));
    const pacific = await plainViewsOf(lake, clock, 'America/Los_Angeles');
    await expectTied(pacific);
    const sums = 'SELECT ledger_code, month, sum(credit - debit)::VARCHAR AS sum FROM lines GROUP BY ALL ORDER BY ALL';
    expect(await pacific.rows(sums)).not.toEqual(await db.rows(sums));
  });
});
