import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import type { DeltaTable } from '../../../src/lake/delta/delta-table.js';
import { memoryStore, watched, type StoreCall } from '../memory-store.js';
import { adding, checkpointFile, commitFile, contents, file, opened } from '../small-table.js';

function writerAt(writers: readonly DeltaTable[], at: number): DeltaTable {
  const writer = writers[at];
  if (writer === undefined) throw new Error(`there is no writer ${at}`);
  return writer;
}

const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

describe('a commit', () => {
  test('is seen by whoever opens the table or reads on', async () => {
    const store = memoryStore();
    const one = await opened(store);
    const other = await opened(store);
    expect(contents(other)).toEqual({ version: -1, files: [], txns: [] });
    await one.commit('WRITE', () => adding('x'));
    const expected = { version: 0, files: ['x'], txns: ['x'] };
    expect(contents(one)).toEqual(expected);
    expect(contents(await opened(store))).toEqual(expected);
    await other.refresh();
    expect(contents(other)).toEqual(expected);
  });

  test('takes files out, and the first one says what the table is', async () => {
    const store = memoryStore();
    const table = await opened(store);
    await table.commit('WRITE', () => adding('x'));
    const remove = { path: file('x').path, deletionTimestamp: 0, dataChange: true };
    await table.commit('DELETE', () => [{ remove }]);
    expect(contents(await opened(store))).toEqual({ version: 1, files: [], txns: ['x'] });
    const actions = textOf(store.files.get(commitFile(0)))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(actions.flatMap(Object.keys)).toEqual(['commitInfo', 'protocol', 'metaData', 'add', 'txn']);
    expect(actions[1]).toEqual({ protocol: { minReaderVersion: 1, minWriterVersion: 2 } });
    expect(actions[2]).toMatchObject({ metaData: { name: 'things', partitionColumns: ['account', 'month'] } });
  });

  test('without anything left to do leaves the table alone', async () => {
    const store = memoryStore();
    const table = await opened(store);
    await table.commit('WRITE', () => undefined);
    expect(store.files.size).toBe(0);
  });

  test('of one of two writers wins, and the loser builds again on top of it', async () => {
    const store = memoryStore();
    const one = await opened(store);
    const other = await opened(store);
    await one.commit('WRITE', () => adding('x'));
    const seen: number[] = [];
    await other.commit('WRITE', ({ version, files }) => {
      seen.push(version);
      return files.has(file('x').path) ? adding('y') : adding('never');
    });
    expect(seen).toEqual([-1, 0]);
    await one.refresh();
    const expected = { version: 1, files: ['x', 'y'], txns: ['x', 'y'] };
    expect([contents(one), contents(other)]).toEqual([expected, expected]);
  });

  test('of many writers at once takes a version each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 }), async (turns) => {
        const store = memoryStore();
        const writers = await Promise.all([0, 1, 2, 3].map(() => opened(store)));
        await Promise.all(turns.map((turn, at) => writerAt(writers, turn).commit('WRITE', () => adding(`f${at}`))));
        const names = turns.map((_, at) => `f${at}`).toSorted();
        expect(contents(await opened(store))).toEqual({ version: turns.length - 1, files: names, txns: names });
      }),
      { numRuns: 30 },
    );
  });

  test('whose answer is lost is found in the store, whoever won', async () => {
    const store = memoryStore();
    const unclear = watched(store, {
      after: ({ method }) => {
        if (method === 'create') throw new LedgerlakeError('LAKE_UNCLEAR', 'no answer');
      },
    });
    const one = await opened(unclear);
    const other = await opened(unclear);
    await one.commit('WRITE', () => adding('x'));
    await other.commit('WRITE', () => adding('y'));
    expect(contents(await opened(store))).toEqual({ version: 1, files: ['x', 'y'], txns: ['x', 'y'] });
  });
});

test('readers at once read each version once', async () => {
  const store = memoryStore();
  const writer = await opened(store);
  const calls: StoreCall[] = [];
  const reader = await opened(watched(store, { before: (call) => calls.push(call) }));
  for (const name of ['x', 'y', 'z']) await writer.commit('WRITE', () => adding(name));
  await Promise.all([reader.refresh(), reader.refresh(), reader.refresh()]);
  expect(contents(reader)).toEqual(contents(writer));
  await writer.commit('WRITE', () => adding('last'));
  calls.length = 0;
  await Promise.all([reader.refresh(), reader.refresh()]);
  expect(contents(reader)).toEqual(contents(writer));
  expect(calls.filter(({ method, path }) => method === 'read' && path === commitFile(3))).toHaveLength(1);
});

describe('checkpoints', () => {
  test('are written once by writers that find one due at the same time', async () => {
    const store = memoryStore();
    const written: string[] = [];
    const noted = watched(store, {
      before: ({ method, path }) => {
        if (method === 'write') written.push(path);
      },
    });
    const writers = [await opened(noted), await opened(noted), await opened(noted)];
    for (let at = 0; at < 60; at++) await writers[at % 3]?.commit('WRITE', () => adding(`f${at}`));
    const checkpoints = written.filter((path) => path.endsWith('.parquet'));
    expect(checkpoints).toEqual([checkpointFile(20), checkpointFile(41)]);
  });

  test('come more rarely the more they hold, and all that they stand for is in them', async () => {
    const store = memoryStore();
    const table = await opened(store);
    for (let at = 0; at < 60; at++) await table.commit('WRITE', () => adding(`f${at}`));
    const written = [...store.files.keys()].filter((path) => path.endsWith('.parquet'));
    expect(written).toEqual([checkpointFile(20), checkpointFile(41)]);
    expect(contents(await opened(store))).toEqual(contents(table));
  });
});

