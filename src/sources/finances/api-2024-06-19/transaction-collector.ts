import type { Table } from '../../../core/columns/table.js';
import type { Collector } from '../../../engine/run/pipeline.js';
import type { SourcePage } from '../model/source-pages.js';
import { netSumTexts, sortedEvents } from '../model/event-batches.js';
import { countWarning, newWarnings, type RowSource } from '../model/slice-rows.js';
import { sourceCollector } from '../selling-partner/source-collector.js';
import { eachResult, type ScannedResults } from './results-page.js';
import { finishedTransactions, transactionBatch, transactionEntryBatch } from './transaction-batches.js';
import { TransactionReader } from './transaction-reader.js';
import { TransactionRows } from './transaction-rows.js';

/** A page of transactions, with its source. */
export type TransactionsPage = SourcePage<ScannedResults>;

/** The two tables that transactions fill. */
export interface TransactionTables {
  readonly transactions: Table;
  readonly entries: Table;
}

/**
 * Collects the transactions of a slice. `monthOfSource` returns the partition of one source's rows, given their dates in
 * microseconds since 1970.
 */
export function transactionCollector(
  tables: TransactionTables,
  monthOfSource: (source: RowSource, dates: readonly bigint[]) => string,
): Collector<TransactionsPage> {
  const rows = new TransactionRows();
  const { slice } = rows;
  const warnings = newWarnings();
  const reader = new TransactionReader(rows, warnings);
  return sourceCollector(
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
        const { repeated } = finished;
        for (const row of repeated) countWarning(warnings.repeated, rows.typeOf(row));
        return function* (month, received) {
          const chosen = received.filter((row) => !repeated.has(row));
          const order = sortedEvents(finished.effective, chosen);
          const tags = { net: JSON.stringify(netSumTexts(slice, chosen)) };
          // Entries first, as transactions reference them; without amounts no empty file is written. Each is built on demand.
          const entries = transactionEntryBatch(tables.entries, finished, order);
          if (entries.numRows > 0) yield { table: tables.entries, month, rows: entries, tags };
          yield {
            table: tables.transactions,
            month,
            rows: transactionBatch(tables.transactions, finished, order),
            tags,
          };
        };
      },
    },
    monthOfSource,
  );
}
