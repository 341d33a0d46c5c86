import { expect, test } from 'vitest';
import type { Snapshot } from '../../src/lake/catalog/snapshot.js';
import { CommitConflict } from '../../src/lake/commit-files.js';
import type { DataFile } from '../../src/lake/delta/data-file.js';
import { damagedFile } from '../../src/lake/files/local-file.js';
import type { Lake } from '../../src/lake/lake.js';
import { overNewest, unlessReplaced } from '../../src/lake/over-newest.js';
import { memoryStore } from './memory-store.js';
import { committed, newFileOf, opened, sliceOf, things } from './small-table.js';

/** The files of the table, each current as long as the lake has it. */
function chosenFiles(snapshot: Snapshot) {
  const isCurrent = (one: DataFile) => (newest: Snapshot) => newest.has(one.lakePath);
  return [...snapshot.files('things')].map((one) => ({ file: one, isCurrent: isCurrent(one) }));
}

/** Replaces files by one. */
function replace(lake: Lake, over: ReturnType<typeof chosenFiles>) {
  return lake.commitFiles({
    operation: 'WRITE',
    main: things,
    files: [newFileOf(things, 'x')],
    over,
    replaced: () => ({ removed: over.map((one) => one.file) }),
  });
}

async function twoRuns() {
  const store = memoryStore();
  const [lake, other] = [await opened(store), await opened(store)];
  await committed(lake, sliceOf('k'));
  await other.refresh();
  return { store, lake, other };
}

test('what another run has changed before the commit is chosen again, and nothing of the first attempt stays', async () => {
  const { store, lake, other } = await twoRuns();
  let attempts = 0;
  const written = await overNewest(lake, chosenFiles, async (chosen) => {
    if (attempts++ === 0) await replace(other, chosenFiles(other.snapshot));
    return replace(lake, chosen);
  });
  expect([written, attempts]).toEqual([{ files: 1, bytes: 1 }, 2]);
  const [only, ...others] = [...lake.snapshot.files('things')];
  expect(others).toEqual([]);
  const paths: string[] = [];
  for await (const { path } of store.list('things/account=a')) paths.push(path);
  expect(paths).toEqual([only?.lakePath]);
});

test('what other runs change each time is a conflict in the end', async () => {
  const { lake, other } = await twoRuns();
  let attempts = 0;
  const failed = overNewest(lake, chosenFiles, async (chosen) => {
    attempts++;
    await other.refresh();
    await replace(other, chosenFiles(other.snapshot));
    return replace(lake, chosen);
  });
  await expect(failed).rejects.toThrow(CommitConflict);
  await expect(failed).rejects.toMatchObject({
    code: 'LAKE_CONFLICT',
    message: expect.stringContaining('expected the rows of things to stay as WRITE had read them') as string,
  });
  expect(attempts).toBe(20);
});

test('a file that is missing is a failure at once where no other run has replaced it', async () => {
  const { lake, other } = await twoRuns();
  let attempts = 0;
  const read = async ([chosen]: ReturnType<typeof chosenFiles>, meanwhile?: () => Promise<unknown>) => {
    attempts++;
    await meanwhile?.();
    if (chosen !== undefined) throw damagedFile(lake.store, chosen.file);
  };
  await expect(overNewest(lake, chosenFiles, read)).rejects.toMatchObject({ code: 'LAKE_STORE' });
  await expect(
    unlessReplaced(lake, chosenFiles(lake.snapshot), () => read(chosenFiles(lake.snapshot))),
  ).rejects.toThrow('it is missing');
  expect(attempts).toBe(2);
  const chosen = chosenFiles(lake.snapshot);
  const replaced = () => replace(other, chosenFiles(other.snapshot));
  expect(await unlessReplaced(lake, chosen, () => read(chosen, replaced))).toBe('replaced');
});

test('a failure that is none of reading is not tried again', async () => {
  const { lake, other } = await twoRuns();
  let attempts = 0;
  const failed = overNewest(lake, chosenFiles, async () => {
    attempts++;
    await replace(other, chosenFiles(other.snapshot));
    throw new Error('no reading');
  });
  await expect(failed).rejects.toThrow('no reading');
  expect(attempts).toBe(1);
});
