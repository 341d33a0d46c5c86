import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.js';
import type { Emit } from '../../src/core/events/run-event.js';
import { openDatabase, type Database } from '../../src/core/duckdb/connection.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import { createViews } from '../../src/core/duckdb/views.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { entries } from '../../src/sources/finances/api-v0/event-tables.js';
import { Lake } from '../../src/lake/lake.js';
import { diskStore } from '../../src/lake/store/disk.js';
import { bytesReadSoFar } from '../bytes-read.js';
import { accountOf, compactAll, exportAll, fill, lakeOf, syncAll, type Fleet } from './fleet.js';

/** What a process of its own does and measures, as lines to print. */
export type Step = (fleet: Fleet, share: { worker: number; workers: number }, night: number) => Promise<string[]>;

/** Accounts by which a worker says how its pace goes: what grows with the lake shows in the last of them. */
const tellEvery = 50;

export const steps: Readonly<Record<string, Step>> = {
  fill: (fleet, share) => paced((done) => fill(fleet, share, done)),
  sync: (fleet, share, night) => paced((done) => syncAll(fleet, share, night, done)),
  // A run of each account exports the whole lake at its end.
  'sync-export': async (fleet, share, night) => {
    let bytes = 0;
    const emit: Emit = (event) => {
      if (event.event === 'lake-exported') bytes += event.bytes;
    };
    const lines = await paced((done) => syncAll(fleet, share, night, done, { formats: ['iceberg'], emit }));
    return [...lines, `Iceberg metadata: ${mb(bytes)} written`];
  },
  export: async (fleet, _share, night) => {
    const { bytes, files } = await exportAll(fleet, night);
    return [`Iceberg metadata of ${files} files: ${mb(bytes)} written`];
  },
  compact: async (fleet, _share, night) => {
    await compactAll(fleet, night);
    return [];
  },
  open: openings,
  query: queries,
};

/** CPU milliseconds an account, of the first accounts and of the last ones. */
async function paced(run: (done: () => void) => Promise<void>): Promise<string[]> {
  const paces: number[] = [];
  let count = 0;
  let before = process.cpuUsage();
  await run(() => {
    if (++count % tellEvery !== 0) return;
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    paces.push((user + system) / 1000 / tellEvery);
    console.error(`  ${count} accounts, ${paces.at(-1)?.toFixed(0) ?? ''} CPU ms for each of the last ${tellEvery}`);
  });
  const of = (pace: number | undefined) => pace?.toFixed(0) ?? '?';
  return [`CPU ms an account: ${of(paces[0])} at first, ${of(paces.at(-1))} in the end`];
}

/** How long the lake takes to open, with every account: as it is, and from its commits alone. */
async function openings(fleet: Fleet): Promise<string[]> {
  const bare = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  try {
    const filter = (path: string) => !path.includes('checkpoint');
    await cp(join(lakeOf(fleet), '_catalog'), join(bare, '_catalog'), { recursive: true, filter });
    const took = async (folder: string) => {
      const began = performance.now();
      const { snapshot } = await Lake.open(diskStore(folder), tables, systemClock);
      let files = 0;
      for (const table of snapshot.tables.keys()) files += [...snapshot.files(table)].length;
      return { ms: performance.now() - began, snapshot, files };
    };
    const { ms, snapshot, files } = await took(lakeOf(fleet));
    const again = await took(lakeOf(fleet));
    const without = await took(bare);
    const accounts = [...snapshot.accounts()].length;
    return [
      `version ${snapshot.version}, ${files} files of ${accounts} accounts: ${ms.toFixed(0)} ms, again ${again.ms.toFixed(0)} ms, ` +
        `without a checkpoint ${without.ms.toFixed(0)} ms`,
    ];
  } finally {
    await rm(bare, { recursive: true, force: true });
  }
}

/** What one account's month costs: files and bytes of all that there are, by a plain glob and as `ledgerlake sql` does it. */
async function queries(fleet: Fleet): Promise<string[]> {
  const lake = lakeOf(fleet);
  const { files, bytes } = await sizeOf(join(lake, entries.name));
  const lines = [`entries: ${files} files, ${mb(bytes)}`];
  const account = accountOf(Math.ceil(fleet.accounts / 2));
  const where = `WHERE role = 'net' AND account = '${account}' AND month = '2026-02' GROUP BY ALL`;
  const measure = async (what: string, open: (database: Database) => Promise<string>) => {
    const database = await openDatabase();
    const before = (await bytesReadSoFar()) ?? NaN;
    const began = performance.now();
    const from = await open(database);
    const opened = performance.now();
    const openBytes = ((await bytesReadSoFar()) ?? NaN) - before;
    const sql = `SELECT currency, sum(amount) AS net FROM ${from} ${where}`;
    await database.rows(sql);
    const ended = performance.now();
    const queryBytes = ((await bytesReadSoFar()) ?? NaN) - before - openBytes;
    const [plan] = await database.rows(`EXPLAIN ANALYZE ${sql}`);
    const [, read = '?'] = /Total Files Read: (\d+)/.exec(Object.values(plan ?? {}).join('\n')) ?? [];
    database.close();
    lines.push(
      `${what}: opened in ${(opened - began).toFixed(0)} ms (${mb(openBytes)}), query ${(ended - opened).toFixed(0)} ms, ` +
        `${read} files, ${mb(queryBytes)}`,
    );
  };
  const glob = `read_parquet('${lake}/entries/account=*/month=*/*.parquet', hive_partitioning = true)`;
  await measure('read_parquet over all', () => Promise.resolve(glob));
  await measure('ledgerlake sql', async (database) => {
    const { tables: known, lakeFiles } = await openLakeReader(lake, systemClock);
    await createViews(
      database,
      known.filter(({ name }) => name === entries.name),
      await lakeFiles(),
    );
    return entries.name;
  });
  return lines;
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet'));
  const data = names.filter((name) => name.startsWith('account='));
  let bytes = 0;
  for (const name of data) bytes += (await stat(join(folder, name))).size;
  return { files: data.length, bytes };
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
