import type { RecordBatch } from 'apache-arrow';
import { deltaStatistics } from '../columns/statistics.js';
import type { Table } from '../columns/table.js';
import { parquetFile } from './wasm.js';

/** A Parquet file with what the log says of it. */
export interface EncodedFile {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
}

/** A file that is being written, or is written already. */
export interface TakenRows {
  /** Never unhandled where nobody waits for it any more. */
  readonly file: Promise<EncodedFile>;
}

/** Writes Parquet files, here or on another thread, with the same bytes. */
export interface ParquetWriter {
  /**
   * Takes the rows of a file. Comes back once the writer has had room for them, so that what is under way stays bounded, and
   * holds nothing of their memory any more; the file may come later.
   *
   * @throws LedgerlakeError PARQUET_MISMATCH, ENCODER; from here or from `file`
   */
  take(table: Table, rows: RecordBatch, metadata: ReadonlyMap<string, string>): Promise<TakenRows>;
  /** Ends it; files that aren't there yet fail. */
  close(): Promise<void>;
}

/** Writes on the thread of its caller. */
export const sameThread: ParquetWriter = {
  take: async (table, rows, metadata) => {
    const bytes = await parquetFile(table, [rows], metadata);
    return { file: Promise.resolve({ bytes, rows: rows.numRows, stats: deltaStatistics(table, rows) }) };
  },
  close: () => Promise.resolve(),
};
