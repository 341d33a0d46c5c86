import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheSize, clearCache, FileCache } from '../../../src/lake/files/file-cache.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import type { DataFile } from '../../../src/lake/delta/data-file.js';
import type { Store } from '../../../src/lake/store/store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { steppingClock } from '../../app/maintenance/kept-lake.js';
import { smallLake } from '../../app/maintenance/small-lake.js';
import { temporaryFolder } from '../../app/lake-run.js';

/** A lake whose files can't be read in place, and those of its events. */
async function remote(): Promise<{ readonly store: Store; readonly files: DataFile[]; readonly reads: string[] }> {
  const clock = steppingClock();
  const { lake: root } = await smallLake(clock);
  const disk = diskStore(root);
  const reads: string[] = [];
  const store: Store = {
    ...disk,
    localPath: () => undefined,
    readRange: (path, start, length) => {
      reads.push(path);
      return disk.readRange(path, start, length);
    },
  };
  const lake = await Lake.open(disk, tables, clock);
  return { store, files: lake.files().filter(({ table }) => table === 'events'), reads };
}

test('a file is fetched once, by every instance, for this user alone', async () => {
  const { store, files, reads } = await remote();
  const settings = { folder: await temporaryFolder(), bytes: 1e9 };
  expect(files.length).toBeGreaterThan(2);
  const cache = new FileCache(store, settings);
  await cache.fetch(files);
  expect(new Set(reads).size).toBe(files.length);
  await new FileCache(store, settings).fetch(files);
  expect(reads).toHaveLength(files.length);
  for (const file of files) {
    const { size, mode } = await stat(cache.localPath(file));
    expect([size, mode & 0o077]).toEqual([file.size, 0]);
  }
  expect(await cacheSize(settings)).toEqual({
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
  });
  // Another service has another lake at the same address.
  expect(new FileCache({ ...store, endpoint: 'http://127.0.0.1:9000' }, settings).folder).not.toBe(cache.folder);
});

test('a fetch that is stopped keeps what is complete, and the next goes on', async () => {
  const { store, files, reads } = await remote();
  const settings = { folder: await temporaryFolder(), bytes: 1e9 };
  const stop = new AbortController();
  const slow: Store = {
    ...store,
    readRange: async (path, start, length) => {
      const bytes = await store.readRange(path, start, length);
      stop.abort(new Error('stopped'));
      return bytes;
    },
  };
  // More than are fetched at once.
  const many = Array.from({ length: 5 }, () => files).flat();
  await expect(new FileCache(slow, settings).fetch(many, stop.signal)).rejects.toThrow('stopped');
  const names = await readdir(settings.folder, { recursive: true });
  expect(names.filter((name) => name.endsWith('.part'))).toEqual([]);
  const before = reads.length;
  const cache = new FileCache(store, settings);
  await cache.fetch(files);
  expect(reads.length - before).toBeLessThan(files.length);
});

test('what was used longest ago goes, of another lake first; what is used now stays', async () => {
  const { store, files } = await remote();
  const folder = await temporaryFolder();
  const other = join(folder, '0123456789abcdef/events/account=a/month=2025-01');
  await mkdir(other, { recursive: true });
  await writeFile(join(other, 'old.parquet'), Buffer.alloc(10_000));
  await utimes(join(other, 'old.parquet'), 1, 1);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const cache = new FileCache(store, { folder, bytes });
  await cache.fetch(files);
  expect(await readdir(other)).toEqual([]);
  expect((await cacheSize({ folder, bytes })).files).toBe(files.length);
  await expect(new FileCache(store, { folder, bytes: bytes - 1 }).fetch(files)).rejects.toThrow(
    /^expected files that fit the cache of .*, got \d+ files of events with .*; narrow the query/,
  );
});

test('a changed copy is fetched again; a damaged file of the lake is none', async () => {
  const { store, files, reads } = await remote();
  const settings = { folder: await temporaryFolder(), bytes: 1e9 };
  const cache = new FileCache(store, settings);
  await cache.fetch(files);
  const [first] = files;
  if (first === undefined) throw new Error('expected a file');
  await writeFile(cache.localPath(first), Buffer.alloc(first.size));
  await new FileCache(store, settings).fetch(files);
  expect(reads).toHaveLength(files.length + 1);
  const damaged: Store = {
    ...store,
    readRange: async (path, start, length) => (await store.readRange(path, start, length))?.fill(0),
  };
  const empty = { folder: await temporaryFolder(), bytes: 1e9 };
  await expect(new FileCache(damaged, empty).fetch(files)).rejects.toThrow('its bytes have changed');
  expect(await cacheSize(empty)).toEqual({ files: 0, bytes: 0 });
});

test('files that the lake has no more go; clearing leaves what is not of a lake', async () => {
  const { store, files } = await remote();
  const settings = { folder: await temporaryFolder(), bytes: 1e9 };
  await writeFile(join(settings.folder, 'own.txt'), 'mine');
  const cache = new FileCache(store, settings);
  await cache.fetch(files);
  const [first] = files;
  const kept = first === undefined ? '' : first.lakePath;
  await cache.keep({ keeps: (path) => path === kept });
  expect((await cacheSize(settings)).files).toBe(2);
  await clearCache(settings);
  expect(await readdir(settings.folder)).toEqual(['own.txt']);
  await clearCache({ ...settings, folder: join(settings.folder, 'absent') });
});
