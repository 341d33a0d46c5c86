import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DataFile } from '../../../src/lake/delta/data-file.js';
import { CheckedFiles } from '../../../src/lake/files/month-files.js';
import { defaultLimits, withWorkspace } from '../../../src/lake/files/workspace.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { memoryStore } from '../memory-store.js';

const size = 1000;

/** Writes committed files of one month. */
async function filesIn(store: Store, count: number): Promise<DataFile[]> {
  const files: DataFile[] = [];
  for (let at = 0; at < count; at++) {
    const bytes = randomBytes(size);
    const add = {
      path: `account=a/month=2025-06/${at}.parquet`,
      partitionValues: { account: 'a', month: '2025-06' },
      tags: { sha256: createHash('sha256').update(bytes).digest('hex') },
      size,
      modificationTime: 0,
      dataChange: true,
    };
    const file = new DataFile(add, 'events');
    await store.write(file.lakePath, bytes);
    files.push(file);
  }
  return files;
}

test('local copies beyond a number of bytes are deleted, those first that were not used for the longest time', async () => {
  const store = memoryStore();
  const reads: string[] = [];
  const counted: Store = {
    ...store,
    readRange: (path, start, length) => {
      reads.push(path);
      return store.readRange(path, start, length);
    },
  };
  const [first, second, third] = await filesIn(store, 3);
  await withWorkspace(defaultLimits, counted, async (workspace) => {
    const files = new CheckedFiles(counted, workspace);
    const pathOf = async (file: DataFile | undefined) =>
      (await files.of(file === undefined ? [] : [file]))[0]?.paths[0] ?? '';
    const paths = [await pathOf(first), await pathOf(second), await pathOf(third)];
    expect(await pathOf(first)).toBe(paths[0]);
    expect(reads).toHaveLength(3);
    await files.trim(3 * size);
    expect(paths.map(existsSync)).toEqual([true, true, true]);
    await files.trim(2 * size);
    expect(paths.map(existsSync)).toEqual([true, false, true]);
    expect(workspace.faults.size).toBe(2);
    // It is fetched again.
    expect(existsSync(await pathOf(second))).toBe(true);
    expect(reads).toHaveLength(4);
    await files.trim(0);
    expect(paths.map(existsSync)).toEqual([false, false, false]);
    expect(workspace.faults.size).toBe(0);
  });
});

test('files of a lake on the local disk stay', async () => {
  const store = openStore(await temporaryFolder());
  const committed = await filesIn(store, 2);
  await withWorkspace(defaultLimits, store, async (workspace) => {
    const files = new CheckedFiles(store, workspace);
    const [month] = await files.of(committed);
    await files.trim(0);
    expect(month?.paths.map(existsSync)).toEqual([true, true]);
  });
});
