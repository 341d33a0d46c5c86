import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../../src/core/duckdb/connection.js';
import { encodeFile } from '../../../../src/core/parquet/encode-file.js';
import { readResultsPage } from '../../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
} from '../../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { temporaryFolder } from '../../../app/lake-run.js';
import { comparedEntries } from '../../../app/maintenance/stored-events.js';
import { transactionsPage } from '../../../reference/transaction-pages.js';

const nowhere = { windowStart: undefined, windowEnd: undefined, fallback: undefined, clamp: false, groupId: undefined };

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

test('entries that are derived from stored transactions are what they were when these were received', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (draw) => {
      const tables = { events: orderTransactions, entries: orderTransactionEntries };
      const collector = transactionCollector(tables, () => '2024-03');
      for (const requestedOrderId of ['o-1', 'o-2']) {
        const page = readResultsPage('listTransactions', Buffer.from(transactionsPage(draw)));
        collector.add({ page, subject: { ...nowhere, requestedOrderId } });
      }
      const files = new Map<string, Uint8Array>();
      const batches = [...collector.finish()];
      for (const batch of batches) files.set(batch.table.name, (await encodeFile(batch, new Map())).bytes);
      const file = files.get(orderTransactions.name);
      fc.pre(file !== undefined);
      const stored = files.get(orderTransactionEntries.name);
      const net = batches.at(-1)?.net ?? {};
      const path = join(await temporaryFolder(), 'entries.parquet');
      if (stored !== undefined) await writeFile(path, stored);
      const compared = { files: stored === undefined ? [] : [path], nets: [net], sha256: undefined };
      const again = await comparedEntries(database, 'order-transactions', file, compared);
      expect([again.sameBy, again.events]).toEqual(['rows', batches.at(-1)?.rows.numRows]);
      expect(JSON.stringify(again.net)).toBe(JSON.stringify(net));
    }),
    { numRuns: 20, endOnFailure: true },
  );
});
