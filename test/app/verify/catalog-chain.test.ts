import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { commitPath, publishedPath } from '../../../src/lake/catalog/catalog-files.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { acquireLease } from '../../../src/lake/leases.js';
import { forget } from '../../../src/app/forget/forget.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { ran, serving } from '../lake-run.js';
import { loadedLake, type LoadedLake } from './loaded-lake.js';
import { smallBackend } from './small-backend.js';
import { found, verified } from './verified.js';

let loaded: LoadedLake;
beforeAll(async () => {
  loaded = await loadedLake(undefined, [{ pipelines: ['financial-events'] }]);
  const lake = await Lake.open(diskStore(loaded.root), tables, loaded.clock);
  // As many versions as a checkpoint of the catalog and of each log takes.
  for (let hours = 1; hours <= 25; hours++) await lake.setRetention(hours);
  await lake.setRetention(0);
});
afterAll(() => {
  loaded.remove();
});

function copied(): LoadedLake {
  const lake = loaded.copy();
  onTestFinished(() => {
    lake.remove();
  });
  return lake;
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function named(root: string, folder: string, end: string): string {
  const name = readdirSync(join(root, folder)).findLast((found) => found.endsWith(end));
  if (name === undefined) throw new Error(`no file ${end} in ${folder}`);
  return `${folder}/${name}`;
}

test('every version is proved by its hash, also a week later, and none by another one', async () => {
  const lake = copied();
  const { catalog } = await verified(lake);
  expect(catalog?.version).toBeGreaterThan(25);
  const line = `${catalog?.version}:${catalog?.hash}`;
  const endpoint = await serving({ backend: smallBackend(), clock: lake.clock });
  const range = { from: '2025-02-20', to: '2025-03-08', refresh: true };
  await ran({ lake: lake.root, endpoint, account: 'shop', pipelines: ['financial-event-groups'], ...range }, lake);
  expect(await verified(lake, false, line)).toMatchObject({ code: 0, problems: [] });
  const other = await verified(lake, false, `0:${catalog?.hash}`);
  expect([other.code, found(other)]).toEqual([1, ['catalog-chain failed']]);
  expect(other.problems).toMatchObject([{ file: '', command: null }]);
  expect((await verified(lake, false, `999:${catalog?.hash.toUpperCase()}`)).problems).toMatchObject([
    { problem: expect.stringContaining('the catalog ends with version') as string },
  ]);
  for (const text of ['12', `12:${'x'.repeat(64)}`, `-1:${catalog?.hash}`, `1:${catalog?.hash}0`])
    await expect(verified(lake, false, text)).rejects.toMatchObject({ code: 'USAGE' });
});

test('versions that forget has erased still prove themselves', async () => {
  const lake = copied();
  const { catalog } = await verified(lake);
  const context = { emit: () => undefined, confirm: undefined };
  const { signal } = new AbortController();
  await forget(
    { lake: lake.root, account: 'shop', before: '2025-03-02', yes: true },
    { clock: lake.clock, signal, ...context },
  );
  expect(await verified(lake, false, `${catalog?.version}:${catalog?.hash}`)).toMatchObject({ code: 0, problems: [] });
});

test.each([
  ['catalog-chain', 'a commit behind a checkpoint', () => commitPath(1)],
  ['catalog-chain', 'a checkpoint', (root: string) => named(root, '_catalog/_checkpoints', '.checkpoint')],
  ['catalog-chain', 'the hint', () => '_catalog/_last-checkpoint'],
  ['published-logs', 'an old published version', () => publishedPath('events', 1)],
  ['published-logs', 'a published checkpoint', (root: string) => named(root, 'events/_delta_log', '.parquet')],
  ['published-logs', 'a published hint', () => 'events/_delta_log/_last_checkpoint'],
])('%s finds %s that has changed', async (check, _what, pathOf) => {
  const lake = copied();
  const path = pathOf(lake.root);
  flip(join(lake.root, path), path.endsWith('_last_checkpoint') ? 2 : statSync(join(lake.root, path)).size >> 1);
  const result = await verified(lake);
  expect([result.code, found(result)]).toEqual([1, [`${check} failed`]]);
  expect(result.problems).toMatchObject([{ file: path, command: `ledgerlake repair --lake ${lake.root}` }]);
});

test('the newest published version is missing, but while a run is active it may come yet', async () => {
  const lake = copied();
  const path = named(lake.root, 'events/_delta_log', '.json');
  rmSync(join(lake.root, path));
  expect(await verified(lake)).toMatchObject({ code: 1, problems: [{ check: 'published-logs', file: path }] });
  const lease = await acquireLease({ store: diskStore(lake.root), run: '0-other' }, lake.clock);
  expect(await verified(lake)).toMatchObject({ code: 0, problems: [{ kind: 'note', file: path }] });
  await lease.release();
});
