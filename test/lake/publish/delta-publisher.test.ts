import { expect, test } from 'vitest';
import { Catalog } from '../../../src/lake/catalog/catalog.js';
import { publishedPath } from '../../../src/lake/catalog/catalog-files.js';
import type { MetaData } from '../../../src/lake/delta/actions.js';
import { DeltaTable } from '../../../src/lake/delta/delta-table.js';
import { DeltaPublisher } from '../../../src/lake/publish/delta/publisher.js';
import type { Store } from '../../../src/lake/store/store.js';
import { memoryStore, watched } from '../memory-store.js';
import { file, standing, things } from '../small-table.js';

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
  const table = new DeltaTable(things, store, standing);
  await table.refresh();
  expect([table.snapshot.version, [...table.snapshot.files.keys()]]).toEqual([1, [file('z').path]]);
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
