import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { Catalog } from '../../../src/lake/catalog/catalog.js';
import { checkpointHintPath, checkpointPath, publishedPath } from '../../../src/lake/catalog/catalog-files.js';
import { removedFile } from '../../../src/lake/catalog/change.js';
import type { MetaData } from '../../../src/lake/delta/actions.js';
import { DeltaPublisher } from '../../../src/lake/publish/publisher.js';
import type { Store } from '../../../src/lake/store/store.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { memoryStore, watched, type MemoryStore } from '../memory-store.js';
import { file, standing } from '../small-table.js';

let names = 0;
const schemaString = '{"type":"struct","fields":[{"name":"id","type":"string","nullable":false,"metadata":{}}]}';
const metaData: MetaData = {
  id: 't',
  format: { provider: 'parquet', options: {} },
  schemaString,
  partitionColumns: ['account', 'month'],
  configuration: {},
};

function open(store: Store): Promise<Catalog> {
  return Catalog.open(store, { clock: standing, random: () => `n${names++}`, knownTables: ['things'] });
}

/** The actions of a published version. */
function actionsOf({ files }: MemoryStore, version: number): object[] {
  const text = Buffer.from(files.get(publishedPath('things', version)) ?? '').toString();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
}

async function add(catalog: Catalog, ...added: string[]): Promise<void> {
  await catalog.commit('WRITE', () => ({ tables: { things: { metaData, add: added.map(file) } } }));
}

test('each commit is a version of the Delta log of each table that it touches, as any reader reads it', async () => {
  const store = memoryStore();
  const catalog = await open(store);
  await add(catalog, 'x', 'y');
  await catalog.commit('WRITE', () => ({ tables: { others: { metaData } } }));
  const [x, y] = [file('x'), file('y')];
  await catalog.commit('OPTIMIZE', () => ({
    tables: {
      things: {
        remove: [x, y].map(({ path, partitionValues, size }) => ({ path, partitionValues, size, dataChange: false })),
        add: [file('z')],
      },
    },
  }));
  await new DeltaPublisher(store, catalog).publish();
  const versions = [0, 1].map((version) => actionsOf(store, version));
  expect(versions.map((actions) => actions.map((action) => Object.keys(action)[0]))).toEqual([
    ['commitInfo', 'protocol', 'metaData', 'add', 'add'],
    ['commitInfo', 'remove', 'remove', 'add'],
  ]);
  expect(versions[1]?.slice(1)).toMatchObject([
    { remove: { path: x.path, dataChange: false, deletionTimestamp: standing.now() } },
    { remove: { path: y.path } },
    { add: { path: file('z').path, size: 1 } },
  ]);
  expect([...store.files.keys()].filter((path) => path.startsWith('others/'))).toEqual([publishedPath('others', 0)]);
});

test('a publisher that comes late publishes what is missing in order, and nothing twice', async () => {
  const memory = memoryStore();
  const catalog = await open(memory);
  for (const name of ['a', 'b', 'c']) await add(catalog, name);
  await new DeltaPublisher(memory, catalog).publish();
  for (const name of ['d', 'e', 'f']) await add(catalog, name);
  const calls: string[] = [];
  const store = watched(memory, {
    before: ({ method, path }) => calls.push(`${method} ${Number(/(\d{20})\.json/.exec(path)?.[1])}`),
  });
  const publisher = new DeltaPublisher(store, await open(memory));
  await Promise.all([publisher.publish(), publisher.publish()]);
  expect(calls).toEqual(['readRange 4', 'readRange 3', 'readRange 2', 'create 3', 'create 4', 'create 5']);
});

test('a version that another version of the program published is the same by its hash', async () => {
  const store = memoryStore();
  const catalog = await open(store);
  await add(catalog, 'x');
  await new DeltaPublisher(store, catalog, 'ledgerlake/0.0.1').publish();
  await new DeltaPublisher(store, catalog, 'ledgerlake/9.9.9').publish();
  expect(Buffer.from(store.files.get(publishedPath('things', 0)) ?? '').toString()).toContain('ledgerlake/0.0.1');
});

test('a version that a foreign writer has added is an error that says so', async () => {
  const store = memoryStore();
  const catalog = await open(store);
  await add(catalog, 'x');
  await new DeltaPublisher(store, catalog).publish();
  await store.create(publishedPath('things', 1), Buffer.from('{"commitInfo":{}}\n'));
  await add(catalog, 'y');
  await expect(new DeltaPublisher(store, catalog).publish()).rejects.toThrow(
    `expected version 1 of the catalog in memory/${publishedPath('things', 1)}, got something else: another program has written to the Delta log`,
  );
});

/** The actions of a checkpoint as another reader of Parquet finds them, by their kind. */
async function checkpointed(store: MemoryStore, version: number): Promise<Record<string, unknown[]>> {
  const path = join(await temporaryFolder(), 'checkpoint.parquet');
  await writeFile(path, store.files.get(checkpointPath('things', version)) ?? '');
  const database = await openDatabase();
  try {
    const actions: Record<string, unknown[]> = {};
    for (const kind of ['protocol', 'metaData', 'add', 'remove', 'txn']) {
      const rows = await database.rows(
        `SELECT to_json(c.${kind}) AS action FROM ${literal(path)} AS c WHERE c.${kind} IS NOT NULL`,
      );
      actions[kind] = rows.map(({ action }) => JSON.parse(String(action)) as unknown);
    }
    return actions;
  } finally {
    database.close();
  }
}

