import { afterAll, beforeAll, expect, test } from 'vitest';
import { status } from '../../src/app/status/status.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import { verify } from '../../src/app/verify/verify.js';
import { Kept } from '../core/text/streams.js';
import { arrayTransactions } from '../serve/http/array-transactions.js';
import { database, ran, serving } from './lake-run.js';
import { loadedLake, type LoadedLake } from './verify/loaded-lake.js';
import { fee, range, shipment, smallItems, smallBackend } from './verify/small-backend.js';
import { found, verified } from './verify/verified.js';

const noise = '0.30000000000000004';
/** Two amounts in dollars that DECIMAL(18,6) can't hold, one of them as text, and one in yen. */
const items = [
  ...smallItems(),
  shipment('2025-03-07T05:00:00Z', '90', noise, `"${noise}"`, 'GROUP-2'),
  { ...fee('2025-03-07T06:00:00Z', '1234567890123', 'GROUP-2') },
].map((item) => ({ ...item, json: item.json.replace('"USD","CurrencyAmount":1234', '"JPY","CurrencyAmount":1234') }));
const sale = { at: Date.parse('2025-03-07T07:00:00Z'), order: 'O', settlement: 'S', sku: 'A', amount: noise };
const backend = { ...smallBackend(items), byTransaction: arrayTransactions([sale]) };
const pipelines = ['financial-events', 'transactions'];

let lake: LoadedLake;
beforeAll(async () => {
  lake = await loadedLake(backend, [{ pipelines }]);
});
afterAll(() => {
  lake.remove();
});

const reading = (output: Kept) => ({
  clock: lake.clock,
  signal: new AbortController().signal,
  output,
  emit: () => undefined,
});

test('the summary of a run says how many amounts no sum has, and of which currency', async () => {
  const copy = lake.copy();
  const endpoint = await serving({ backend, clock: lake.clock });
  const run = { pipelines, lake: copy.root, account: 'shop', endpoint, refresh: true, ...range };
  const { printed, summary } = await ran(run, { clock: lake.clock });
  copy.remove();
  expect(printed).toContain(
    'Warning: 5 amounts that no sum has, because DECIMAL(18,6) cannot hold them (see amount_text): 4 in USD; 1 in JPY\n',
  );
  expect(summary.pipelines['financial-events']?.['warnings']).toMatchObject({ inexactAmounts: { USD: 2, JPY: 1 } });
});

test('verify says it of each table, and the lake stays whole', async () => {
  const certificate = await verified(lake);
  expect([certificate.code, certificate.verdict, found(certificate)]).toEqual([0, 'whole', ['amounts note']]);
  expect(certificate.problems.map(({ kind, table, problem, command }) => [kind, table, problem, command])).toEqual([
    ['note', 'entries', '3 amounts are in no sum, because DECIMAL(18,6) cannot hold them: 1 in JPY, 2 in USD', null],
    ['note', 'transaction_entries', '2 amounts are in no sum, because DECIMAL(18,6) cannot hold them: 2 in USD', null],
  ]);
  const output = new Kept();
  const options = { lake: lake.root, format: 'table' as const, strict: true };
  expect(await verify(options, reading(output))).toMatchObject({ exitCode: 0 });
  expect(output.text).toMatch(/note amounts: 3 amounts are in no sum.*: 1 in JPY, 2 in USD\n.*\nWHOLE: /s);
});

test('status counts them from the log', async () => {
  const text = new Kept();
  const options = { lake: lake.root, account: undefined, color: false, ...range };
  await status({ ...options, format: 'table' }, reading(text));
  expect(text.text).toContain('entries: 3 amounts are in no sum, because DECIMAL(18,6) cannot hold them\n');
  const json = new Kept();
  await status({ ...options, format: 'json' }, reading(json));
  const { accounts } = JSON.parse(json.text) as { accounts: { tables: { table: string; unsummed: number }[] }[] };
  expect(accounts[0]?.tables.map(({ table, unsummed }) => [table, unsummed]).toSorted()).toEqual([
    ...[
      ['entries', 3],
      ['events', 0],
      ['transaction_entries', 2],
      ['transactions', 0],
    ],
  ]);
});

test('views have a column with their number, and statements that read them a note', async () => {
  const opened = await database(lake.root, lake.clock);
  const rows = await opened.rows(
    'SELECT currency, sum(unsummed)::INTEGER AS n FROM pnl_by_month GROUP BY ALL ORDER BY ALL',
  );
  // The transactions begin in the first loaded window: v0 counts before it only.
  expect(rows).toEqual([{ currency: 'USD', n: 1 }]);
  const { notesOn } = await openLakeReader(lake.root, lake.clock);
  expect(notesOn('SELECT sum(amount) FROM entries').join()).toBe(
    'WARNING: entries: 3 amounts are in no sum, because DECIMAL(18,6) cannot hold them: ' +
      '`SELECT currency, amount_text FROM entries WHERE amount_text IS NOT NULL` lists them',
  );
  expect(notesOn('FROM pnl_by_month').join()).toContain('; 2 of transaction_entries: ');
  expect(notesOn('SELECT amount_text FROM entries')).toEqual([]);
  expect(notesOn("SELECT count(*) FROM events WHERE store = 'entries'")).toEqual([]);
});
