import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { CertificateBuilder, type CheckContext } from '../../../src/app/verify/common/check.js';
import { checkEvents } from '../../../src/app/verify/event-entries.js';
import type { CheckedFile } from '../../../src/app/verify/common/checked-files.js';
import { rulesOf } from '../../../src/app/verify/common/event-rules.js';
import { recordRules } from '../../../src/app/verify/common/raw-column-rules.js';
import { hasEvents, type Table } from '../../../src/core/columns/table.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { encodeFile } from '../../../src/core/parquet/encode-file.js';
import { eventCollector } from '../../../src/sources/finances/api-v0/collectors.js';
import { scanPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { financesApis } from '../../../src/sources/finances/finances-apis.js';
import { windowSubject } from '../../../src/sources/finances/model/slice-rows.js';
import { entries, events } from '../../../src/sources/finances/api-v0/event-tables.js';
import { eventsPage } from '../../reference/event-arbitraries.js';
import { arrayTransactions } from '../../serve/http/array-transactions.js';
import { temporaryFolder } from '../lake-run.js';
import { addOf, rewrite } from './damage.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { smallItems, smallBackend } from './small-backend.js';
import { found, verified } from './verified.js';

const day = 86_400_000;
const sales = [3, 1, 2].map((number) => ({
  at: Date.parse('2025-02-20T12:00:00Z') + number * day,
  order: `O-${number}`,
  settlement: `S-${number}`,
  sku: `SKU-${number}`,
  amount: `${number}.10`,
}));

let whole: LoadedLake;
beforeAll(async () => {
  // The newest settlement comes first.
  const backend = { ...smallBackend(smallItems().toReversed()), byTransaction: arrayTransactions(sales) };
  const pipelines = ['financial-event-groups', 'financial-events', 'group-events'];
  const others = ['transactions', 'settlement-summaries', 'payouts'];
  whole = await loadedLake(backend, [{ pipelines }, { pipelines: others }]);
});
afterAll(() => {
  whole.remove();
});

/** What looks at the columns that have no rule, by the rows of a table. */
const unruled: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  events: {
    'event-ids': ['event_id', 'content_hash', 'event_list'],
    partitions: ['effective_at', 'window_start', 'window_end'],
    positions: ['position'],
    'the request, not raw': ['group_id', 'requested_order_id'],
    'nothing: files of earlier versions lack it': ['marketplace_id'],
  },
  transactions: {
    'event-ids': ['event_id', 'content_hash'],
    partitions: ['effective_at', 'window_start', 'window_end'],
    positions: ['position'],
    'the request, not raw': ['requested_order_id'],
  },
  records: {
    partitions: ['window_start', 'window_end'],
    positions: ['position'],
    'the request, not raw': ['settlement_id'],
  },
  entries: {
    'amounts, roles': ['event_id', 'entry', 'path', 'breakdown', 'kind', 'role', 'amount', 'amount_text', 'currency'],
    'rebuild: what the event has': [
      ...['event_list', 'posted_at', 'effective_at', 'amazon_order_id', 'marketplace', 'marketplace_id', 'group_id'],
      ...['transaction_id', 'transaction_type', 'status', 'deferred_transaction_id'],
    ],
    'rebuild: what the item has': [
      ...['item', 'sku', 'fnsku', 'asin', 'order_item_id', 'quantity', 'fulfillment_network', 'name'],
    ],
  },
};

test.each(financesApis.flatMap(({ name, tables }) => tables.map((table: Table) => ({ api: name, table }))))(
  'each column of $table.name follows from raw by a rule, or is named with what looks at it',
  ({ api, table }) => {
    const { columns } = table;
    const isMain = hasEvents(table);
    const rules = isMain ? rulesOf(table).columns : (recordRules[table.name]?.columns ?? []);
    const ofEvents = api === 'v0' ? 'events' : 'transactions';
    const kind = table.row === 'entry' ? 'entries' : isMain ? ofEvents : 'records';
    const others = Object.values(unruled[kind] ?? {}).flat();
    const ruled = rules.flatMap(({ name, inexact }) => (inexact === undefined ? [name] : [name, inexact]));
    const names = columns.map(({ name }) => name);
    expect(names.filter((name) => name !== 'raw' && !ruled.includes(name) && !others.includes(name))).toEqual([]);
    expect(ruled.filter((name) => !names.includes(name))).toEqual([]);
  },
);

