import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { decodeActions, encodeActions, type Action } from '../../../src/lake/delta/actions.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import type { StoredFile } from '../../../src/lake/store/store.js';
import { memoryStore, watched, type MemoryStore, type StoreCall } from '../memory-store.js';
import { adding, checkpointFile, commitFile, contents, hintFile, opened } from '../small-table.js';

/** A log of so many commits. */
async function logOf(commits: number): Promise<MemoryStore> {
  const store = memoryStore();
  const table = await opened(store);
  for (let at = 0; at < commits; at++) await table.commit('WRITE', () => adding(`f${at}`));
  return store;
}

async function calls(store: MemoryStore): Promise<StoreCall[]> {
  const made: StoreCall[] = [];
  await opened(watched(store, { before: (call) => made.push(call) }));
  return made;
}

async function failure(work: Promise<unknown>): Promise<LedgerlakeError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof LedgerlakeError) return error;
  throw new Error(`expected a LedgerlakeError, got ${String(error)}`);
}

const all = (count: number) => Array.from({ length: count }, (_, at) => `f${at}`).toSorted();

describe('opening', () => {
  test('reads the checkpoint and what is behind it, and nothing before', async () => {
    const store = await logOf(24);
    expect(await calls(store)).toEqual([
      { method: 'read', path: hintFile },
      { method: 'read', path: checkpointFile(20) },
      { method: 'list', path: 'things/_delta_log' },
      { method: 'read', path: commitFile(21) },
      { method: 'read', path: commitFile(22) },
      { method: 'read', path: commitFile(23) },
    ]);
    expect(contents(await opened(store)).files).toEqual(all(24));
  });

  const hints: [string, (store: MemoryStore) => unknown][] = [
    ['without a hint', (store) => store.files.delete(hintFile)],
    ['with a torn hint', (store) => store.files.set(hintFile, Buffer.from('{"version":2'))],
    ['with an empty hint', (store) => store.files.set(hintFile, new Uint8Array())],
    ['with a hint that is null', (store) => store.files.set(hintFile, Buffer.from('null'))],
    ['with a hint that is a text', (store) => store.files.set(hintFile, Buffer.from('"20"'))],
    ['with a hint without a version', (store) => store.files.set(hintFile, Buffer.from('{"size":7}'))],
    ['with a hint at no version', (store) => store.files.set(hintFile, Buffer.from('{"version":-1.5}'))],
    [
      'with a hint at a checkpoint that isn’t there',
      (store) => store.files.set(hintFile, Buffer.from('{"version":7}')),
    ],
  ];
  test.each(hints)('%s finds the checkpoint by listing', async (_, harm) => {
    const store = await logOf(24);
    harm(store);
    const made = await calls(store);
    expect(made.filter(({ method }) => method === 'list')).toHaveLength(2);
    expect(made).toContainEqual({ method: 'read', path: checkpointFile(20) });
    expect(made).not.toContainEqual({ method: 'read', path: commitFile(20) });
    expect(contents(await opened(store)).files).toEqual(all(24));
  });

  test.each([
    ['absent', undefined],
    ['torn', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 9)],
    ['empty', () => new Uint8Array()],
    ['something else', () => Buffer.from('PAR1 no Parquet file PAR1')],
  ])('with a checkpoint that is %s reads the commits, or an older checkpoint', async (_, harm) => {
    const store = await logOf(45);
    const newest = checkpointFile(41);
    const bytes = store.files.get(newest);
    if (bytes === undefined) throw new Error('expected a checkpoint at version 41');
    if (harm === undefined) store.files.delete(newest);
    else store.files.set(newest, harm(bytes));
    expect(await calls(store)).toContainEqual({ method: 'read', path: checkpointFile(20) });
    expect(contents(await opened(store)).files).toEqual(all(45));

    store.files.delete(checkpointFile(20));
    expect(await calls(store)).toContainEqual({ method: 'read', path: commitFile(0) });
    expect(contents(await opened(store)).files).toEqual(all(45));
  });

  test('finds a version that a listing leaves out, as one may of a folder that others write to', async () => {
    const store = await logOf(24);
    let leftOut = 0;
    const list = async function* (folder: string, after?: string): AsyncGenerator<StoredFile> {
      for await (const file of store.list(folder, after)) {
        if (file.path === commitFile(22)) leftOut++;
        else yield file;
      }
    };
    expect(contents(await opened({ ...store, list })).files).toEqual(all(24));
    expect(leftOut).toBe(1);
  });

  test.each([0, 5, 21])('names version %i where it is missing', async (missing) => {
    const store = await logOf(24);
    if (missing < 21) store.files.delete(checkpointFile(20));
    store.files.delete(commitFile(missing));
    const error = await failure(opened(store));
    expect([error.code, error.message]).toEqual([
      'LAKE_LOG',
      `expected version ${missing} in memory/things/_delta_log, got none; restore the file from a copy, or run \`ledgerlake rebuild --log\``,
    ]);
  });

  test.each([
    ['truncated', (text: string) => text.slice(0, -5)],
    ['empty', () => ''],
    ['no object', () => '7\n'],
    ['something foreign', () => '<html></html>\n'],
    ['two actions in one', (text: string) => text.replaceAll('}\n{', '},{')],
    ['an add without a path', () => '{"add":{"size":1,"partitionValues":{}}}\n'],
  ])('names a commit that is %s', async (_, harm) => {
    const store = await logOf(3);
    store.files.set(commitFile(1), Buffer.from(harm(Buffer.from(store.files.get(commitFile(1)) ?? []).toString())));
    const error = await failure(opened(store));
    expect(error.code).toBe('LAKE_LOG');
    expect(error.message).toContain(`expected Delta actions in memory/${commitFile(1)}, got something else in line `);
  });

  test.each([
    [
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'], writerFeatures: [] },
      'version 3 and writer version 7',
    ],
    [{ minReaderVersion: 2, minWriterVersion: 5 }, 'version 2 and writer version 5'],
    [{ minReaderVersion: 1, minWriterVersion: 4 }, 'version 1 and writer version 4'],
  ])('refuses a newer protocol and says which: %j', async (protocol, versions) => {
    const store = await logOf(2);
    const table = await opened(store);
    store.files.set(commitFile(2), encodeActions([{ protocol }], { table: 'things', version: 2 }));
    for (const work of [opened(store), table.refresh(), table.commit('WRITE', () => adding('x'))]) {
      const error = await failure(work);
      expect(error.code).toBe('LAKE_LOG');
      expect(error.message).toContain(`the table things of memory wants Delta reader ${versions}`);
      expect(error.message).toContain('this program has 1 and 2');
    }
    expect(store.files.has(commitFile(3))).toBe(false);
  });

  test('passes over actions that it doesn’t know, in commits and in checkpoints', async () => {
    const store = await logOf(2);
    const unknown = [{ domainMetadata: { domain: 'd', configuration: '{}', removed: false } }, { cdc: { path: 'p' } }];
    const known = adding('x').map((action) => JSON.stringify(action));
    const lines = [...unknown.map((action) => JSON.stringify(action)), ...known, ''];
    store.files.set(commitFile(2), Buffer.from(lines.join('\n')));
    expect(contents(await opened(store)).files).toEqual(['f0', 'f1', 'x']);
  });

  test('takes another program’s checkpoint, with columns and types of its own', async () => {
    const store = await logOf(1);
    const folder = mkdtempSync(join(tmpdir(), 'ledgerlake-test-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    const path = join(folder, 'checkpoint.parquet');
    const database = await openDatabase();
    const partitions = `MAP {'account': 'a', 'month': NULL::VARCHAR}`;
    await database.execute(
      `COPY (
        SELECT {minReaderVersion: 1, minWriterVersion: 2} AS protocol
        UNION ALL BY NAME SELECT {id: 'i', format: {provider: 'parquet', options: MAP {}::MAP(VARCHAR, VARCHAR)},
          schemaString: '{}', partitionColumns: ['account', 'month'], configuration: MAP {'delta.x': 'y'}} AS metaData
        UNION ALL BY NAME SELECT {path: 'account=a/x', partitionValues: ${partitions}, size: 9007199254740991::BIGINT,
          modificationTime: 7::BIGINT, dataChange: false, tags: MAP {'rows': '3'},
          stats_parsed: {numRecords: 3::BIGINT, minValues: {seen: TIMESTAMPTZ '2025-06-01 00:00:00+00', d: 1.5::DECIMAL(18,6)}}} AS add
        UNION ALL BY NAME SELECT {appId: 'ledgerlake/p/a/x', version: 2::BIGINT, lastUpdated: NULL::BIGINT} AS txn
        UNION ALL BY NAME SELECT {path: 'account=a/y', deletionTimestamp: 5::BIGINT, dataChange: false} AS remove
        UNION ALL BY NAME SELECT {domain: 'd', configuration: '{}', removed: false} AS domainMetadata
      ) TO ${literal(path)} (FORMAT parquet)`,
    );
    database.close();
    store.files.set(checkpointFile(7), readFileSync(path));
    store.files.set(hintFile, Buffer.from('{"version":7,"size":6}'));
    const table = await opened(store);
    expect(contents(table)).toEqual({ version: 7, files: ['x'], txns: ['x'] });
    expect(table.snapshot.files.get('account=a/x')).toMatchObject({
      path: 'account=a/x',
      partitionValues: { account: 'a' },
      size: Number.MAX_SAFE_INTEGER,
      modificationTime: 7,
      dataChange: false,
      tags: { rows: '3' },
    });
    expect(table.snapshot.txns.get('ledgerlake/p/a/x')).toEqual({ appId: 'ledgerlake/p/a/x', version: 2 });
  });

  test('reads a log again that is cut meanwhile', async () => {
    const store = await logOf(24);
    const cutter = await opened(store);
    let isCut: Promise<void> | undefined;
    const slow = {
      ...store,
      read: async (path: string) => {
        // Between the list of commits and the first of them.
        if (path === commitFile(21)) await (isCut ??= cutter.cleanUpLog(() => true));
        return store.read(path);
      },
    };
    expect(contents(await opened(slow))).toEqual(contents(cutter));
    expect(isCut).toBeDefined();
  });
});

test('actions come back from a commit file as they went in', () => {
  const actions: Action[] = [...adding('é "x"\n'), { commitInfo: { a: [1, { b: null }] } }];
  const id = { table: 'things', version: 7 };
  expect(decodeActions(encodeActions(actions, id), 'f', id)).toEqual(actions);
});