describe('a log that is cut', () => {
  async function cut(commits: number) {
    const store = memoryStore();
    const table = await opened(store);
    for (let at = 0; at < commits; at++) await table.commit('WRITE', () => adding(`f${at}`));
    return { store, table };
  }
  const keepsAll = () => true;

  test('begins at its checkpoint, and tells of no older version and no transaction struck out', async () => {
    const { store, table } = await cut(25);
    const remove = { path: file('f0').path, deletionTimestamp: 0, dataChange: true };
    await table.commit('DELETE', () => [{ remove }]);
    await table.cleanUpLog(({ appId }) => !appId.endsWith('/f0'));
    expect([...store.files.keys()].toSorted()).toEqual(
      [commitFile(26), commitFile(27), checkpointFile(26), 'things/_delta_log/_last_checkpoint'].toSorted(),
    );
    for (const bytes of store.files.values()) expect(textOf(bytes)).not.toContain('/f0"');
    const { files, txns } = contents(await opened(store));
    expect([files.length, txns.length]).toEqual([24, 24]);
    expect([files, txns].flat()).not.toContain('f0');
  });

  test('opens without the hint too', async () => {
    const { store, table } = await cut(3);
    await table.cleanUpLog(keepsAll);
    store.files.delete('things/_delta_log/_last_checkpoint');
    expect(contents(await opened(store))).toEqual(contents(table));
  });

  test('is read anew by who stands at any older version', async () => {
    for (const at of [0, 1, 2, 3, 4]) {
      const { store, table } = await cut(at);
      const reader = await opened(store);
      for (let more = at; more < 4; more++) await table.commit('WRITE', () => adding(`f${more}`));
      await table.cleanUpLog(({ appId }) => !appId.endsWith('/f0'));
      await reader.refresh();
      expect(contents(reader), `version ${at - 1}`).toEqual(contents(table));
    }
  });

  test('is read anew where an earlier version of the program has removed its beginning', async () => {
    const { store, table } = await cut(3);
    const reader = await opened(store);
    await table.cleanUpLog(({ appId }) => !appId.endsWith('/f0'));
    const last = commitFile(table.snapshot.version);
    const [first = ''] = textOf(store.files.get(last)).split('\n');
    const { commitInfo } = JSON.parse(first) as { commitInfo: Record<string, unknown> };
    expect(commitInfo['operation']).toBe('LOG CLEANUP');
    const earlier = { ...commitInfo, operation: 'CUT LOG', operationMetrics: { actions: '1' } };
    store.files.set(last, Buffer.from(`${JSON.stringify({ commitInfo: earlier })}\n`));
    await reader.refresh();
    expect(contents(reader).txns).toEqual(['f1', 'f2']);
  });

  test('is read anew by who read on between its last commits', async () => {
    const { store, table } = await cut(3);
    const reader = await opened(store);
    let reading = Promise.resolve();
    const cutting = await opened(
      watched(store, {
        after: ({ method, path }) => {
          // Each version is read as soon as it is there.
          if (method === 'create' && path.startsWith('things/'))
            reading = reading.then(async () => {
              await reader.refresh();
            });
        },
      }),
    );
    await cutting.cleanUpLog(({ appId }) => !appId.endsWith('/f0'));
    await reading;
    await reader.refresh();
    await table.refresh();
    expect(contents(reader)).toEqual(contents(table));
    expect(contents(reader).txns).toEqual(['f1', 'f2']);
  });

  test('takes no commit of a writer that stands before its beginning: it is built again behind it', async () => {
    for (const at of [0, 1, 2, 3]) {
      const { store, table } = await cut(at);
      const writer = await opened(store);
      for (let more = at; more < 4; more++) await table.commit('WRITE', () => adding(`f${more}`));
      await table.cleanUpLog(keepsAll);
      const beginning = table.snapshot.version - 1;
      await writer.commit('WRITE', ({ files }) => (files.size === 4 ? adding('late') : adding('lost')));
      const versions = [...store.files.keys()].flatMap((path) => /\/(\d{20})\.json$/.exec(path)?.[1] ?? []).map(Number);
      expect(
        versions.toSorted((a, b) => a - b),
        `version ${at - 1}`,
      ).toEqual([beginning, beginning + 1, beginning + 2]);
      expect(contents(await opened(store)).files).toEqual(['f0', 'f1', 'f2', 'f3', 'late']);
    }
  });

  test('stays whole where another program has removed the commit of its checkpoint', async () => {
    const { store, table } = await cut(3);
    await table.cleanUpLog(keepsAll);
    store.files.delete(commitFile(3));
    store.files.delete(commitFile(4));
    const writer = await opened(store);
    expect(contents(await writer.refresh().then(() => writer)).version).toBe(3);
    await writer.commit('WRITE', () => adding('more'));
    expect(contents(await opened(store)).files).toEqual(['f0', 'f1', 'f2', 'more']);
  });

  test('keeps every version where its checkpoint can’t be read back', async () => {
    const { store } = await cut(3);
    const torn = await opened({
      ...store,
      write: (path, bytes) => store.write(path, path.endsWith('.parquet') ? bytes.subarray(0, 100) : bytes),
    });
    await expect(torn.cleanUpLog(keepsAll)).rejects.toMatchObject({ code: 'LAKE_LOG' });
    expect(contents(await opened(store)).files).toEqual(['f0', 'f1', 'f2']);
  });
});
