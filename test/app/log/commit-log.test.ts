import { afterAll, beforeAll, expect, test } from 'vitest';
import { forget } from '../../../src/app/forget/forget.js';
import { commitLog } from '../../../src/app/log/commit-log.js';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import type { PastVersion } from '../../../src/lake/catalog/past-snapshot.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { rowsIn } from '../../../src/lake/files/local-parquet.js';
import { Kept } from '../../core/text/streams.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';

/** Two days of events, each in a commit of its own; from the first merge on replaced files stay. */
let lake: LoadedLake;
beforeAll(async () => {
  lake = await loadedLake(undefined, [
    { pipelines: ['financial-events'], from: '2025-03-01', to: '2025-03-02' },
    { pipelines: ['financial-events'], from: '2025-03-02', to: '2025-03-03' },
  ]);
});
afterAll(() => {
  lake.remove();
});

const { signal } = new AbortController();
const context = () => ({ clock: lake.clock, signal });

interface LoggedCommit {
  readonly version: number;
  readonly at: string;
  readonly operation: string;
  readonly table: string | null;
  readonly rows: number | null;
  readonly replaced: number | null;
}

async function logged(root: string, more: { account?: string; limit?: string } = {}): Promise<LoggedCommit[]> {
  const output = new Kept();
  const options = { lake: root, account: undefined, limit: '20', format: 'json' as const, ...more };
  await commitLog(options, { clock: lake.clock, signal, output, emit: () => undefined });
  return JSON.parse(output.text) as LoggedCommit[];
}

/** The number of events at a version. */
async function eventsAt(root: string, at: PastVersion | undefined): Promise<number> {
  const reader = await openLakeReader(root, lake.clock, { at });
  const files = (await reader.lakeFiles()).get('events') ?? [];
  if (files.length === 0) return 0;
  const database = await openDatabase();
  const [counted] = await database.rows(`SELECT count(*) AS rows FROM ${rowsIn(files)}`);
  database.close();
  return Number(counted?.['rows']);
}

test('the log has each commit, the newest first, with the rows and files of its tables', async () => {
  const commits = await logged(lake.root);
  expect(commits.map(({ version }) => version)).toEqual(
    commits.map(({ version }) => version).toSorted((a, b) => b - a),
  );
  const loads = commits.filter(({ rows }) => rows !== null);
  expect(loads.map(({ operation, table }) => [operation, table])).toEqual([
    ['WRITE', 'entries'],
    ['WRITE', 'events'],
    ['WRITE', 'entries'],
    ['WRITE', 'events'],
  ]);
  expect(commits.at(-1)).toMatchObject({ version: 0, rows: null });
  expect(await logged(lake.root, { limit: '1' })).toEqual(
    commits.filter(({ version }) => version === commits[0]?.version),
  );
  expect((await logged(lake.root, { account: 'shop' })).filter(({ rows }) => rows !== null)).toEqual(loads);
  await expect(logged(lake.root, { account: 'other' })).rejects.toMatchObject({ code: 'USAGE' });
  for (const limit of ['0', 'x', '-1'])
    await expect(logged(lake.root, { limit })).rejects.toMatchObject({ code: 'USAGE' });
});

test('an earlier version is queried by its number or an instant, as long as its files stay', async () => {
  const copy = lake.copy();
  try {
    const opened = await Lake.open(diskStore(copy.root), tables, lake.clock);
    await opened.setRetention(24);
    const before = opened.snapshot.version;
    const all = await eventsAt(copy.root, undefined);
    const emit = () => undefined;
    await compact({ lake: copy.root, pipelines: ['financial-events'], account: undefined }, { ...context(), emit });
    const commits = await logged(copy.root);
    expect(commits[0]).toMatchObject({ operation: 'OPTIMIZE', replaced: 2 });
    const [, second] = commits.filter(({ operation, table }) => operation === 'WRITE' && table === 'events');
    const first = await eventsAt(copy.root, { version: second?.version ?? -1 });
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(all);
    expect(await eventsAt(copy.root, { version: before })).toBe(all);
    expect(await eventsAt(copy.root, { instant: lake.clock.now() })).toBe(all);
    expect(await eventsAt(copy.root, { version: 0 })).toBe(0);
    for (const wrong of [{ version: 99 }, { instant: Date.parse('2020-01-01') }])
      await expect(eventsAt(copy.root, wrong)).rejects.toMatchObject({ code: 'USAGE' });
    await opened.setRetention(0);
    await compact({ lake: copy.root, pipelines: [], account: undefined }, { ...context(), emit });
    await expect(eventsAt(copy.root, { version: before })).rejects.toThrow('were replaced and deleted since');
    const forgotten = { lake: copy.root, account: 'shop', before: '2025-02-01', yes: true };
    await forget(forgotten, { ...context(), emit: () => undefined, confirm: undefined });
    await expect(eventsAt(copy.root, { version: before })).rejects.toThrow('has erased');
    expect((await logged(copy.root)).map(({ operation }) => operation)).toContain('ERASE');
  } finally {
    copy.remove();
  }
});
