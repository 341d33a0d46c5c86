import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeCheckpoint, encodeCheckpoint } from '../../../src/lake/delta/checkpoint.js';
import { withParquet } from '../../../src/core/parquet/wasm.js';

const protocol = { minReaderVersion: 1, minWriterVersion: 2 };
const metaData = {
  id: '0b9a4b0e-6f3c-4a57-9d0e-0c3f4a5b6c7d',
  name: 'events',
  format: { provider: 'parquet', options: {} },
  schemaString: '{"type":"struct","fields":[]}',
  partitionColumns: ['account', 'month'],
  configuration: { 'delta.deletedFileRetentionDuration': 'interval 0 seconds' },
  createdTime: 1_750_000_000_000,
};

test('a checkpoint gives back what it was made of', async () => {
  const add = {
    path: 'account=demo/month=2025-06/a.parquet',
    partitionValues: { account: 'demo', month: '2025-06' },
    size: 2 ** 40,
    modificationTime: 1_750_000_000_000,
    dataChange: true,
    stats: '{"numRecords":3}',
    tags: { rows: '3', derived: '["x"]' },
  };
  const bare = {
    path: 'b',
    partitionValues: { account: 'demo', month: null },
    size: 1,
    modificationTime: 0,
    dataChange: true,
  };
  const txn = { appId: 'ledgerlake/a/b/c', version: 2, lastUpdated: 7 };
  const { bytes, actions } = await encodeCheckpoint({
    protocol,
    metaData,
    files: [add, bare],
    txns: [txn, { appId: 'x', version: 1 }],
  });
  expect(actions).toBe(6);
  expect(await decodeCheckpoint(bytes, 'c')).toEqual([
    { protocol },
    { metaData },
    { txn },
    { txn: { appId: 'x', version: 1 } },
    { add: { ...add, dataChange: false } },
    { add: { ...bare, partitionValues: { account: 'demo' }, dataChange: false } },
  ]);
});

test('a removal keeps partition and size where they are known, and says so', async () => {
  const known = {
    path: 'a',
    deletionTimestamp: 5,
    partitionValues: { account: 'demo', month: '2025-06' },
    size: 2 ** 40,
  };
  const bar = { path: 'b', deletionTimestamp: 6 };
  const swapped = { ...known, path: 'c', dataChange: true, stats: '{}', tags: { rows: '3' } };
  const removed = [{ ...known, dataChange: true, extendedFileMetadata: true }, { ...bar, dataChange: false }, swapped];
  const { bytes } = await encodeCheckpoint({ protocol, metaData, files: [], txns: [], removed });
  expect((await decodeCheckpoint(bytes, 'c')).slice(2)).toEqual([
    { remove: { ...known, dataChange: false, extendedFileMetadata: true } },
    { remove: { ...bar, dataChange: false, extendedFileMetadata: false } },
    { remove: { ...known, path: 'c', dataChange: false, extendedFileMetadata: true } },
  ]);
});

test('rows of several groups come back, whichever of them the transactions end in', async () => {
  for (const counts of [
    { txns: 2500, adds: 1200 },
    { txns: 998, adds: 1000 },
    { txns: 0, adds: 2001 },
  ]) {
    const txns = Array.from({ length: counts.txns }, (_, at) => ({ appId: `ledgerlake/p/a/${at}`, version: at + 1 }));
    const adds = Array.from({ length: counts.adds }, (_, at) => ({
      path: `${at}.parquet`,
      partitionValues: { account: 'demo' },
      size: at,
      modificationTime: at,
      dataChange: false,
      stats: `{"numRecords":${at}}`,
    }));
    const { bytes, actions } = await encodeCheckpoint({ protocol, metaData, files: adds, txns });
    expect(actions).toBe(2 + counts.txns + counts.adds);
    const kept = await withParquet(bytes, ({ groups }) => Promise.resolve(groups.map(({ rows }) => rows)));
    expect(kept.slice(0, -1)).toEqual(kept.slice(0, -1).map(() => 1000));
    expect(await decodeCheckpoint(bytes, 'c')).toEqual([
      { protocol },
      { metaData },
      ...txns.map((txn) => ({ txn })),
      ...adds.map((add) => ({ add })),
    ]);
  }
});

test('what ends before all rows are there is no checkpoint', async () => {
  const torn = function* (): Generator<never> {
    yield* [];
    throw new Error('torn');
  };
  await expect(encodeCheckpoint({ protocol, metaData, files: torn(), txns: [] })).rejects.toThrow('torn');
  const txns = Array.from({ length: 1500 }, (_, at) => ({ appId: String(at), version: 1 }));
  await expect(encodeCheckpoint({ protocol, metaData, files: torn(), txns })).rejects.toThrow('torn');
});

test('any transactions, files and removals come back, in their order', async () => {
  const text = fc.string({ unit: 'grapheme' });
  const long = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  const texts = fc.dictionary(fc.string(), text, { noNullPrototype: true });
  const txns = fc.array(fc.record({ appId: text, version: long, lastUpdated: long }), { maxLength: 40 });
  const files = fc.array(
    fc.record({
      path: text,
      partitionValues: texts,
      size: long,
      modificationTime: long,
      dataChange: fc.constant(false),
      stats: text,
      tags: texts,
    }),
    { maxLength: 10 },
  );
  const removed = fc.array(
    fc.record({
      path: text,
      deletionTimestamp: long,
      dataChange: fc.constant(false),
      extendedFileMetadata: fc.constant(true),
      partitionValues: texts,
      size: long,
    }),
    { maxLength: 3 },
  );
  // A key that an assignment would lose.
  const oddKey = { path: '', partitionValues: JSON.parse('{"__proto__":""}') as Record<string, string>, size: 0 };
  const odd = { ...oddKey, modificationTime: 0, dataChange: false as const, stats: '', tags: {} };
  await fc.assert(
    fc.asyncProperty(txns, files, removed, async (...held) => {
      const [of, adds, removes] = held;
      const { bytes } = await encodeCheckpoint({ protocol, metaData, files: adds, txns: of, removed: removes });
      expect(await decodeCheckpoint(bytes, 'c')).toEqual([
        { protocol },
        { metaData },
        ...of.map((txn) => ({ txn })),
        ...adds.map((add) => ({ add })),
        ...removes.map((remove) => ({ remove })),
      ]);
    }),
    { numRuns: 60, examples: [[[], [odd], []]] },
  );
});
