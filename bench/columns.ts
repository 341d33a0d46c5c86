import { Compression, Encoding, Table, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm';
import { Table as ArrowTable, tableToIPC, type RecordBatch } from 'apache-arrow';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Column } from '../src/core/columns/table.js';
import { openDatabase, type Database } from '../src/core/duckdb/connection.js';
import { dayBatches } from './load/ours.js';
import { writePages } from './load/pages.js';

const codecs = {
  zstd: Compression.ZSTD,
  snappy: Compression.SNAPPY,
  LZ4: Compression.LZ4_RAW,
  none: Compression.UNCOMPRESSED,
} as const;
const encodings = {
  dictionary: undefined,
  plain: Encoding.PLAIN,
  delta: Encoding.DELTA_BINARY_PACKED,
  'delta-length': Encoding.DELTA_LENGTH_BYTE_ARRAY,
} as const;

interface Candidate {
  readonly encoding: keyof typeof encodings;
  readonly codec: keyof typeof codecs;
  readonly path: string;
  writeMs: number;
  readMs: number;
  bytes: number;
}

/**
 * Prints for each column of a day of a made-up seller (14 MB of bodies) what it takes as a file of its own, for each
 * encoding and codec that can be chosen: least CPU milliseconds of some runs to write with parquet-wasm and to read with
 * DuckDB, and kilobytes. Compile it with the rest, then `node dist/bench/columns.js [RUNS] [COLUMN..]`.
 */
async function run(runs: number, names: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  const database = await openDatabase();
  try {
    await database.execute('SET threads = 1; SET enable_external_file_cache = false');
    await writePages(join(folder, 'pages'), 14e6, 1);
    for await (const { batches } of dayBatches(join(folder, 'pages'))) {
      for (const { table, rows } of batches) {
        for (const column of table.columns) {
          if (names.length > 0 && !names.includes(column.name)) continue;
          console.log(`${table.name}.${column.name}: ${rows.numRows} rows, ${column.encoding}`);
          for (const { encoding, codec, writeMs, readMs, bytes } of await measured(
            runs,
            folder,
            database,
            column,
            rows,
          )) {
            const took = `write ${writeMs.toFixed(1)} ms, read ${readMs.toFixed(1)} ms`;
            console.log(`  ${encoding.padEnd(13)}${codec.padEnd(7)} ${took}, ${(bytes / 1000).toFixed(0)} kB`);
          }
        }
      }
      break;
    }
  } finally {
    database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measured(
  runs: number,
  folder: string,
  database: Database,
  { name, type }: Column,
  rows: RecordBatch,
): Promise<Candidate[]> {
  const stream = tableToIPC(new ArrowTable([rows]).select([name]), 'stream');
  const chosen: readonly (keyof typeof encodings)[] =
    type === 'text' ? ['dictionary', 'plain', 'delta-length'] : ['dictionary', 'plain', 'delta'];
  const candidates = chosen.flatMap((encoding) =>
    (Object.keys(codecs) as (keyof typeof codecs)[]).map((codec): Candidate => {
      const path = join(folder, `${encoding}-${codec}.parquet`);
      return { encoding, codec, path, writeMs: Infinity, readMs: Infinity, bytes: 0 };
    }),
  );
  // In turn, so that a busy moment of the machine falls on all of them.
  for (let at = 0; at < runs; at++) {
    for (const candidate of candidates) {
      const { encoding, codec, path } = candidate;
      let builder = new WriterPropertiesBuilder()
        .setMaxRowGroupSize(128 * 1024)
        .setColumnDictionaryEnabled(name, encoding === 'dictionary')
        .setColumnCompression(name, codecs[codec]);
      const stored = encodings[encoding];
      if (stored !== undefined) builder = builder.setColumnEncoding(name, stored);
      const [properties, table] = [builder.build(), Table.fromIPCStream(stream)];
      const written = process.cpuUsage();
      const bytes = writeParquet(table, properties);
      candidate.writeMs = Math.min(candidate.writeMs, cpuMsSince(written));
      candidate.bytes = bytes.length;
      if (at === 0) await writeFile(path, bytes);
      const read = process.cpuUsage();
      // The hash asks for every value, and of a dictionary's once.
      await database.rows(`SELECT max(hash("${name}")) FROM '${path}'`);
      candidate.readMs = Math.min(candidate.readMs, cpuMsSince(read));
    }
  }
  return candidates;
}

function cpuMsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

const [runs = '7', ...names] = process.argv.slice(2);
await run(Number(runs), names);
