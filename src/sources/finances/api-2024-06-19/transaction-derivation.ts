import { scan } from '../../../core/json/scan.js';
import { Tape } from '../../../core/json/tape.js';
import type { Derivation } from '../../../engine/run/derivation.js';
import { emptySubject, newWarnings } from '../model/slice-rows.js';
import { bufferOf } from '../../../core/columns/byte-ranges.js';
import { cellNumber, entryDeriver, type EntryReader } from '../model/entry-deriver.js';
import { sharedColumns, transactionEntryBatch } from './transaction-batches.js';
import { TransactionReader } from './transaction-reader.js';
import { TransactionRows } from './transaction-rows.js';

/** Derives entries from stored transactions. */
export const transactionDerivation: Derivation = {
  texts: ['event_id', 'raw', ...sharedColumns],
  instants: ['posted_at', 'effective_at'],
  begin: () => entryDeriver(storedTransactions()),
};

function storedTransactions(): EntryReader {
  const rows = new TransactionRows(false);
  const reader = new TransactionReader(rows, newWarnings());
  const { slice, texts } = rows;
  const tape = new Tape();
  return {
    slice,
    reader: (cells) => {
      const shared = sharedColumns.map((name) => ({ column: texts[name], cellAt: cells.texts(name) }));
      return (raw, row, at) => {
        if (at === 0) slice.begin(emptySubject);
        scan(bufferOf(raw), tape);
        reader.add(tape, 0);
        for (const { column, cellAt } of shared) column.numbers.set(at, cellNumber(column.values, cellAt(row)));
      };
    },
    entries: (table, known, order, memory) => transactionEntryBatch(table, { rows, ...known }, order, memory),
  };
}
