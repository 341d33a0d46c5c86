import { createHash, randomBytes } from 'node:crypto';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DataFile } from '../../../src/lake/delta/data-file.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { checkedSource } from '../../../src/lake/files/local-file.js';
import { temporaryFolder } from '../lake-run.js';
import { memoryStore } from '../../lake/memory-store.js';

/** The commit of a file, and a lake that holds it. */
async function kept(store: Store, bytes: Buffer): Promise<{ file: DataFile; path: string }> {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const partition = {
    path: 'account=a/month=2025-06/one.parquet',
    partitionValues: { account: 'a', month: '2025-06' },
  };
  const about = { ...partition, size: bytes.length, modificationTime: 0, dataChange: true, tags: { sha256 } };
  const file = new DataFile(about, 'events');
  const path = file.lakePath;
  await store.write(path, bytes);
  return { file, path };
}

/** What a source holds, and whether it is a file. */
async function read(store: Store, file: DataFile): Promise<{ bytes: Buffer; from: string }> {
  const copy = join(await temporaryFolder(), 'copy');
  const source = await checkedSource(store, file, { newPath: () => copy, faults: new Map() });
  if (typeof source !== 'string') return { bytes: Buffer.from(source), from: 'memory' };
  return { bytes: await readFile(source), from: source === copy ? 'a copy' : 'the lake' };
}

const stores: readonly (readonly [string, () => Promise<Store>, string])[] = [
  ['on disk', async () => openStore(await temporaryFolder()), 'the lake'],
  ['elsewhere', () => Promise.resolve(memoryStore()), 'a copy'],
];

test.each(stores)('a large file of a lake %s is checked without being held in memory', async (_, open, expected) => {
  for (const size of [0, 1, 4_000_000, 4_000_001, 8_000_000, 9_876_543]) {
    const store = await open();
    const bytes = randomBytes(size);
    const { file } = await kept(store, bytes);
    const found = await read(store, file);
    expect(found.bytes.equals(bytes), String(size)).toBe(true);
    expect(found.from, String(size)).toBe(size > 4_000_000 ? expected : 'memory');
  }
});

test.each(stores)('one of a lake %s that is not what its commit says is named, with what is wrong', async (_, open) => {
  for (const size of [5, 4_000_001, 8_000_000]) {
    const store = await open();
    const bytes = randomBytes(size);
    const { file, path } = await kept(store, bytes);
    const put = async (changed: Uint8Array) => {
      await store.write(path, changed);
      return read(store, file);
    };
    const other = Buffer.from(bytes);
    other[size - 1] = (other[size - 1] ?? 0) ^ 1;
    await expect(put(other)).rejects.toMatchObject({ code: 'LAKE_STORE', message: /its bytes have changed/ });
    const shorter = `it has ${size - 1} bytes instead of ${size}`;
    await expect(put(bytes.subarray(0, -1))).rejects.toThrow(shorter);
    await expect(put(Buffer.concat([bytes, Buffer.of(0)]))).rejects.toThrow(`it has ${size + 1} bytes instead`);
    await expect(put(bytes.subarray(0, 2))).rejects.toThrow('it has 2 bytes instead');
    await store.remove(path);
    await expect(read(store, file)).rejects.toThrow('it is missing');
  }
});

test('a file that is cut off while it is read ends in an error, not in other bytes', async () => {
  const store = openStore(await temporaryFolder());
  const { file, path } = await kept(store, randomBytes(5_000_000));
  const cut: Store = {
    ...store,
    readRange: async (of, start, length) => {
      if (start > 0) await truncate(store.address(path), 4_000_000);
      return store.readRange(of, start, length);
    },
  };
  await expect(read(cut, file)).rejects.toThrow('it has 4000000 bytes instead of 5000000');
});
