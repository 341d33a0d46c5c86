import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import { database, fileHashes, ran, serving, temporaryFolder } from '../lake-run.js';
import { failingStore } from '../maintenance/failing-store.js';
import { copied } from '../maintenance/kept-lake.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { HandClock } from '../../core/clock.js';
import { settlement, shipment } from './backend-items.js';
import { setClock, synced, type SetClock } from './synced.js';

/** A shipment at noon of each of some days of March 2026. */
function days(from: number, to: number): DatedItem[] {
  return Array.from({ length: to - from + 1 }, (_, at) => {
    const day = String(from + at).padStart(2, '0');
    return shipment(`2026-03-${day}T12:00:00Z`, `order-${day}`);
  });
}

async function shop(items: DatedItem[], clock: SetClock, pipelines: string[] = ['financial-events']) {
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const lake = await temporaryFolder();
  return { items, given: { lake, endpoint, account: 'shop', pipelines }, lake };
}

async function rows(lake: string, clock: SetClock, sql: string) {
  const duckdb = await database(lake, clock, sql);
  return [...(await duckdb.rows(sql))];
}

const orders = (lake: string, clock: SetClock) =>
  rows(lake, clock, 'SELECT amazon_order_id AS id FROM events ORDER BY id').then((all) => all.map(({ id }) => id));

