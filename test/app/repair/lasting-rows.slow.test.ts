import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { setClock } from '../load/synced.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { compacted, dataFiles, steppingClock } from '../maintenance/kept-lake.js';
import { shipment, shipments, smallLake, within } from '../maintenance/small-lake.js';
import { historyOf, refreshed, rowsOf } from '../reconcile/revised-lake.js';
import { loadedLake } from '../verify/loaded-lake.js';
import { clockStart, range, smallItems, smallBackend } from '../verify/small-backend.js';
import { verified } from '../verify/verified.js';
import { loaded, ownClock, shipmentsFrom } from '../../sources/custom/custom-run.js';
import { parcelServer, shipmentsOf } from '../../sources/custom/parcel-server.js';
import { repaired } from './repaired.js';

/** Ways to damage a file: a letter of a text of its footer, so that all rows can be read, a byte of a column's name there, or a page. */
const harms = {
  name: async (path: string) => {
    const bytes = await readFile(path);
    bytes.writeUInt8(0xf3, bytes.lastIndexOf('position') + 2);
    await writeFile(path, bytes);
  },
  footer: async (path: string) => {
    const bytes = await readFile(path);
    const at = bytes.lastIndexOf('ledgerlake');
    bytes.write('L', at);
    await writeFile(path, bytes);
  },
  page: async (path: string) => {
    const bytes = await readFile(path);
    bytes.fill(0xff, 20, 60);
    await writeFile(path, bytes);
  },
  whole: (path: string) => rm(path),
} as const;

const readable = ['footer', (rows: number) => `${rows} readable rows`] as const;
const lost = (['page', 'whole'] as const).map((harm) => [harm, () => 'LOST'] as const);

/** What was taken out and is to be loaded again is no fault of the lake. */
async function expectWhole(lake: { readonly root: string; readonly clock: Clock }): Promise<void> {
  const { code, problems } = await verified(lake);
  expect([code, problems.filter(({ kind }) => kind === 'lake')]).toEqual([0, []]);
}

test.each([readable, ...lost])('a file of imported rows whose %s is damaged', async (harm, said) => {
  const root = await temporaryFolder();
  const clock = setClock(clockStart);
  const lake = { root, clock };
  const dated = smallItems().filter(({ json }) => json.includes('PostedDate'));
  await imported(lake, [await fileOf([eventsBody(dated)])], { account: 'shop' });
  const count = async () => (await rowsOf(root, clock, 'SELECT count(*) AS n FROM events'))[0]?.['n'];
  expect(await count()).toBe(BigInt(dated.length));
  const [file = ''] = await dataFiles(root, 'events');
  const own = await rowsOf(root, clock, `SELECT count(*) AS n FROM read_parquet('${join(root, 'events', file)}')`);
  const rows = Number(own[0]?.['n']);
  await harms[harm](join(root, 'events', file));

  const planned = await repaired(lake, false);
  expect(planned).toMatchObject({ code: 1, text: expect.stringContaining(said(rows)) as string });
  expect(await repaired(lake)).toMatchObject({ code: 0, text: expect.stringContaining(said(rows)) as string });
  await expectWhole(lake);
  expect(await count()).toBe(BigInt(harm === 'footer' ? dated.length : dated.length - rows));
  expect((await repaired(lake, false)).code).toBe(0);

  // What an import has lost is a gap that the service fills, as long as it has the days.
  await ran(
    { lake: root, endpoint: await serving({ backend: smallBackend(), clock }), account: 'shop', ...range },
    { clock },
  );
  expect(await count()).toBe(BigInt(smallItems().filter(({ list }) => list !== '').length));
  await expectWhole(lake);
});

/** A small lake of which two windows were read again: in each an event has appeared, and one vanished. */
async function lakeWithHistory() {
  const clock = steppingClock();
  const small = await smallLake(clock);
  const root = small.lake;
  for (const number of [2, 3]) {
    const late = shipment(within(number, 300), `order-late-${number}`, '7.77');
    await refreshed(root, new Map([[number, [...shipments(number).slice(1), late]]]), { clock });
  }
  return { clock, root, remove: () => small.remove() };
}

