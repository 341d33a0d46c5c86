import { clampRange, compareBytes, type Store, type StoredFile } from './store.js';

/** A store whose changes are kept in memory until they are applied: what reads it sees them. */
export interface PlannedStore extends Store {
  /** The paths that would be written or removed. */
  readonly changed: ReadonlySet<string>;
  /** Makes the changes in the store below, in the order in which they were planned. */
  apply(): Promise<void>;
}

/** Plans changes of a store's files. No other writer may be active on it. */
export function plannedStore(store: Store): PlannedStore {
  /** Undefined: removed. */
  const planned = new Map<string, Uint8Array | undefined>();
  const plan = (path: string, bytes: Uint8Array | undefined) => {
    planned.delete(path);
    planned.set(path, bytes);
    return Promise.resolve();
  };
  const read = (path: string) => (planned.has(path) ? Promise.resolve(planned.get(path)) : store.read(path));
  return {
    location: store.location,
    address: (path) => store.address(path),
    localPath: (path) => (planned.has(path) ? undefined : store.localPath(path)),
    read,
    readRange: async (path, start, length) => {
      if (!planned.has(path)) return store.readRange(path, start, length);
      const bytes = planned.get(path);
      if (bytes === undefined) return undefined;
      const { from, to } = clampRange(bytes.length, start, length);
      return bytes.subarray(from, to);
    },
    write: plan,
    create: async (path, bytes) => {
      if ((await read(path)) !== undefined) return false;
      await plan(path, bytes);
      return true;
    },
    list: async function* list(folder, after) {
      const prefix = folder === '' ? '' : `${folder}/`;
      const isAsked = (path: string) =>
        path.startsWith(prefix) && (after === undefined || compareBytes(path, after) > 0);
      const files = new Map<string, StoredFile>();
      for await (const file of store.list(folder, after)) if (!planned.has(file.path)) files.set(file.path, file);
      for (const [path, bytes] of planned) {
        if (bytes !== undefined && isAsked(path)) files.set(path, { path, size: bytes.length, modifiedAt: 0 });
      }
      yield* [...files.values()].toSorted((a, b) => compareBytes(a.path, b.path));
    },
    remove: (path) => plan(path, undefined),
    removeUnfinished: () => Promise.resolve(0),
    get changed() {
      return new Set(planned.keys());
    },
    apply: async () => {
      for (const [path, bytes] of planned) await (bytes === undefined ? store.remove(path) : store.write(path, bytes));
      planned.clear();
    },
  };
}