describe('what a sync loads', () => {
  test('of an empty lake are the last 90 days, the last two weeks of them day by day', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 19), clock);
    const { summary, failure, logged } = await synced(given, { clock });
    expect(failure).toBeUndefined();
    expect(summary).toMatchObject({ status: 'done', lag_seconds: 300, lake_begun: true, changes: {}, emptied: [] });
    // The disk of another lake may not be mounted.
    const begins = `there is no lake at ${lake} yet, so this sync begins one`;
    expect(logged).toContain(begins);
    expect((await synced(given, { clock })).logged).not.toContain(begins);
    expect(await orders(lake, clock)).toHaveLength(19);
    const windows = await rows(lake, clock, 'SELECT DISTINCT window_start, window_end FROM events ORDER BY ALL');
    expect(windows.at(-1)).toEqual({ window_start: '2026-03-19T00:00:00Z', window_end: '2026-03-20T00:00:00Z' });
    expect(windows.at(-14)).toMatchObject({ window_start: '2026-03-06T00:00:00Z' });
    expect(windows[0]).toMatchObject({ window_start: '2026-03-01T00:00:00Z', window_end: '2026-03-06T00:00:00Z' });
  });

  test('begin where the configuration says, before or after the last 90 days', async () => {
    const clock = setClock('2026-09-20T02:00:00Z');
    const { given, lake } = await shop([...days(1, 19), shipment('2026-09-01T12:00:00Z', 'order-september')], clock);
    await synced({ ...given, from: '2026-09-10' }, { clock });
    expect(await orders(lake, clock)).toEqual([]);
    // As after an upgrade, or after a setting has changed: what is missing before the loaded windows.
    const { summary, failure } = await synced({ ...given, from: '2026-03-05', maxLag: '1h' }, { clock });
    expect(failure).toBeUndefined();
    expect(summary).toMatchObject({ status: 'done', lag_seconds: 300 });
    expect(await orders(lake, clock)).toEqual([
      ...Array.from({ length: 15 }, (_, at) => `order-${String(at + 5).padStart(2, '0')}`),
      'order-september',
    ]);
    const again = await synced({ ...given, from: '2026-03-05' }, { clock });
    // The last two days, and today.
    expect(again.summary.pipelines['financial-events']).toMatchObject({ requests: 3 });
    await expect(readdir(join(lake, '_requested'))).resolves.toEqual([]);
  });

  test('begin where the configuration says also for the next sync, if this one stops', async () => {
    const clock = setClock('2026-09-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 19), clock);
    const signal = AbortSignal.abort(new Error('stopped by the test'));
    await synced({ ...given, from: '2024-03-05' }, { clock, signal });
    await synced(given, { clock });
    expect(await orders(lake, clock)).toHaveLength(19);
  });

  test('of settlements begin there, too', async () => {
    const clock = setClock('2026-09-20T02:00:00Z');
    const old = settlement('old', '2026-03-02T00:00:00Z', '2026-03-16T00:00:00Z');
    const { given, lake } = await shop([...days(1, 19), old], clock, ['group-events']);
    await synced({ ...given, from: '2026-03-01' }, { clock });
    expect(await rows(lake, clock, 'SELECT group_id FROM groups')).toEqual([{ group_id: 'old' }]);
  });

  test('begin at an instant in the past', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given } = await shop(days(1, 19), clock);
    const { failure } = await synced({ ...given, from: '2026-03-21' }, { clock });
    expect(failure).toMatchObject({ code: 'USAGE' });
  });

  test('ends behind the present by the margin that is set', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given } = await shop(days(1, 19), clock);
    const { summary } = await synced({ ...given, marginMinutes: 20 }, { clock });
    expect(summary).toMatchObject({ status: 'done', lag_seconds: 1200 });
  });

  test('a night later is what is new, and the last two days again: three requests, and nothing is written anew', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 20), clock);
    await synced(given, { clock });
    const before = await fileHashes(lake);
    clock.set('2026-03-21T02:00:00Z');
    const { summary } = await synced(given, { clock });
    expect(summary.pipelines['financial-events']).toMatchObject({ requests: 3, slices: 3 });
    expect(summary.changes).toEqual({});
    expect(await orders(lake, clock)).toHaveLength(20);
    const after = await fileHashes(lake);
    for (const [path, hash] of before) expect(after.get(path)).toBe(hash);
    // The same instant again: the last day that is over and the one that has begun.
    const again = await synced(given, { clock });
    expect(again.summary.pipelines['financial-events']).toMatchObject({ requests: 3, files: 0, bytes: 0 });
    expect(await fileHashes(lake)).toEqual(after);
  });

  test('goes on after a gap that a run left within the last 90 days', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 19), clock);
    await ran({ ...given, from: '2026-03-01', to: '2026-03-05' }, { clock });
    await ran({ ...given, from: '2026-03-09', to: '2026-03-12' }, { clock });
    await synced(given, { clock });
    expect(await orders(lake, clock)).toHaveLength(19);
  });

  test('nothing that lies before the first loaded instant; gaps of old are told', async () => {
    const clock = setClock('2026-09-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 31), clock);
    await ran({ ...given, from: '2026-03-10', to: '2026-03-12' }, { clock });
    await ran({ ...given, from: '2026-03-20', to: '2026-03-22' }, { clock });
    const { logged } = await synced(given, { clock });
    expect(logged).toContain('2026-03-12 to 2026-03-20');
    expect(await orders(lake, clock)).toEqual(
      [10, 11, ...Array.from({ length: 12 }, (_, at) => 20 + at)].map((day) => `order-${day}`),
    );
  });
});

