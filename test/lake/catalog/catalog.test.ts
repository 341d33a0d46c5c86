import { expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { Catalog } from '../../../src/lake/catalog/catalog.js';
import { ErasedCommit, FencedRun } from '../../../src/lake/catalog/catalog-errors.js';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { removedFile, type Change } from '../../../src/lake/catalog/change.js';
import { canonicalCommit, sealCommit, type CommitHeader } from '../../../src/lake/catalog/commit.js';
import type { Add, MetaData } from '../../../src/lake/delta/actions.js';
import type { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import { DeltaPublisher } from '../../../src/lake/publish/publisher.js';
import type { Store } from '../../../src/lake/store/store.js';
import { memoryStore, watched } from '../memory-store.js';

let names = 0;

function open(store: Store, now = () => 5): Promise<Catalog> {
  return Catalog.open(store, { clock: { now }, random: () => `n${names++}`, knownTables: ['t'] });
}

function metaData(...columns: string[]): MetaData {
  const fields = columns.map((name) => ({ name, type: 'string', nullable: true, metadata: {} }));
  const schemaString = JSON.stringify({ type: 'struct', fields });
  return {
    id: 't',
    format: { provider: 'parquet', options: {} },
    schemaString,
    partitionColumns: [],
    configuration: {},
  };
}

function file(name: string, account = 'a'): Add {
  const path = `account=${account}/month=2025-01/${name}.parquet`;
  const partitionValues = { account, month: '2025-01' };
  return { path, partitionValues, size: 1, modificationTime: 0, dataChange: true };
}

function adding(...adds: Add[]): Change {
  return { tables: { t: { metaData: metaData('id'), add: adds } } };
}

function paths({ snapshot }: Catalog): string[] {
  return [...snapshot.files('t')].map(({ path }) => path.replace(/.*\/(.*)\.parquet/, '$1')).toSorted();
}

async function fill(store: Store, commits: number): Promise<Catalog> {
  const catalog = await open(store);
  for (let at = 0; at < commits; at++) await catalog.commit('WRITE', () => adding(file(`f${at}`)));
  await new DeltaPublisher(store, catalog).publish();
  return catalog;
}

test('changes that are ready together are one commit, each decided on those before it', async () => {
  const store = memoryStore();
  const catalog = await open(store);
  const seen: string[][] = [];
  const commits = await Promise.all(
    ['x', 'y', 'z'].map((name) =>
      catalog.commit('WRITE', (snapshot) => {
        seen.push([...snapshot.files('t')].map(({ path }) => path));
        // The second replaces what the first adds.
        const replaced = name === 'y' ? [...snapshot.files('t')].map((one) => removedFile(one)) : [];
        return { tables: { t: { metaData: metaData('id'), add: [file(name)], remove: replaced } } };
      }),
    ),
  );
  expect(new Set(commits).size).toBe(1);
  expect(seen.map(({ length }) => length)).toEqual([0, 1, 1]);
  // What one adds and another replaces in the same commit never was.
  expect(commits[0]?.value.tables['t']?.remove).toBeUndefined();
  expect([catalog.snapshot.version, paths(catalog)]).toEqual([0, ['y', 'z']]);
  expect(paths(await open(store))).toEqual(['y', 'z']);
});

test('of a group each member has its own answer', async () => {
  const catalog = await open(memoryStore());
  const answers = await Promise.allSettled([
    catalog.commit('WRITE', () => adding(file('x'))),
    catalog.commit('WRITE', () => undefined),
    catalog.commit('WRITE', () => Promise.reject(new Error('no'))),
    catalog.commit('WRITE', () => ({ tables: { t: { remove: [removedFile(file('none'))] } } })),
    catalog.commit('OPTIMIZE', () => adding(file('y'))),
  ]);
  expect(answers.map((one) => (one.status === 'fulfilled' ? one.value?.value.version : String(one.reason)))).toEqual([
    0,
    undefined,
    'Error: no',
    expect.stringContaining(
      'expected version 0 of the catalog to follow, it removes t/account=a/month=2025-01/none.parquet, which is not there',
    ),
    1,
  ]);
});

test('a decision that another run overtakes is made again, on the newer version', async () => {
  const store = memoryStore();
  const [one, other] = [await open(store), await open(store)];
  await one.commit('WRITE', () => adding(file('x')));
  const seen: number[] = [];
  const commit = await other.commit('WRITE', (snapshot) => {
    seen.push(snapshot.version);
    return adding(file('y'));
  });
  expect([seen, commit?.value.version]).toEqual([[-1, 0], 1]);
  // That there is nothing to do is decided on the newest version too.
  seen.length = 0;
  await one.commit('WRITE', (snapshot) => void seen.push(snapshot.version));
  expect(seen).toEqual([0, 1]);
});

test('an error of a decision counts where it was made on the newest version', async () => {
  const store = memoryStore();
  const one = await fill(store, 1);
  const other = await open(store);
  await one.commit('OPTIMIZE', () => ({ tables: { t: { remove: [removedFile(file('f0'))], add: [file('merged')] } } }));
  const decide = (snapshot: Snapshot) => {
    if (![...snapshot.files('t')].some(({ path }) => path.includes('merged'))) throw new Error('merged is missing');
    return adding(file('y'));
  };
  expect((await other.commit('WRITE', decide))?.value.version).toBe(2);
  await expect(other.commit('WRITE', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
});

test.each([1, 3])('a claim whose answer is lost %i times is ours by its nonce', async (times) => {
  let lost = times;
  const store = watched(memoryStore(), {
    after: ({ method }) => {
      if (method === 'create' && lost-- > 0) throw new LedgerlakeError('LAKE_UNCLEAR', 'the answer is lost');
    },
  });
  const catalog = await open(store);
  expect((await catalog.commit('WRITE', () => adding(file('x'))))?.value.version).toBe(0);
  expect(paths(await open(store))).toEqual(['x']);
});

test('a claim that stays unclear is an error that says so, also where another call fails meanwhile', async () => {
  const memory = memoryStore();
  let calls = 0;
  const store = watched(memory, {
    after: ({ method }) => {
      if (method === 'create') throw new LedgerlakeError(calls++ === 0 ? 'LAKE_UNCLEAR' : 'LAKE_STORE', 'no answer');
    },
  });
  await expect((await open(store)).commit('WRITE', () => adding(file('x')))).rejects.toMatchObject({
    code: 'LAKE_UNCLEAR',
  });
  expect(paths(await open(memory))).toEqual(['x']);
});

test('a fenced run commits nothing any more, and the list of fences shrinks', async () => {
  const store = memoryStore();
  const sleeper = await open(store);
  const other = await fill(store, 3);
  const late = await open(store);
  await other.commit('VACUUM', () => ({ fence: { runs: [sleeper.run, late.run] } }));
  for (const run of [sleeper, late])
    await expect(run.commit('WRITE', () => adding(file('x')))).rejects.toBeInstanceOf(FencedRun);
  expect(sleeper.run).toMatch(/^0-/);
  expect(late.run).toMatch(/^3-/);
  await other.commit('VACUUM', () => ({ fence: { before: 2 } }));
  expect(other.snapshot.state.fence).toEqual({ before: 2, runs: [late.run] });
  await expect(other.commit('WRITE', () => adding(file('x')))).rejects.toBeInstanceOf(FencedRun);
});

test('every commit touches a table, its instant never goes back, and schemas only grow', async () => {
  let now = 9;
  const store = memoryStore();
  const catalog = await open(store, () => now--);
  const newer = { tables: { t: { metaData: metaData('id', 'more'), add: [file('x')] } } };
  const commits = [
    await catalog.commit('WRITE', () => newer),
    await catalog.commit('SET', () => ({ config: { retentionMs: 7 } })),
    await catalog.commit('WRITE', () => adding(file('y'))),
  ];
  expect(commits.map((one) => [one?.value.at, Object.keys(one?.value.tables ?? {})])).toEqual([
    [9, ['t']],
    [9, ['t']],
    [9, ['t']],
  ]);
  expect(commits[2]?.value.tables['t']?.metaData).toBeUndefined();
  expect(catalog.snapshot.tables.get('t')).toEqual({ versions: 3, metaData: metaData('id', 'more') });
  await catalog.commit('WRITE', () => ({ tables: { t: { metaData: metaData('id', 'later') } } }));
  expect(catalog.snapshot.tables.get('t')?.metaData).toEqual(metaData('id', 'more', 'later'));
});

test('a lake whose last commits are lost does not open, with and without a checkpoint', async () => {
  for (const isCheckpointed of [false, true]) {
    const store = memoryStore();
    const catalog = await fill(store, 3);
    if (isCheckpointed) await catalog.writeCheckpoint();
    await catalog.commit('WRITE', () => adding(file('last')));
    await new DeltaPublisher(store, catalog).publish();
    await store.remove(commitPath(3));
    await expect(open(store)).rejects.toThrow(
      'expected the commits of memory/_catalog that t/_delta_log was published from, got 2 as the newest; run `ledgerlake repair`, or restore the file from a copy of the lake',
    );
  }
  const store = memoryStore();
  await fill(store, 1);
  await store.remove(commitPath(0));
  await expect(open(store)).rejects.toThrow('that t/_delta_log was published from, got none');
});

test('a commit that is missing between others, or changed, is named', async () => {
  const store = memoryStore();
  await fill(store, 4);
  const held = store.files.get(commitPath(1)) ?? new Uint8Array();
  await store.remove(commitPath(1));
  await expect(open(store)).rejects.toThrow(
    `expected memory/${commitPath(1)}, because there are later commits, got none`,
  );
  await store.write(commitPath(1), held.subarray(1));
  await expect(open(store)).rejects.toThrow(
    `expected memory/${commitPath(1)} as it was written, its bytes have changed`,
  );
  await store.write(
    commitPath(1),
    sealCommit(canonicalCommit({ ...(JSON.parse(Buffer.from(held).toString()) as CommitHeader), run: 'x' }, {})).bytes,
  );
  await expect(open(store)).rejects.toThrow(
    'expected version 2 of the catalog to follow version 1, it names another hash',
  );
});

test('the hint may be missing, damaged or of an old checkpoint, and checkpoints damaged', async () => {
  const store = memoryStore();
  const catalog = await fill(store, 2);
  await catalog.writeCheckpoint();
  const old = store.files.get('_catalog/_last-checkpoint') ?? new Uint8Array();
  await catalog.commit('WRITE', () => adding(file('f2')));
  await catalog.writeCheckpoint();
  for (const hint of [undefined, Buffer.from('{'), old]) {
    if (hint === undefined) await store.remove('_catalog/_last-checkpoint');
    else await store.write('_catalog/_last-checkpoint', hint);
    expect((await open(store)).snapshot.hash).toBe(catalog.snapshot.hash);
  }
  for (const path of store.files.keys()) if (path.endsWith('.checkpoint')) await store.write(path, Buffer.from('x'));
  const opened = await open(store);
  expect([opened.snapshot.hash, opened.skippedCheckpoints.length]).toEqual([catalog.snapshot.hash, 2]);
  expect([...store.files.keys()].filter((path) => /^_catalog\/[^/]*\.json$/.test(path))).toEqual(
    [0, 1, 2].map(commitPath),
  );
});

test('a checkpoint is written when it is due, and two stay', async () => {
  const store = memoryStore();
  const catalog = await open(store);
  for (let at = 0; at < 70; at++) {
    await catalog.commit('WRITE', () => adding(file(`f${at}`)));
    await catalog.writeDueCheckpoint();
  }
  const found = [...store.files.keys()].filter((path) => path.endsWith('.checkpoint'));
  expect(found.map((path) => Number(/\d{20}/.exec(path)?.[0]))).toEqual([40, 61]);
});

test('erased commits keep names and chain; a run that slept meanwhile commits nothing', async () => {
  const store = memoryStore();
  const sleeper = await open(store);
  const catalog = await fill(store, 3);
  const removed = [file('f0'), file('f1')].map((one) => removedFile(one));
  await catalog.commit('DELETE', () => ({ tables: { t: { remove: removed } } }));
  const publisher = new DeltaPublisher(store, catalog);
  await catalog.erase('FORGET', () => publisher.publish());
  const named = [...store.files].filter(
    ([path, bytes]) => path.startsWith('_catalog/') && Buffer.from(bytes).includes('f0.parquet'),
  );
  expect(named).toEqual([]);
  await expect(sleeper.commit('WRITE', () => adding(file('x')))).rejects.toBeInstanceOf(ErasedCommit);
  const opened = await open(store);
  expect([opened.snapshot.version, paths(opened)]).toEqual([4, ['f2']]);
  expect((await opened.commit('WRITE', () => adding(file('y'))))?.value.version).toBe(5);
  for (const path of store.files.keys()) if (path.endsWith('.checkpoint')) await store.remove(path);
  await expect(open(store)).rejects.toThrow(
    'expected a checkpoint in memory/_catalog, because older commits are erased, got none',
  );
});

test('commits are erased a few at a time, and where that ends early the lake is whole and erasing again continues', async () => {
  const whole = memoryStore();
  await fill(whole, 50);
  const newest = 50;
  let most = 0;
  for (let failing = 1; failing <= newest; failing += 7) {
    const store = memoryStore();
    for (const [path, bytes] of whole.files) await store.write(path, bytes);
    let [writes, running] = [0, 0];
    const dying: Store = {
      ...store,
      write: async (path, bytes) => {
        if (!/_catalog\/\d{20}\.json$/.test(path)) return store.write(path, bytes);
        if (++writes >= failing) throw new LedgerlakeError('LAKE_STORE', 'cannot write');
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        await store.write(path, bytes);
        running--;
      },
    };
    const catalog = await open(dying);
    const publisher = new DeltaPublisher(dying, catalog);
    await expect(catalog.erase('FORGET', () => publisher.publish())).rejects.toThrow('cannot write');
    const isStub = (version: number) => Buffer.from(store.files.get(commitPath(version)) ?? []).includes('"erased"');
    const stubs = Array.from({ length: newest }, (_, version) => version).filter(isStub);
    expect(stubs).toHaveLength(failing - 1);
    expect(stubs.every((version) => version < failing + 16)).toBe(true);
    const again = await open(store);
    expect(paths(again)).toHaveLength(50);
    await again.erase('FORGET', () => new DeltaPublisher(store, again).publish());
    expect(Array.from({ length: newest + 1 }, (_, version) => version).every(isStub)).toBe(true);
    expect(paths(await open(store))).toHaveLength(50);
  }
  expect(most).toBe(16);
});

test('a lake of a newer program is read where it can be, and not written', async () => {
  const store = memoryStore();
  const catalog = await fill(store, 1);
  const { version, hash, at } = catalog.snapshot.state;
  const header = {
    version: version + 1,
    previous: hash,
    at,
    run: '0-x',
    nonce: 'x',
    operation: 'WRITE',
    minReaderVersion: 1,
    minWriterVersion: 2,
  };
  const newer = sealCommit(canonicalCommit(header, { tables: { t: {} } }));
  await store.create(commitPath(1), newer.bytes);
  const opened = await open(store);
  expect(paths(opened)).toEqual(['f0']);
  await expect(opened.commit('WRITE', () => adding(file('x')))).rejects.toThrow(
    'expected catalog writer version 1 at most in memory/_catalog, got 2: a newer program has written the lake; use that one',
  );
});

test('opening takes few calls, and a commit one', async () => {
  const memory = memoryStore();
  await (await fill(memory, 40)).writeCheckpoint();
  const calls: string[] = [];
  const store = watched(memory, { before: ({ method, path }) => calls.push(`${method} ${path.replace(/.*\//, '')}`) });
  const catalog = await open(store);
  expect(calls.map((call) => call.split(' ')[0])).toEqual(['read', 'read', 'list', 'readRange']);
  calls.length = 0;
  await catalog.commit('WRITE', () => adding(file('x')));
  expect(calls).toEqual([`create ${commitPath(40).replace(/.*\//, '')}`]);
});
