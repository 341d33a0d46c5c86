import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rederive, storedSums } from '../../../../src/app/maintenance/rederived-entries.js';
import { withWriter } from '../../../../src/core/parquet/thread.js';
import { parquetFile } from '../../../../src/core/parquet/wasm.js';
import { defaultLimits, withWorkspace } from '../../../../src/lake/files/workspace.js';
import { openStore } from '../../../../src/lake/store/open-store.js';
import { readResultsPage } from '../../../../src/sources/finances/api-2024-06-19/results-page.js';
import { transactionDerivation } from '../../../../src/sources/finances/api-2024-06-19/transaction-derivation.js';
import { transactionCollector } from '../../../../src/sources/finances/api-2024-06-19/transaction-collector.js';
import {
  orderTransactionEntries,
  orderTransactions,
} from '../../../../src/sources/finances/api-2024-06-19/transaction-tables.js';
import { temporaryFolder } from '../../../app/lake-run.js';
import { transactionsPage } from '../../../reference/transaction-pages.js';

const nowhere = { windowStart: undefined, windowEnd: undefined, fallback: undefined, clamp: false, groupId: undefined };
const { signal } = new AbortController();

test('entries that are derived from stored transactions are what they were when these were received', async () => {
  const store = openStore(await temporaryFolder());
  await withWorkspace(defaultLimits, store, (workspace) =>
    withWriter({ from: Infinity }, signal, async (writer) => {
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
          for (const { rows } of batches)
            files.set(rows.table.name, await parquetFile(rows.table, [rows.batch], new Map()));
          const file = files.get(orderTransactions.name);
          fc.pre(file !== undefined);
          const stored = files.get(orderTransactionEntries.name);
          const main = { path: '', partitionValues: {}, size: file.length, modificationTime: 0, dataChange: true };
          const derived = { table: orderTransactionEntries, derivation: transactionDerivation };
          const { entries } = await rederive(workspace, writer, derived, main, file, signal);
          const { sums, events, net } = await entries;
          expect(events).toBe(batches.at(-1)?.rows.length);
          expect(JSON.stringify(net)).toBe(batches.at(-1)?.tags['net']);
          expect(sums.equals(await storedSums(orderTransactionEntries, stored === undefined ? [] : [stored]))).toBe(
            true,
          );
        }),
        { numRuns: 40, endOnFailure: true },
      );
    }),
  );
});