describe('the look-back', () => {
  test('finds what came late, tells of it, and keeps it in the history', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, lake, items } = await shop(days(1, 19), clock);
    const unchanged = 'Nothing has changed in what was read again';
    expect((await synced(given, { clock })).printed).not.toContain(unchanged);
    clock.set('2026-03-20T12:00:00Z');
    expect((await synced(given, { clock })).printed).toContain(unchanged);
    items.push(shipment('2026-03-19T13:00:00Z', 'order-late'));
    clock.set('2026-03-21T02:00:00Z');
    const { summary, printed } = await synced(given, { clock });
    expect(printed).not.toContain(unchanged);
    expect(summary.changes['financial-events']).toMatchObject({ appeared: 1, vanished: 0, differ: 0 });
    expect(printed).toContain('2026-03-19T00:00:00Z to 2026-03-20T00:00:00Z: 1 appeared, 0 vanished');
    expect(printed).toContain('order-late');
    expect(await rows(lake, clock, 'SELECT change, amazon_order_id, seen_at FROM event_history')).toEqual([
      { change: 'appeared', amazon_order_id: 'order-late', seen_at: '2026-03-21T02:00:00Z' },
    ]);
  });

  test('counts as differing what takes the place of an event of the same order and list', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, items } = await shop(days(1, 19), clock);
    await synced(given, { clock });
    items.splice(18, 1, shipment('2026-03-19T12:00:00Z', 'order-19', '99.99'));
    const { summary, printed } = await synced(given, { clock });
    expect(summary.changes['financial-events']).toMatchObject({ appeared: 1, vanished: 1, differ: 1 });
    expect(printed).toContain('1 differ');
  });

  test('is two days each night, two weeks each week, and as long as --look-back says', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given } = await shop(days(1, 31), clock);
    const requests = async (night: string, more: Parameters<typeof synced>[0] = {}) => {
      clock.set(night);
      const { summary } = await synced({ ...given, ...more }, { clock });
      return summary.pipelines['financial-events']?.['requests'];
    };
    await requests('2026-03-20T02:00:00Z');
    expect(await requests('2026-03-21T02:00:00Z')).toBe(3);
    expect(await requests('2026-03-22T02:00:00Z', { lookBack: 0 })).toBe(2);
    expect(await requests('2026-03-23T02:00:00Z', { lookBack: 6 })).toBe(7);
    for (const day of [24, 25, 26]) expect(await requests(`2026-03-${day}T02:00:00Z`)).toBe(3);
    // A week after the first, though the clock is a little earlier in the night.
    expect(await requests('2026-03-27T01:58:00Z')).toBe(15);
    expect(await requests('2026-03-28T02:00:00Z')).toBe(3);
    // Without the note of it one more is done, and no harm.
    await rm(join(given.lake, '_sync'), { recursive: true });
    expect(await requests('2026-03-29T02:00:00Z')).toBe(15);
    await writeFile(join(given.lake, '_sync', 'shop.json'), 'no note');
    expect(await requests('2026-03-30T02:00:00Z')).toBe(15);
    expect(JSON.parse(await readFile(join(given.lake, '_sync', 'shop.json'), 'utf8'))).toMatchObject({
      look_backs: { 'financial-events': { '14': '2026-03-30T02:00:00.000Z' } },
    });
    // One that is longer counts as it: a week after the last of 14 days, six days after one of 20, only new days are read.
    expect(await requests('2026-03-31T02:00:00Z', { lookBack: 20 })).toBe(21);
    expect(await requests('2026-04-06T02:00:00Z')).toBe(7);
  });
});

test('a vacuum that fails is the failure of a run that has noted all that it did', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const { given, lake } = await shop(days(1, 19), clock);
  const disk = openStore(lake);
  const store = {
    ...failingStore(disk, Infinity),
    list: (folder: string, after?: string) => {
      if (folder.startsWith('events')) throw new LedgerlakeError('LAKE_STORE', 'the folder cannot be listed');
      return disk.list(folder, after);
    },
  };
  const { failure, summary } = await synced({ ...given, store }, { clock });
  expect(failure).toMatchObject({ code: 'LAKE_STORE', message: 'the folder cannot be listed' });
  expect(summary).toMatchObject({ status: 'failed', pipelines: { 'financial-events': { events: 19 } } });
  const notes = await readdir(join(lake, '_last-run'));
  expect(await readFile(join(lake, '_last-run', notes[0] ?? ''), 'utf8')).toContain('the folder cannot be listed');
  expect((await synced(given, { clock })).failure).toBeUndefined();
});

test('what held events and comes back empty stays, and the run says so and fails, unless that is accepted', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const { given, lake, items } = await shop(days(1, 20), clock);
  await synced(given, { clock });
  items.splice(18, 1);
  clock.set('2026-03-21T02:00:00Z');
  const { failure, printed, summary, logged } = await synced(given, { clock });
  expect(failure).toMatchObject({ code: 'UPSTREAM_EMPTY', exitCode: 1 });
  expect(logged).not.toContain('another run');
  expect(printed).toContain(
    'WARNING: financial-events: 2026-03-19T00:00:00Z to 2026-03-20T00:00:00Z had 1 row, and the answer is empty',
  );
  expect(summary).toMatchObject({ status: 'failed', emptied: [{ accepted: false }] });
  // What is new is loaded all the same, and what was there stays.
  expect(await orders(lake, clock)).toHaveLength(20);
  expect(await rows(lake, clock, 'SELECT * FROM event_history')).toEqual([]);

  const backfill = ran({ ...given, refresh: true, from: '2026-03-19', to: '2026-03-20' }, { clock });
  await expect(backfill).rejects.toMatchObject({ code: 'UPSTREAM_EMPTY' });

  const accepted = await synced({ ...given, acceptEmpty: true }, { clock });
  expect(accepted.failure).toBeUndefined();
  expect(accepted.printed).toContain('the answer was accepted');
  expect(await orders(lake, clock)).not.toContain('order-19');
  expect(await rows(lake, clock, 'SELECT change FROM event_history')).toEqual([{ change: 'vanished' }]);
});

