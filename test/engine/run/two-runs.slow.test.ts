import { hostname } from 'node:os';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.js';
import { schemaChange } from '../../../src/lake/commit-files.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { entries } from '../../../src/sources/finances/api-v0/event-tables.js';
import { contents, globbed, truthOf } from '../../lake/lake-truth.js';
import { childRun } from './child-run.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { differentRows, filesOf, globOf } from './disk-lake.js';
import { account, folder, server, undisturbed, words, type Undisturbed } from './kill-trials.js';
import type { WatchedServer } from './watched-server.js';

let wanted: Undisturbed;
let upstream: WatchedServer;
beforeAll(async () => {
  wanted = await undisturbed();
  upstream = await server();
});
afterAll(async () => {
  await upstream.close();
  await wanted.remove();
});

/** Runs all of them at once, to their end. */
async function together(...commands: readonly (readonly string[])[]): Promise<void> {
  const ends = await Promise.all(commands.map((of) => childRun(of).ended));
  for (const { code, errors } of ends) expect(code, errors).toBe(0);
}

/** Nothing is twice, nothing missing, nothing left over. */
async function expectWhole(lake: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = await filesOf(lake);
  const { faults, unpublished, counted } = truthOf(files);
  expect([...faults, ...unpublished]).toEqual([]);
  expect(globbed(files)).toEqual(counted);
  return files;
}

test('two runs of one range at once both end well, and the lake is as one of them would have left it', async () => {
  const { lake, remove } = await folder();
  try {
    await together(words(lake, upstream), words(lake, upstream));
    expect(contents(await expectWhole(lake))).toEqual(contents(wanted.files));
    expect(await differentRows(lake, wanted.lake)).toBe(0);
  } finally {
    await remove();
  }
});

test('two runs of ranges that overlap load each day once', async () => {
  const { lake, remove } = await folder();
  const narrow = (from: string, to: string) => {
    const all = [...words(lake, upstream)];
    all[all.indexOf('--from') + 1] = from;
    all[all.indexOf('--to') + 1] = to;
    return all;
  };
  try {
    // The slices of the second lie across those of the first.
    await together(narrow('2025-05-08', '2025-06-06'), narrow('2025-05-10', '2025-06-11'));
    await expectWhole(lake);
    upstream.asked.length = 0;
    await together(words(lake, upstream));
    expect(upstream.asked).toEqual([]);
    await expectWhole(lake);
    // The windows are others, and with them the files and the ids of events without a date; the events are the same.
    expect(await eventsIn(lake)).toEqual(await eventsIn(wanted.lake));
  } finally {
    await remove();
  }
});

test('a run beside one that reads everything again ends as if it had come first', async () => {
  const { lake, remove } = await folder();
  try {
    await together(words(lake, upstream));
    await together(words(lake, upstream), words(lake, upstream, '--refresh'), words(lake, upstream, '--refresh'));
    expect(contents(await expectWhole(lake))).toEqual(contents(wanted.files));
  } finally {
    await remove();
  }
});

test('a dead run’s lease and leftovers stand in nobody’s way, and are gone afterwards', async () => {
  const { lake, remove } = await folder();
  const month = join(lake, 'entries', `account=${account}`, 'month=2025-06');
  try {
    // A run begins a table before it writes its first file.
    const opened = await Lake.open(openStore(lake), [entries], systemClock);
    await opened.commitChange('CREATE TABLE', (snapshot) => ({
      tables: { entries: schemaChange(snapshot, entries, systemClock.now()) },
    }));
    await mkdir(month, { recursive: true });
    await mkdir(join(lake, '_runs'));
    await writeFile(join(month, '20250601T000000Z-20250608T000000Z-0-dead-0.parquet'), 'half a file');
    const dead = { host: hostname(), machine: '0123456789abcdef', pid: 1, start: '1', startedAt: 0, renewedAt: 0 };
    await writeFile(join(lake, '_runs', '0-dead.json'), JSON.stringify(dead));
    // One that may still be active on another machine, as far as anybody can know here.
    const elsewhere = { ...dead, host: 'elsewhere', startedAt: Date.now() - 1e6, renewedAt: Date.now() };
    await writeFile(join(lake, '_runs', '0-elsewhere.json'), JSON.stringify(elsewhere));
    await together(words(lake, upstream));
    const files = await expectWhole(lake);
    expect(contents(files)).toEqual(contents(wanted.files));
    expect([...files.keys()].filter((path) => path.startsWith('_runs/'))).toEqual(['_runs/0-elsewhere.json']);
  } finally {
    await remove();
  }
});

async function eventsIn(lake: string): Promise<unknown> {
  const database = await openDatabase();
  try {
    return await database.rows(
      `SELECT event_list, raw, count(*) AS n FROM (${globOf(lake, 'events')}) GROUP BY ALL ORDER BY ALL`,
    );
  } finally {
    database.close();
  }
}
