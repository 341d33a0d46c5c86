import { expect, test } from 'vitest';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { reported } from '../report/reported-lake.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { setClock } from '../load/synced.js';
import { verified } from '../verify/verified.js';

const clock = setClock('2026-03-10T02:00:00Z');
const loading = 'ledgerlake backfill transactions --account shop --from 2026-02-01 --to 2026-03-10';

test('days that v0 has and transactions lack are told of wherever figures are read, until they are loaded', async () => {
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const shop = { lake, endpoint, account: 'shop' };
  const notes = async (statement: string) => (await openLakeReader(lake, clock)).notesOn(statement);
  const load = async (options: Parameters<typeof ran>[0]) => {
    const logged: string[] = [];
    await ran({ ...shop, ...options }, { clock, logged });
    return logged.filter((line) => line.startsWith('WARNING: '));
  };

  expect(await load({ from: '2025-12-01', to: '2026-03-10' })).toEqual([]);
  expect(await notes('FROM ledger')).toEqual([]);

  const part = { pipelines: ['transactions'], from: '2026-01-01', to: '2026-02-01' };
  const [warning = '', ...more] = await load(part);
  expect(more).toEqual([]);
  expect(warning).toContain('shop: v0 has 2026-02-01 to 2026-03-10, 2024-06-19 has only 2026-01-01 to 2026-02-01: ');
  expect(warning).toContain(`\`${loading}\` loads it`);
  for (const statement of ['FROM pnl_by_month', 'SELECT sum(amount) FROM Ledger', 'FROM fees_by_type']) {
    expect(await notes(statement)).toEqual([warning]);
  }
  for (const statement of ['FROM entries', 'FROM payout_lines', "SELECT 'ledger'"]) {
    expect(await notes(statement)).toEqual([]);
  }
  const [newest] = await (await database(lake, clock)).rows('SELECT max(month) AS month FROM ledger');
  expect(newest?.['month']).toBe('2026-01');

  const { page, leftOut } = await reported({ root: lake, clock });
  expect(page.texts('.basis + .look')[0]).toMatch(
    /leave days out: Finances v0 has 2026-02-01 to 2026-03-10, and Finances 2024-06-19 has only 2026-01-01 to /,
  );
  expect(leftOut.map(({ account }) => account)).toEqual(['shop']);
  const january = await reported({ root: lake, clock }, { from: '2026-01-01', to: '2026-02-01' });
  expect(january.page.texts('.basis + .look')).toEqual([]);

  // By hours behind, as the next sync loads them.
  expect(await load({ pipelines: ['transactions'], from: '2026-02-01', to: '2026-03-09T06:00:00Z' })).toEqual([]);
  expect(await notes('FROM ledger')).toEqual([]);
  expect(await load({ pipelines: ['transactions'], from: '2026-02-01', to: '2026-03-10' })).toEqual([]);
  expect(await notes('FROM ledger')).toEqual([]);
  expect((await reported({ root: lake, clock })).page.texts('.basis + .look')).toEqual([]);
});

test('api_differences, verify and the report say which days the two APIs are compared for', async () => {
  const backend = createSeller({ seed: 5, events: 900, profile: 'plausible' }, clock);
  const shop = { lake: await temporaryFolder(), endpoint: await serving({ backend, clock }), account: 'shop' };
  const load = (pipeline: string, from: string, to: string) =>
    ran({ ...shop, pipelines: [pipeline], from, to }, { clock });
  const notes = async () => (await openLakeReader(shop.lake, clock)).notesOn('SELECT * FROM api_differences');
  const said = async () => {
    const { problems } = await verified({ root: shop.lake, clock });
    for (const { problem } of problems.filter((one) => one.problem.includes('ledgerlake backfill'))) {
      expect(problem).toContain(` --endpoint ${shop.endpoint}`);
    }
    return problems
      .filter(({ check }) => check === 'both-apis')
      .map(({ kind, problem }) => {
        // The commands of verify run as they are pasted: with the lake, and with the endpoint of the last run.
        const pasted = new RegExp(` --lake ${shop.lake}| --endpoint http://127[.]0[.]0[.]1:[0-9]+`, 'g');
        return `${kind}: ${problem.replaceAll(pasted, '')}`;
      });
  };
  const basis = async () => (await reported({ root: shop.lake, clock })).page.texts('.basis')[0];

  await load('financial-events', '2026-01-01', '2026-02-01');
  expect(await notes()).toEqual([
    'WARNING: shop: 2024-06-19 lacks 2026-01-01 to 2026-02-01 ' +
      '(`ledgerlake backfill transactions --account shop --from 2026-01-01 --to 2026-02-01` loads it): api_differences compares nothing of it',
  ]);
  expect(await said()).toEqual([]);

  await load('transactions', '2026-02-01', '2026-02-10');
  expect(await notes()).toEqual([
    expect.stringMatching(/shop: v0 lacks 2026-02-01 to 2026-02-10 .*; 2024-06-19 lacks .* compares nothing of it$/),
  ]);
  expect(await basis()).toContain('The APIs have no loaded day in common');

  await load('transactions', '2026-01-10', '2026-01-20');
  const [note = ''] = await notes();
  expect(note).toMatch(/2024-06-19 lacks 2026-01-01 to 2026-01-10, 2026-01-20 to 2026-02-01 \(/);
  expect(note).toMatch(/: api_differences compares only 2026-01-10 to 2026-01-20$/);
  expect(await said()).toEqual([note.replace('WARNING', 'note')]);
  expect(await basis()).toContain('The APIs have 2026-01-10 to 2026-01-20 in common: only there can they be compared.');

  await load('financial-events', '2026-02-01', '2026-02-10');
  expect(await notes()).toEqual([
    expect.stringMatching(
      /compares only 2026-01-10 to 2026-01-20, 2026-02-01 to 2026-02-10, and has the orders of days between/,
    ),
  ]);
  await load('transactions', '2026-01-01', '2026-02-10');
  expect([await notes(), await said()]).toEqual([[], []]);
  expect(await basis()).not.toContain('in common');
});
