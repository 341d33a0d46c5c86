import { describe, expect, test } from 'vitest';
import { encodeRecords, type RecordField } from '../../../src/core/parquet/encoder/encode-records.js';
import { checksumOf, encodeCheckpoint, withChecksum } from '../../../src/lake/delta/checkpoint.js';
import type { Add } from '../../../src/lake/delta/actions.js';
import { restoreSwapped } from '../../../src/lake/transaction/references.js';
import { memoryStore, type MemoryStore } from '../memory-store.js';
import { adding, checkpointFile, commitFile, contents, file, hintFile, opened } from '../small-table.js';

async function logOf(commits: number): Promise<MemoryStore> {
  const store = memoryStore();
  const table = await opened(store);
  for (let at = 0; at < commits; at++) await table.commit('WRITE', () => adding(`f${at}`));
  return store;
}

function bytesOf(store: MemoryStore, path: string): Buffer {
  return Buffer.from(store.files.get(path) ?? []);
}

const names = (count: number) => Array.from({ length: count }, (_, at) => `f${at}`).toSorted();

/** A checkpoint as versions without checksums wrote it, of these files. */
async function withoutChecksum(files: readonly string[], entry = file): Promise<Uint8Array> {
  const metaData = {
    ...{ id: 'i', format: { provider: 'parquet', options: {} }, schemaString: '{}' },
    ...{ partitionColumns: ['account', 'month'], configuration: {} },
  };
  const txns = files.map((name) => ({ appId: `ledgerlake/p/a/${name}`, version: 1 }));
  const state = { protocol: { minReaderVersion: 1, minWriterVersion: 2 }, metaData, files: files.map(entry), txns };
  return (await encodeCheckpoint(state)).bytes;
}

