import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import { columnData } from '../src/core/columns/column-data.js';
import { withoutRuns } from '../test/core/columns/without-runs.js';
import { recordBatch, type Column, type Encoding, type Table, type TableBatch } from '../src/core/columns/table.js';
import { openDatabase, type Database } from '../src/core/duckdb/connection.js';
import { encodeTable } from '../src/core/parquet/encoder/encode-table.js';
import { wasmFile } from '../test/core/parquet/wasm-file.js';
import { dayBatches } from './load/ours.js';
import { writePages } from './load/pages.js';

interface Candidate {
  readonly name: string;
  readonly encode: () => Promise<Uint8Array>;
  readonly path: string;
  writeMs: number;
  readMs: number;
  bytes: number;
}

/**
 * Prints for each column of a day of a synthetic seller (14 MB of bodies) what it takes as a file of its own: the encoder in each
 * encoding that can be chosen, and parquet-wasm in the one that is. Least CPU milliseconds of some runs to write and to read with
 * DuckDB, and kilobytes. Compile it with the rest, then `node dist/modules/bench/columns.js [RUNS] [COLUMN..]`.
 */
async function run(runs: number, names: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  const database = await openDatabase();
  try {
    await database.execute('SET threads = 1');
    await database.execute('SET enable_external_file_cache = false');
    await writePages(join(folder, 'pages'), 14e6, 1);
    for await (const { batches } of dayBatches(join(folder, 'pages'))) {
      for (const { table, rows: held } of batches) {
        const rows = withoutRuns(table, held);
        for (const column of table.columns) {
          if (names.length > 0 && !names.includes(column.name)) continue;
          console.log(`${table.name}.${column.name}: ${rows.numRows} rows, ${column.encoding}`);
          for (const { name, writeMs, readMs, bytes } of await measured(runs, folder, database, column, rows)) {
            const took = `write ${writeMs.toFixed(1)} ms, read ${readMs.toFixed(1)} ms`;
            console.log(`  ${name.padEnd(13)} ${took}, ${(bytes / 1000).toFixed(0)} kB`);
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
  column: Column,
  rows: RecordBatch,
): Promise<Candidate[]> {
  const data = columnData(rows, column.name);
  if (data === undefined) throw new Error(`no column ${column.name}`);
  const tableOf = (encoding: Encoding): Table => ({ name: 'one', about: '', columns: [{ ...column, encoding }] });
  const rowsOf = (table: Table): TableBatch => ({
    table,
    rows: recordBatch(table, rows.numRows, { [column.name]: data }),
  });
  const chosen: readonly Encoding[] =
    column.type === 'text' ? ['dictionary', 'plain', 'delta-length'] : ['dictionary', 'plain'];
  const candidate = (name: string, encode: Candidate['encode']): Candidate => {
    return { name, encode, path: join(folder, `${name}.parquet`), writeMs: Infinity, readMs: Infinity, bytes: 0 };
  };
  const candidates = [
    ...chosen.map((encoding) =>
      candidate(encoding, async () => (await encodeTable(rowsOf(tableOf(encoding)), new Map(), 'bench')).bytes),
    ),
    candidate('parquet-wasm', () => Promise.resolve(wasmFile(rowsOf(tableOf(column.encoding))))),
  ];
  // In turn, so that a busy moment of the machine falls on all of them.
  for (let at = 0; at < runs; at++) {
    for (const each of candidates) {
      const written = process.cpuUsage();
      const bytes = await each.encode();
      each.writeMs = Math.min(each.writeMs, cpuMsSince(written));
      each.bytes = bytes.length;
      if (at === 0) await writeFile(each.path, bytes);
      const read = process.cpuUsage();
      // The hash asks for every value, and of a dictionary's once.
      await database.rows(`SELECT max(hash("${column.name}")) FROM '${each.path}'`);
      each.readMs = Math.min(each.readMs, cpuMsSince(read));
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
