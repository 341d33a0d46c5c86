import type { Collector } from '../../../engine/run/pipeline.js';
import type { SubjectPage } from '../model/subject-pages.js';
import type { EventTables } from '../model/slice-batches.js';
import { countWarning, newWarnings, type Subject } from '../model/slice-rows.js';
import { sliceCollector } from '../selling-partner/slice-collector.js';
import { eachResult, type ScannedResults } from './results-page.js';
import { finishedTransactions, transactionBatch, transactionEntryBatch } from './transaction-batches.js';
import { TransactionReader } from './transaction-reader.js';
import { TransactionRows } from './transaction-rows.js';

/** A page of transactions, with its subject. */
export type TransactionsPage = SubjectPage<ScannedResults>;

/**
 * Collects the transactions of a slice. `monthOfSubject` returns the partition of one subject's rows, given their dates in
 * microseconds since 1970.
 */
export function transactionCollector(
  tables: EventTables,
  monthOfSubject: (subject: Subject, dates: readonly bigint[]) => string,
): Collector<TransactionsPage> {
  const rows = new TransactionRows();
  const { slice } = rows;
  const warnings = newWarnings();
  const reader = new TransactionReader(rows, warnings);
  return sliceCollector(
    tables,
    {
      // Pages have no order, so their dates don't show the progress.
      slice,
      warnings,
      isOrdered: false,
      read: (page: ScannedResults) => {
        eachResult(page, (node) => {
          reader.add(page.tape, node);
        });
      },
      finish: () => {
        const finished = finishedTransactions(rows);
        for (const row of finished.repeated) countWarning(warnings.repeated, rows.typeOf(row));
        return {
          rows: slice,
          effective: finished.effective,
          repeated: finished.repeated,
          eventBatch: (table, order) => transactionBatch(table, finished, order),
          entryBatch: (table, order) => transactionEntryBatch(table, finished, order),
        };
      },
    },
    monthOfSubject,
  );
}
