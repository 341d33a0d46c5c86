import { expect, test } from 'vitest';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { reported } from '../report/reported-lake.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../sync/synced.js';

const clock = setClock('2026-03-10T02:00:00Z');
const loading = 'ledgerlake backfill transactions --account shop --from 2026-02-01 --to 2026-03-10';

test('days that v0 has and transactions lack are told of wherever figures are read, until they are loaded', async () => {
  const endpoint = await serving({
    ledger: createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const shop = { lake, endpoint, account: 'shop' };
  const notes = async (statement: string) => (await openLakeReader(lake, clock)).leftOutNote(statement);
  const load = async (options: Parameters<typeof ran>[0]) => {
    const logged: string[] = [];
    await ran({ ...shop, ...options }, { clock, logged });
    return logged.filter((line) => line.startsWith('WARNING: '));
  };

  expect(await load({ from: '2025-12-01', to: '2026-03-10' })).toEqual([]);
  expect(await notes('FROM ledger')).toBeUndefined();

  const part = { pipelines: ['transactions'], from: '2026-01-01', to: '2026-02-01' };
  const [warning = '', ...more] = await load(part);
  expect(more).toEqual([]);
  expect(warning).toContain('shop: v0 has 2026-02-01 to 2026-03-10, transactions have only 2026-01-01 to 2026-02-01: ');
  expect(warning).toContain(`\`${loading}\` loads it`);
  for (const statement of ['FROM pnl_by_month', 'SELECT sum(amount) FROM Ledger', 'FROM fees_by_type']) {
    expect(await notes(statement)).toBe(warning);
  }
  for (const statement of ['FROM entries', 'FROM payout_lines', "SELECT 'ledger'"]) {
    expect(await notes(statement)).toBeUndefined();
  }
  const [newest] = await (await database(lake, clock)).rows('SELECT max(month) AS month FROM ledger');
  expect(newest?.['month']).toBe('2026-01');

  const { page, leftOut } = await reported({ root: lake, clock });
  expect(page.texts('.basis + .look')[0]).toMatch(/leave days out: Finances v0 has 2026-02-01 to 2026-03-10, and tr/);
  expect(leftOut.map(({ account }) => account)).toEqual(['shop']);
  const january = await reported({ root: lake, clock }, { from: '2026-01-01', to: '2026-02-01' });
  expect(january.page.texts('.basis + .look')).toEqual([]);

  expect(await load({ pipelines: ['transactions'], from: '2026-02-01', to: '2026-03-10' })).toEqual([]);
  expect(await notes('FROM ledger')).toBeUndefined();
  expect((await reported({ root: lake, clock })).page.texts('.basis + .look')).toEqual([]);
});
