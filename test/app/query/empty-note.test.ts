import { expect, onTestFinished, test } from 'vitest';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import type { LoadOptions } from '../../../src/app/load/run-settings.js';
import { loadedLake } from '../verify/loaded-lake.js';
import { settlement, smallItems, smallBackend } from '../verify/small-backend.js';
import { database } from '../lake-run.js';

async function loaded(runs: readonly Partial<LoadOptions>[], items = smallItems()) {
  const lake = await loadedLake(smallBackend(items), runs);
  onTestFinished(() => {
    lake.remove();
  });
  return {
    note: async (statement: string) => (await openLakeReader(lake.root, lake.clock)).notesOn(statement),
    rows: async (statement: string) => (await database(lake.root, lake.clock)).rows(statement),
  };
}

const range = '--account shop --from 2025-02-20 --to 2025-03-08';

test('a table of which nothing is loaded, and a view over it, say why they are empty and what loads them', async () => {
  const { note, rows } = await loaded([{ pipelines: ['financial-events'] }]);
  const emptied: readonly [string, string, string][] = [
    ['payouts', 'payouts', range],
    ['groups', 'financial-event-groups', range],
    ['settlement_payouts', 'financial-event-groups', range],
    ['payout_lines', 'group-events', range],
    ['settlement_differences', 'settlement-reports', range],
    ['group_entries', 'group-events', range],
    ['transaction_entries_paid', 'transactions', range],
    ['order_entries', 'order-events', '--account shop --orders FILE'],
  ];
  for (const [name, pipeline, rest] of emptied) {
    expect(await rows(`FROM ${name}`)).toEqual([]);
    expect(await note(`SELECT * FROM ${name.toUpperCase()} LIMIT 3`)).toEqual([
      `WARNING: ${name}: nothing of ${pipeline} is loaded, so there are no rows: \`ledgerlake backfill ${pipeline} ${rest}\` loads them`,
    ]);
  }
  expect((await note('FROM transactions_as_known(now())'))[0]).toContain('nothing of transactions is loaded');
  for (const statement of [
    'FROM entries',
    'FROM constructor',
    "SELECT 'from payouts'",
    'SELECT count(*) AS payouts FROM events',
  ]) {
    expect(await note(statement)).toEqual([]);
  }
});

test('payouts leads to those of settlements, where these are loaded', async () => {
  const { note } = await loaded([{}]);
  expect(await note('FROM payout_lines JOIN groups USING (account, group_id)')).toEqual([]);
  expect(await note('FROM settlement_payouts')).toEqual([]);
  expect((await note('FROM payouts'))[0]).toMatch(/ loads them, and settlement_payouts has those of settlements$/);
});

test('settlements that are all open have no payout, and that is said', async () => {
  const open = [settlement({ id: 'GROUP-1', start: '2025-03-06T00:00:00Z', beginning: '0' })];
  const { note, rows } = await loaded([{ pipelines: ['financial-event-groups'] }], open);
  expect(await rows('FROM settlement_payouts')).toEqual([]);
  expect(await note('FROM settlement_payouts')).toEqual([
    'WARNING: settlement_payouts: no settlement of shop has closed yet, so there are no rows: `ledgerlake status` lists the open ones',
  ]);
});

test('a view is empty where each table is that it reads: one that reads a table with rows says what its rows lack', async () => {
  const { note, rows } = await loaded([{ pipelines: ['financial-event-groups'] }]);
  expect(await rows('FROM payout_lines')).not.toEqual([]);
  expect((await note('FROM payout_lines'))[0]).toContain('the events of 1 closed settlement of shop are not loaded');
  expect(await rows('FROM pnl_by_month')).toEqual([]);
  expect((await note('FROM pnl_by_month'))[0]).toContain('nothing of financial-events is loaded, so there are no rows');
});
