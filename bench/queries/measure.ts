import { createHash } from 'node:crypto';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { lakeTables } from '../../src/app/query/lake-files.js';
import { createViews } from '../../src/core/duckdb/views.js';
import { bytesReadSoFar } from '../bytes-read.js';
import type { DocumentedQuery } from './documented-queries.js';

/** What one query took on one kind of files. */
export interface QueryMeasured {
  readonly name: string;
  /** Least milliseconds of some runs, by the wall's clock and of all processors. */
  readonly wallMs: number;
  readonly cpuMs: number;
  /** What a run reads from the disk's files, footers included; undefined where the system doesn't tell. */
  readonly bytesRead: number | undefined;
  /** A hash of its rows, whatever their order: rows that compare as equal come in any. */
  readonly rows: string;
}

/** What a process that measures is told on its standard input's place, its one argument. */
export interface MeasureTask {
  readonly files: readonly (readonly [string, readonly string[]])[];
  readonly queries: readonly DocumentedQuery[];
  readonly repeats: number;
}

async function measure({ files, queries, repeats }: MeasureTask): Promise<QueryMeasured[]> {
  const database = await openDatabase();
  // Nothing is kept from one run to the next: each reads and decodes what it needs. One thread: several wait for each other
  // by turning in circles, which counts as work.
  await database.execute('SET threads = 1');
  await database.execute('SET enable_external_file_cache = false');
  await createViews(database, lakeTables, new Map(files));
  const measured: QueryMeasured[] = [];
  for (const { name, sql } of queries) {
    const before = await bytesReadSoFar();
    const rows = hashOf(await database.rows(sql));
    const after = await bytesReadSoFar();
    let [wallMs, cpuMs] = [Infinity, Infinity];
    for (let run = 0; run < repeats; run++) {
      const began = performance.now();
      const cpu = process.cpuUsage();
      await database.rows(sql);
      wallMs = Math.min(wallMs, performance.now() - began);
      const { user, system } = process.cpuUsage(cpu);
      cpuMs = Math.min(cpuMs, (user + system) / 1000);
    }
    const bytesRead = before === undefined || after === undefined ? undefined : after - before;
    measured.push({ name, wallMs, cpuMs, bytesRead, rows });
  }
  database.close();
  return measured;
}

function hashOf(rows: readonly object[]): string {
  const texts = rows.map((row) => Object.values(row).map(String).join('\t')).toSorted();
  return createHash('sha256').update(texts.join('\n')).digest('hex');
}

const task = process.argv[2];
if (task !== undefined) console.log(JSON.stringify(await measure(JSON.parse(task) as MeasureTask)));
