import { spawnSync } from 'node:child_process';
import { cp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  openPageJournal,
  type PageJournal,
  type JournaledPage,
} from '../../../src/engine/page-journal/page-journal.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';
import { openPersistedQuota } from '../../../src/engine/page-journal/persisted-quota.js';
import { HandClock } from '../../core/clock.js';

import { temporaryFolder } from '../../app/lake-run.js';
import { inItsFolder } from '../../core/io/path-below.js';
import { orphan } from './orphan.js';

const cursorLifeMs = 180_000;
const question = '/finances/v0/financialEvents?PostedAfter=2026-01-01';
const clock = new HandClock('2026-02-01');

const never = (reason: unknown): void => {
  throw reason as Error;
};

function opened(path: string, warn = never): Promise<PageJournal> {
  return openPageJournal({ folder: inItsFolder(path), clock, cursorLifeMs, warn });
}

function page(number: number, receivedAt = clock.now()): JournaledPage {
  const cursor = number === 0 ? undefined : `token ${number}`;
  return {
    cursor,
    receivedAt,
    pageSize: 100,
    headers: new Map([['link', `<${number}>`]]),
    body: Buffer.from(`{"page":${number}}\n\0é`),
  };
}

test('the next run goes on with what a dead one received, and it is there once', async () => {
  const path = await temporaryFolder();
  const first = await opened(path);
  for (let number = 0; number < 3; number++) await first.add(question, page(number));
  await orphan(path);
  const second = await opened(path);
  expect(second.begun()).toEqual([question]);
  expect(await second.takeOver(question)).toMatchObject([page(0), page(1), page(2)]);
  expect(await second.takeOver(question)).toEqual([]);
  // What is received now follows.
  await second.add(question, page(3));
  await orphan(path);
  const third = await opened(path);
  expect(await third.takeOver(question)).toHaveLength(4);
  await third.drop(question);
  expect(await readdir(path)).toEqual([]);
});

test('the part of a page that a killed run was writing does not end what is known', async () => {
  const path = await temporaryFolder();
  const first = await opened(path);
  for (let number = 0; number < 3; number++) await first.add(question, page(number));
  const [entry = ''] = await readdir(path);
  await writeFile(join(path, entry, '.0b6f4ad2-6c2e-4f0c-8d7d-5a2f3e6b9c10.part'), 'cut o');
  await orphan(path);
  const second = await opened(path);
  expect(await second.takeOver(question)).toMatchObject([page(0), page(1), page(2)]);
  await second.drop(question);
  expect(await readdir(path)).toEqual([]);
});

test('what nobody has taken over goes when a run has loaded all there is, and what this run is at work on stays', async () => {
  const path = await temporaryFolder();
  const first = await opened(path);
  await first.add(question, page(0));
  await first.add('another', page(0));
  await orphan(path);
  const second = await opened(path);
  expect(await second.takeOver(question)).toHaveLength(1);
  await second.sweep(() => true);
  expect(second.begun()).toEqual([]);
  expect(await readdir(path)).toHaveLength(1);
  await orphan(path);
  expect((await opened(path)).begun()).toEqual([question]);
});

test('what another run may go on with stays, until its token is dead', async () => {
  const path = await temporaryFolder();
  const moving = new HandClock('2026-02-01');
  const first = await opened(path);
  await first.add(question, page(0));
  await first.add('another', page(0));
  await orphan(path);
  const second = await openPageJournal({ folder: inItsFolder(path), clock: moving, cursorLifeMs, warn: never });
  await second.sweep((left) => left === 'another');
  expect(second.begun()).toEqual([question]);
  expect(await readdir(path)).toHaveLength(1);
  await moving.advance(cursorLifeMs + 1);
  await second.sweep(() => false);
  expect(await readdir(path)).toEqual([]);
});

test('what an active run is at work on is left to it', async () => {
  const path = await temporaryFolder();
  const first = await opened(path);
  await first.add(question, page(0));
  expect((await opened(path)).begun()).toEqual([]);
  await first.add(question, page(1));
});

test('what is older than a token lives is removed', async () => {
  const path = await temporaryFolder();
  await (await opened(path)).add(question, page(0, clock.now() - cursorLifeMs - 1));
  await orphan(path);
  expect((await opened(path)).begun()).toEqual([]);
  expect(await readdir(path)).toEqual([]);
});

test('of two that go as far the other one is removed, and the longer one is taken', async () => {
  const path = await temporaryFolder();
  const other = await temporaryFolder();
  await (await opened(path)).add(question, page(0));
  const longer = await opened(other);
  await longer.add(question, page(0));
  await longer.add(question, page(1));
  for (const entry of await readdir(other)) await cp(join(other, entry), join(path, entry), { recursive: true });
  await orphan(path);
  const next = await opened(path);
  expect(await readdir(path)).toHaveLength(1);
  expect(await next.takeOver(question)).toHaveLength(2);
});