describe('a checkpoint', () => {
  test('with any flipped bit is passed over: all files stay, nothing is thrown outside of the promise', async () => {
    const store = await logOf(24);
    const path = checkpointFile(20);
    const whole = bytesOf(store, path);
    expect(checksumOf(whole, 'things/20')).toBe('valid');
    for (let bit = 0; bit < whole.length * 8; bit += 37) {
      const flipped = Buffer.from(whole);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      store.files.set(path, flipped);
      expect(contents(await opened(store)).files).toEqual(names(24));
    }
  });

  test.each<[string, (store: MemoryStore) => unknown]>([
    ['cut off', (store) => store.files.set(checkpointFile(41), bytesOf(store, checkpointFile(41)).subarray(0, 700))],
    ['that of another version', (store) => store.files.set(checkpointFile(41), bytesOf(store, checkpointFile(20)))],
    ['a commit', (store) => store.files.set(checkpointFile(41), bytesOf(store, commitFile(3)))],
  ])('that is %s is passed over, named, and written anew', async (_, harm) => {
    const store = await logOf(45);
    harm(store);
    const table = await opened(store);
    expect(contents(table).files).toEqual(names(45));
    expect(table.damagedCheckpoints).toMatchObject([{ version: 41, path: checkpointFile(41) }]);
    await table.repairCheckpoints(false);
    expect(table.damagedCheckpoints).toEqual([]);
    expect(store.files.has(checkpointFile(41))).toBe(false);
    expect(JSON.parse(bytesOf(store, hintFile).toString())).toMatchObject({ version: 44, numOfAddFiles: 45 });
    const again = await opened(store);
    expect([contents(again), again.damagedCheckpoints]).toEqual([contents(table), []]);
  });

  test('of an older version of the program isn’t believed while the commits say more', async () => {
    const store = await logOf(24);
    store.files.set(checkpointFile(20), await withoutChecksum(['f0', 'f1']));
    const table = await opened(store);
    expect(contents(table).files).toEqual(names(24));
    expect(table.damagedCheckpoints).toEqual([]);
    await table.commit('WRITE', () => adding('f24'));
    expect(checksumOf(bytesOf(store, checkpointFile(24)), 'things/24')).toBe('valid');
  });

  test('without a checksum is read where the commits are gone, on a thread that may die of it', async () => {
    const store = await logOf(24);
    const whole = await withoutChecksum(names(21));
    for (let version = 0; version <= 20; version++) store.files.delete(commitFile(version));
    store.files.set(checkpointFile(20), whole);
    expect(contents(await opened(store)).files).toEqual(names(24));
    let failed = 0;
    for (let at = 300; at < whole.length; at += 701) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ 0x14;
      store.files.set(checkpointFile(20), flipped);
      const outcome = await opened(store).then(
        () => '',
        (error: unknown) => String((error as { code?: unknown }).code),
      );
      if (outcome !== '') failed++;
      expect(['', 'LAKE_LOG']).toContain(outcome);
    }
    expect(failed).toBeGreaterThan(0);
  });

  test('is one only with a protocol and a schema: a foreign Parquet file is no empty table', async () => {
    const store = await logOf(24);
    for (let version = 0; version <= 20; version++) store.files.delete(commitFile(version));
    const rows = [{ txn: { appId: 'ledgerlake/p/a/f0', version: 1, lastUpdated: null } }];
    const columns: RecordField[] = [
      {
        name: 'txn',
        type: [
          { name: 'appId', type: 'text' },
          { name: 'version', type: 'bigint' },
          { name: 'lastUpdated', type: 'bigint' },
        ],
      },
    ];
    const withoutState = (await encodeRecords(columns, rows, 1000, 'another program')).bytes;
    const foreign = (await encodeRecords([{ name: 'id', type: 'bigint' }], [{ id: 1 }, { id: 2 }], 1000, 'another'))
      .bytes;
    for (const bytes of [withoutState, foreign, withChecksum(withoutState, 'things/20')]) {
      store.files.set(checkpointFile(20), bytes);
      await expect(opened(store)).rejects.toMatchObject({
        code: 'LAKE_LOG',
        message: expect.stringMatching(
          /^expected the checkpoint memory\/things\/_delta_log\/0{18}20\.checkpoint\.parquet as it was written, (?:it is no checkpoint of a table|expected protocol and metaData)/,
        ) as string,
      });
    }
  });

  test('that is damaged is named where its commits are gone', async () => {
    const store = await logOf(24);
    for (let version = 0; version <= 3; version++) store.files.delete(commitFile(version));
    const bytes = bytesOf(store, checkpointFile(20));
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    store.files.set(checkpointFile(20), bytes);
    await expect(opened(store)).rejects.toMatchObject({
      code: 'LAKE_LOG',
      message: expect.stringMatching(
        /^expected the checkpoint memory\/things\/_delta_log\/0{18}20\.checkpoint\.parquet as it was written, its bytes have changed, (?:(?!restore).)*; restore the file from a copy, or run `ledgerlake rebuild --log`$/,
      ) as string,
    });
  });
});

test('a copy of a log in a folder within it is no part of it', async () => {
  const store = await logOf(45);
  const within = (path: string) => path.replace('_delta_log/', '_delta_log/backup/');
  for (const path of [commitFile(3), checkpointFile(20)])
    store.files.set(within(path), bytesOf(store, path).subarray(9));
  const table = await opened(store);
  expect(contents(table).files).toEqual(names(45));
  expect(await table.logFaults()).toEqual([]);
  await table.repairCheckpoints(true);
  await table.dropOldCheckpoints(true);
  expect(store.files.has(within(checkpointFile(20)))).toBe(true);
});

const nameless = (name: string): Add => ({ ...file(name), path: null as unknown as string });

test('a checkpoint with a right checksum that no reader understands is told', async () => {
  const store = await logOf(45);
  store.files.set(checkpointFile(41), withChecksum(await withoutChecksum(['f0'], nameless), 'things/41'));
  const table = await opened(store);
  expect(contents(table).files).toEqual(names(45));
  expect(await table.logFaults()).toMatchObject([{ path: checkpointFile(41) }]);
});

