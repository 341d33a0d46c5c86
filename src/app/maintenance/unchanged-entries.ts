import type { RecordBatch } from 'apache-arrow';
import { sameValues } from '../../core/columns/same-values.js';
import type { Table } from '../../core/columns/table.js';
import type { ParquetSource } from '../../core/parquet/source-blob.js';
import { parquetBatches } from '../../core/parquet/wasm.js';
import { entriesAgain } from './entries-again.js';

/** Bytes of `raw` whose entries are made at once. */
const rawBytes = 800_000;
/** Bytes of stored entries that are read at once; what repeats in them takes many times as much then. */
export const readBytes = 200_000;

/** How many rows were gone through. */
export interface RowCounts {
  readonly events: number;
  readonly rows: number;
}

/**
 * Makes the entries of a file of events again, and holds them against a file of entries as they come: where they are the
 * same row by row, which they mostly are, nothing has to be written. Undefined where they differ, come in another order, or
 * the file of entries has other columns.
 *
 * @throws Error where the bytes are no Parquet file of events, or the signal's reason
 */
export async function unchangedEntries(
  table: Table,
  file: ParquetSource,
  stored: ParquetSource,
  signal: AbortSignal,
): Promise<RowCounts | undefined> {
  const rest = new StoredRows(table, stored);
  const counts = { events: 0, rows: 0 };
  try {
    for await (const { events, rows } of entriesAgain(table, file, rawBytes)) {
      signal.throwIfAborted();
      if (!(await rest.goOnWith(rows))) return undefined;
      counts.events += events;
      counts.rows += rows.numRows;
    }
    return (await rest.isAtEnd()) ? counts : undefined;
  } finally {
    await rest.close();
  }
}

/** The rows of a Parquet file, gone through from the first to the last. */
class StoredRows {
  readonly #table: Table;
  readonly #batches: AsyncGenerator<RecordBatch>;
  #batch: RecordBatch | undefined;
  /** The first row of the batch that hasn't been gone through. */
  #from = 0;

  constructor(table: Table, file: ParquetSource) {
    this.#table = table;
    this.#batches = parquetBatches(file, 'all', readBytes);
  }

  /** Whether the next rows are these; goes past them. */
  async goOnWith(batch: RecordBatch): Promise<boolean> {
    for (let from = 0; from < batch.numRows;) {
      const stored = await this.#current();
      if (stored === undefined) return false;
      const rows = Math.min(batch.numRows - from, stored.numRows - this.#from);
      if (!sameValues(this.#table, { batch, from }, { batch: stored, from: this.#from }, rows)) return false;
      from += rows;
      this.#from += rows;
    }
    return true;
  }

  /** Whether all rows have been gone through. */
  async isAtEnd(): Promise<boolean> {
    return (await this.#current()) === undefined;
  }

  /** The batch that the next row is in; undefined where there is none. */
  async #current(): Promise<RecordBatch | undefined> {
    while (this.#batch === undefined || this.#from === this.#batch.numRows) {
      const next = await this.#batches.next();
      if (next.done === true) return undefined;
      this.#batch = next.value;
      this.#from = 0;
    }
    return this.#batch;
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}
