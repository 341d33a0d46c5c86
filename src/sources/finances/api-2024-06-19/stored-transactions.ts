import type { ColumnMemory } from '../../../core/columns/memory.js';
import type { Table } from '../../../core/columns/table.js';
import { scan } from '../../../core/json/scan.js';
import { Tape } from '../../../core/json/tape.js';
import {
  cellText,
  type Derivation,
  type DerivedBatch,
  type StoredCells,
  type StoredRows,
} from '../../../engine/run/derivation.js';
import { netSums } from '../model/event-batches.js';
import { newWarnings } from '../model/slice-rows.js';
import { cellNumber, keepNothing, rawBytes, storedSource } from '../model/stored-events.js';
import { sharedColumns, transactionEntryBatch } from './transaction-batches.js';
import { TransactionReader } from './transaction-reader.js';
import { TransactionRows } from './transaction-rows.js';

/** Entries of transactions, from the transactions as they are stored. */
export const transactionDerivation: Derivation = {
  texts: ['event_id', 'raw', ...sharedColumns],
  instants: ['posted_at', 'effective_at'],
  begin: () => new StoredTransactions(),
};

class StoredTransactions implements StoredRows {
  bytes = 0;
  readonly #rows = new TransactionRows(keepNothing);
  readonly #reader = new TransactionReader(this.#rows, newWarnings());
  readonly #tape = new Tape();
  readonly #ids: string[] = [];
  readonly #effective: (bigint | undefined)[] = [];

  get count(): number {
    return this.#ids.length;
  }

  add(cells: StoredCells, row: number): void {
    const { slice, texts } = this.#rows;
    const at = this.count;
    if (at === 0) slice.begin(storedSource);
    const bytes = rawBytes(cells, row);
    scan(bytes, this.#tape);
    this.#reader.add(this.#tape, 0);
    // An entry repeats these of its transaction: what the transaction's row says, even if it would be read otherwise today.
    for (const name of sharedColumns) {
      const { values, numbers } = texts[name];
      numbers.set(at, cellNumber(values, cells.text(name, row)));
    }
    slice.events.postedAt[at] = cells.instant('posted_at', row);
    this.#effective.push(cells.instant('effective_at', row));
    this.#ids.push(cellText(cells.text('event_id', row)) ?? '');
    this.bytes += bytes.length;
  }

  finish(table: Table, memory: ColumnMemory | undefined): DerivedBatch {
    const order = this.#ids.map((_, row) => row);
    const ids = { eventIds: this.#ids, contentHashes: [] };
    const finished = { rows: this.#rows, ids, effective: this.#effective };
    return {
      rows: transactionEntryBatch(table, finished, order, memory),
      net: netSums(this.#rows.slice, order),
      sources: this.count,
    };
  }
}
