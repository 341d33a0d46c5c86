import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requiredFile } from '../../lake/files/local-file.js';
import type { Store } from '../../lake/store/store.js';
import type { CommittedFile } from './committed-files.js';

/** A lake's files on the local disk, where DuckDB can open them without an extension. */
export interface LocalCopies {
  /** The folder of all files: that of a local lake, or of the copies. */
  readonly folder: string;
  /**
   * Local path of the file; a remote file is downloaded, and the copy is reused while it fits `capacity`.
   *
   * @throws MissingFile where the file no longer exists
   */
  addressOf(file: CommittedFile): Promise<string>;
  /** Removes all copies. */
  clear(): Promise<void>;
}

interface Copy {
  readonly size: number;
  readonly path: Promise<string>;
}

/**
 * Makes a store's files local. `capacity`: bytes of local disk for copies; the least recently used one is removed first.
 */
export async function localCopies(store: Store, capacity: number): Promise<LocalCopies> {
  /** Copies by path within the lake, least recently used first. */
  const copies = new Map<string, Copy>();
  let used = 0;
  const root = store.localPath('');
  const folder = root ?? (await mkdtemp(join(tmpdir(), 'ledgerlake-serve-')));

  function drop(path: string, { size, path: target }: Copy): void {
    copies.delete(path);
    used -= size;
    // An open file stays readable; a reader that finds no file requests a new copy.
    void target.then((name) => rm(name, { force: true })).catch(() => undefined);
  }

  return {
    folder,
    addressOf: ({ path, size }) => {
      const localPath = store.localPath(path);
      if (localPath !== undefined) return Promise.resolve(localPath);
      const found = copies.get(path);
      // A new name each time: the copy that was dropped last may still be there.
      const newPath = () => join(folder, `${randomUUID()}.parquet`);
      const localCopy = found ?? { size, path: requiredFile(store, path, newPath) };
      copies.delete(path);
      copies.set(path, localCopy);
      if (found === undefined) {
        used += size;
        localCopy.path.catch(() => {
          if (copies.get(path) === localCopy) drop(path, localCopy);
        });
        for (const [oldest, other] of copies) {
          if (used <= capacity || other === localCopy) break;
          drop(oldest, other);
        }
      }
      return localCopy.path;
    },
    clear: async () => {
      if (root === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
