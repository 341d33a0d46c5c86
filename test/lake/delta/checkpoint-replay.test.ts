import { describe, expect, test } from 'vitest';
import { withChecksum } from '../../../src/lake/delta/checkpoint.js';
import { encodeCheckpoint, type TableState } from '../../../src/lake/delta/checkpoint.js';
import type { Action } from '../../../src/lake/delta/actions.js';
import { memoryStore, type MemoryStore } from '../memory-store.js';
import { adding, checkpointFile, commitFile, contents, file, opened } from '../small-table.js';

const nothing = { wrong: undefined, commits: [] };

async function logOf(commits: number): Promise<MemoryStore> {
  const store = memoryStore();
  const table = await opened(store);
  for (let at = 0; at < commits; at++) await table.commit('WRITE', () => adding(`f${at}`));
  return store;
}

/** Writes a checkpoint whose checksum is right over the one of version 20. */
async function writeOver(store: MemoryStore, change: (state: TableState) => TableState): Promise<void> {
  const lines = Buffer.from(store.files.get(commitFile(0)) ?? [])
    .toString('utf8')
    .trimEnd()
    .split('\n');
  const actions = lines.map((line) => JSON.parse(line) as Action);
  const protocol = actions.flatMap((action) => ('protocol' in action ? action.protocol : []))[0];
  const metaData = actions.flatMap((action) => ('metaData' in action ? action.metaData : []))[0];
  if (protocol === undefined || metaData === undefined) throw new Error('the first commit describes the table');
  const { snapshot } = await opened(store);
  const names = Array.from({ length: 21 }, (_, at) => `f${at}`);
  const txns = names.flatMap((name) => snapshot.txns.get(`ledgerlake/p/a/${name}`) ?? []);
  const { bytes } = await encodeCheckpoint(change({ protocol, metaData, files: names.map(file), txns }));
  store.files.set(checkpointFile(20), withChecksum(bytes, 'things/20'));
}

describe('a checkpoint whose checksum is right', () => {
  test('and that says what the commits say is no finding', async () => {
    const store = await logOf(45);
    await writeOver(store, (state) => state);
    expect(await (await opened(store)).replay()).toEqual(nothing);
  });

  test.each<[string, (state: TableState) => TableState, string]>([
    [
      'lacks a file',
      (state) => ({ ...state, files: [...state.files].slice(1) }),
      'it lacks 1 file (account=a/month=2025-06/f0)',
    ],
    [
      'has a file more',
      (state) => ({ ...state, files: [...state.files, file('g')] }),
      'it has beside them 1 file (account=a/month=2025-06/g)',
    ],
    [
      'has another size',
      (state) => ({ ...state, files: [...state.files].map((add) => ({ ...add, size: 2 })) }),
      'it says something else of 21 files (account=a/month=2025-06/f0)',
    ],
    [
      'has other tags',
      (state) => ({ ...state, files: [...state.files].map((add) => ({ ...add, tags: { rows: '9' } })) }),
      'it says something else of 21 files (account=a/month=2025-06/f0)',
    ],
    [
      'lacks a transaction',
      (state) => ({ ...state, txns: [...state.txns].slice(1) }),
      'it lacks 1 transaction (ledgerlake/p/a/f0)',
    ],
    [
      'has another schema',
      (state) => ({ ...state, metaData: { ...state.metaData, schemaString: '{}' } }),
      'it says something else of 1 description of the table (metaData)',
    ],
  ])('and that %s is found, and gives way to the commits', async (_, change, fault) => {
    const store = await logOf(24);
    await writeOver(store, change);
    const table = await opened(store);
    const path = checkpointFile(20);
    expect(await table.replay()).toEqual({ ...nothing, wrong: { version: 20, path, fault, isCertain: true } });
    await table.dropWrongCheckpoints();
    const names = Array.from({ length: 24 }, (__, at) => `f${at}`).toSorted();
    expect(contents(await opened(store))).toEqual({ version: 23, files: names, txns: names });
    expect(await (await opened(store)).replay()).toEqual(nothing);
  });

  test('is compared from an older checkpoint on where the first commits are gone', async () => {
    const store = await logOf(45);
    for (let version = 0; version <= 20; version++) store.files.delete(commitFile(version));
    expect(store.files.has(checkpointFile(41))).toBe(true);
    expect((await (await opened(store)).replay()).wrong).toBeUndefined();
    store.files.delete(commitFile(30));
    // Nothing is there to compare the newer one with.
    expect((await (await opened(store)).replay()).wrong).toBeUndefined();
  });

  test('is compared once readers begin at it', async () => {
    const store = await logOf(45);
    await writeOver(store, (state) => ({ ...state, files: [...state.files].slice(1) }));
    expect(await (await opened(store)).replay()).toEqual(nothing);
    store.files.delete(checkpointFile(41));
    const table = await opened(store);
    expect((await table.replay()).wrong).toMatchObject({ version: 20, isCertain: true });
    await table.dropWrongCheckpoints();
    expect(contents(await opened(store)).files).toEqual(Array.from({ length: 45 }, (_, at) => `f${at}`).toSorted());
  });

  test('stays where the commits have no checksum, as either may be wrong', async () => {
    const store = await logOf(24);
    await writeOver(store, (state) => ({ ...state, files: [...state.files].slice(1) }));
    const path = commitFile(3);
    const text = Buffer.from(store.files.get(path) ?? []).toString('utf8');
    store.files.set(path, Buffer.from(text.split('\n').slice(1).join('\n')));
    const table = await opened(store);
    expect((await table.replay()).wrong).toMatchObject({ isCertain: false });
    await table.dropWrongCheckpoints();
    expect(store.files.has(checkpointFile(20))).toBe(true);
  });
});

test('a commit below a checkpoint that can’t be read is found', async () => {
  const store = await logOf(24);
  store.files.set(commitFile(3), Buffer.from('{"add":'));
  const { wrong, commits } = await (await opened(store)).replay();
  expect(wrong).toBeUndefined();
  expect(commits).toMatchObject([
    { path: commitFile(3), fault: expect.stringMatching(/got something else in line 1 \(.*\)$/) as string },
  ]);
});

test('a log whose beginning was cut, or is about to be, is no finding', async () => {
  const store = await logOf(24);
  const before = new Map(store.files);
  await (await opened(store)).cleanUpLog(({ appId }) => !appId.endsWith('/f0'));
  expect(await (await opened(store)).replay()).toEqual(nothing);
  for (const [path, bytes] of before) if (!store.files.has(path)) store.files.set(path, bytes);
  expect(await (await opened(store)).replay()).toEqual(nothing);
});
