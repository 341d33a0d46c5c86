import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Change } from '../../../src/lake/catalog/change.js';
import {
  canonicalCommit,
  type CommitHeader,
  readCommit,
  sealCommit,
  sealStub,
  supported,
  seal,
  unseal,
} from '../../../src/lake/catalog/commit.js';
import { deltaCommit, readPublished } from '../../../src/lake/publish/delta-commit.js';
import { changes, headers } from './arbitraries.js';

const path = 'lake/_catalog/00000000000000000007.json';

function commitOf(change: Change, header: CommitHeader) {
  return sealCommit(canonicalCommit({ ...header, version: 7 }, change));
}

test('a sealed document is the document, and JSON', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.json(), { minKeys: 1 }), (value) => {
      const { bytes, hash } = seal(value);
      expect(unseal(bytes)).toEqual({ value: JSON.parse(JSON.stringify(value)) as unknown, hash });
      expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({ sha256: hash });
    }),
  );
});

test('any bit that changes, and any byte that is lost or added, is found', () => {
  fc.assert(
    fc.property(
      headers,
      changes,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.nat(7),
      (header, change, where, bit) => {
        const { bytes } = commitOf(change, header);
        const at = Math.floor(where * bytes.length);
        const flipped = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ (1 << bit) : byte));
        expect(unseal(flipped)).toBeUndefined();
        expect(unseal(bytes.subarray(0, at))).toBeUndefined();
        expect(unseal(Buffer.concat([bytes.subarray(0, at), Buffer.from(' '), bytes.subarray(at)]))).toBeUndefined();
        expect(() => readCommit(flipped, 7, path)).toThrow('its bytes have changed');
      },
    ),
  );
});

test('a commit is read as it was written, and has one form', () => {
  fc.assert(
    fc.property(headers, changes, (header, change) => {
      const commit = commitOf(change, header);
      const read = readCommit(commit.bytes, 7, path);
      if ('erased' in read) throw new Error('expected a commit, got a stub');
      expect(read.hash).toBe(commit.hash);
      expect(read.value).toEqual(commit.value);
      // Written again from what was read it is the same, byte for byte: whatever the order of its fields was.
      expect(sealCommit(canonicalCommit(read.value, shuffled(read.value))).bytes).toEqual(commit.bytes);
    }),
  );
});

/** The same with the fields of each object the other way round. */
function shuffled<T>(value: T): T {
  if (Array.isArray(value)) return value.map(shuffled) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, shuffled<unknown>(one)]),
  ) as T;
}

test('a commit can be restored from its publications, byte for byte', () => {
  fc.assert(
    fc.property(headers, changes, fc.nat(3), (header, change, number) => {
      const commit = commitOf(change, header);
      const names = Object.keys(commit.value.tables);
      const published = names.map((name) => readPublished(deltaCommit(name, number, commit, 'ledgerlake/1')));
      for (const one of published) expect([one?.sha256, one?.tables]).toEqual([commit.hash, names]);
      const [first] = published;
      if (first === undefined) return;
      const tables = Object.fromEntries(names.map((name, at) => [name, published[at]?.change ?? {}]));
      expect(sealCommit(canonicalCommit(first.header, { ...first.header, tables })).bytes).toEqual(commit.bytes);
    }),
  );
});

test('a stub keeps version, instant, previous and hash', () => {
  fc.assert(
    fc.property(headers, changes, (header, change) => {
      const commit = commitOf(change, header);
      const { previous, at } = header;
      const stub = readCommit(sealStub(commit), 7, path);
      expect(stub).toEqual({ format: supported.format, version: 7, previous, at, erased: commit.hash });
    }),
  );
});

const header = {
  version: 7,
  previous: '0'.repeat(64),
  run: '0-a',
  nonce: 'n',
  at: 5,
  operation: 'WRITE',
  minReaderVersion: 1,
  minWriterVersion: 1,
};

test('a commit of a newer program is refused, and says so', () => {
  const commit = canonicalCommit(header, {});
  const newer = [
    [
      { ...commit, format: 2 },
      `expected catalog format 1 at most in ${path}, got 2: a newer program has written the lake; use that one`,
    ],
    [
      { ...commit, minReaderVersion: 2 },
      `expected catalog reader version 1 at most in ${path}, got 2: a newer program`,
    ],
  ] as const;
  for (const [value, message] of newer) expect(() => readCommit(seal(value).bytes, 7, path)).toThrow(message);
  // Fields that aren't known, and a higher writer version, are read.
  expect(readCommit(seal({ ...commit, minWriterVersion: 2, more: 1 }).bytes, 7, path)).toMatchObject({
    value: { minWriterVersion: 2 },
  });
});

test('what is sealed but no commit is refused', () => {
  const commit = canonicalCommit(header, {});
  const add = { path: 'account=a/x.parquet', partitionValues: { account: 'a' }, size: 1 };
  const faults: readonly [object, string][] = [
    [
      { ...commit, version: 8 },
      'expected version 7 of the catalog in lake/_catalog/00000000000000000007.json, found 8',
    ],
    [{ ...commit, at: 'x' }, 'its header is not whole'],
    [{ ...commit, tables: [] }, 'it has no tables'],
    [{ ...commit, tables: { t: { add: [{ path: 1 }] } } }, 'its change of the table t'],
    [{ ...commit, tables: { t: { add: [{ ...add, path: '../x' }] } } }, 'it has `.` or `..`'],
    [{ ...commit, tables: { t: { add: [{ ...add, path: 'account=b/x' }] } } }, 'its entry has account=a'],
    [{ ...commit, keys: { set: [{ account: 'a' }] } }, 'its load keys'],
    [{ ...commit, fence: { before: 'x' } }, 'its fences'],
    [{ ...commit, deleted: [1] }, 'its deleted files'],
    [{ ...commit, config: { retentionMs: 'x' } }, 'its settings'],
    [{ ...commit, forgotten: { a: '2025-01-01' } }, 'what it forgets'],
    [{ version: 7 }, 'it has no format'],
    [{ format: 1, version: 7, erased: 1 }, 'it is no whole stub'],
  ];
  for (const [value, message] of faults) expect(() => readCommit(seal(value).bytes, 7, path)).toThrow(message);
});
