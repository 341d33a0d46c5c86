import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Action, Add } from '../../../src/lake/delta/actions.js';
import { derivedOf, loadKeysOf, loadKeyAppId } from '../../../src/lake/delta/file-tags.js';
import { LiveSnapshot } from '../../../src/lake/delta/snapshot.js';

const accounts = ['demo', 'a b'];
const pipelines = ['one', 'two'];
const loadKeys = ['w/1', 'w/2', 'w/3', '12'];
/** What files are called: with numbers behind, with digits for a hash, and encoded. */
const paths = [
  'x-ab.parquet',
  'x-ab-2.parquet',
  'x-ab-3.parquet',
  'x-77.parquet',
  'a%20b/x-ab-2.parquet',
  'y%25.parquet',
];
const derived = ['entries/e-1.parquet', 'entries/e-2.parquet'];

const path = fc.constantFrom(...paths);
const some = <T>(of: readonly T[]) => fc.subarray([...of]);
const add = fc
  .record({ path, account: fc.constantFrom(...accounts, undefined), pipeline: fc.constantFrom(...pipelines) })
  .chain(({ path, account, pipeline }) =>
    fc
      .record({ loadKeys: some(loadKeys), names: fc.option(some(derived)), sha256: fc.constantFrom('p', 'q') })
      .map((of): Action => {
        const tags = {
          pipeline,
          units: JSON.stringify(of.loadKeys),
          sha256: of.sha256,
          ...(account === undefined ? {} : { account }),
          ...(of.names === null ? {} : { derived: JSON.stringify(of.names) }),
        };
        return { add: { path, partitionValues: {}, size: 1, modificationTime: 0, dataChange: true, tags } };
      }),
  );
const remove = path.map((of): Action => ({ remove: { path: of, deletionTimestamp: 0, dataChange: true } }));
const txn = fc
  .record({
    pipeline: fc.constantFrom(...pipelines),
    account: fc.constantFrom(...accounts),
    loadKey: fc.constantFrom(...loadKeys),
    version: fc.integer({ min: -2, max: 2 }),
  })
  .map((of): Action => ({ txn: { appId: loadKeyAppId(of.pipeline, of.account, of.loadKey), version: of.version } }));

/** What the actions amount to, by going through all of it whenever something is asked. */
function plain(actions: readonly Action[]) {
  const files = new Map<string, Add>();
  const read = new Map<string, number>();
  for (const action of actions) {
    if ('add' in action) files.set(action.add.path, action.add);
    else if ('remove' in action) files.delete(action.remove.path);
    else if ('txn' in action) read.set(action.txn.appId, action.txn.version);
  }
  return { files: [...files.values()], read };
}

function expectSame(snapshot: LiveSnapshot, actions: readonly Action[]): void {
  const { files, read } = plain(actions);
  expect(new Set(snapshot.files.values())).toEqual(new Set(files));
  for (const account of accounts) {
    const own = files.filter(({ tags }) => tags?.['account'] === account);
    expect(new Set(snapshot.filesOf(account))).toEqual(new Set(own));
    for (const pipeline of pipelines) {
      const written = own.filter(({ tags }) => tags?.['pipeline'] === pipeline);
      for (const wanted of [...loadKeys.map((loadKey) => [loadKey]), loadKeys.slice(1), []]) {
        const found = snapshot.filesWith(account, pipeline, wanted);
        expect(new Set(found)).toEqual(
          new Set(written.filter((of) => loadKeysOf(of).some((loadKey) => wanted.includes(loadKey)))),
        );
        expect(new Set(found).size).toBe(found.length);
      }
      const counting = loadKeys.filter((loadKey) => (read.get(loadKeyAppId(pipeline, account, loadKey)) ?? 0) > 0);
      expect([...snapshot.loadKeysOf(account, pipeline).keys()].toSorted()).toEqual(counting.toSorted());
    }
  }
  for (const of of paths) {
    const stem = of.slice(0, -'.parquet'.length);
    const numbered = files.filter(
      (file) => file.path.startsWith(`${stem}-`) && /^-\d+\.parquet$/.test(file.path.slice(stem.length)),
    );
    expect(new Set(snapshot.numbered(of))).toEqual(new Set(numbered));
    for (const place of [of, decodeURIComponent(of)]) {
      expect(snapshot.fileAt(place)).toBe(files.find((file) => decodeURIComponent(file.path) === place));
    }
  }
  for (const name of derived) {
    expect(snapshot.referenceCount(name)).toBe(files.filter((of) => derivedOf(of)?.includes(name)).length);
  }
}

test('whatever commits say, and whenever it is asked, the indexes of a snapshot hold what its files and transactions do', () => {
  const action = fc.oneof({ weight: 4, arbitrary: add }, { weight: 2, arbitrary: remove }, txn);
  const steps = fc.array(fc.record({ action, isAsked: fc.boolean() }), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (taken) => {
      const snapshot = new LiveSnapshot();
      const actions: Action[] = [];
      for (const { action: next, isAsked } of taken) {
        snapshot.apply(next);
        actions.push(next);
        if (isAsked) expectSame(snapshot, actions);
      }
      expectSame(snapshot, actions);
      snapshot.clear();
      expectSame(snapshot, []);
    }),
  );
});
