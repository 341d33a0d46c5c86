import { setImmediate } from 'node:timers/promises';
import type { Table as ArrowTable, RecordBatch } from 'apache-arrow';
import { arrow } from '../columns/arrow.js';
import {
  Compression,
  EnabledStatistics,
  Encoding as ParquetEncoding,
  ParquetFile,
  type RecordBatch as WasmBatch,
  Table as WasmTable,
  WriterPropertiesBuilder,
  initSync,
  writeParquet,
  type WriterProperties,
} from 'parquet-wasm/esm';
import type { Encoding, Table } from '../columns/table.js';
import { LedgerlakeError, messageOf } from '../errors.js';
import { version } from '../version.js';
import { checkFooterRows, writerName } from './footer.js';
import { checkPages } from './page-limits.js';
import { blobOf, type ParquetSource } from './parquet-source.js';
import { wasmModule } from './wasm-module.js';

initSync({ module: wasmModule() });

/** Rows of a row group: DuckDB reads it as one unit, and the encoder's WASM memory holds about one. */
const rowGroupRows = 128 * 1024;

/** Encodings that are set explicitly; others are the writer's default for the type. */
const encodings: Partial<Record<Encoding, ParquetEncoding>> = {
  delta: ParquetEncoding.DELTA_BINARY_PACKED,
  'delta-length': ParquetEncoding.DELTA_LENGTH_BYTE_ARRAY,
};

/**
 * Codecs by measurement (docs/performance.md). Zstd takes half of the writer's time for `raw`, and a tenth for
 * dictionary columns, where snappy compresses as well; it halves ids and deltas. `compact` writes everything with zstd.
 */
const codecs: Readonly<Record<Encoding, Compression>> = {
  dictionary: Compression.SNAPPY,
  plain: Compression.SNAPPY,
  delta: Compression.ZSTD,
  'delta-length': Compression.ZSTD,
};

/**
 * Encodes batches of one table as one Parquet file with parquet-wasm: compressed, with statistics, and with `metadata`
 * as key-value pairs. The same rows and metadata give the same bytes where `metadata` is one pair: the order of several
 * is undefined.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH where the file doesn't have these rows, ENCODER where encoding fails
 */
export function parquetFile(
  table: Table,
  batches: readonly RecordBatch[],
  metadata: ReadonlyMap<string, string>,
): Uint8Array {
  const rows = new (arrow().Table)([...batches]);
  const stream = arrow().tableToIPC(rows, 'stream');
  const bytes = encoded(table, stream, () => properties(table, rows, metadata));
  checkFooterRows(bytes, rows.numRows, table.name, 'nothing was committed');
  return bytes;
}

function encoded(table: Table, stream: Uint8Array, writerProperties: () => WriterProperties): Uint8Array {
  try {
    // The writer takes ownership of the table and frees it, with its copy of the stream.
    return writeParquet(WasmTable.fromIPCStream(stream), writerProperties());
  } catch (error) {
    throw new LedgerlakeError(
      'ENCODER',
      `expected a Parquet file for ${table.name} of ${stream.length} bytes of rows, the encoder failed (${messageOf(error)}); it may have run out of memory`,
      { cause: error },
    );
  }
}

/** The rows and columns to read of a row group. */
export interface GroupRange {
  readonly columns?: readonly string[];
  /** Rows to skip; only for files of this program, see `parquetBatches`. */
  readonly offset?: number;
  /** At least one. */
  readonly limit?: number;
}

/** An open Parquet file. */
export interface OpenParquet {
  /** Whether this program wrote it. */
  readonly isLedgerlakeFile: boolean;
  readonly groups: readonly RowGroup[];
}

export interface RowGroup {
  readonly rows: number;
  /** Throws an Error where the bytes are no Parquet file. */
  table(range?: GroupRange): Promise<ArrowTable>;
}

/**
 * Opens a Parquet file, calls `read` and closes it.
 *
 * @throws Error where the bytes are no Parquet file
 */