test('a page that was cut off or changed, anywhere, ends what is known', async () => {
  const path = await temporaryFolder();
  const first = await opened(path);
  for (let number = 0; number < 3; number++) await first.add(question, page(number));
  await orphan(path);
  const [entry = ''] = await readdir(path);
  const file = join(path, entry, '00001.page');
  const bytes = await readFile(file);
  await fc.assert(
    fc.asyncProperty(
      fc.nat(bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (at, change, cut) => {
        const damaged = Buffer.from(cut ? bytes.subarray(0, at) : bytes);
        if (!cut) damaged[at] = (damaged[at] ?? 0) ^ change;
        await writeFile(file, damaged);
        const copy = await temporaryFolder();
        await cp(path, copy, { recursive: true });
        const known = await (await opened(copy)).takeOver(question);
        // A changed header may still say the same question: its page then is the one that was received, with other notes.
        expect(known.length === 1 || Buffer.from(known[1]?.body ?? []).equals(page(1).body)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test('where pages can not be kept that is told once, and nothing fails', async () => {
  const path = join(await temporaryFolder(), 'file');
  await writeFile(path, '');
  const told: unknown[] = [];
  const pageJournal = await opened(path, (reason) => told.push(reason));
  await pageJournal.add(question, page(0));
  await pageJournal.add(question, page(1));
  await pageJournal.drop(question);
  expect(told).toHaveLength(1);
});

test('pages, the level of the quota and temporary files are readable by their user alone', async () => {
  const place = join(await temporaryFolder(), 'new', 'shop');
  await (await opened(join(place, 'pages'))).add(question, page(0));
  const quota = await openPersistedQuota(inItsFolder(join(place, 'quota.json')), never);
  quota.keep('ListFinancialEvents', 1);
  await quota.flush();
  const modes = async (folder: string): Promise<[string, number][]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return Promise.all(
      entries.map(async (entry): Promise<[string, number]> => {
        const path = join(entry.parentPath, entry.name);
        return [path, (await stat(path)).mode & 0o077];
      }),
    );
  };
  const kept = await modes(join(place, '..'));
  expect(kept.length).toBeGreaterThanOrEqual(5);
  expect(kept.filter(([, others]) => others !== 0)).toEqual([]);
  await withWorkspace({ ...defaultLimits, memory: '30MB' }, { localPath: () => undefined }, async (workspace) => {
    const file = await workspace.writeLocal(Buffer.from('a'));
    // Rows that DuckDB has no memory for.
    await workspace.database.execute('CREATE TABLE t AS SELECT range AS a FROM range(9000000)');
    const [setting] = await workspace.database.rows("SELECT current_setting('temp_directory') AS spill");
    const spill = String(setting?.['spill']);
    expect(await readdir(spill)).not.toEqual([]);
    for (const folder of [join(file, '..'), join(file, '..', '..'), join(spill, '..')]) {
      expect((await stat(folder)).mode & 0o077).toBe(0);
    }
  });
});

test('a FIFO in the place of a page or a quota is passed over: nobody waits for it', async () => {
  const path = await temporaryFolder();
  const pageJournal = await opened(path);
  for (let number = 0; number < 2; number++) await pageJournal.add(question, page(number));
  const [entry = ''] = await readdir(path);
  const fifos = [join(path, entry, '00001.page'), join(path, 'quota.json')];
  for (const fifo of fifos) {
    await rm(fifo, { force: true });
    spawnSync('mkfifo', [fifo]);
  }
  const [, quota = ''] = fifos;
  expect((await openPersistedQuota(inItsFolder(quota), never)).stateOf('x')).toBeUndefined();
  await orphan(path);
  expect(await (await opened(path)).takeOver(question)).toMatchObject([page(0)]);
});

test('pages are neither written nor taken over through a link, which costs the journal and nothing else', async () => {
  const path = await temporaryFolder();
  const outside = await temporaryFolder();
  await (await opened(path)).add(question, page(0));
  await orphan(path);
  const [entry = ''] = await readdir(path);
  // The pages of a dead run, whose folder leads out of the lake.
  await rename(join(path, entry), join(outside, 'pages'));
  await symlink(join(outside, 'pages'), join(path, entry));
  const second = await opened(path);
  expect(second.begun()).toEqual([]);
  await second.add(question, page(0));
  expect(await readdir(join(outside, 'pages'))).toEqual(['00000.page']);

  const root = await temporaryFolder();
  await symlink(outside, join(root, 'parcels'));
  const told: unknown[] = [];
  const folder = { root, path: 'parcels/pages' };
  const linked = await openPageJournal({ folder, clock, cursorLifeMs, warn: (reason) => told.push(reason) });
  await linked.add(question, page(0));
  expect(told.map(String)).toEqual([expect.stringContaining('got the symbolic link')]);
  expect(await readdir(join(outside, 'pages'))).toEqual(['00000.page']);
});

test('the level of a quota is neither read nor written through a linked folder', async () => {
  const root = await temporaryFolder();
  const outside = await temporaryFolder();
  await writeFile(join(outside, 'quota.json'), '{"events":7}');
  await symlink(outside, join(root, 'shop'));
  const told: unknown[] = [];
  const kept = await openPersistedQuota({ root, path: 'shop/quota.json' }, (reason) => told.push(reason));
  expect(kept.stateOf('events')).toBeUndefined();
  kept.keep('events', 1);
  await kept.flush();
  expect(told.map(String)).toEqual([expect.stringContaining('got the symbolic link')]);
  expect(await readFile(join(outside, 'quota.json'), 'utf8')).toBe('{"events":7}');
});
