import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportViews } from '../../../src/app/query/export-views.js';
import { questionNames } from '../../../src/app/query/question-names.js';
import { views, isMacro } from '../../../src/app/query/views.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { sellerReports } from '../../emulator/seller/report-of.js';
import { fileOf, imported } from '../import/imported.js';
import { setClock, synced } from '../load/synced.js';
import { plainViews } from './plain-views.js';

const clock = setClock('2026-03-10T02:00:00Z');

test('in a plain DuckDB the exported views have the rows of `ledgerlake sql`', async () => {
  const seller = createSeller({ seed: 5, events: 1000, profile: 'plausible' }, clock);
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop' };
  await ran({ ...run, from: '2026-01-01', api: 'both' }, { clock });
  // Days before the first transactions.
  await ran({ ...run, from: '2025-12-20', to: '2026-01-01', pipelines: ['financial-events'] }, { clock });
  const report = await fileOf(Buffer.from((await sellerReports(seller)).at(-1) ?? ''), 'report.txt');
  await imported({ root: lake, clock }, [report], { account: 'shop' });
  const dir = join(await temporaryFolder(), 'dbt', 'ledgerlake');
  const { summary } = await exportViews({ lake, dir }, { clock, emit: () => undefined });

  const plain = await plainViews(dir);
  const own = await database(lake, clock);
  const names = [...views].flatMap(([name, text]) => (isMacro(text) ? [] : [name]));
  expect(summary).toEqual({ status: 'done', lake, dir, views: names.length });
  const calls = ["outstanding_at('2026-02-20')", 'events_as_known(now())', 'transaction_entries_as_known(now())'];
  let filled = 0;
  // Without a file of costs that view is empty.
  const withRows = names.filter((name) => name !== 'unit_costs');
  for (const from of [...withRows, 'events', 'payouts', ...calls]) {
    const [read, expected] = await Promise.all([plain, own].map((one) => one.rows(`FROM ${from} ORDER BY ALL`)));
    expect(read, from).toEqual(expected);
    if ((read?.length ?? 0) > 0) filled++;
  }
  expect(filled).toBeGreaterThan(withRows.length);

  expect((await readdir(join(dir, 'models'))).toSorted()).toEqual(names.map((name) => `${name}.sql`).toSorted());
  const model = await readFile(join(dir, 'models', 'pnl_by_month.sql'), 'utf8');
  expect(model).toMatch(/^-- depends_on: \{\{ ref\('pnl_by_basis'\) \}\}\n-- /);
  expect(await plain.rows(model)).toEqual(await own.rows('FROM pnl_by_month'));

  // Questions are queries over these views, with their default values.
  const asked = await readdir(join(dir, 'questions'));
  expect(asked).toEqual([...questionNames].toSorted().map((name) => `${name}.sql`));
  const question = await readFile(join(dir, 'questions', 'largest-fees.sql'), 'utf8');
  expect(question).toContain('-- month: "2026-02"\n');
  expect(await plain.rows(question)).toEqual(await own.rows(question));

  // Another chart of accounts, and unit costs, are those of the exported views, too.
  const chart = join(dir, 'chart.csv');
  const accounts = 'clearing,,1,Clearing\nbank,,2,Bank\nsuspense,,3,All else\n';
  await writeFile(chart, `kind,name,ledger_code,ledger_account\n${accounts}`);
  const costs = join(dir, 'costs.csv');
  await writeFile(costs, 'sku,from,unit_cost,currency\nA,,1.000001,USD\n');
  await exportViews({ lake, dir, chart, costs }, { clock, emit: () => undefined });
  await plain.query(await readFile(join(dir, 'views.sql'), 'utf8'));
  expect(await plain.rows('SELECT sku, unit_cost FROM unit_costs')).toEqual([{ sku: 'A', unit_cost: '1.000001' }]);
  const posted = 'SELECT DISTINCT ledger_account FROM journal_lines ORDER BY ALL';
  const all = ['All else', 'Bank', 'Clearing'].map((ledger_account) => ({ ledger_account }));
  expect(await plain.rows(posted)).toEqual(all);
  expect(await readFile(join(dir, 'models', 'chart_of_accounts.sql'), 'utf8')).toContain("'All else'");
});

test('where the lake keeps replaced files, the exported views name the committed ones', async () => {
  const clock = setClock('2026-03-10T10:00:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 5, events: 1000, profile: 'plausible' }, clock),
    clock,
  });
  const lake = await temporaryFolder();
  const run = { lake, endpoint, account: 'shop.1', from: '2026-03-01', retentionHours: 48 };
  const { printed } = await ran(run, { clock });
  expect(printed).toContain('FROM pnl_by_month');
  expect(printed).not.toContain('read_parquet');
  clock.set('2026-03-10T20:00:00Z');
  await synced({ ...run, lookBack: 1 }, { clock });

  const dir = await temporaryFolder();
  const { text } = await exportViews({ lake, dir }, { clock, emit: () => undefined });
  expect(text).toMatch(
    /keeps replaced files, so lake.sql names the files of version \d+: export the views again after each run\.\n$/,
  );
  const plain = await plainViews(dir);
  const own = await database(lake, clock);
  for (const from of ['entries', 'group_events', 'transactions']) {
    const sorted = `FROM ${from} ORDER BY ALL`;
    expect(await plain.rows(sorted), from).toEqual(await own.rows(sorted));
  }
  const [all, committed] = await Promise.all(
    [`read_parquet('${lake}/group_events/*/*/*.parquet')`, 'group_events'].map((from) =>
      plain.rows(`SELECT count(*) AS n FROM ${from}`),
    ),
  );
  expect(Number(all?.[0]?.['n'])).toBeGreaterThan(Number(committed?.[0]?.['n']));
});
