import type { Collector } from '../../../engine/run/pipeline.js';
import type { SourcePage } from '../model/source-pages.js';
import type { EventTables } from '../model/slice-batches.js';
import { countWarning, newWarnings, type RowSource } from '../model/slice-rows.js';
import { sourceCollector } from '../selling-partner/source-collector.js';
import { eachResult, type ScannedResults } from './results-page.js';
import { finishedTransactions, transactionBatch, transactionEntryBatch } from './transaction-batches.js';
import { TransactionReader } from './transaction-reader.js';
import { TransactionRows } from './transaction-rows.js';

/** A page of transactions, with its source. */
export type TransactionsPage = SourcePage<ScannedResults>;

/**
 * Collects the transactions of a slice. `monthOfSource` returns the partition of one source's rows, given their dates in
 * microseconds since 1970.
 */
export function transactionCollector(
  tables: EventTables,
  monthOfSource: (source: RowSource, dates: readonly bigint[]) => string,
): Collector<TransactionsPage> {
  const rows = new TransactionRows();
  const { slice } = rows;
  const warnings = newWarnings();
  const reader = new TransactionReader(rows, warnings);
  return sourceCollector(
    tables,
    {
      // Pages have no order, so their dates don't show the progress.
      ...{ slice, warnings, isOrdered: false },
      read: (page: ScannedResults) => {
        eachResult(page, (node) => {
          reader.add(page.tape, node);
        });
      },
      finish: () => {
        const finished = finishedTransactions(rows);
        for (const row of finished.repeated) countWarning(warnings.repeated, rows.typeOf(row));
        return {
          ...{ rows: slice, effective: finished.effective, repeated: finished.repeated },
          eventBatch: (table, order) => transactionBatch(table, finished, order),
          entryBatch: (table, order) => transactionEntryBatch(table, finished, order),
        };
      },
    },
    monthOfSource,
  );
}
