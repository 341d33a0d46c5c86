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
import { blobOf, type ParquetSource } from './parquet-source.js';
import { wasmModule } from './wasm-module.js';

initSync({ module: wasmModule() });

/** Rows a row group: what DuckDB reads as one unit, and about what WASM holds while it encodes. */
const rowGroupRows = 128 * 1024;

/** Encodings beside a dictionary; the rest is the writer's default for the type. */
const encodings: Partial<Record<Encoding, ParquetEncoding>> = {
  delta: ParquetEncoding.DELTA_BINARY_PACKED,
  'delta-length': ParquetEncoding.DELTA_LENGTH_BYTE_ARRAY,
};

/**
 * Codecs by measurement (docs/performance.md). Zstd takes half of the writer's time over `raw` and a tenth over what a
 * dictionary has made small already, where snappy is as good; ids and deltas it still halves. `compact` writes all as zstd.
 */
const codecs: Readonly<Record<Encoding, Compression>> = {
  dictionary: Compression.SNAPPY,
  plain: Compression.SNAPPY,
  delta: Compression.ZSTD,
  'delta-length': Compression.ZSTD,
};

/**
 * Has parquet-wasm write batches of one table as one Parquet file: compressed, with statistics, and with `metadata` as key-value pairs.
 * The same rows and metadata give the same bytes, as long as `metadata` is one pair: several come in any order.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH where the file doesn't hold the rows that were handed over, ENCODER where none
 *   could be written
 */
export function parquetFile(
  table: Table,
  batches: readonly RecordBatch[],
  metadata: ReadonlyMap<string, string>,
): Uint8Array {
  const rows = new (arrow().Table)([...batches]);
  const bytes = encoded(table, arrow().tableToIPC(rows, 'stream'), metadata);
  checkFooterRows(bytes, rows.numRows, table.name, 'nothing was committed');
  return bytes;
}

function encoded(table: Table, stream: Uint8Array, metadata: ReadonlyMap<string, string>): Uint8Array {
  try {
    // Ownership passes along: the writer frees the table, which frees the stream's copy.
    return writeParquet(WasmTable.fromIPCStream(stream), properties(table, metadata));
  } catch (error) {
    throw new LedgerlakeError(
      'ENCODER',
      `expected a Parquet file for ${table.name} of ${stream.length} bytes of rows, the encoder failed (${messageOf(error)}); it may have run out of memory`,
      { cause: error },
    );
  }
}

/** Which rows and columns of a row group are read, all at once. */
export interface GroupRange {
  readonly columns?: readonly string[];
  /** Rows of the group before the first one: only of files of this program's own, see `parquetBatches`. */
  readonly offset?: number;
  /** At least one. */
  readonly limit?: number;
}

/** A Parquet file that stays open for a while. */
export interface OpenParquet {
  /** Whether this program has written it. */
  readonly isLedgerlakeFile: boolean;
  readonly groups: readonly RowGroup[];
}

export interface RowGroup {
  readonly rows: number;
  /** Throws an Error where the bytes are no Parquet file. */
  table(range?: GroupRange): Promise<ArrowTable>;
}

/**
 * What `read` makes of a Parquet file.
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
        // One batch: each has its price, and a thousand rows, as they come otherwise, are few.
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

/** Made anew for each file: properties that were used once are silently the defaults the second time. */
function properties(table: Table, metadata: ReadonlyMap<string, string>): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setMaxRowGroupSize(rowGroupRows)
    .setCreatedBy(`${writerName}${version}`)
    .setKeyValueMetadata(new Map(metadata));
  for (const { name, encoding, unbounded } of table.columns) {
    builder = builder
      .setColumnDictionaryEnabled(name, encoding === 'dictionary')
      .setColumnCompression(name, codecs[encoding]);
    const chosen = encodings[encoding];
    if (chosen !== undefined) builder = builder.setColumnEncoding(name, chosen);
    if (unbounded === true) builder = builder.setColumnStatisticsEnabled(name, EnabledStatistics.None);
  }
  return builder.build();
}

/**
 * Some columns of a Parquet file, or all, as batches of about so many bytes, so that memory doesn't grow with the file. None
 * goes beyond a row group.
 *
 * @throws Error where the bytes are no Parquet file, or lack a column
 */
export async function* parquetBatches(
  source: ParquetSource,
  columns: readonly string[] | 'all',
  batchBytes: number,
): AsyncGenerator<RecordBatch> {
  const file = await ParquetFile.fromFile(await blobOf(source));
  try {
    for (const [number, group] of file.metadata().rowGroups().entries()) {
      const rows = group.numRows();
      const batchSize = Math.max(1, Math.ceil((rows * batchBytes) / Math.max(1, group.totalByteSize())));
      // As a stream from the group's beginning: what takes an offset skips, and arrow-rs can't skip DuckDB's deltas, whose
      // miniblocks have 256 values (apache/arrow-rs#9793, #11018).
      const stream: AsyncIterable<WasmBatch> = await file.stream({
        ...(columns === 'all' ? {} : { columns: [...columns] }),
        rowGroups: [number],
        batchSize,
      });
      for await (const batch of stream) {
        yield* arrow().tableFromIPC(batch.intoIPCStream()).batches;
        // WASM answers at once: without a break nothing else would get its turn before the file's end, a signal least of all.
        await setImmediate();
      }
    }
  } finally {
    file.free();
  }
}
