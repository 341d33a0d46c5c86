import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import type { LakeFiles } from '../../src/core/duckdb/views.js';
import { compactedLake, duckdbCopy, filesOf, landedLake } from './lakes.js';
import type { MeasureTask, QueryMeasured } from './measure.js';
import { documentedQueries } from './documented-queries.js';

const seed = 1;
/** Runs of a query in one process, of which the least counts. */
const repeats = 5;

/**
 * Prints what the queries of docs/queries.md take on a lake's files as they were landed, after `compact`, and on DuckDB's own copy of
 * the same rows in the same order: medians over rounds in which all three take turns, each in a process of its own; and
 * how large the files are. `node dist/modules/bench/queries/run.js [EVENTS] [ROUNDS]`, or `make bench-queries`.
 */
async function run(events: number, rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  try {
    const at = (name: string) => join(folder, name);
    await landedLake(at('landed'), events, seed);
    await compactedLake(at('landed'), at('compacted'));
    const kinds = new Map<string, LakeFiles>([
      ['landed', await filesOf(at('landed'))],
      ['compacted', await filesOf(at('compacted'))],
      ['DuckDB', await duckdbCopy(at('compacted'), at('duckdb'))],
    ]);
    await printSizes(kinds);
    const queries = await documentedQueries(await orderOf(kinds.get('landed')));
    const runs = new Map<string, QueryMeasured[][]>([...kinds.keys()].map((kind) => [kind, []]));
    for (let round = 1; round <= rounds; round++) {
      for (const [kind, files] of kinds) {
        runs.get(kind)?.push(await measured({ files: [...files], queries, repeats }));
      }
      console.error(`round ${round} of ${rounds}`);
    }
    printQueries(rounds, runs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The id of an order in the middle of a lake's files. */
async function orderOf(files: LakeFiles = new Map()): Promise<string> {
  const database = await openDatabase();
  try {
    const rows = `read_parquet(${JSON.stringify([...(files.get('entries') ?? [])]).replaceAll('"', "'")})`;
    const [found] = await database.rows(`SELECT quantile_disc(amazon_order_id, 0.5) AS id FROM ${rows}`);
    return String(found?.['id']);
  } finally {
    database.close();
  }
}

async function measured(task: MeasureTask): Promise<QueryMeasured[]> {
  const script = fileURLToPath(new URL('measure.js', import.meta.url));
  const options = { maxBuffer: 1e9 };
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(task)], options);
  return JSON.parse(stdout) as QueryMeasured[];
}

async function printSizes(kinds: ReadonlyMap<string, LakeFiles>): Promise<void> {
  const tables = [...(kinds.get('DuckDB') ?? new Map<string, unknown>()).keys()].toSorted();
  const sized = new Map<string, number[]>();
  for (const [kind, files] of kinds) {
    const sizes = tables.map(async (table) => {
      const stats = await Promise.all((files.get(table) ?? []).map((file) => stat(file)));
      return stats.reduce((sum, { size }) => sum + size, 0);
    });
    sized.set(kind, await Promise.all(sizes));
  }
  const total = (kind: string) => (sized.get(kind) ?? []).reduce((sum, size) => sum + size, 0);
  const rows = [...sized].map(([kind, sizes]) => [
    kind,
    ...[...sizes, total(kind)].map((size) => (size / 1e6).toFixed(1)),
    (total(kind) / total('DuckDB')).toFixed(2),
  ]);
  printTable(['MB', ...tables, 'all', "of DuckDB's"], rows);
}

function printQueries(rounds: number, runs: ReadonlyMap<string, readonly (readonly QueryMeasured[])[]>): void {
  console.log(`\nMedians of ${rounds} rounds in turn: CPU ms / wall ms / MB read\n`);
  const kinds = [...runs.keys()];
  const names = runs.get('DuckDB')?.[0]?.map(({ name }) => name) ?? [];
  const rows = names.map((name, number) => {
    const all = [...runs.values()].flat().map((of) => of[number]);
    if (new Set(all.map((of) => of?.rows)).size !== 1) throw new Error(`${name}: the rows differ`);
    const cells = kinds.map((kind) => {
      const of = (runs.get(kind) ?? []).flatMap((round) => round[number] ?? []);
      const bytes = of[0]?.bytesRead;
      const [cpu, wall] = [median(of.map(({ cpuMs }) => cpuMs)), median(of.map(({ wallMs }) => wallMs))];
      return {
        cpu,
        text: `${cpu.toFixed(1)} / ${wall.toFixed(1)} / ${bytes === undefined ? '?' : (bytes / 1e6).toFixed(2)}`,
      };
    });
    const peer = cells.at(-1)?.cpu ?? NaN;
    return [name, ...cells.map(({ text }) => text), ...cells.slice(0, -1).map(({ cpu }) => (cpu / peer).toFixed(2))];
  });
  printTable(['', ...kinds, ...kinds.slice(0, -1).map((kind) => `${kind}, CPU of DuckDB's`)], rows);
}

function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  console.log(`| ${header.join(' | ')} |`);
  console.log(`| --- |${' ---: |'.repeat(header.length - 1)}`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

await run(Number(process.argv[2] ?? 150_000), Number(process.argv[3] ?? 5));
