import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LedgerlakeError } from '../../core/errors.js';
import { localFile } from './checked-file.js';
import type { Store } from '../store/store.js';

/** A folder of the local disk for files on their way into a lake or out of it. */
export interface LocalFiles {
  readonly folder: string;
  /** A lake's file as one of the local disk; a lake elsewhere is copied from. */
  fetch(path: string): Promise<string>;
  /** A name for a new file. */
  fresh(): string;
  /** Removes what is there by now. */
  clear(): Promise<void>;
}

/**
 * Uses a local folder and removes it. It is the lake's own by its name: what a run that was killed left there goes before
 * the next one begins. Only one run may use it at a time.
 *
 * @throws what `use` throws, or the file system's error
 */
export async function withLocalFiles<T>(store: Store, use: (files: LocalFiles) => Promise<T>): Promise<T> {
  const folder = join(
    tmpdir(),
    `ledgerlake-${createHash('sha256').update(store.address('x')).digest('hex').slice(0, 16)}`,
  );
  const clear = () => rm(folder, { recursive: true, force: true });
  const make = async () => {
    await clear();
    // Fails where somebody else has put a folder of that name there meanwhile, and nobody else may look inside.
    await mkdir(folder, { mode: 0o700 });
  };
  let count = 0;
  const fresh = () => join(folder, `${count++}.parquet`);
  await make();
  try {
    return await use({
      folder,
      fresh,
      fetch: async (path) => {
        const file = await localFile(store, path, fresh);
        if (file !== undefined) return file;
        throw new LedgerlakeError(
          'LAKE_STORE',
          `expected the file ${path} in ${store.location}, the log names it and it is missing; \`ledgerlake verify\` tells what else is`,
        );
      },
      clear: make,
    });
  } finally {
    await clear();
  }
}
