import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunEvent } from '../../src/core/events/run-event.js';
import { diskStore } from '../../src/lake/store/disk.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { clockAt, ran, serving, temporaryFolder } from '../app/lake-run.js';
import { watched } from './memory-store.js';

const clock = clockAt('2026-03-20T12:00:00Z');
const dates = { from: '2026-03-01', to: '2026-03-08' };

/** A lake with one account, and a file that some dead run has left in the folder of another. */
async function lakeWithLeftover() {
  const lake = await temporaryFolder();
  const emitted: RunEvent[] = [];
  const endpoint = await serving({
    backend: createSeller({ seed: 3, events: 300, profile: 'edge-cases' }, clock),
    clock,
  });
  const load = (account: string, more = {}) => ran({ lake, endpoint, account, ...dates, ...more }, { clock, emitted });
  await load('one');
  const folder = join(lake, 'events', 'account=other', 'month=2026-03');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '20260301T000000Z-20260308T000000Z-0-0123456789abcdef-0.parquet'), 'half a file');
  return { lake, load, emitted, left: () => readdir(folder), leases: () => readdir(join(lake, '_runs')) };
}

test('a run lists nothing of other accounts where none has died', async () => {
  const { lake, load, left, leases } = await lakeWithLeftover();
  const listed: string[] = [];
  const store = watched(diskStore(lake), {
    before: ({ method, path }) => {
      if (method === 'list') listed.push(path);
    },
  });
  await load('one', { store });
  expect(listed).toContain('events/account=one');
  const begun = listed.filter((path) => existsSync(join(lake, path)));
  expect(begun.filter((path) => !/^_|\/_delta_log$|\/account=one$/.test(path))).toEqual([]);
  expect(await left()).toHaveLength(1);
  expect(await leases()).toEqual([]);
});

test('a run that fails leaves word, and the next one of any account clears up everywhere', async () => {
  const { load, left, leases } = await lakeWithLeftover();
  // A service that lets nobody in.
  const signIn = { clientId: 'id', clientSecret: 'secret' };
  const closed = await serving({
    backend: createSeller({ seed: 3, events: 0, profile: 'edge-cases' }, clock),
    clock,
    signIn,
  });
  await expect(load('other', { endpoint: closed })).rejects.toThrow(/403/);
  expect(await leases()).toHaveLength(1);
  expect(await left()).toHaveLength(1);
  await load('one');
  expect(await left()).toEqual([]);
  expect(await leases()).toEqual([]);
});

test('what no commit references stays as long as a log names files that are missing, as it may be that of another time', async () => {
  const { lake, load, emitted } = await lakeWithLeftover();
  const month = join(lake, 'events', 'account=one', 'month=2026-03');
  const [name = ''] = await readdir(month);
  const [kept, orphan] = [join(lake, name), join(month, name.replace('20260301', '20260302'))];
  await rename(join(month, name), kept);
  await writeFile(orphan, 'half a file');
  await load('one', { to: '2026-03-09' });
  expect(existsSync(orphan)).toBe(true);
  expect(emitted).toContainEqual({ event: 'orphans-left' });
  await rename(kept, join(month, name));
  await load('one', { to: '2026-03-10' });
  expect(existsSync(orphan)).toBe(false);
});
