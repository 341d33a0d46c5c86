import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { tables } from '../../src/sources/finances/lake-tables.js';
import { Lake } from '../../src/lake/lake.js';
import { openStore } from '../../src/lake/store/open-store.js';
import { checkDescribed, noteNewestVersions } from '../../src/lake/newest-versions.js';
import { commitTransaction } from '../../src/lake/transaction/transaction.js';
import { ran } from '../app/lake-run.js';
import { compacted } from '../app/maintenance/kept-lake.js';
import { loadedLake, type LoadedLake } from '../app/verify/loaded-lake.js';
import { verified } from '../app/verify/verified.js';

let whole: LoadedLake;
let lake: LoadedLake;
beforeAll(async () => {
  whole = await loadedLake(undefined, [{ pipelines: ['financial-events'], from: '2025-03-01' }]);
});
beforeEach(() => {
  lake = whole.copy();
});
afterEach(() => {
  lake.remove();
});
afterAll(() => {
  whole.remove();
});

const open = () => Lake.open(openStore(lake.root), tables, lake.clock);
const note = () => join(lake.root, '_versions.json');

function dataFiles(): string[] {
  return readdirSync(lake.root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.parquet'));
}

function removeNewest(table: string): void {
  const log = join(lake.root, table, '_delta_log');
  const commits = readdirSync(log).filter((name) => name.endsWith('.json'));
  rmSync(join(log, commits.toSorted().at(-1) ?? ''));
}

test.each(['events', 'entries'])(
  'the newest commit of %s that is gone is missed, and no command deletes its files',
  async (table) => {
    removeNewest(table);
    const before = dataFiles();
    const missing = {
      code: 'LAKE_LOG',
      message: expect.stringMatching(/expected version \d+ of .*_delta_log, .*missing/) as string,
    };
    await expect(open()).rejects.toMatchObject(missing);
    await expect(verified(lake)).rejects.toMatchObject(missing);
    await expect(compacted({ lake: lake.root }, lake)).rejects.toMatchObject(missing);
    expect(dataFiles()).toEqual(before);
  },
);

test.each(['events', 'entries'])(
  'the log of %s that is gone is missed without the note as well, and no command deletes its files',
  async (table) => {
    rmSync(join(lake.root, table, '_delta_log'), { recursive: true });
    const before = dataFiles();
    const missing = (text: RegExp) => ({ code: 'LAKE_LOG', message: expect.stringMatching(text) as string });
    await expect(open()).rejects.toMatchObject(
      missing(/got no log; commits are missing, .*`ledgerlake rebuild --log`$/),
    );
    rmSync(note());
    const unnamed = missing(/got only data files such as .*; .*`ledgerlake rebuild --log`$/);
    await expect(open()).rejects.toMatchObject(unnamed);
    await expect(verified(lake)).rejects.toMatchObject(unnamed);
    await expect(compacted({ lake: lake.root }, lake)).rejects.toMatchObject(unnamed);
    expect(dataFiles()).toEqual(before);
  },
);

test.each(['events', 'entries'])('the log of %s that goes while a lake is open is missed', async (table) => {
  const opened = await open();
  rmSync(join(lake.root, table, '_delta_log'), { recursive: true });
  await expect(opened.refresh()).rejects.toThrow(/got no log; commits are missing/);
});

test('what commits that are gone may have added is kept, where the note of the versions is gone too', async () => {
  const name = '20250301T000000Z-20250308T000000Z-0123456789abcdef.parquet';
  const left = join('events', 'account=shop', 'month=2025-03', name);
  const leftAgain = left.replace('0123', '4567');
  writeFileSync(join(lake.root, left), 'half a file');
  rmSync(note());
  const logged: string[] = [];
  await compacted({ lake: lake.root }, { clock: lake.clock, log: (line) => logged.push(line) });
  const [kept = ''] = readdirSync(join(lake.root, '_set-aside'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith(name),
  );
  expect(readFileSync(join(lake.root, '_set-aside', kept), 'utf8')).toBe('half a file');
  expect(logged.join('\n')).toContain('events: moved 1 file that no commit references to _set-aside/');
  const { verdict, problems } = await verified(lake);
  expect([verdict, problems.map(({ kind, problem }) => `${kind} ${problem.slice(0, 24)}`)]).toEqual([
    'whole',
    ['note a run moved 1 data file '],
  ]);
  // The note is there again.
  writeFileSync(join(lake.root, leftAgain), 'half a file');
  logged.length = 0;
  await compacted({ lake: lake.root }, { clock: lake.clock, log: (line) => logged.push(line) });
  expect(existsSync(join(lake.root, leftAgain))).toBe(false);
  expect(dataFiles().filter((path) => path.includes('89abcdef'))).toEqual([join('_set-aside', kept)]);
  expect(logged).toContain('events: deleted 1 file that no commit references, left by a run that did not finish');
});

test('a note that is damaged says nothing, and the next run writes it again', async () => {
  const written = readFileSync(note());
  for (const bytes of [
    written.subarray(0, 20),
    Buffer.from(written.toString().replace(/\d/, '9')),
    Buffer.from('[]'),
  ]) {
    writeFileSync(note(), bytes);
    const opened = await open();
    await noteNewestVersions(opened.store, opened.tables);
    expect(readFileSync(note())).toEqual(written);
  }
});

test('what another run noted meanwhile stays', async () => {
  const opened = await open();
  const [events] = opened.tables.filter(({ schema }) => schema.name === 'events');
  if (events === undefined) throw new Error('no events');
  const { schema } = events;
  await noteNewestVersions(opened.store, [{ schema, snapshot: { version: 99 } }]);
  await noteNewestVersions(opened.store, opened.tables);
  await expect(open()).rejects.toThrow(/expected version 99 of .*events/);
});

test('a table whose description is gone is missed', () => {
  const newest = { versions: { parcels: 3 }, described: { parcels: 'deliveries' } };
  expect(() => {
    checkDescribed(newest, new Map(), 'lake');
  }).toThrow(/expected the description of the table parcels in lake\/_pipelines\/deliveries.json, got none/);
});

test('what a run that died had committed is noted by the next one as it begins', async () => {
  rmSync(note());
  const range = { from: '2025-03-01', to: '2025-03-02', pipelines: ['financial-events'] };
  const unreachable = { lake: lake.root, account: 'shop', endpoint: 'http://127.0.0.1:9', ...range, refresh: true };
  await expect(ran(unreachable, { clock: lake.clock, signal: AbortSignal.timeout(1000) })).rejects.toThrow();
  removeNewest('events');
  await expect(open()).rejects.toMatchObject({ code: 'LAKE_LOG' });
});

test('no file that a commit replaced is deleted before that commit is noted', async () => {
  rmSync(note());
  const noted: boolean[] = [];
  const store = openStore(lake.root);
  const opened = await Lake.open(
    { ...store, remove: async (path) => (noted.push(existsSync(note())), store.remove(path)) },
    tables,
    lake.clock,
  );
  const { events } = Object.fromEntries(opened.tables.map((table) => [table.schema.name, table]));
  if (events === undefined) throw new Error('no events');
  const [add] = [...events.snapshot.files.values()];
  if (add === undefined) throw new Error('no file');
  const taken = { replaced: [add], actions: [] };
  await commitTransaction(opened, lake.clock, {
    operation: 'WRITE',
    main: events.schema,
    files: [],
    decide: () => taken,
  });
  expect(new Set(noted)).toEqual(new Set([true]));
  removeNewest('events');
  await expect(open()).rejects.toMatchObject({ code: 'LAKE_LOG' });
});