test.each([
  ['footer', '2 readable rows', 4],
  ['name', '2 readable rows', 4],
  ['page', 'LOST: its 2 rows, which no run can get back', 2],
  ['whole', 'LOST: its 2 rows, which no run can get back', 2],
] as const)('a file of the history whose %s is damaged', async (harm, said, left) => {
  const { clock, root, remove } = await lakeWithHistory();
  try {
    const events = await rowsOf(root, clock, 'SELECT event_id FROM events ORDER BY ALL');
    const [file = ''] = await dataFiles(root, 'event_history');
    await harms[harm](join(root, 'event_history', file));
    const lake = { root, clock };
    const command = `ledgerlake repair --lake ${root}`;
    expect((await verified(lake)).problems).toContainEqual(expect.objectContaining({ check: 'file-bytes', command }));
    expect(await repaired(lake)).toMatchObject({ code: 0, text: expect.stringContaining(said) as string });
    await expectWhole(lake);
    expect(await historyOf(root, clock)).toHaveLength(left);
    expect(await rowsOf(root, clock, 'SELECT event_id FROM events ORDER BY ALL')).toEqual(events);
  } finally {
    await remove();
  }
});

test.each([false, true])('a history whose catalog and logs are lost is adopted, merged: %s', async (merged) => {
  const { clock, root, remove } = await lakeWithHistory();
  try {
    // What was merged stays for the retention: it says what the merged file says.
    if (merged) await compacted({ lake: root }, { clock });
    const history = await historyOf(root, clock);
    for (const entry of await readdir(root, { withFileTypes: true }))
      if (entry.isDirectory())
        await rm(join(root, entry.name, entry.name === '_catalog' ? '' : '_delta_log'), {
          recursive: true,
          force: true,
        });
    const lake = { root, clock };
    expect(await repaired(lake)).toMatchObject({ code: 0 });
    await expectWhole(lake);
    expect(await historyOf(root, clock)).toEqual(history);
    expect((await repaired(lake, false)).code).toBe(0);
  } finally {
    await remove();
  }
});

test('windows of a day that were merged are adopted as loaded where an event without a date shows that they were', async () => {
  const root = await temporaryFolder();
  const clock = setClock(clockStart);
  const lake = { root, clock };
  const endpoint = await serving({ backend: smallBackend(), clock });
  const undated = smallItems().filter(({ list, json }) => list !== '' && !json.includes('PostedDate'));
  const days = new Set(undated.map(({ at }) => Math.floor(at / 86_400_000) * 86_400_000));
  expect(days.size).toBeGreaterThan(0);
  const date = (instant: number) => new Date(instant).toISOString().slice(0, 10);
  for (const day of days) {
    for (const from of [day - 86_400_000, day]) {
      await ran({ lake: root, endpoint, account: 'shop', from: date(from), to: date(from + 86_400_000) }, { clock });
    }
  }
  await compacted({ lake: root }, { clock });
  const query = 'SELECT event_id FROM events ORDER BY ALL';
  const before = await rowsOf(root, clock, query);
  for (const entry of await readdir(root, { withFileTypes: true }))
    if (entry.isDirectory())
      await rm(join(root, entry.name, entry.name === '_catalog' ? '' : '_delta_log'), { recursive: true, force: true });
  expect(await repaired(lake)).toMatchObject({ code: 0 });
  await expectWhole(lake);
  expect(await rowsOf(root, clock, query)).toEqual(before);
});

test.each(['footer', 'page', 'whole'] as const)(
  'a file of one’s own table whose %s is damaged is loaded again',
  async (harm) => {
    const root = await temporaryFolder();
    const clock = ownClock();
    const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, 8));
    const own = shipmentsFrom(server);
    const days = { lake: root, from: '2025-01-20', to: '2025-02-03' };
    await loaded(own, days);
    const query = 'SELECT * FROM shipments ORDER BY ALL';
    const before = await rowsOf(root, clock, query);
    const [file = ''] = await dataFiles(root, 'shipments');
    await harms[harm](join(root, 'shipments', file));
    const lake = { root, clock };
    const done = await repaired(lake);
    expect(done).toMatchObject({
      code: 0,
      text: expect.stringContaining('the next backfill loads it again') as string,
    });
    await expectWhole(lake);
    expect((await rowsOf(root, clock, query)).length).toBeLessThan(before.length);
    await loaded(own, days);
    expect(await rowsOf(root, clock, query)).toEqual(before);
  },
);