test('the columns of a lake follow from raw', async () => {
  const { checks } = await verified(whole);
  const check = checks.find((each) => each.check === 'raw-columns');
  // 18 events by date and by group, 2 groups, 3 sales each as transaction, summary and payout.
  expect(check).toMatchObject({ result: 'ok', checked: 2 * 18 + 2 + 3 * 3, counts: 'rows' });
});

const withMillionth = (column: string) => `SELECT * REPLACE (${column} + 0.000001 AS ${column}) FROM rows`;
const withRaw = (from: string, to: string) => `SELECT * REPLACE (replace(raw, '${from}', '${to}') AS raw) FROM rows`;

test.each([
  {
    groups: [withRaw('GROUP-', 'OTHER-'), 'group_id is GROUP-1, raw has OTHER-1'],
    events: ["SELECT * REPLACE ('Amazon.com' AS marketplace) FROM rows", 'marketplace is Amazon.com, raw has null'],
    transactions: ["SELECT * REPLACE ('S-9' AS settlement_id) FROM rows", 'settlement_id is S-9, raw has S-'],
    settlement_summaries: [withRaw('periodEnd', 'periodend'), 'period_end is 17'],
    payouts: [
      'SELECT * REPLACE (first_value(raw) OVER (ORDER BY created_at DESC) AS raw) FROM rows',
      'payout_id is P-S-1, raw has P-S-3',
    ],
  },
  {
    groups: [withMillionth('beginning_balance'), 'beginning_balance is 10.000001, raw has 10'],
    group_events: [
      'SELECT * REPLACE (NULL::VARCHAR AS amazon_order_id) FROM rows',
      'amazon_order_id is null, raw has 111-',
    ],
    transactions: [withMillionth('total_amount'), 'total_amount is [1-3].100001, raw has [1-3].1'],
    settlement_summaries: [withMillionth('net_proceeds'), '.100001, raw has '],
    payouts: [withMillionth('amount'), 'amount is [1-3].100001, raw has [1-3].1'],
  },
])('rows with columns of others are found, and named with the command that reads them again', async (changes) => {
  const lake = whole.copy();
  onTestFinished(() => {
    lake.remove();
  });
  for (const [table, [query = '']] of Object.entries(changes)) {
    // Each group has a file of its own.
    await rewrite(lake.root, table, addOf(lake.root, table, table === 'groups' ? 'month=2025-02' : ''), query);
  }
  const result = await verified(lake);
  expect([result.code, found(result)]).toEqual([1, expect.arrayContaining(['raw-columns failed'])]);
  const faults = result.problems.filter(({ check }) => check === 'raw-columns');
  expect(faults.map(({ table }) => table).toSorted()).toEqual(Object.keys(changes).toSorted());
  const expectedText = new Map<string, string>(Object.entries(changes).map(([table, [, text = '']]) => [table, text]));
  for (const { table, kind, problem, command } of faults) {
    expect([kind, problem]).toEqual(['lake', expect.stringMatching(expectedText.get(table) ?? 'no change')]);
    expect(command).toMatch(/ backfill .*--refresh/);
  }
});

test('events of any form are found to have the columns of their raw', { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder();
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const window = { start: Date.UTC(2024, 2, 1), end: Date.UTC(2024, 2, 8) };
  // DuckDB keeps parts of files in memory by name: as in a lake, each name is used once.
  let files = 0;
  await fc.assert(
    fc.asyncProperty(eventsPage, async (page) => {
      const collector = eventCollector({ events, entries }, () => '2024-03');
      collector.add({ page: scanPage(Buffer.from(page)), subject: windowSubject(window) });
      const mains: CheckedFile[] = [];
      for (const batch of collector.finish()) {
        if (batch.table !== events) continue;
        const path = join(folder, `${files++}.parquet`);
        await writeFile(path, (await encodeFile(batch, new Map())).bytes);
        const location = { table: events.name, file: path, loadKey: '' };
        mains.push({ ...location, schema: events, loadKeys: [], path } as unknown as CheckedFile);
      }
      const certificate = new CertificateBuilder();
      const context = { certificate, database };
      await checkEvents(
        mains.map((main) => ({ main, derived: [] })),
        context as unknown as CheckContext,
      );
      expect(certificate.problems().filter(({ check }) => check.name === 'raw-columns')).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
