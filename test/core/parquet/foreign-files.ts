import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Compression,
  EnabledStatistics,
  Encoding,
  readParquet,
  writeParquet,
  WriterPropertiesBuilder,
  WriterVersion,
} from 'parquet-wasm/esm';
import type { Database } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
// It loads the WebAssembly.
import '../../../src/core/parquet/wasm.js';

/** A sound Parquet file of another writer. */
export interface ForeignFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const duckdbOptions = [
  ...['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw'].flatMap((codec) =>
    ['V1', 'V2'].map((version) => `COMPRESSION ${codec}, PARQUET_VERSION ${version}`),
  ),
  'COMPRESSION zstd, COMPRESSION_LEVEL 19',
  'ROW_GROUP_SIZE 2048',
  'DICTIONARY_SIZE_LIMIT 0',
  'DICTIONARY_SIZE_LIMIT 0, PARQUET_VERSION V2',
  'STRING_DICTIONARY_PAGE_SIZE_LIMIT 1000',
  'WRITE_BLOOM_FILTER false',
  `KV_METADATA {ledgerlake: 'x', other: '${'y'.repeat(500)}'}`,
  `FIELD_IDS 'auto'`,
] as const;

/** The rows of a Parquet file as DuckDB writes them in each of its ways. */
export async function duckdbFiles(database: Database, path: string, folder: string): Promise<ForeignFile[]> {
  const files: ForeignFile[] = [];
  for (const [number, options] of duckdbOptions.entries()) {
    const copy = join(folder, `duckdb-${number}.parquet`);
    const rows = `FROM read_parquet(${literal(path)}, hive_partitioning = false)`;
    await database.execute(`COPY (${rows}) TO ${literal(copy)} (FORMAT parquet, ${options})`);
    files.push({ name: `DuckDB ${options}`, bytes: await readFile(copy) });
  }
  return files;
}

type Way = (builder: WriterPropertiesBuilder) => WriterPropertiesBuilder;

const wasmWays: Readonly<Record<string, Way>> = {
  uncompressed: (to) => to.setCompression(Compression.UNCOMPRESSED),
  snappy: (to) => to.setCompression(Compression.SNAPPY),
  gzip: (to) => to.setCompression(Compression.GZIP),
  brotli: (to) => to.setCompression(Compression.BROTLI),
  zstd: (to) => to.setCompression(Compression.ZSTD),
  'raw LZ4': (to) => to.setCompression(Compression.LZ4_RAW),
  'second version': (to) => to.setWriterVersion(WriterVersion.V2),
  'second version, snappy': (to) => to.setWriterVersion(WriterVersion.V2).setCompression(Compression.SNAPPY),
  'second version, zstd': (to) => to.setWriterVersion(WriterVersion.V2).setCompression(Compression.ZSTD),
  'plain, without dictionary': (to) => to.setDictionaryEnabled(false),
  'second version, without dictionary': (to) => to.setDictionaryEnabled(false).setWriterVersion(WriterVersion.V2),
  'no statistics': (to) => to.setStatisticsEnabled(EnabledStatistics.None),
  'statistics of chunks': (to) => to.setStatisticsEnabled(EnabledStatistics.Chunk),
  'small groups': (to) => to.setMaxRowGroupSize(7),
  'small pages': (to) => to.setDataPageSizeLimit(100).setWriteBatchSize(2),
  'small dictionaries': (to) => to.setDictionaryPageSizeLimit(50).setWriteBatchSize(2),
};

const columnWays: Readonly<Record<string, Encoding>> = {
  'delta length': Encoding.DELTA_LENGTH_BYTE_ARRAY,
  'delta texts': Encoding.DELTA_BYTE_ARRAY,
};

const integerWays: Readonly<Record<string, Encoding>> = {
  'delta integers': Encoding.DELTA_BINARY_PACKED,
  'split integers': Encoding.BYTE_STREAM_SPLIT,
};

/** The rows of a Parquet file as parquet-wasm writes them in each of its ways. */
export function wasmFiles(
  bytes: Uint8Array,
  { texts, integers }: { readonly texts: readonly string[]; readonly integers: readonly string[] },
  createdBy = 'another',
): ForeignFile[] {
  const encoded = (columns: readonly string[], encoding: Encoding) => (to: WriterPropertiesBuilder) =>
    columns.reduce(
      (builder, column) => builder.setColumnDictionaryEnabled(column, false).setColumnEncoding(column, encoding),
      to,
    );
  const ways: [string, Way][] = [
    ...Object.entries(wasmWays),
    ...Object.entries(columnWays).map(([name, way]): [string, Way] => [name, encoded(texts, way)]),
    ...Object.entries(integerWays).map(([name, way]): [string, Way] => [name, encoded(integers, way)]),
  ];
  return ways.map(([name, way]) => ({
    name: `parquet-wasm ${name}, by ${createdBy}`,
    bytes: writeParquet(readParquet(bytes), way(new WriterPropertiesBuilder().setCreatedBy(createdBy)).build()),
  }));
}

const otherRows = [
  'SELECT 1::FLOAT AS a, 2::DOUBLE AS b, true AS c, 3::TINYINT AS d, 4::UBIGINT AS e, 5::HUGEINT AS f',
  `SELECT uuid() AS a, '\\x00'::BLOB AS b, 1::DECIMAL(38, 9) AS c, INTERVAL 1 DAY AS d, TIME '01:02:03' AS e`,
  `SELECT TIMESTAMP_NS '2024-01-01' AS a, TIMESTAMP_MS '2024-01-01' AS b, DATE '2024-01-01' AS c, '1'::BIT::VARCHAR AS d`,
  'SELECT [1, 2] AS a, [[1], NULL, []] AS b',
  `SELECT {'a': 1, 'b': {'c': [1]}} AS a, MAP {'k': 1} AS b`,
  `SELECT 'x' AS event_id, 'y' AS raw`,
  'SELECT 1 AS event_id, 2 AS raw',
  `SELECT ['x'] AS event_id, {'raw': 'y'} AS raw`,
  'SELECT NULL AS event_id, NULL::VARCHAR AS raw',
  `SELECT chr(0) AS "\u0001"`,
  `SELECT ${Array.from({ length: 1000 }, (_, number) => `${number} AS column${number}`).join(', ')}`,
  `SELECT 'x' AS raw WHERE false`,
  `SELECT ${Array.from({ length: 200 }).reduce<string>((inner) => `{'a': ${inner}}`, '1')} AS a`,
];

/** Files of other rows: nested types, other physical types, a thousand columns, no rows. */
export async function otherFiles(database: Database, folder: string): Promise<ForeignFile[]> {
  const files: ForeignFile[] = [];
  for (const [number, query] of otherRows.entries()) {
    const path = join(folder, `other-${number}.parquet`);
    await database.execute(`COPY (${query}) TO ${literal(path)} (FORMAT parquet)`);
    files.push({ name: query.slice(0, 80), bytes: await readFile(path) });
  }
  return files;
}