test('a file that a commit adds and none removes is refused to whoever is about to delete it', async () => {
  const store = await logOf(3);
  const table = await opened(store);
  await expect(table.checkNotAdded(new Set([file('f1').path]))).rejects.toMatchObject({ code: 'LAKE_LOG' });
  await table.commit('WRITE', () => [{ remove: { path: file('f1').path, deletionTimestamp: 0, dataChange: true } }]);
  await table.checkNotAdded(new Set([file('f1').path, 'account=a/month=2025-06/never-named']));
});

test('a log that names its own files as derived ones is refused, and nobody waits for it', async () => {
  const table = await opened(memoryStore());
  const tags = { derived: JSON.stringify(['things/account=a/month=2025-06/gone']) };
  await table.commit('WRITE', () => [{ add: { ...file('f0'), tags } }]);
  await expect(restoreSwapped([table], Infinity, 0)).rejects.toMatchObject({
    code: 'LAKE_LOG',
    message: expect.stringMatching(/^expected the log of things to name derived files of other tables/) as string,
  });
});

test('what is wrong beside the commits is told, until it is mended', async () => {
  const store = await logOf(24);
  store.files.set(checkpointFile(20), bytesOf(store, checkpointFile(20)).subarray(5));
  store.files.set(hintFile, Buffer.from('{"checksum":"0","version":20}'));
  const table = await opened(store);
  expect((await table.logFaults()).map(({ path }) => path)).toEqual([hintFile, checkpointFile(20)]);
  await table.repairCheckpoints(true);
  expect(await (await opened(store)).logFaults()).toEqual([]);
});

describe('the hint', () => {
  test('has the checksum of the protocol', async () => {
    const hint = JSON.parse(bytesOf(await logOf(21), hintFile).toString()) as Record<string, unknown>;
    expect(hint).toMatchObject({ version: 20, numOfAddFiles: 21, size: 44 });
    expect(hint['checksum']).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each(['{"version":7}', '{"version":2', '{"checksum":"0","version":20}'])(
    'is written anew where it is %s',
    async (text) => {
      const store = await logOf(24);
      store.files.set(hintFile, Buffer.from(text));
      const table = await opened(store);
      await table.repairCheckpoints(true);
      expect(JSON.parse(bytesOf(store, hintFile).toString())).toMatchObject({ version: 23 });
      expect(contents(await opened(store)).files).toEqual(names(24));
    },
  );
});

describe('a commit', () => {
  test('with any flipped bit is named, or says the same', async () => {
    const store = await logOf(3);
    const before = contents(await opened(store));
    const whole = bytesOf(store, commitFile(1));
    for (let bit = 0; bit < whole.length * 8; bit += 3) {
      const flipped = Buffer.from(whole);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      store.files.set(commitFile(1), flipped);
      const outcome = await opened(store).then(contents, (error: unknown) => (error as { code?: unknown }).code);
      if (outcome !== 'LAKE_LOG') expect(outcome).toEqual(before);
    }
  });

  test.each([
    ['that of another version', 1, 2, 'version 1 of things'],
    ['one that comes twice at the end', 3, 2, 'version 3 of things'],
  ])('that is %s is named', async (_, at, of, expected) => {
    const store = await logOf(3);
    store.files.set(commitFile(at), bytesOf(store, commitFile(of)));
    await expect(opened(store)).rejects.toMatchObject({
      code: 'LAKE_LOG',
      message: `expected ${expected} in memory/${commitFile(at)}, found version ${of} of things; restore the file from a copy, or run \`ledgerlake rebuild --log\``,
    });
  });

  test('that is gone below a damaged checkpoint is missed', async () => {
    const store = await logOf(21);
    store.files.delete(commitFile(20));
    store.files.set(checkpointFile(20), Buffer.from('PAR1'));
    await expect(opened(store)).rejects.toMatchObject({ code: 'LAKE_LOG' });
  });
});
