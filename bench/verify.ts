import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { certify } from '../src/app/verify/verify.js';
import { systemClock } from '../src/core/clock.js';
import { openDatabase } from '../src/core/duckdb/connection.js';
import { readParquet } from '../src/core/duckdb/literals.js';

/** Days of the synthetic seller, of which both APIs and the settlement reports are loaded. */
const days = 104;

/** What is measured, each in a process of its own: `verify`, and DuckDB that reads each value of the same files once. */
const candidates: Readonly<Record<string, (lake: string) => Promise<void>>> = {
  verify: async (lake) => {
    const context = { clock: systemClock, signal: new AbortController().signal, emit: () => undefined };
    const { certificate } = await certify({ lake }, context);
    if (certificate.verdict !== 'whole') throw new Error(`expected a whole lake, got ${certificate.verdict}`);
  },
  'DuckDB reads all values': async (lake) => {
    const database = await openDatabase();
    for (const table of await readdir(lake)) {
      if (table.startsWith('_')) continue;
      const folder = join(lake, table);
      const files = (await readdir(folder, { recursive: true })).filter((file) => /^account=.*\.parquet$/.test(file));
      if (files.length === 0) continue;
      const rows = readParquet(
        files.map((file) => join(folder, file)),
        'union_by_name = true',
      );
      await database.rows(`SELECT bit_xor(hash(COLUMNS(*))) FROM ${rows}`);
    }
    database.close();
  },
};

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? NaN;
}

/** Loads a lake, and prints the median seconds and CPU seconds of each candidate. */
async function bench(rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  try {
    const lake = join(folder, 'lake');
    const from = new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    const load = (...words: string[]) =>
      execFileSync(process.execPath, ['dist/src/cli.js', 'backfill', ...words, '--lake', lake], { stdio: 'ignore' });
    load('--from', from, '--api', 'both');
    load('settlement-reports');
    for (const name of Object.keys(candidates)) {
      const measured = Array.from({ length: rounds }, () => {
        const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), name, lake], { encoding: 'utf8' });
        return JSON.parse(out) as { seconds: number; cpuSeconds: number };
      });
      const [seconds, cpu] = [measured.map((each) => each.seconds), measured.map((each) => each.cpuSeconds)].map(
        median,
      );
      console.log(`${name}: ${seconds?.toFixed(1) ?? ''} s, ${cpu?.toFixed(1) ?? ''} CPU s`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

const [first = '5', lake] = process.argv.slice(2);
if (lake === undefined) await bench(Number(first));
else {
  const began = performance.now();
  await candidates[first]?.(lake);
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  console.log(
    JSON.stringify({ seconds: (performance.now() - began) / 1000, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }),
  );
}
