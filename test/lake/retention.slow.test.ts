import { expect, test } from 'vitest';
import { forget } from '../../src/app/forget/forget.js';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { literal } from '../../src/core/duckdb/literals.js';
import { withDerived } from '../../src/lake/commit-files.js';
import type { Lake } from '../../src/lake/lake.js';
import { openStore } from '../../src/lake/store/open-store.js';
import type { Store } from '../../src/lake/store/store.js';
import { acquireLease } from '../../src/lake/leases.js';
import { vacuumLake } from '../../src/lake/upkeep/vacuum.js';
import { temporaryFolder } from '../app/lake-run.js';
import { failingStore } from '../app/maintenance/failing-store.js';
import { compacted, contentsOf, copied, dataFiles, rebuilt } from '../app/maintenance/kept-lake.js';
import { load, open, shipment, smallLake, within } from '../app/maintenance/small-lake.js';
import { newFileOf } from './small-table.js';
import { refreshed } from '../app/reconcile/revised-lake.js';
import { setClock, type SetClock } from '../app/load/synced.js';
import { found, verified } from '../app/verify/verified.js';
import { servedBucket } from '../s3-server/served-bucket.js';

const noon = '2026-03-15T12:00:00Z';
const hourMs = 3_600_000;

function later(clock: SetClock, hours: number): void {
  clock.set(clock.now() + hours * hourMs);
}

async function smallLakeWith(clock: SetClock, hours: number): Promise<string> {
  const small = await smallLake(clock);
  const lake = await copied(small.lake);
  await small.remove();
  await (await open(lake, clock)).setRetention(hours);
  return lake;
}

/** Reads window 2 again: the service has another price for its first order, and another order more. */
async function refreshWindow(place: Store | string, clock: SetClock, price = '20'): Promise<void> {
  const events = [shipment(within(2), 'order-2-0', price), shipment(within(2, 9), 'order-late')];
  await refreshed(place, new Map([[2, events]]), { clock });
}

/** How many data files a vacuum deletes. */
async function vacuumed(place: Store | string, clock: SetClock): Promise<number> {
  const lake = await open(place, clock);
  const before = await stored(lake.store);
  const lease = await acquireLease(lake, clock);
  await vacuumLake(lake, lease, { clock, emit: () => undefined });
  lease.cleared();
  await lease.release();
  return before.length - (await stored(lake.store)).length;
}

/** The files of a version as a reader of another program has them: it reads the log once and opens the files when it comes to them. */
function snapshotOf(lake: Lake): { readonly tables: ReadonlyMap<string, readonly string[]>; readonly paths: string[] } {
  const tables = new Map(
    lake.tables.map((table) => [table.name, [...lake.snapshot.files(table.name)].map((file) => file.lakePath)]),
  );
  return { tables, paths: [...tables.values()].flat() };
}

/** Sums of a snapshot's entries, read from its files as they are now. */
async function netOf(lake: string, snapshot: ReturnType<typeof snapshotOf>): Promise<string> {
  const database = await openDatabase();
  try {
    const files = (snapshot.tables.get('entries') ?? []).map((path) => literal(`${lake}/${path}`));
    const [row] = await database.rows(
      `SELECT count(*) || ' ' || sum(amount) AS net FROM read_parquet([${files.join(', ')}]) WHERE role = 'net'`,
    );
    return String(row?.['net']);
  } finally {
    database.close();
  }
}

async function present(store: Store, paths: readonly string[]): Promise<string[]> {
  const there: string[] = [];
  for (const path of paths) if ((await store.readRange(path, 0, 1)) !== undefined) there.push(path);
  return there;
}

/** All data files of the tables' folders. */
async function stored(store: Store): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of store.list('')) if (/^[^_].*\/account=.*\.parquet$/.test(path)) paths.push(path);
  return paths;
}

test('a snapshot that was read before a refresh and a merge can be read within the retention, and is gone behind it', async () => {
  const clock = setClock(noon);
  const lake = await smallLakeWith(clock, 24);
  const before = snapshotOf(await open(lake, clock));
  const net = await netOf(lake, before);

  later(clock, 1);
  await refreshWindow(lake, clock);
  await compacted({ lake }, { clock });
  const after = snapshotOf(await open(lake, clock));
  expect(after.paths.filter((path) => before.paths.includes(path))).toEqual([]);
  expect(await netOf(lake, before)).toBe(net);
  expect(await netOf(lake, after)).not.toBe(net);
  const contents = await contentsOf(lake, clock);

  const certificate = await verified({ root: lake, clock });
  expect(found(certificate)).toEqual(['unnamed-files note']);
  expect(certificate).toMatchObject({ code: 0, verdict: 'whole' });
  expect(certificate.problems).toEqual([
    expect.objectContaining({
      problem: expect.stringMatching(/^\d+ replaced files stay for .* for 1 d; read/) as string,
    }),
  ]);

  later(clock, 23);
  expect(await vacuumed(lake, clock)).toBe(0);
  expect(await netOf(lake, before)).toBe(net);
  later(clock, 2);
  expect(await vacuumed(lake, clock)).toBeGreaterThan(before.paths.length);
  const store = openStore(lake);
  expect(await present(store, before.paths)).toEqual([]);
  expect((await stored(store)).toSorted()).toEqual(after.paths.toSorted());
  expect(await contents.differences()).toEqual({});
  expect(found(await verified({ root: lake, clock }))).toEqual([]);
  // Nothing is left to do.
  const version = (await open(lake, clock)).snapshot.tables.get('entries')?.versions;
  expect(await vacuumed(lake, clock)).toBe(0);
  expect((await open(lake, clock)).snapshot.tables.get('entries')?.versions).toBe(version);
});

