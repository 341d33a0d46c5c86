import { type Store, type StoredFile, compareBytes, clampRange } from '../../src/lake/store/store.js';

/** A lake in memory: fast enough to make hundreds of them. */
export interface MemoryStore extends Store {
  /** What it holds, by path. */
  readonly files: Map<string, Uint8Array>;
}

export function memoryStore(held: ReadonlyMap<string, Uint8Array> = new Map<string, Uint8Array>()): MemoryStore {
  const files = new Map(held);
  async function* list(folder: string, after = ''): AsyncGenerator<StoredFile> {
    const paths = [...files.keys()].filter((path) => folder === '' || path.startsWith(`${folder}/`));
    for (const path of paths.toSorted(compareBytes)) {
      const bytes = files.get(path);
      if (bytes === undefined || compareBytes(path, after) <= 0) continue;
      yield await Promise.resolve({ path, size: bytes.length, modifiedAt: 0 });
    }
  }
  return {
    files,
    location: 'memory',
    address: (path) => `memory://${path}`,
    localPath: () => undefined,
    read: (path) => Promise.resolve(files.get(path)),
    readRange: (path, start, length) => {
      const bytes = files.get(path);
      if (bytes === undefined) return Promise.resolve(undefined);
      const { from, to } = clampRange(bytes.length, start, length);
      return Promise.resolve(bytes.slice(from, to));
    },
    write: (path, bytes) => {
      files.set(path, bytes.slice());
      return Promise.resolve();
    },
    create: (path, bytes) => {
      if (files.has(path)) return Promise.resolve(false);
      files.set(path, bytes.slice());
      return Promise.resolve(true);
    },
    list,
    remove: (path) => {
      files.delete(path);
      return Promise.resolve();
    },
    removeUnfinished: () => Promise.resolve(0),
  };
}

/** A call of a store, as `watched` tells it. */
export interface StoreCall {
  readonly method: 'read' | 'readRange' | 'write' | 'create' | 'list' | 'remove' | 'sweep';
  readonly path: string;
}

/**
 * The store, with each call told before it is made: `before` may throw, and then it isn't; and told again after, when
 * throwing means that the answer is lost.
 */
export function watched(
  store: Store,
  { before, after }: { before?: (call: StoreCall) => void; after?: (call: StoreCall) => void },
): Store {
  const told = async <T>(call: StoreCall, work: () => Promise<T>): Promise<T> => {
    before?.(call);
    const answer = await work();
    after?.(call);
    return answer;
  };
  return {
    location: store.location,
    address: (path) => store.address(path),
    localPath: (path) => store.localPath(path),
    read: (path) => told({ method: 'read', path }, () => store.read(path)),
    readRange: (path, ...range) => told({ method: 'readRange', path }, () => store.readRange(path, ...range)),
    write: (path, bytes) => told({ method: 'write', path }, () => store.write(path, bytes)),
    create: (path, bytes) => told({ method: 'create', path }, () => store.create(path, bytes)),
    async *list(path, behind) {
      before?.({ method: 'list', path });
      yield* store.list(path, behind);
    },
    remove: (path) => told({ method: 'remove', path }, () => store.remove(path)),
    removeUnfinished: (all) => told({ method: 'sweep', path: '' }, () => store.removeUnfinished(all)),
  };
}
