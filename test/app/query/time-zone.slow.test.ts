import { expect, test } from 'vitest';
import { openExistingLake } from '../../../src/app/query/lake-files.js';
import { lakeReport } from '../../../src/app/report/report.js';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';
import { monthOf } from './month-of.js';
import { plainViewsOf } from './plain-views.js';

const clock = setClock('2026-03-10T02:00:00Z');

/** The sums of amounts by account, currency and month, in millionths, without those of 0. */
function sumsOf(rows: readonly (readonly [key: string, amount: string])[]): Record<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [key, amount] of rows) {
    const [whole = '', digits = ''] = amount.split('.');
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(whole + digits.padEnd(6, '0')));
  }
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0n).toSorted());
}

test('views, report and exported views have the months of the zone, as the instants of the ledger give them', async () => {
  const zone = 'Asia/Tokyo';
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 2000, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  await ran({ lake, endpoint, account: 'shop', from: '2026-01-01', api: 'both' }, { clock });
  await ran(
    { lake, endpoint, account: 'shop', from: '2025-11-01', to: '2026-01-01', pipelines: ['financial-events'] },
    { clock },
  );
  const plain = await plainViewsOf(lake, clock, zone);

  const amounts = await plain.rows('SELECT currency, effective_at, amount::VARCHAR AS amount FROM ledger');
  const expected = sumsOf(
    amounts.map(({ currency, effective_at: at, amount }) => [
      `${String(currency)} ${monthOf(Date.parse(String(at)), zone)}`,
      String(amount),
    ]),
  );
  expect(Object.keys(expected).length).toBeGreaterThan(10);
  const byMonth = async (from: Database, view: string, amount: string) =>
    sumsOf(
      (await from.rows(`SELECT currency, month, ${amount}::VARCHAR AS amount FROM ${view}`)).map((row) => [
        `${String(row['currency'])} ${String(row['month'])}`,
        String(row['amount']),
      ]),
    );
  expect(await byMonth(plain, 'pnl_by_month', 'net_proceeds')).toEqual(expected);
  expect(await byMonth(plain, 'ledger', 'amount')).toEqual(expected);
  expect(await byMonth(await plainViewsOf(lake, clock, 'UTC'), 'pnl_by_month', 'net_proceeds')).not.toEqual(expected);
  const fees = '(SELECT currency, month, fees FROM pnl_by_month)';
  expect(await byMonth(plain, 'fees_by_type', 'total')).toEqual(await byMonth(plain, fees, 'fees'));
  const byDate = "(SELECT * FROM reconciliation_by_month WHERE line = 'by date')";
  const entries = (
    await plain.rows("SELECT currency, effective_at, amount::VARCHAR AS amount FROM entries WHERE role = 'net'")
  ).map(
    (row) =>
      [
        `${String(row['currency'])} ${monthOf(Date.parse(String(row['effective_at'])), zone)}`,
        String(row['amount']),
      ] as const,
  );
  expect(await byMonth(plain, byDate, 'amount')).toEqual(sumsOf(entries));

  const opened = await openExistingLake(lake, clock, () => undefined);
  const report = await lakeReport({
    lake: opened,
    location: lake,
    account: 'shop',
    isExport: true,
    timeZone: zone,
    clock,
  });
  const { columns = [], rows = [] } = report.sheets.find(({ name }) => name === 'earned') ?? {};
  const [month, net] = ['month', 'net_proceeds'].map((name) => columns.findIndex((column) => column.name === name));
  expect(sumsOf(rows.map((row) => [`${String(row[1])} ${String(row[month ?? -1])}`, String(row[net ?? -1])]))).toEqual(
    expected,
  );
  expect(report.html).toContain('Months begin and end in the time zone Asia/Tokyo; days are UTC.');
  expect(report.sheets.find(({ name }) => name === 'notes')?.rows.flat()).toContain(
    'Months begin and end in the time zone Asia/Tokyo; days are UTC.',
  );
});