test('one’s own table whose description is lost is loaded again', async () => {
  const root = await temporaryFolder();
  const clock = ownClock();
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, 8));
  const own = shipmentsFrom(server);
  const days = { lake: root, from: '2025-01-20', to: '2025-02-03' };
  await loaded(own, { ...days, to: '2025-01-22' });
  await loaded(own, days);
  const query = 'SELECT * EXCLUDE (window_start, window_end, position) FROM shipments ORDER BY ALL';
  const before = await rowsOf(root, clock, query);
  // The description is in the first commit, and in its publication.
  await rm(join(root, '_catalog'), { recursive: true });
  const first = join(root, 'shipments/_delta_log', `${'0'.repeat(20)}.json`);
  await writeFile(first, (await readFile(first)).subarray(0, 500));
  const lake = { root, clock };
  expect(await repaired(lake)).toMatchObject({ code: 0, text: expect.stringContaining('LOST') as string });
  await loaded(own, days);
  await expectWhole(lake);
  expect(await rowsOf(root, clock, query)).toEqual(before);
});

test('a checkpoint of which an account’s block is damaged is no obstacle to reading, and is repaired', async () => {
  const clock = setClock(clockStart);
  const young = await loadedLake(smallBackend());
  const lake = { root: young.root, clock };
  const opened = await Lake.open(diskStore(young.root), tables, clock);
  for (let hours = 1; hours <= 25; hours++) await opened.setRetention(hours);
  const folder = join(young.root, '_catalog', '_checkpoints');
  const names = (await readdir(folder)).toSorted();
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    await writeFile(join(folder, name), bytes);
  }
  expect(names.length).toBeGreaterThan(0);
  const count = 'SELECT count(*) AS n FROM events';
  expect(await rowsOf(young.root, clock, count)).toEqual([{ n: 18n }]);
  expect(await repaired(lake)).toMatchObject({ code: 0, text: expect.stringContaining('_checkpoints') as string });
  await expectWhole(lake);
  expect(await repaired(lake, false)).toMatchObject({ code: 0 });
  young.remove();
});

test('loads that contradict each other, or the files, are named and become gaps; another account keeps the same window', async () => {
  const root = await temporaryFolder();
  const clock = setClock(clockStart);
  const lake = { root, clock };
  const endpoint = await serving({ backend: smallBackend(), clock });
  for (const account of ['other', 'shop']) await ran({ lake: root, endpoint, account, ...range }, { clock });
  const opened = await Lake.open(diskStore(root), tables, clock);
  const windows = [...opened.snapshot.keysOf('shop', 'financial-events').values()];
  const [renamed, contradicted] = windows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (renamed === undefined || contradicted?.window === undefined) throw new Error('expected two windows');
  const start = new Date(contradicted.window.start + 1000).toISOString();
  const within = { ...contradicted, key: `window/${start}/${new Date(contradicted.window.end).toISOString()}` };
  await opened.commitChange('WRITE', () => ({
    keys: { set: [{ ...renamed, key: '../../outside' }, within], delete: [renamed] },
  }));
  const others = await rowsOf(root, clock, "SELECT event_id FROM events WHERE account = 'other' ORDER BY ALL");
  const query = "SELECT event_id FROM events WHERE account = 'shop' ORDER BY ALL";
  const before = await rowsOf(root, clock, query);

  const planned = await repaired(lake, false);
  expect(planned.code).toBe(1);
  for (const [key, reason] of [
    ['../../outside', 'expected a window of two instants for shop'],
    [within.key, `the window of shop overlaps ${contradicted.key}: rows may occur twice`],
    [renamed.key, 'is not recorded as loaded, and has rows'],
  ] as const)
    expect(planned.text).toContain(`${key} of shop: ${reason}; taken out, the next backfill loads it again`);
  expect(planned.text).not.toContain('of other');
  expect(planned.summary).toMatchObject({
    loads: [{ load_key: '../../outside' }, { load_key: within.key }, { load_key: renamed.key }].map((load) => ({
      account: 'shop',
      pipeline: 'financial-events',
      problem: expect.any(String) as string,
      ...load,
    })),
  });
  expect(await repaired(lake)).toMatchObject({ code: 0 });
  await expectWhole(lake);
  expect(await rowsOf(root, clock, "SELECT event_id FROM events WHERE account = 'other' ORDER BY ALL")).toEqual(others);
  await ran({ lake: root, endpoint, account: 'shop', ...range }, { clock });
  expect(await rowsOf(root, clock, query)).toEqual(before);
  await expectWhole(lake);
});
