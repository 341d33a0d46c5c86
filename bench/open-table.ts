import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../src/core/clock.js';
import { events } from '../src/sources/finances/model/tables.js';
import { encodeActions, type Action } from '../src/lake/delta/actions.js';
import { DeltaTable } from '../src/lake/delta/delta-table.js';
import { diskStore } from '../src/lake/store/disk.js';

const days = 86_400_000;

/** What the commit of a slice says: a file and the window that was read. */
function slice(number: number): Action[] {
  const start = Date.UTC(2025, 0) + number * days;
  const window = `window/${new Date(start).toISOString()}/${new Date(start + days).toISOString()}`;
  const month = window.slice(7, 14);
  const hash = number.toString(16).padStart(64, '0');
  const path = `account=a/month=${month}/slice-${hash.slice(-16)}.parquet`;
  const stats = { numRecords: 1000, minValues: { posted_at: window.slice(7, 31) }, nullCount: { posted_at: 0 } };
  const tags = {
    pipeline: 'financial-events',
    account: 'a',
    units: JSON.stringify([window]),
    rows: '1000',
    sha256: hash,
  };
  const partitionValues = { account: 'a', month };
  const rest = { size: 100_000, modificationTime: start, dataChange: true, stats: JSON.stringify(stats) };
  return [
    { add: { path, partitionValues, ...rest, tags: { ...tags, net: '{"USD":"1.000000"}', derived: '[]' } } },
    { txn: { appId: `ledgerlake/financial-events/a/${window}`, version: 1, lastUpdated: start } },
  ];
}

async function timed(what: string, folder: string): Promise<DeltaTable> {
  const began = performance.now();
  const table = new DeltaTable(events, diskStore(folder), systemClock);
  const { version, files } = await table.refresh();
  const took = Math.round(performance.now() - began);
  console.log(`${what}: ${took} ms (version ${version}, ${files.size} files)`);
  return table;
}

/**
 * Prints how long a table of many commits takes to open: from its commits alone, and by the checkpoint that such a table
 * has. The first argument is how many commits. Compile it with the rest: `npx tsc --noEmit false --outDir dist`, then
 * `node dist/bench/open-table.js 10000`.
 */
async function run(commits: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  try {
    const first = new DeltaTable(events, diskStore(folder), systemClock);
    await first.commit('WRITE', () => slice(0));
    // As a table writes them, but not flushed one by one.
    for (let version = 1; version < commits; version++) {
      const path = join(folder, events.name, '_delta_log', `${String(version).padStart(20, '0')}.json`);
      const actions = [{ commitInfo: { timestamp: 0, operation: 'WRITE' } }, ...slice(version)];
      await writeFile(path, encodeActions(actions, { table: events.name, version }));
    }
    const table = await timed(`${commits} commits without a checkpoint`, folder);
    // By now one is overdue, and the next commit writes it.
    await table.commit('WRITE', () => slice(commits));
    for (let attempt = 1; attempt <= 3; attempt++)
      await timed(`${commits + 1} commits with one, try ${attempt}`, folder);
    // The most that a table has behind its last checkpoint.
    const behind = Math.floor(20 + (2 * commits) / 200);
    for (let at = 1; at < behind; at++) await table.commit('WRITE', () => slice(commits + at));
    await timed(`${commits + behind} commits, ${behind - 1} of them behind the checkpoint`, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await run(Number(process.argv[2] ?? 10_000));
