import { Compression, Encoding, Table as WasmTable, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm/esm';
import { arrow } from '../../../src/core/columns/arrow.js';
import type { TableRows } from '../../../src/core/columns/table-rows.js';
import { writerName } from '../../../src/core/parquet/footer.js';
// It loads the WebAssembly.
import '../../../src/core/parquet/wasm.js';

/** The rows as a file of another encoder, parquet-wasm, that names this program as its writer. */
export function wasmFile({ table, batch }: TableRows, metadata: ReadonlyMap<string, string> = new Map()): Uint8Array {
  let builder = new WriterPropertiesBuilder()
    .setCreatedBy(`${writerName}test`)
    .setKeyValueMetadata(new Map(metadata))
    .setCompression(Compression.SNAPPY);
  for (const { name, encoding } of table.columns) {
    builder = builder.setColumnDictionaryEnabled(name, encoding === 'dictionary');
    if (encoding === 'delta-length') builder = builder.setColumnEncoding(name, Encoding.DELTA_LENGTH_BYTE_ARRAY);
  }
  const { Table, tableToIPC } = arrow();
  return writeParquet(WasmTable.fromIPCStream(tableToIPC(new Table([batch]), 'stream')), builder.build());
}