test('a listing of other settlements alone is told from an empty one, and is not taken', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const own = settlement('own', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z');
  const { given, lake, items } = await shop([own], clock, ['financial-event-groups']);
  await synced(given, { clock });
  items.splice(0, 1, settlement('other', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z'));
  clock.set('2026-03-21T02:00:00Z');
  const { failure, printed } = await synced(given, { clock });
  expect(String(failure)).toMatch(
    /got an answer without any of them, and with 1 other; .* check the account's credentials/,
  );
  expect(printed).toContain('had 1 row, and the answer is without any of them, and with 1 other; the lake keeps');
  expect(await rows(lake, clock, "SELECT group_id AS id FROM groups WHERE group_id = 'own'")).toHaveLength(1);
});

test('settlements that a listing leaves out stay, and the run says so and fails, unless that is accepted', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const [first, second] = [
    settlement('first', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z'),
    settlement('second', '2026-03-09T00:00:00Z'),
  ];
  const { given, lake, items } = await shop([first, second], clock, ['financial-event-groups']);
  await synced(given, { clock });
  const ids = () =>
    rows(lake, clock, 'SELECT group_id AS id FROM groups ORDER BY started_at').then((all) => all.map(({ id }) => id));
  items.shift();
  clock.set('2026-03-21T02:00:00Z');
  const { failure, printed, summary } = await synced(given, { clock });
  expect(failure).toMatchObject({ code: 'UPSTREAM_EMPTY', exitCode: 1 });
  expect(printed).toContain('had 2 rows, and the answer is without 1 of them; the lake keeps its rows');
  expect(summary).toMatchObject({ status: 'failed', emptied: [{ lacking: 1, accepted: false }] });
  expect(await ids()).toEqual(['first', 'second']);

  // Complete again, and with one more, it is taken.
  items.unshift(first);
  items.push(settlement('third', '2026-03-16T00:00:00Z'));
  expect((await synced(given, { clock })).failure).toBeUndefined();
  expect(await ids()).toEqual(['first', 'second', 'third']);
  items.shift();
  expect((await synced({ ...given, acceptEmpty: true }, { clock })).failure).toBeUndefined();
  expect(await ids()).toEqual(['second', 'third']);
});

test('a closed settlement whose total is not there yet is listed again until it is', async () => {
  const clock = setClock('2026-04-04T02:00:00Z');
  const closed = ['closed', '2026-03-02T00:00:00Z', '2026-04-03T00:00:00Z'] as const;
  const { given, lake, items } = await shop([settlement(...closed, false)], clock, ['financial-event-groups']);
  const totals = () => rows(lake, clock, 'SELECT original_total::VARCHAR AS total FROM groups');
  await synced(given, { clock });
  // Two nights before the looks back by weeks: the group closed too long ago for those of each night.
  clock.set('2026-04-09T02:00:00Z');
  await synced(given, { clock });
  expect(await totals()).toEqual([{ total: null }]);
  items.splice(0, 1, settlement(...closed));
  clock.set('2026-04-10T02:00:00Z');
  await synced(given, { clock });
  expect(await totals()).toEqual([{ total: '12.340000' }]);
  // And then no longer.
  items.splice(0, 1);
  clock.set('2026-04-10T14:00:00Z');
  expect((await synced(given, { clock })).failure).toBeUndefined();
  expect(await totals()).toHaveLength(1);
});

test('a day that has begun and comes back empty with the next sync stays, and the rest of it is loaded', async () => {
  const clock = setClock('2026-03-20T14:00:00Z');
  const { given, lake, items } = await shop([...days(1, 20), shipment('2026-03-20T20:00:00Z', 'order-evening')], clock);
  await synced(given, { clock });
  clock.set('2026-03-21T02:00:00Z');
  const [gone] = items.splice(19, 1);
  const hidden = items.splice(19, 1);
  const { failure } = await synced(given, { clock });
  expect(failure).toMatchObject({ code: 'UPSTREAM_EMPTY' });
  expect(await orders(lake, clock)).toContain('order-20');
  items.push(...(gone === undefined ? [] : [gone]), ...hidden);
  const { failure: none, summary } = await synced(given, { clock });
  expect(none).toBeUndefined();
  expect(summary.changes['financial-events']).toMatchObject({ appeared: 1 });
  expect(await orders(lake, clock)).toHaveLength(21);
});

test('an API that cannot be reached is tried for longer where the lake has loads of the account', async () => {
  const clock = setClock('2026-03-20T02:00:00Z');
  const { given } = await shop(days(1, 19), clock);
  await synced(given, { clock });
  const messageIn = async (lake: string) => {
    const hand = new HandClock('2026-03-21T02:00:00Z');
    const run = synced({ ...given, lake, endpoint: 'http://127.0.0.1:9' }, { clock: hand });
    return String((await hand.until(run)).failure);
  };
  expect(await messageIn(given.lake)).toMatch(/ Tried 8 times\.$/);
  expect(await messageIn(await temporaryFolder())).toMatch(/ Tried 3 times\.$/);
});

describe('--max-lag', () => {
  test('lets a lake be that is young enough, and fails with its age where it is not', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given } = await shop(days(1, 19), clock);
    await synced(given, { clock });
    const recent = await synced({ ...given, maxLag: '10m' }, { clock });
    expect([recent.failure, recent.summary]).toMatchObject([undefined, { lake_begun: false }]);
    // A run takes its time.
    let calls = 0;
    const passing = { ...clock, now: () => clock.now() + (calls++ === 0 ? 0 : 60_000) };
    const late = await synced({ ...given, maxLag: '5m30s' }, { clock: passing });
    expect(late.failure).toMatchObject({ code: 'LAKE_LAG', exitCode: 1 });
    expect(String(late.failure)).toMatch(/; run again, or allow more with --max-lag$/);
    expect(String(late.failure)).toContain('it is 6 min old: it is complete up to 2026-03-20T01:55:00Z');
    expect(late.summary).toMatchObject({ status: 'failed', lag_seconds: 360 });
  });

  test('begins no lake, as a disk that is not mounted is an empty folder', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given, lake } = await shop(days(1, 19), clock);
    const { failure } = await synced({ ...given, maxLag: '1d' }, { clock });
    expect(failure).toMatchObject({ code: 'USAGE', exitCode: 2 });
    expect(String(failure)).toContain(
      `expected a lake at ${lake}, got none; check --lake and whether its disk is mounted`,
    );
    expect(await readdir(lake)).toEqual([]);
  });

  test('says how old the lake is where the upstream could not be reached', async () => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const { given } = await shop(days(1, 19), clock);
    await synced(given, { clock });
    clock.set('2026-03-21T05:00:00Z');
    const signal = AbortSignal.timeout(300);
    const broken = await synced({ ...given, endpoint: 'http://127.0.0.1:9', maxLag: '1d' }, { clock, signal });
    expect(broken.failure).toBeInstanceOf(Error);
    expect(broken.printed).toContain('The lake is 1 d 3 h old: it is complete up to 2026-03-20T01:55:00Z');
    expect(broken.summary.lag_seconds).toBe(27 * 3600 + 300);
    // Who watches the log alone must see it, too.
    expect(broken.logged).toContain('expected the lake to be at most 1 d old, it is 1 d 3 h old: it is complete');
    expect(broken.logged).not.toContain('allow more');
    // A run that could not load anything has begun this one.
    const none = { ...given, lake: await temporaryFolder(), endpoint: 'http://127.0.0.1:9' };
    await synced(none, { clock, signal: AbortSignal.timeout(300) });
    const empty = await synced({ ...none, maxLag: '1d' }, { clock, signal: AbortSignal.timeout(300) });
    expect(empty.logged).toContain('expected the lake to be at most 1 d old, it has nothing with a date');
    const young = await synced({ ...given, endpoint: 'http://127.0.0.1:9', maxLag: '9d' }, { clock, signal });
    expect(young.failure).toBeInstanceOf(Error);
    expect(young.logged).not.toContain('expected the lake to be');
  });

  test.each([
    ['5m', undefined, 5],
    ['10m', 10, 10],
  ])('takes no %j with a margin of %j minutes, as no lake is that young', async (maxLag, marginMinutes, margin) => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const given = { account: 'shop', endpoint: 'http://127.0.0.1:9', lake: 'nowhere', maxLag };
    const run = await synced({ ...given, ...(marginMinutes !== undefined && { marginMinutes }) }, { clock });
    expect(run.failure).toMatchObject({ code: 'USAGE', exitCode: 2 });
    expect(String(run.failure)).toContain(`longer than the margin of ${margin} minutes`);
  });

  test.each(['2', 'h', '2 hours', '-1h', ''])('takes no %j for a duration', async (maxLag) => {
    const clock = setClock('2026-03-20T02:00:00Z');
    const run = await synced({ account: 'shop', endpoint: 'http://127.0.0.1:9', lake: 'nowhere', maxLag }, { clock });
    expect(run.failure).toMatchObject({ code: 'USAGE', exitCode: 2 });
  });
});

