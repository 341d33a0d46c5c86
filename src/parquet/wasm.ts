import { Table as ArrowTable, tableFromIPC, tableToIPC, type RecordBatch } from 'apache-arrow';
import {
  Compression,
  Encoding as ParquetEncoding,
  ParquetFile,
  Table as WasmTable,
  WriterPropertiesBuilder,
  readParquet,
  writeParquet,
  type WriterProperties,
} from 'parquet-wasm';
import type { Encoding, Table } from '../columns/table.js';
import { LedgerlakeError } from '../errors.js';
import { version } from '../version.js';

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
 * Writes batches of one table as one Parquet file: compressed, with statistics, and with `metadata` as key-value pairs.
 * The same rows and metadata give the same bytes, as long as `metadata` is one pair: several come in any order.
 *
 * @throws LedgerlakeError PARQUET_MISMATCH where the file doesn't hold the rows that were handed over
 */
export async function parquetFile(
  table: Table,
  batches: readonly RecordBatch[],
  metadata: ReadonlyMap<string, string>,
): Promise<Uint8Array> {
  const arrow = new ArrowTable([...batches]);
  // Ownership passes along: the writer frees the table, which frees the stream's copy.
  const bytes = writeParquet(WasmTable.fromIPCStream(tableToIPC(arrow, 'stream')), properties(table, metadata));
  const written = await rowsOf(bytes);
  if (written !== arrow.numRows) {
    throw new LedgerlakeError(
      'PARQUET_MISMATCH',
      `expected ${arrow.numRows} rows in the Parquet file for ${table.name}, its footer says ${written}; nothing was committed`,
    );
  }
  return bytes;
}

/** An Arrow table as one Parquet file, as it is: for the checkpoints of a log, whose columns are nested. */
export function plainParquetFile(table: ArrowTable): Uint8Array {
  const builder = new WriterPropertiesBuilder().setCompression(Compression.ZSTD).setCreatedBy(`ledgerlake ${version}`);
  return writeParquet(WasmTable.fromIPCStream(tableToIPC(table, 'stream')), builder.build());
}

/**
 * A whole Parquet file as an Arrow table.
 *
 * @throws Error where the bytes are no Parquet file
 */
export function parquetTable(bytes: Uint8Array): ArrowTable {
  return tableFromIPC(readParquet(bytes).intoIPCStream());
}

/** Made anew for each file: properties that were used once are silently the defaults the second time. */
function properties(table: Table, metadata: ReadonlyMap<string, string>): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setMaxRowGroupSize(rowGroupRows)
    .setCreatedBy(`ledgerlake ${version}`)
    .setKeyValueMetadata(new Map(metadata));
  for (const { name, encoding } of table.columns) {
    builder = builder
      .setColumnDictionaryEnabled(name, encoding === 'dictionary')
      .setColumnCompression(name, codecs[encoding]);
    const chosen = encodings[encoding];
    if (chosen !== undefined) builder = builder.setColumnEncoding(name, chosen);
  }
  return builder.build();
}

async function rowsOf(bytes: Uint8Array): Promise<number> {
  const file = await ParquetFile.fromFile(new Blob([new Uint8Array(bytes)]));
  try {
    return file.metadata().fileMetadata().numRows();
  } finally {
    file.free();
  }
}
