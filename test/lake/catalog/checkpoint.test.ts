import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { zstd } from '../../../src/core/parquet/encoder/zstd.js';
import type { MetaData } from '../../../src/lake/delta/actions.js';
import { accountOf, removedFile } from '../../../src/lake/catalog/change.js';
import { decodeCheckpoint, encodeCheckpoint } from '../../../src/lake/catalog/checkpoint.js';
import { commitRules, nextCommit } from '../../../src/lake/catalog/catalog.js';
import { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import { files, loadKeys } from './arbitraries.js';

const codec = await zstd();
const metaData: MetaData = {
  id: 't',
  format: { provider: 'parquet', options: {} },
  schemaString: '{"type":"struct","fields":[]}',
  partitionColumns: [],
  configuration: {},
};

/** A snapshot of some commits: files that are added, of which some are replaced, load keys, a fence, forgotten rows. */
const snapshots = fc
  .record({
    added: fc.array(fc.tuple(fc.constantFrom('t', 'u'), files, fc.boolean()), { maxLength: 12 }),
    keys: fc.array(loadKeys, { maxLength: 8 }),
    retentionMs: fc.constantFrom(0, 1000),
    forgotten: fc.dictionary(fc.constantFrom('a', 'b'), fc.option(fc.nat())),
  })
  .map(({ added, keys, retentionMs, forgotten }) => {
    const attempt = { operation: 'WRITE', run: '0-a', nonce: 'n', now: 5 };
    const tables = ['t', 'u'].map(
      (table) => [table, { metaData, add: added.filter(([name]) => name === table).map(([, file]) => file) }] as const,
    );
    const first = nextCommit(
      Snapshot.empty,
      attempt,
      { tables: Object.fromEntries(tables), keys: { set: keys }, config: { retentionMs } },
      commitRules,
    );
    const snapshot = Snapshot.empty.apply([first]);
    const replaced = added.filter(([, , isReplaced]) => isReplaced);
    const removed = ['t', 'u'].map(
      (table) =>
        [table, { remove: replaced.filter(([name]) => name === table).map(([, file]) => removedFile(file)) }] as const,
    );
    const second = nextCommit(
      snapshot,
      attempt,
      { tables: Object.fromEntries(removed), fence: { before: 1, runs: ['4-b'] }, forgotten },
      commitRules,
    );
    return snapshot.apply([second]);
  });

/** All that a snapshot has; of the accounts in `but` nothing. */
function contents(snapshot: Snapshot, but?: string) {
  const accounts = [...snapshot.accounts()].filter((account) => account !== but).toSorted();
  return {
    state: { ...snapshot.state, tables: Object.fromEntries(snapshot.tables) },
    accounts: accounts.map((account) => {
      const of = ['t', 'u'].map((table) =>
        Object.fromEntries(snapshot.filesOf(table, account).map((file) => [file.path, file])),
      );
      return [
        account,
        of,
        [...snapshot.allKeysOf(account)],
        [...(snapshot.accountStates().get(account)?.content.retired ?? [])],
        snapshot.forgottenBefore(account),
      ];
    }),
  };
}

function decoded({ bytes, sha256 }: { bytes: Uint8Array; sha256: string }): Snapshot {
  return decodeCheckpoint(bytes, sha256, 'lake/x.checkpoint', codec);
}

test('a snapshot is read from a checkpoint as it was, and the next one copies its blocks', () => {
  fc.assert(
    fc.property(snapshots, (snapshot) => {
      const encoded = encodeCheckpoint(snapshot, codec);
      const read = decoded(encoded);
      // None of its blocks is decoded for that.
      expect(encodeCheckpoint(read, { ...codec, decompress: () => expect.fail('a block is decoded') })).toEqual(
        encoded,
      );
      expect(contents(read)).toEqual(contents(snapshot));
    }),
    { numRuns: 60 },
  );
});

test('commits apply to an account that nobody has asked for, when somebody does', () => {
  fc.assert(
    fc.property(snapshots, fc.array(files, { minLength: 1, maxLength: 3 }), (snapshot, added) => {
      const commit = nextCommit(
        snapshot,
        { operation: 'WRITE', run: '1-a', nonce: 'n', now: 6 },
        { tables: { t: { add: added } } },
        commitRules,
      );
      const read = decoded(encodeCheckpoint(snapshot, codec)).apply([commit]);
      expect(contents(read)).toEqual(contents(snapshot.apply([commit])));
      expect(contents(decoded(encodeCheckpoint(read, codec)))).toEqual(contents(read));
    }),
    { numRuns: 60 },
  );
});

test('a damaged byte is refused at opening, of the head as of a block, so that another checkpoint can take its place', () => {
  fc.assert(
    fc.property(snapshots, fc.nat(), fc.integer({ min: 1, max: 255 }), (snapshot, where, change) => {
      const { bytes, sha256 } = encodeCheckpoint(snapshot, codec);
      const at = where % bytes.length;
      const damaged = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ change : byte));
      const headEnd = 8 + Buffer.from(bytes).readUInt32LE(0);
      expect(() => decoded({ bytes: damaged, sha256 })).toThrow(
        at < headEnd
          ? 'expected the checkpoint lake/x.checkpoint as it was written, its bytes have changed'
          : / in the checkpoint lake\/x\.checkpoint as it was written, its bytes have changed/,
      );
    }),
    { numRuns: 150 },
  );
});

test('a checkpoint that is cut off anywhere is refused', () => {
  fc.assert(
    fc.property(snapshots, fc.nat(), (snapshot, where) => {
      const { bytes, sha256 } = encodeCheckpoint(snapshot, codec);
      const cut = bytes.subarray(0, where % bytes.length);
      expect(() => decoded({ bytes: cut, sha256 })).toThrow('as it was written');
    }),
    { numRuns: 60 },
  );
});

test('accounts that a version has emptied leave no block', () => {
  fc.assert(
    fc.property(files, (file) => {
      const attempt = { operation: 'WRITE', run: '0-a', nonce: 'n', now: 5 };
      const first = nextCommit(Snapshot.empty, attempt, { tables: { t: { metaData, add: [file] } } }, commitRules);
      const full = Snapshot.empty.apply([first]);
      const second = nextCommit(full, attempt, { tables: { t: { remove: [removedFile(file)] } } }, commitRules);
      expect([...full.accounts()]).toEqual([accountOf(file)]);
      expect([...full.apply([second]).accounts()]).toEqual([]);
      const read = decoded(encodeCheckpoint(decoded(encodeCheckpoint(full, codec)).apply([second]), codec));
      expect([...read.accounts()]).toEqual([]);
    }),
    { numRuns: 20 },
  );
});