function hintOf({ files }: MemoryStore): unknown {
  return JSON.parse(Buffer.from(files.get(checkpointHintPath('things')) ?? 'null').toString());
}

/** Publishes after each of 30 commits of files, of which the first is replaced. */
async function filledWith(store: MemoryStore, retentionMs: number): Promise<Catalog> {
  const catalog = await open(store);
  const publisher = new DeltaPublisher(store, catalog);
  if (retentionMs > 0)
    await catalog.commit('SET', () => ({ tables: { things: { metaData } }, config: { retentionMs } }));
  await add(catalog, 'f0');
  await catalog.commit('WRITE', () => ({ tables: { things: { remove: [removedFile(file('f0'))] } } }));
  for (let at = 1; at < 30; at++) {
    await add(catalog, `f${at}`);
    await publisher.publish();
  }
  return catalog;
}

test.each([0, 5])(
  'a checkpoint that is due has the table as any reader needs it (retention %i)',
  async (retentionMs) => {
    const store = memoryStore();
    await filledWith(store, retentionMs);
    const found = [...store.files.keys()].filter((path) => path.endsWith('.checkpoint.parquet'));
    expect(found).toEqual([checkpointPath('things', 20)]);
    const { protocol, metaData: described, add: added = [], remove = [], txn } = await checkpointed(store, 20);
    const names = Array.from({ length: retentionMs > 0 ? 18 : 19 }, (_, at) => file(`f${at + 1}`));
    expect([protocol, txn]).toEqual([[{ minReaderVersion: 1, minWriterVersion: 2 }], []]);
    expect(described).toMatchObject([{ id: 't', schemaString, partitionColumns: ['account', 'month'] }]);
    expect(added).toMatchObject(
      names.map(({ path, partitionValues }) => ({ path, partitionValues, dataChange: false })),
    );
    // What is retained is for who reads older versions and cleans up.
    const retained = { path: file('f0').path, deletionTimestamp: standing.now(), dataChange: false };
    expect(remove).toMatchObject(retentionMs > 0 ? [retained] : []);
    const bytes = store.files.get(checkpointPath('things', 20)) ?? new Uint8Array();
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const size = names.length + remove.length + 2;
    expect(hintOf(store)).toEqual({ version: 20, size, sizeInBytes: bytes.length, tags: { sha256 } });
  },
);

test('a checkpoint is of its version, also where another run commits while it is written', async () => {
  const memory = memoryStore();
  const other = await open(memory);
  for (let at = 0; at < 30; at++) await add(other, `f${at}`);
  const catalog = await open(memory);
  const store: Store = {
    ...memory,
    read: async (path) => {
      if (path === checkpointHintPath('things')) {
        await add(other, 'late');
        await catalog.refresh();
      }
      return memory.read(path);
    },
  };
  await new DeltaPublisher(store, catalog).publish();
  expect(catalog.snapshot.version).toBe(30);
  const { add: added = [] } = await checkpointed(memory, 29);
  expect(added).toHaveLength(30);
});

test('what is older is erased behind a checkpoint, and the log goes on from there', async () => {
  const store = memoryStore();
  const catalog = await filledWith(store, 0);
  const publisher = new DeltaPublisher(store, catalog);
  await publisher.publish();
  await publisher.eraseOlder();
  const log = () => [...store.files.keys()].filter((path) => path.startsWith('things/_delta_log/')).toSorted();
  expect(log()).toEqual([checkpointPath('things', 30), publishedPath('things', 30), checkpointHintPath('things')]);
  const { add: added = [] } = await checkpointed(store, 30);
  expect(added).toHaveLength(29);
  await add(catalog, 'more');
  await publisher.publish();
  expect(log()).toContain(publishedPath('things', 31));
  expect(hintOf(store)).toMatchObject({ version: 30 });
});

test('checkpoints go when they were superseded long ago, and where readers begin at a newer one', async () => {
  const memory = memoryStore();
  const times = new Map<string, number>();
  const store: Store = {
    ...memory,
    list: async function* (folder, after) {
      for await (const one of memory.list(folder, after)) yield { ...one, modifiedAt: times.get(one.path) ?? 0 };
    },
  };
  const catalog = await open(store);
  const publisher = new DeltaPublisher(store, catalog);
  const fill = async () => {
    for (let at = 0; at < 21; at++) await add(catalog, `f${catalog.snapshot.version}`);
    await publisher.publish();
  };
  const checkpoints = () =>
    [...memory.files.keys()].flatMap((path) => /(\d+)\.checkpoint\.parquet$/.exec(path)?.[1] ?? []).map(Number);
  for (const at of [10, 20, 30]) {
    await fill();
    times.set(checkpointPath('things', catalog.snapshot.version), at);
  }
  expect(checkpoints()).toEqual([20, 41, 62]);
  const hint = memory.files.get(checkpointHintPath('things')) ?? new Uint8Array();
  await memory.write(checkpointHintPath('things'), Buffer.from('{"version":20}'));
  await publisher.removeSuperseded(25);
  expect(checkpoints()).toEqual([20, 41, 62]);
  await memory.write(checkpointHintPath('things'), hint);
  await fill();
  times.set(checkpointPath('things', 83), 40);
  await publisher.removeSuperseded(25);
  expect(checkpoints()).toEqual([41, 62, 83]);
});
