import { compare } from '../../../src/core/compare.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { clampRange, type Store, type StoredFile } from '../../../src/lake/store/store.js';

/** A call of a store, by what it does. */
export type CallName = 'read' | 'create' | 'write' | 'remove' | 'list';

/** Is told of what takes effect, at that instant. */
export interface Observer {
  created(path: string, bytes: Uint8Array): void;
  written(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void;
  removed(path: string): void;
}

/** Files in memory, and stores over them. */
export class MemoryFiles {
  readonly files = new Map<string, Uint8Array>();
  readonly #observer: Observer;
  /** Where the lake would be: addresses begin with it. */
  readonly #address: string;

  constructor(observer: Observer, address = '') {
    this.#observer = observer;
    this.#address = address;
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
    const prefix = folder === '' ? '' : `${folder}/`;
    return [...this.files.keys()]
      .filter((path) => path.startsWith(prefix) && path > after)
      .toSorted(compare)
      .map((path) => ({ path, size: this.files.get(path)?.length ?? 0, modifiedAt: 0 }));
  }

  /** A store whose calls take effect at once. */
  direct(): Store {
    return this.storeOver((_name, _path, effect) => Promise.resolve().then(effect));
  }

  /** A store each call of which takes effect when `call` lets it. */
  protected storeOver(call: <T>(name: CallName, path: string, effect: () => T) => Promise<T>): Store {
    return {
      location: 'lake',
      address: (path) => [this.#address, path].filter((part) => part !== '').join('/'),
      localPath: () => undefined,
      read: (path) => call('read', path, () => this.files.get(path)?.slice()),
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
export function failureOf({ name, path }: { readonly name: CallName; readonly path: string }): LedgerlakeError {
  const code = name === 'create' ? 'LAKE_UNCLEAR' : 'LAKE_STORE';
  return new LedgerlakeError(code, `cannot ${name} ${path}: the simulation makes it fail`);
}

async function* listed(files: Promise<StoredFile[]>): AsyncGenerator<StoredFile> {
  yield* await files;
}