export async function withParquet<T>(bytes: Uint8Array, read: (file: OpenParquet) => Promise<T>): Promise<T> {
  const file = await ParquetFile.fromFile(await blobOf(bytes));
  try {
    const metadata = file.metadata();
    const groups = metadata.rowGroups().map((group, number): RowGroup => {
      const rows = group.numRows();
      return {
        rows,
        // One batch for all rows: each batch has a cost, and the default of a thousand rows is small.
        table: async ({ columns, ...range } = {}) => {
          const selected = columns === undefined ? {} : { columns: [...columns] };
          const options = { ...selected, ...range, rowGroups: [number], batchSize: Math.max(1, rows) };
          return arrow().tableFromIPC((await file.read(options)).intoIPCStream());
        },
      };
    });
    return await read({
      isLedgerlakeFile: metadata.fileMetadata().createdBy()?.startsWith(writerName) === true,
      groups,
    });
  } finally {
    file.free();
  }
}

/** Built for each file: properties that are used a second time are silently the defaults. */
function properties(table: Table, rows: ArrowTable, metadata: ReadonlyMap<string, string>): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setMaxRowGroupSize(rowGroupRows)
    .setCreatedBy(`${writerName}${version}`)
    .setKeyValueMetadata(new Map(metadata));
  for (const { name, encoding, unbounded } of table.columns) {
    builder = builder
      .setColumnDictionaryEnabled(name, encoding === 'dictionary' && !hasEmptyGroup(rows, name))
      .setColumnCompression(name, codecs[encoding]);
    const chosen = encodings[encoding];
    if (chosen !== undefined) builder = builder.setColumnEncoding(name, chosen);
    if (unbounded === true) builder = builder.setColumnStatisticsEnabled(name, EnabledStatistics.None);
  }
  return builder.build();
}

/** Whether all values of a row group are null: some readers fail on a dictionary without values, which it would get. */
function hasEmptyGroup(rows: ArrowTable, name: string): boolean {
  const values = rows.getChild(name);
  for (let from = 0; values !== null && from < rows.numRows; from += rowGroupRows) {
    const group = values.slice(from, from + rowGroupRows);
    if (group.nullCount === group.length) return true;
  }
  return false;
}

/** Maximum bytes of a batch of chosen columns whose rows all have the longest value that a dictionary can have. */
const mostRepeatedBytes = 64_000_000;

/**
 * Columns of a Parquet file as batches of about `batchBytes`, so that memory doesn't grow with the file. A batch never
 * spans row groups.
 *
 * @throws Error where the bytes are no Parquet file, lack a column, or have a page that `checkPages` refuses
 */
export async function* parquetBatches(
  source: ParquetSource,
  columns: readonly string[],
  batchBytes: number,
): AsyncGenerator<RecordBatch> {
  const blob = await blobOf(source);
  const { largestDictionary } = await checkPages(blob, columns);
  const mostRows = Math.ceil(mostRepeatedBytes / Math.max(1, largestDictionary));
  const file = await ParquetFile.fromFile(blob);
  try {
    for (const [number, group] of file.metadata().rowGroups().entries()) {
      const rows = group.numRows();
      const share = Math.ceil((rows * batchBytes) / Math.max(1, group.totalByteSize()));
      const batchSize = Math.max(1, Math.min(share, mostRows));
      // A stream from the group's start, because an offset makes arrow-rs skip rows, and it can't skip DuckDB's deltas,
      // whose miniblocks have 256 values (apache/arrow-rs#9793, #11018).
      const stream: AsyncIterable<WasmBatch> = await file.stream({
        columns: [...columns],
        rowGroups: [number],
        batchSize,
      });
      for await (const batch of stream) {
        yield* arrow().tableFromIPC(batch.intoIPCStream()).batches;
        // WASM resolves immediately: without a pause no other event, such as a signal, is handled before the file's
        // end.
        await setImmediate();
      }
    }
  } finally {
    file.free();
  }
}
