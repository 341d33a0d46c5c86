import fc from 'fast-check';
import { expect, test } from 'vitest';
import { derivedTableOf, rederivedEntries } from '../../../../src/app/maintenance/rederived-entries.js';
import { parquetFile } from '../../../../src/core/parquet/wasm.js';
import { readResultsPage } from '../../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionCollector } from '../../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
} from '../../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { storedEvents } from '../../../app/maintenance/stored-events.js';
import { transactionsPage } from '../../../reference/transaction-pages.js';

const nowhere = { windowStart: undefined, windowEnd: undefined, fallback: undefined, clamp: false, groupId: undefined };

test('entries that are derived from stored transactions are what they were when these were received', async () => {
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (draw) => {
      const tables = { transactions: orderTransactions, entries: orderTransactionEntries };
      const collector = transactionCollector(tables, () => '2024-03');
      for (const requestedOrderId of ['o-1', 'o-2']) {
        const page = readResultsPage('listTransactions', Buffer.from(transactionsPage(draw)));
        collector.add({ page, source: { ...nowhere, requestedOrderId } });
      }
      const files = new Map<string, Uint8Array>();
      const batches = [...collector.finish()];
      for (const { rows } of batches) files.set(rows.table.name, parquetFile(rows.table, [rows.batch], new Map()));
      const file = files.get(orderTransactions.name);
      fc.pre(file !== undefined);
      const stored = files.get(orderTransactionEntries.name);
      const net = batches.at(-1)?.tags['net'] ?? '{}';
      const compared = { files: stored === undefined ? [] : [stored], nets: [net], sha256: undefined };
      const again = await rederivedEntries(
        derivedTableOf('order-transactions'),
        await storedEvents('order-transactions', file, compared),
      );
      expect([again.sameBy, again.events]).toEqual(['rows', batches.at(-1)?.rows.length]);
      expect(JSON.stringify(again.net)).toBe(net);
    }),
    { numRuns: 40, endOnFailure: true },
  );
});
