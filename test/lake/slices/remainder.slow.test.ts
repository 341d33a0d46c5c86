import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { readParquet } from '../../../src/core/duckdb/literals.js';
import { loadKeyCondition } from '../../../src/lake/files/load-key-rows.js';
import { removeAged } from '../../../src/app/forget/aged-rows.js';
import { remainderOf } from '../../../src/lake/slices/remainder.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';
import { replacementOf } from '../../../src/lake/slices/slice-replacement.js';
import { addOf, pathOf } from '../../app/verify/damage.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { makeLake, type MadeLake } from '../../app/maintenance/made-lake.js';
import {
  compacted,
  contentsOf,
  copied,
  dataFiles,
  loaded,
  rebuilt,
  steppingClock,
} from '../../app/maintenance/kept-lake.js';
import { load, open, shipment, shipments, smallLake, window, within } from '../../app/maintenance/small-lake.js';

const clock = steppingClock();
let made: MadeLake;
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  made = await makeLake(clock, { events: 150, orders: 40 });
  small = await smallLake(clock);
});
afterAll(async () => {
  await made.remove();
  await small.remove();
});

describe('reading again what compact has merged', () => {
  test('changes nothing where the upstream says the same', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    const run = await loaded(lake, made.endpoint, clock, {
      pipelines: ['financial-events', 'group-events', 'financial-event-groups'],
      refresh: true,
      from: '2026-01-27',
      to: '2026-02-12',
    });
    expect(run.summary.status).toBe('done');
    expect(run.summary.pipelines['financial-events']?.['slices']).toBeGreaterThan(2);
    expect(await contents.differences()).toEqual({});
    await compacted({ lake }, { clock });
    expect(await contents.differences()).toEqual({});
  });

  test('asks only for the orders that are named', async () => {
    const lake = await copied(made.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    const [order = ''] = made.orders;
    const files = await dataFiles(lake, 'order_events');
    const run = await loaded(lake, made.endpoint, clock, {
      pipelines: ['order-events'],
      refresh: true,
      orders: [order],
    });
    // It is as it was, so that the file that it shares with others stays too.
    expect(run.summary.pipelines['order-events']).toMatchObject({ slices: 1, requests: 1, files: 0, bytes: 0 });
    expect(await contents.differences()).toEqual({});
    expect(await dataFiles(lake, 'order_events')).toEqual(files);
  });

  test('brings back a window whose rows were forgotten', async () => {
    const lake = await copied(small.lake);
    const contents = await contentsOf(lake, clock);
    await compacted({ lake }, { clock });
    await removeAged(await open(lake, clock), 'shop', window(2).window.start);
    expect(await contents.differences()).toEqual({ events: 3, entries: 6 });
    const opened = await open(lake, clock);
    // The window is loaded still, and the file of the others names it.
    await load(opened, 1, shipments(1), { refresh: true });
    expect(await contents.differences()).toEqual({});
    await load(opened, 1, shipments(1), { refresh: true });
    expect(await dataFiles(lake, 'events')).toHaveLength(2);
  });

  test('replaces the window that is read, and no row of another', async () => {
    const lake = await copied(small.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    const opened = await open(lake, clock);
    const [first = '', ...others] = shipments(2);
    const changed = [shipment(within(2, 5), 'order-new', '99.99'), ...others];
    await load(opened, 2, changed, { refresh: true });
    const inWindow = `effective_at >= TIMESTAMPTZ '${within(2)}' AND effective_at < TIMESTAMPTZ '${within(3)}'`;
    expect(await contents.differences()).toEqual({ events: 2, entries: 4 });
    const tables = await contents.rows(`SELECT count(*) AS n FROM events WHERE NOT (${inWindow})`);
    expect(tables).toEqual([{ n: 6n }]);
    expect(await contents.rows(`SELECT raw FROM events WHERE ${inWindow} ORDER BY position`)).toEqual(
      changed.map((raw) => ({ raw })),
    );
    expect(first).not.toBe('');
    // Nothing else lies in the folders than what counts.
    expect(await dataFiles(lake, 'events')).toHaveLength(2);
    expect(await dataFiles(lake, 'entries')).toHaveLength(2);
    const [own, rest] = (await open(lake, clock)).snapshot
      .filesOf('events', 'shop', 'financial-events')
      .toSorted((a, b) => a.loadKeys.length - b.loadKeys.length);
    expect(own?.loadKeys).toEqual(window(2).loadKeys);
    expect(rest?.loadKeys).toEqual([...window(1).loadKeys, ...window(3).loadKeys]);
    expect(rest?.tags?.['net']).toBe('{"USD":"3.060000"}');
    expect(rest?.tags?.['rows']).toBe('6');
  });

  test('of windows that hold the same event leaves each its own', async () => {
    const lake = await copied(small.lake);
    const before = await open(lake, clock);
    // What the service reports twice, in two windows, has one id.
    const twice = shipment(within(4), 'order-twice', '5.00');
    await load(before, 4, [twice, shipment(within(4, 9), 'order-4')]);
    await load(before, 5, [twice, twice, shipment(within(5, 9), 'order-5')].slice(0, 1));
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    expect(await contents.rows('SELECT count(*) AS n, count(DISTINCT event_id) AS ids FROM events')).toEqual([
      { n: 12n, ids: 11n },
    ]);
    const opened = await open(lake, clock);
    await load(opened, 5, [], { refresh: true });
    expect(await contents.differences()).toEqual({ events: 1, entries: 2 });
    const [left] = await contents.rows(
      'SELECT (SELECT count(*) FROM events WHERE event_id IN (SELECT event_id FROM entries)) AS events, ' +
        "(SELECT count(*) FROM entries WHERE amazon_order_id = 'order-twice') AS entries",
    );
    expect(left).toEqual({ events: 11n, entries: 2n });
  });

  test('of files too large to be worked on at once changes nothing either', async () => {
    const lake = await copied(made.lake);
    const limits = { ...defaultLimits, rangeBytes: 200_000, rawBytes: 20_000 };
    await compacted({ lake, limits }, { clock });
    const contents = await contentsOf(lake, clock);
    const opened = await open(lake, clock);
    const file = opened.snapshot.filesOf('events', 'shop', 'financial-events').find((file) => file.loadKeys.length > 1);
    const [loadKey = ''] = file === undefined ? [] : file.loadKeys.slice(1);
    const { main, derived } = financialEvents;
    const slice = {
      pipeline: 'financial-events',
      account: 'shop',
      name: 'x',
      loadKeys: [loadKey],
      main,
      derived,
      files: [],
    };
    const folder = await temporaryFolder();
    await withWorkspace(limits, opened.store, async (workspace) => {
      const replacement = replacementOf(opened.snapshot, slice);
      const { files, mains } = await remainderOf({ lake: opened, workspace }, replacement);
      expect(mains).toEqual([file]);
      const addressesOf = async (name: string) => {
        const own = files.filter(({ table }) => table.name === name);
        const paths = own.map((_, at) => join(folder, `${name}-${at}.parquet`));
        for (const [at, path] of paths.entries()) await writeFile(path, (await own[at]?.read()) ?? '');
        return readParquet(paths);
      };
      const [events, entries] = [await addressesOf('events'), await addressesOf('entries')];
      const stored = readParquet(mains.map((file) => join(lake, 'events', file.path)));
      const others = `SELECT * FROM ${stored} WHERE NOT (${loadKeyCondition([loadKey])})`;
      const ids = `(SELECT event_id FROM ${events})`;
      for (const [kept, rest] of [
        [`SELECT * FROM ${events}`, others],
        [`SELECT * FROM ${entries}`, `SELECT * EXCLUDE (account, month) FROM entries WHERE event_id IN ${ids}`],
      ] as const) {
        for (const [one, other] of [
          [kept, rest],
          [rest, kept],
        ] as const)
          expect(await contents.rows(`SELECT count(*) AS n FROM (${one} EXCEPT ALL ${other})`)).toEqual([{ n: 0n }]);
      }
      expect(await contents.rows(`SELECT count(*) > 0 AS some FROM ${events}`)).toEqual([{ some: true }]);
    });
    expect(await contents.differences()).toEqual({});
    await rebuilt({ lake, limits }, { clock });
    expect(await contents.differences()).toEqual({});
  });

  test('of a file that is missing leaves the slice open', async () => {
    const lake = await copied(small.lake);
    await compacted({ lake }, { clock });
    rmSync(pathOf(lake, 'events', addOf(lake, 'events')));
    const opened = await open(lake, clock);
    const failed = load(opened, 2, shipments(2), { refresh: true });
    await expect(failed).rejects.toMatchObject({ code: 'INCOMPLETE' });
    await expect(failed).rejects.toThrow(
      /^left open financial-events .*\/events\/.*, it is missing; it was not changed/,
    );
  });

  test('of several windows of one file at once parts each', async () => {
    const lake = await copied(small.lake);
    await compacted({ lake }, { clock });
    const contents = await contentsOf(lake, clock);
    const opened = await open(lake, clock);
    await Promise.all([1, 2, 3].map((number) => load(opened, number, shipments(number), { refresh: true })));
    expect(await contents.differences()).toEqual({});
    expect(await dataFiles(lake, 'events')).toHaveLength(3);
    expect(await dataFiles(lake, 'entries')).toHaveLength(3);
  });
});
