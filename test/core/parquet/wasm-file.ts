import { Compression, Encoding, Table as WasmTable, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm/esm';
import { arrow } from '../../../src/core/columns/arrow.js';
import { withoutRuns } from '../columns/without-runs.js';
import type { TableBatch } from '../../../src/core/columns/table.js';
import { writerName } from '../../../src/core/parquet/footer.js';
// It loads the WebAssembly.
import '../../../src/core/parquet/wasm.js';

/** The rows as a file of another encoder, parquet-wasm, that names this program as its writer. */
export function wasmFile({ table, rows }: TableBatch, metadata: ReadonlyMap<string, string> = new Map()): Uint8Array {
  let builder = new WriterPropertiesBuilder()
    .setCreatedBy(`${writerName}test`)
    .setKeyValueMetadata(new Map(metadata))
    .setCompression(Compression.SNAPPY);
  for (const { name, encoding } of table.columns) {
    builder = builder.setColumnDictionaryEnabled(name, encoding === 'dictionary');
    if (encoding === 'delta-length') builder = builder.setColumnEncoding(name, Encoding.DELTA_LENGTH_BYTE_ARRAY);
  }
  const { Table, tableToIPC } = arrow();
  const stream = tableToIPC(new Table([withoutRuns(table, rows)]), 'stream');
  return writeParquet(WasmTable.fromIPCStream(stream), builder.build());
}
