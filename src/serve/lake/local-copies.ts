import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { LedgerlakeError } from '../../core/errors.js';
import type { Store } from '../../lake/store/store.js';
import type { CommittedFile } from './committed-files.js';

/** A lake's files as ones that DuckDB can open without an extension. */
export interface LocalCopies {
  /** Where all of them are: the lake's own folder, or that of the copies. */
  readonly folder: string;
  /**
   * The file's address on the local disk; of a lake elsewhere the file is copied from there, and the copy kept while there
   * is room.
   *
   * @throws MissingFile where the file has gone
   */
  addressOf(file: CommittedFile): Promise<string>;
  /** Removes the copies. */
  clear(): Promise<void>;
}

/** A file that the log named when it was read, and that a commit has replaced since. */
export class MissingFile extends LedgerlakeError {
  constructor(path: string, { location }: Store) {
    super(
      'LAKE_STORE',
      `expected the file ${path} in ${location}, the log names it and it is missing; \`ledgerlake verify\` tells what else is`,
    );
  }
}

interface Copy {
  readonly size: number;
  readonly path: Promise<string>;
}

/** `room`: bytes of the local disk that copies may take; the one that was used longest ago goes first. */
export async function localCopies(store: Store, room: number): Promise<LocalCopies> {
  /** By path within the lake, the one that was used last at the end. */
  const copies = new Map<string, Copy>();
  let taken = 0;
  const root = store.address('');
  const copied = isAbsolute(root) ? undefined : await mkdtemp(join(tmpdir(), 'ledgerlake-serve-'));
  const folder = copied ?? root;

  async function copy(path: string): Promise<string> {
    const bytes = await store.read(path);
    if (bytes === undefined) throw new MissingFile(path, store);
    const target = join(folder, `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.parquet`);
    await writeFile(target, bytes);
    return target;
  }

  function drop(path: string, { size, path: target }: Copy): void {
    copies.delete(path);
    taken -= size;
    // Who has it open reads on; who is about to open it asks for it again.
    void target.then((name) => rm(name, { force: true })).catch(() => undefined);
  }

  return {
    folder,
    addressOf: ({ path, size }) => {
      const address = store.address(path);
      if (isAbsolute(address)) return Promise.resolve(address);
      const found = copies.get(path);
      const made = found ?? { size, path: copy(path) };
      copies.delete(path);
      copies.set(path, made);
      if (found === undefined) {
        taken += size;
        made.path.catch(() => {
          if (copies.get(path) === made) drop(path, made);
        });
        for (const [oldest, other] of copies) {
          if (taken <= room || other === made) break;
          drop(oldest, other);
        }
      }
      return made.path;
    },
    clear: async () => {
      if (copied !== undefined) await rm(copied, { recursive: true, force: true });
    },
  };
}