test('settlements are read while they are open and once after they have closed, new ones as they are listed', async () => {
  const clock = setClock('2026-03-10T02:00:00Z');
  const items = [
    settlement('one', '2026-03-01T00:00:00Z'),
    shipment('2026-03-05T12:00:00Z', 'a', '1', 'one'),
    settlement('idle', '2026-03-02T00:00:00Z'),
  ];
  const { given, lake } = await shop(items, clock, []);
  const read = async (night: string) => {
    clock.set(night);
    const run = await synced(given, { clock });
    expect(run.failure).toBeUndefined();
    return run;
  };
  await read('2026-03-10T02:00:00Z');
  items.push(shipment('2026-03-10T12:00:00Z', 'b', '2', 'one'));
  const open = await read('2026-03-11T02:00:00Z');
  expect(open.summary.pipelines['group-events']).toMatchObject({ slices: 2 });
  expect(open.summary.changes['group-events']).toMatchObject({ appeared: 0, vanished: 0, grown: 1 });
  expect(open.printed).toContain('Open settlements that have grown, group-events: 1 new event in 1 settlement');

  items[0] = settlement('one', '2026-03-01T00:00:00Z', '2026-03-11T12:00:00Z');
  items[2] = settlement('idle', '2026-03-02T00:00:00Z', '2026-03-11T12:00:00Z');
  items.push(shipment('2026-03-11T11:00:00Z', 'c', '3', 'one'), settlement('two', '2026-03-11T12:00:00Z'));
  const closed = await read('2026-03-12T02:00:00Z');
  expect(closed.summary.changes['financial-event-groups']).toMatchObject({
    appeared: 0,
    vanished: 0,
    differ: 0,
    grown: 2,
  });
  expect(closed.summary.pipelines['group-events']).toMatchObject({ slices: 3 });
  expect(await rows(lake, clock, 'SELECT group_id, ended_at FROM groups ORDER BY 1')).toEqual([
    { group_id: 'idle', ended_at: '2026-03-11T12:00:00Z' },
    { group_id: 'one', ended_at: '2026-03-11T12:00:00Z' },
    { group_id: 'two', ended_at: null },
  ]);
  expect(await rows(lake, clock, 'SELECT amazon_order_id AS id, window_end FROM group_events ORDER BY id')).toEqual(
    ['a', 'b', 'c'].map((id) => ({ id, window_end: '2026-03-11T12:00:00Z' })),
  );

  const after = await read('2026-03-13T02:00:00Z');
  expect(after.summary.pipelines['group-events']).toMatchObject({ slices: 1 });
  const [history] = await rows(
    lake,
    clock,
    "SELECT count(*)::INTEGER AS n FROM event_history WHERE source = 'group_events'",
  );
  expect(history).toEqual({ n: 2 });
});

