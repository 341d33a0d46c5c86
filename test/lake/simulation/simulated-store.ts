import { compare } from '../../../src/core/compare.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { clampRange, type Store, type StoredFile } from '../../../src/lake/store/store.js';

/** A call of a store that waits for its turn. */
export interface Call {
  readonly process: Process;
  readonly name: 'read' | 'create' | 'write' | 'remove' | 'list';
  readonly path: string;
  /** Takes effect, and returns the answer. */
  readonly effect: () => unknown;
  readonly answer: (value: unknown) => void;
  readonly fail: (error: LedgerlakeError) => void;
}

/** A process that makes calls; one that is dead gets no answers and makes no more. */
export interface Process {
  isDead: boolean;
}

/** Is told of what takes effect, at that instant. */
export interface Observer {
  created(path: string, bytes: Uint8Array): void;
  written(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void;
  removed(path: string): void;
}

/** Files in memory, and the calls on them that wait. */
export class SimulatedFiles {
  readonly files = new Map<string, Uint8Array>();
  readonly pending: Call[] = [];
  readonly #observer: Observer;

  constructor(observer: Observer) {
    this.#observer = observer;
  }

  create(path: string, bytes: Uint8Array): boolean {
    if (this.files.has(path)) return false;
    this.files.set(path, bytes.slice());
    this.#observer.created(path, bytes);
    return true;
  }

  write(path: string, bytes: Uint8Array): void {
    const before = this.files.get(path);
    this.files.set(path, bytes.slice());
    this.#observer.written(path, bytes, before);
  }

  remove(path: string): void {
    this.#observer.removed(path);
    this.files.delete(path);
  }

  list(folder: string, after = ''): StoredFile[] {
    return [...this.files]
      .filter(([path]) => path.startsWith(`${folder}/`) && path > after)
      .map(([path, { length }]) => ({ path, size: length, modifiedAt: 0 }))
      .toSorted((a, b) => compare(a.path, b.path));
  }

  /** The store of a process: each call waits until the simulation lets it take effect. */
  storeOf(process: Process): Store {
    const call = <T>(name: Call['name'], path: string, effect: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        if (process.isDead) return;
        this.pending.push({
          process,
          name,
          path,
          effect,
          answer: (value) => {
            resolve(value as T);
          },
          fail: reject,
        });
      });
    return this.#store(call);
  }

  /** A store whose calls take effect at once. */
  direct(): Store {
    return this.#store((_name, _path, effect) => Promise.resolve().then(effect));
  }

  #store(call: <T>(name: Call['name'], path: string, effect: () => T) => Promise<T>): Store {
    return {
      location: 'lake',
      address: (path) => path,
      localPath: () => undefined,
      read: (path) => call('read', path, () => this.files.get(path)),
      readRange: (path, start, length) =>
        call('read', path, () => {
          const bytes = this.files.get(path);
          if (bytes === undefined) return undefined;
          const { from, to } = clampRange(bytes.length, start, length);
          return bytes.slice(from, to);
        }),
      write: (path, bytes) =>
        call('write', path, () => {
          this.write(path, bytes);
        }),
      create: (path, bytes) => call('create', path, () => this.create(path, bytes)),
      list: (folder, after) => listed(call('list', folder, () => this.list(folder, after))),
      remove: (path) =>
        call('remove', path, () => {
          this.remove(path);
        }),
      removeUnfinished: () => Promise.resolve(0),
    };
  }
}

/** The error of a call that fails: of a claim it is unclear who won. */
export function failureOf({ name, path }: Call): LedgerlakeError {
  return new LedgerlakeError(
    name === 'create' ? 'LAKE_UNCLEAR' : 'LAKE_STORE',
    `cannot ${name} ${path}: the simulation makes it fail`,
  );
}

/** The same store, which repeats calls that fail, as one that speaks HTTP does; but claims. */
export function repeating(store: Store): Store {
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === 3) throw error;
      }
    }
  };
  return {
    ...store,
    read: (path) => again(() => store.read(path)),
    readRange: (path, ...range) => again(() => store.readRange(path, ...range)),
    write: (path, bytes) => again(() => store.write(path, bytes)),
    remove: (path) => again(() => store.remove(path)),
    async *list(folder, after) {
      yield* await again(async () => {
        const found: StoredFile[] = [];
        for await (const file of store.list(folder, after)) found.push(file);
        return found;
      });
    },
  };
}

async function* listed(files: Promise<StoredFile[]>): AsyncGenerator<StoredFile> {
  yield* await files;
}
