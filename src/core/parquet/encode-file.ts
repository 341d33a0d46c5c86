import type { TableBatch } from '../columns/table.js';
import { LedgerlakeError, messageOf } from '../errors.js';
import { contentOf, type FileContent } from '../io/file-content.js';
import { version } from '../version.js';
import { encodeTable } from './encoder/encode-table.js';
import { checkFooterRows, writerName } from './footer.js';

/** A Parquet file with the figures for its log entry. */
export interface EncodedFile {
  readonly bytes: Uint8Array;
  readonly content: FileContent;
  readonly rows: number;
  /** Statistics in Delta's JSON form. */
  readonly stats: string;
}

/**
 * Encodes the rows of a table as one Parquet file with `metadata` as key-value pairs. The same rows and metadata give the
 * same bytes.
 *
 * @param createdBy the writer that the footer names
 * @throws LedgerlakeError PARQUET_MISMATCH where the file doesn't have these rows, ENCODER where encoding fails
 */
export async function encodeFile(
  batch: TableBatch,
  metadata: ReadonlyMap<string, string>,
  createdBy = `${writerName}${version}`,
): Promise<EncodedFile> {
  const { table, rows } = batch;
  const length = rows.numRows;
  try {
    const { bytes, stats } = await encodeTable(batch, metadata, createdBy);
    checkFooterRows(bytes, length, table.name, 'nothing was committed');
    return { bytes, content: contentOf(bytes), rows: length, stats };
  } catch (error) {
    if (error instanceof LedgerlakeError) throw error;
    throw new LedgerlakeError(
      'ENCODER',
      `expected a Parquet file for ${table.name} of ${length} rows, the encoder failed (${messageOf(error)}); it may have run out of memory`,
      { cause: error },
    );
  }
}