test('orders that are named are read again', async () => {
  const ids = ['902-0000000-0000001', '902-0000000-0000002'];
  const clock = setClock('2026-03-20T02:00:00Z');
  const { given, lake, items } = await shop(
    ids.map((id) => shipment('2026-03-01T12:00:00Z', id)),
    clock,
    ['order-events'],
  );
  const named = { ...given, orders: ids };
  await synced(named, { clock });
  items.push(shipment('2026-03-05T12:00:00Z', ids[0] ?? '', '5'));
  const { summary, failure } = await synced(named, { clock });
  expect(failure).toBeUndefined();
  expect(summary).toMatchObject({ lag_seconds: null, changes: { 'order-events': { appeared: 1, vanished: 0 } } });
  expect(await rows(lake, clock, 'SELECT change, requested_order_id AS id, source FROM event_history')).toEqual([
    { change: 'appeared', id: ids[0], source: 'order_events' },
  ]);
});

test('a sync that dies at any change is continued by the next one, and the history has each change once', async () => {
  const clock = setClock('2026-03-20T14:00:00Z');
  const { given, lake, items } = await shop(days(17, 21), clock);
  await ran({ ...given, from: '2026-03-17' }, { clock });
  const late: BackendItem & DatedItem = shipment('2026-03-20T10:00:00Z', 'order-late');
  items.push(late);
  items.splice(2, 1, shipment('2026-03-19T12:00:00Z', 'order-19', '1.11'));
  clock.set('2026-03-22T02:00:00Z');
  const expected = ['appeared order-19', 'appeared order-late', 'vanished order-19'];
  let deaths = 0;
  for (let dieAt = 1; ; dieAt++) {
    const copy = await copied(lake);
    const store = failingStore(openStore(copy), dieAt);
    const { failure } = await synced({ ...given, lake: copy, store }, { clock });
    if (store.changes < dieAt) {
      expect(failure).toBeUndefined();
      break;
    }
    deaths++;
    await rm(join(copy, '_runs'), { recursive: true, force: true });
    expect((await synced({ ...given, lake: copy }, { clock })).failure, `change ${dieAt}`).toBeUndefined();
    const history = "SELECT change || ' ' || amazon_order_id AS line FROM event_history ORDER BY line";
    expect(
      (await rows(copy, clock, history)).map(({ line }) => line),
      `change ${dieAt}`,
    ).toEqual(expected);
    expect(await orders(copy, clock)).toEqual([
      'order-17',
      'order-18',
      'order-19',
      'order-20',
      'order-21',
      'order-late',
    ]);
    const plain = `read_parquet('${copy}/event_history/account=*/month=*/*.parquet', hive_partitioning = true)`;
    expect(await rows(copy, clock, `SELECT count(*)::INTEGER AS n FROM ${plain}`)).toEqual([{ n: 3 }]);
  }
  expect(deaths).toBeGreaterThan(14);
});

test('two syncs at once both end well, and the history has each change once', async () => {
  const clock = setClock('2026-03-20T14:00:00Z');
  const { given, lake, items } = await shop(days(10, 21), clock);
  await ran({ ...given, from: '2026-03-10' }, { clock });
  items.push(shipment('2026-03-20T10:00:00Z', 'order-late'));
  clock.set('2026-03-22T02:00:00Z');
  const runs = await Promise.all([1, 2, 3].map(() => synced({ ...given, lookBack: 9 }, { clock })));
  expect(runs.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
  expect(await orders(lake, clock)).toHaveLength(13);
  expect(await rows(lake, clock, 'SELECT change, amazon_order_id AS id FROM event_history')).toEqual([
    { change: 'appeared', id: 'order-late' },
  ]);
  expect(runs.map(({ summary }) => summary.changes['financial-events']?.appeared ?? 0).toSorted()).toEqual([0, 0, 1]);
});
