import type { Store } from '../../../src/lake/store/store.js';

/** A store that dies: from its n-th change on nothing gets through, as if the process had been killed there. */
export interface FailingStore extends Store {
  /** Changes asked for so far. */
  readonly changes: number;
}

/** `dieAt`: the first change that has no effect, from 1; so what the one before it left is what the next process finds. */
export function failingStore(store: Store, dieAt: number): FailingStore {
  let changes = 0;
  const dead = () => changes >= dieAt;
  const refuse = () => {
    throw new Error(`the store died at change ${dieAt}`);
  };
  const changing = async <T>(change: () => Promise<T>): Promise<T> => {
    if (dead()) refuse();
    changes++;
    return dead() ? refuse() : change();
  };
  const reading = async <T>(read: () => Promise<T>): Promise<T> => (dead() ? refuse() : read());
  return {
    location: store.location,
    get changes() {
      return changes;
    },
    address: (path) => store.address(path),
    localPath: (path) => store.localPath(path),
    read: (path) => reading(() => store.read(path)),
    readRange: (path, start, length) => reading(() => store.readRange(path, start, length)),
    list: (folder, after) => (dead() ? refuse() : store.list(folder, after)),
    // Leases are not what is looked at, and one that can't be taken back belongs to a process that lives on here.
    write: (path, bytes) =>
      path.startsWith('_runs/') ? store.write(path, bytes) : changing(() => store.write(path, bytes)),
    create: (path, bytes) => changing(() => store.create(path, bytes)),
    remove: (path) => (path.startsWith('_runs/') ? store.remove(path) : changing(() => store.remove(path))),
    removeUnfinished: (all) => reading(() => store.removeUnfinished(all)),
  };
}

/** A store that does something else first, once, when a change of a path comes that `when` takes. */
export function interruptedStore(store: Store, when: (path: string) => boolean, first: () => Promise<void>): Store {
  let isDone = false;
  const before = async (path: string): Promise<void> => {
    if (isDone || !when(path)) return;
    isDone = true;
    await first();
  };
  return {
    location: store.location,
    address: (path) => store.address(path),
    localPath: (path) => store.localPath(path),
    read: (path) => store.read(path),
    readRange: (path, start, length) => store.readRange(path, start, length),
    list: (folder, after) => store.list(folder, after),
    write: async (path, bytes) => {
      await before(path);
      await store.write(path, bytes);
    },
    create: async (path, bytes) => {
      await before(path);
      return store.create(path, bytes);
    },
    remove: async (path) => {
      await before(path);
      await store.remove(path);
    },
    removeUnfinished: (all) => store.removeUnfinished(all),
  };
}
