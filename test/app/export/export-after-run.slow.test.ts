import { ended } from '../ended.js';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportAfterRun } from '../../../src/app/export/export-after-run.js';
import { forgetIn } from '../../../src/app/forget/forget.js';
import { systemClock } from '../../../src/core/clock.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { backfill, openLake, RunError } from '../../../src/index.js';
import { exportIceberg } from '../../../src/lake/iceberg/export-lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { builtCommand } from '../built-command.js';
import { fileOf, eventsBody } from '../import/imported.js';
import { temporaryFolder } from '../lake-run.js';
import { open, shipment, smallLake } from '../maintenance/small-lake.js';
import { copied } from '../maintenance/kept-lake.js';
import { from, servedShop, to } from '../../library/served.js';

const page = eventsBody([{ list: 'ShipmentEventList', json: shipment('2024-02-03T00:00:00Z', 'order-1') }]);

/** A date so many days ago: the embedded seller has the system's clock. */
function day(ago: number): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}

/** Every command that changes a lake, in an order in which each has something to do. */
async function commands(): Promise<readonly (readonly string[])[]> {
  return [
    ['backfill', 'financial-events', 'financial-event-groups', '--from', day(8), '--to', day(3)],
    ['sync', 'financial-events', 'financial-event-groups', '--look-back', '1'],
    ['import', '--account', 'demo', await fileOf([page])],
    ['compact'],
    ['rebuild'],
    ['forget', '--account', 'demo', '--before', day(6), '--yes'],
    ['forget', '--account', 'demo', '--yes'],
  ];
}

/** A project whose configuration says what is exported. */
async function project(settings: object): Promise<{ folder: string; lake: string }> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify({ settings: { lake: 'lake', ...settings } }));
  return { folder, lake: join(folder, 'lake') };
}

async function rowsOf(lake: string): Promise<bigint> {
  const opened = await openLake(lake);
  const [row] = await opened.sql('SELECT count(*) AS rows FROM entries');
  await opened.close();
  return row?.['rows'] as bigint;
}

test('every command that changes a lake exports it at its end, where the configuration says so', async () => {
  const { folder, lake } = await project({ export: ['iceberg'] });
  for (const words of await commands()) {
    await rm(join(lake, '_iceberg'), { recursive: true, force: true });
    const { code, err } = await builtCommand(words, { folder });
    expect([words.join(' '), code, code === 0 ? '' : err]).toEqual([words.join(' '), 0, '']);
    expect(err).toMatch(/exported iceberg: \d+ tables? of \d+, /);
    const left = await exportIceberg(await open(lake, systemClock), systemClock);
    expect(left.tables, words.join(' ')).toBeGreaterThan(2);
    expect({ command: words.join(' '), ...left }).toMatchObject({ changed: 0 });
  }
});

test('an export that fails ends each command with exit code 1 and what repeats it, and the rows stay', async () => {
  const { folder, lake } = await project({ export: ['iceberg'] });
  await mkdir(lake);
  let rows = 0n;
  for (const words of (await commands()).filter(([name]) => name !== 'forget')) {
    // A file where the folder is to be.
    await writeFile(join(lake, '_iceberg'), '');
    const { code, out, err } = await builtCommand([...words, '--json'], { folder });
    expect(code, words.join(' ')).toBe(1);
    expect(err).toMatch(
      /EXPORT: all rows are committed, but the Iceberg metadata could not be written \(.+\); repeat the export with `ledgerlake export iceberg --lake .+`/,
    );
    expect(err).toMatch(/the export of iceberg failed, the rows are committed: /);
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', error: { code: 'EXPORT' } });
    const now = await rowsOf(lake);
    expect(now).toBeGreaterThan(0n);
    if (words[0] === 'import') expect(now).toBeGreaterThan(rows);
    rows = now;

    await rm(join(lake, '_iceberg'));
    const repeat = /repeat the export with `ledgerlake ([^`]+)`/.exec(err)?.[1]?.split(' ') ?? [];
    expect((await builtCommand(repeat, { folder })).code).toBe(0);
    expect(await exportIceberg(await open(lake, systemClock), systemClock)).toMatchObject({ changed: 0 });
    await rm(join(lake, '_iceberg'), { recursive: true });
  }
});

test('a forgetting whose export fails says so once all is forgotten', async () => {
  const small = await smallLake(systemClock);
  const location = await copied(small.lake);
  await small.remove();
  const disk = openStore(location);
  const store = {
    ...disk,
    write: (path: string, bytes: Uint8Array) =>
      path.startsWith('_iceberg/') ? Promise.reject(new Error('the disk is full')) : disk.write(path, bytes),
  };
  const emitted: RunEvent[] = [];
  const lake = await open(store, systemClock);
  const { failure, summary } = await ended(
    forgetIn(
      lake,
      undefined,
      { lake: location, account: 'shop', yes: true, journal: undefined, export: ['iceberg'] },
      {
        clock: systemClock,
        signal: new AbortController().signal,
        confirm: undefined,
        emit: (event) => emitted.push(event),
      },
    ),
  );
  expect(failure).toMatchObject({ code: 'EXPORT', exitCode: 1 });
  expect(summary).toMatchObject({ status: 'failed', account: 'shop' });
  expect(emitted.at(-1)).toEqual({ event: 'export-failed', format: 'iceberg', reason: 'the disk is full' });
  expect((await open(location, systemClock)).snapshot.accounts().size).toBe(0);
});

test('what was stopped, and a turn of a fleet that is over, export nothing', async () => {
  const small = await smallLake(systemClock);
  const lake = await open(await copied(small.lake), systemClock);
  await small.remove();
  const events: RunEvent[] = [];
  const context = { clock: systemClock, emit: (event: RunEvent) => events.push(event) };
  const open_ = new AbortController().signal;
  const over = AbortSignal.abort();
  const options = { lake: 'lake', export: ['iceberg' as const] };
  await exportAfterRun(lake, options, { ...context, signal: over });
  await exportAfterRun(lake, options, { ...context, signal: open_, closing: over });
  await exportAfterRun(lake, { lake: 'lake' }, { ...context, signal: open_ });
  expect(events).toEqual([]);
  expect(await exportAfterRun(lake, options, { ...context, signal: open_, closing: open_ })).toBeUndefined();
  expect(events).toMatchObject([{ event: 'lake-exported', format: 'iceberg', tables: 2, changed: 2 }]);
});

test('a program exports and sets the retention by options', async () => {
  const shop = await servedShop();
  const events: RunEvent[] = [];
  const options = { ...shop, from, to, pipelines: ['financial-events'], export: ['iceberg' as const] };
  await backfill({ ...options, retentionHours: 5, onEvent: (event) => events.push(event) });
  expect(events.find(({ event }) => event === 'lake-exported')).toMatchObject({ tables: 2, changed: 2 });
  const log = await readFile(join(shop.lake, 'entries/_delta_log/00000000000000000000.json'), 'utf8');
  expect(log).toContain('"delta.deletedFileRetentionDuration":"interval 5 hours"');

  await rm(join(shop.lake, '_iceberg'), { recursive: true });
  await writeFile(join(shop.lake, '_iceberg'), '');
  const failed: unknown = await backfill(options).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunError);
  expect(failed).toMatchObject({ code: 'EXPORT', retryable: true, summary: { status: 'failed' } });
  await expect(backfill({ ...options, export: [] })).resolves.toMatchObject({ status: 'done' });
});
