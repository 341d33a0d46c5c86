import { LedgerlakeError } from '../../src/core/errors.js';
import type { Store, StoredFile } from '../../src/lake/store/store.js';

/**
 * What becomes of one call:
 *
 * - `refused`: it throws before anything is done.
 * - `unclear`: it is done, and then it throws: the answer was lost.
 * - `delayed`: it is done, but so late that everything else that can go on has gone on.
 * - `torn`: what it writes isn't seen by anyone, but for a temporary file, and it throws.
 */
export type Fault = 'refused' | 'unclear' | 'delayed' | 'torn';

export const faults: readonly Fault[] = ['refused', 'unclear', 'delayed', 'torn'];

export interface FaultyStore extends Store {
  /** Calls made so far. */
  readonly calls: number;
  /** The call that the fault hit. */
  readonly hit: string | undefined;
}

/** The store, but that its call number `at`, from 1 on, goes wrong. */
export function faultyStore(store: Store, at: number, fault: Fault): FaultyStore {
  let calls = 0;
  let hit: string | undefined;
  const failed = (call: string, code: 'LAKE_STORE' | 'LAKE_UNCLEAR' = 'LAKE_STORE') =>
    new LedgerlakeError(code, `cannot ${call}: the test makes this call fail (${fault})`);
  const call = async <T>(name: string, path: string, work: () => Promise<T>): Promise<T> => {
    if (++calls !== at) return work();
    hit = `${name} ${path}`;
    if (fault === 'refused') throw failed(hit);
    if (fault === 'torn') {
      if (name !== 'write' && name !== 'create') throw failed(hit);
      await store.write(`_torn/${calls}`, Buffer.from('half of it'));
      throw failed(hit, name === 'create' ? 'LAKE_UNCLEAR' : 'LAKE_STORE');
    }
    if (fault === 'delayed') {
      await everythingElse();
      return work();
    }
    await work();
    throw failed(hit, name === 'create' ? 'LAKE_UNCLEAR' : 'LAKE_STORE');
  };
  return {
    location: store.location,
    get calls() {
      return calls;
    },
    get hit() {
      return hit;
    },
    address: (path) => store.address(path),
    localPath: (path) => store.localPath(path),
    read: (path) => call('read', path, () => store.read(path)),
    readRange: (path, start, length) => call('readRange', path, () => store.readRange(path, start, length)),
    write: (path, bytes) => call('write', path, () => store.write(path, bytes)),
    create: (path, bytes) => call('create', path, () => store.create(path, bytes)),
    remove: (path) => call('remove', path, () => store.remove(path)),
    removeUnfinished: (all) => call('sweep', '', () => store.removeUnfinished(all)),
    async *list(folder, after) {
      yield* await call('list', folder, async () => {
        const files: StoredFile[] = [];
        for await (const file of store.list(folder, after)) files.push(file);
        return files;
      });
    },
  };
}

/** So many turns of the event loop are more than the rest of a small run in memory takes. */
async function everythingElse(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
}