test('the same on S3', async () => {
  await servedBucket();
  const clock = setClock(noon);
  const store = openStore('s3://bucket/lake');
  const lake = await open(store, clock);
  await lake.setRetention(2);
  for (const number of [1, 2]) await load(lake, number, [shipment(within(number), `order-${number}-0`)]);
  const before = snapshotOf(lake);
  await refreshWindow(store, clock);
  later(clock, 1);
  expect(await vacuumed(store, clock)).toBe(0);
  expect(await present(store, before.paths)).toEqual(before.paths);
  later(clock, 2);
  expect(await vacuumed(store, clock)).toBe(2);
  expect((await stored(store)).toSorted()).toEqual(snapshotOf(await open(store, clock)).paths.toSorted());
});

test('without a retention, and once it is taken back, replaced files are deleted at once', async () => {
  const clock = setClock(noon);
  const lake = await smallLakeWith(clock, 0);
  const folders = async () => (await stored(openStore(lake))).toSorted();
  const named = async () => snapshotOf(await open(lake, clock)).paths.toSorted();
  await refreshWindow(lake, clock);
  expect(await folders()).toEqual(await named());
  await compacted({ lake, retentionHours: 5 }, { clock });
  expect((await folders()).length).toBeGreaterThan((await named()).length);
  expect((await open(lake, clock)).snapshot.config.retentionMs).toBe(5 * hourMs);
  // Whoever says nothing leaves it as it is.
  await compacted({ lake }, { clock });
  expect((await open(lake, clock)).snapshot.config.retentionMs).toBe(5 * hourMs);
  await compacted({ lake, retentionHours: 0 }, { clock });
  expect(await folders()).toEqual(await named());
  expect(found(await verified({ root: lake, clock }))).toEqual([]);
});

test('a refresh that dies at any change of the lake loses nothing, neither what counts nor what is retained', async () => {
  const clock = setClock(noon);
  const whole = await smallLakeWith(clock, 24);
  const before = snapshotOf(await open(whole, clock));
  const net = await netOf(whole, before);
  const refreshedLake = await copied(whole);
  await refreshWindow(refreshedLake, clock);
  const contents = await contentsOf(refreshedLake, clock);
  for (let dieAt = 1; ; dieAt++) {
    const lake = await copied(whole);
    const store = failingStore(openStore(lake), dieAt);
    const work = async () => {
      await refreshWindow(store, clock);
      later(clock, 25);
      await vacuumed(store, clock);
    };
    const at = clock.now();
    const failure: unknown = await work().catch((error: unknown) => error);
    if (store.changes < dieAt) break;
    expect(failure, `change ${dieAt}`).toBeInstanceOf(Error);
    if (clock.now() === at) expect(await netOf(lake, before), `change ${dieAt}`).toBe(net);
    await refreshWindow(lake, clock);
    // What it had not taken out of the log of entries is taken out now, and stays for as long as all else.
    for (let times = 1; times <= 2; times++) {
      later(clock, 25);
      await vacuumed(lake, clock);
    }
    expect(await contents.differences(lake), `change ${dieAt}`).toEqual({});
    const named = snapshotOf(await open(lake, clock)).paths.toSorted();
    expect((await stored(openStore(lake))).toSorted(), `change ${dieAt}`).toEqual(named);
    clock.set(at);
  }
});

test('a rebuild reads none of the replaced files', async () => {
  const clock = setClock(noon);
  const lake = await smallLakeWith(clock, 24);
  await refreshWindow(lake, clock);
  const contents = await contentsOf(lake, clock);
  await compacted({ lake }, { clock });
  expect((await dataFiles(lake, 'events')).length).toBeGreaterThan(1);
  await rebuilt({ lake, pipelines: ['financial-events'] }, { clock });
  expect(await contents.differences()).toEqual({});
  expect((await open(lake, clock)).snapshot.config.retentionMs).toBe(24 * hourMs);
  expect(found(await verified({ root: lake, clock }))).toEqual(['unnamed-files note']);
});

test('forget deletes what was retained of its account, and leaves that of others', async () => {
  const clock = setClock(noon);
  const location = await temporaryFolder();
  const store = openStore(location);
  const lake = await open(store, clock);
  await lake.setRetention(24);
  for (const account of ['shop', 'other']) {
    for (const name of ['old', 'new']) await replaceFile(lake, account, name);
  }
  expect(await stored(store)).toHaveLength(4);
  await forget(
    { lake: location, account: 'shop', before: undefined, yes: true },
    { clock, signal: new AbortController().signal, confirm: undefined, emit: () => undefined },
  );
  expect(await stored(store)).toEqual([
    expect.stringMatching(/account=other\/.*new/),
    expect.stringMatching(/account=other\/.*old/),
  ]);
  expect(await vacuumed(store, clock)).toBe(0);
  later(clock, 25);
  expect(await vacuumed(store, clock)).toBe(1);
  expect(await stored(store)).toEqual([expect.stringMatching(/account=other\/.*new/)]);
});

/** Puts a file of an account in the place of the one that it has in `groups`. */
async function replaceFile(lake: Lake, account: string, name: string): Promise<void> {
  const groups = lake.table('groups');
  await lake.commitFiles({
    operation: 'WRITE',
    main: groups,
    files: [
      newFileOf(groups, name, {
        account,
        month: '2026-01',
        name,
        shared: { pipeline: 'financial-event-groups', account },
      }),
    ],
    replaced: (snapshot) => ({
      removed: withDerived(snapshot, snapshot.filesOf('groups', account)),
    }),
  });
}
