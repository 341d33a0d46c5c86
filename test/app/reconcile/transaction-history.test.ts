import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { findDiffering } from '../../../src/app/reconcile/differing-rows.js';
import { historyFiles, keepsHistory } from '../../../src/app/reconcile/event-history.js';
import type { Table } from '../../../src/core/columns/table.js';
import { encodeFile } from '../../../src/core/parquet/encode-file.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { readResultsPage } from '../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  payouts,
  settlementSummaries,
  transactionEntries,
  transactions,
} from '../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { temporaryFolder } from '../lake-run.js';

const start = Date.parse('2024-03-01T00:00:00Z');
const subject = {
  windowStart: start,
  windowEnd: start + 86_400_000,
  fallback: start,
  clamp: false,
  groupId: undefined,
  requestedOrderId: undefined,
};

function sale(status: string): string {
  const total = '"totalAmount":{"currencyCode":"USD","currencyAmount":7.5}';
  return `{"transactionId":"t","transactionType":"Shipment","transactionStatus":"${status}","postedDate":"2024-03-01T05:00:00Z",${total}}`;
}

/** The rows of one transaction in Parquet, each table as a query. */
async function stored(newPath: () => string, transaction: string): Promise<(table: Table) => string> {
  const collector = transactionCollector({ events: transactions, entries: transactionEntries }, () => '2024-03');
  const page = `{"payload":{"transactions":[${transaction}]}}`;
  collector.add({ page: readResultsPage('listTransactions', Buffer.from(page)), subject });
  const paths = new Map<Table, string>();
  for (const batch of collector.finish()) {
    const { table } = batch;
    const path = newPath();
    paths.set(table, path);
    await writeFile(path, (await encodeFile(batch, new Map())).bytes);
  }
  return (table) => `SELECT *, '2024-03' AS month_ FROM '${paths.get(table) ?? ''}'`;
}

test('a deferred transaction that was released is kept as it was', async () => {
  expect([transactions, payouts, settlementSummaries].map(keepsHistory)).toEqual([true, false, false]);
  await withWorkspace(defaultLimits, openStore(await temporaryFolder()), async (workspace) => {
    const { database, newPath } = workspace;
    const held = await stored(newPath, sale('DEFERRED'));
    const incoming = await stored(newPath, sale('DEFERRED_RELEASED'));
    const states = {
      table: transactions,
      stored: held(transactions),
      incoming: incoming(transactions),
      isKnown: 'true',
      grows: false,
    };
    const found = await findDiffering(database, states);
    expect(found).toMatchObject({ vanished: 0, appeared: 0, differ: 0, released: 1, examples: [] });
    const slice = {
      account: 'shop',
      pipeline: 'p',
      name: 's',
      main: transactions,
      derived: [transactionEntries],
      loadKeys: [],
      files: [],
      refresh: true,
    };
    const entries = { table: transactionEntries, stored: held(transactionEntries) };
    const [file, ...others] = await historyFiles(workspace, transactions, slice, entries, start);
    expect(others).toEqual([]);
    const path = newPath();
    await writeFile(path, (await file?.read()) ?? '');
    const rows = await database.rows(
      'SELECT change, source, event_list, raw, seller_order_id, from_json(entries, \'[{"status":"VARCHAR","amount":"VARCHAR"}]\')[1] AS entry ' +
        `FROM '${path}' ORDER BY change`,
    );
    const shared = { source: 'transactions', event_list: 'transactions', seller_order_id: null };
    expect(rows).toEqual([
      { change: 'appeared', ...shared, raw: null, entry: null },
      { change: 'vanished', ...shared, raw: sale('DEFERRED'), entry: '{"status":"DEFERRED","amount":"7.500000"}' },
    ]);
  });
});
