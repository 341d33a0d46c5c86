import { link, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.js';
import { makeFolders, readFileRange } from '../../core/io/files.js';
import { systemCode } from '../../core/errors.js';
import { diskFailure } from './disk-failure.js';
import { removeEmptyPartitions, listFiles, refuseLinkedFolder, refuseLinks } from './disk-folders.js';
import {
  type Store,
  type StoredFile,
  checkFolder,
  checkPath,
  checkRange,
  clampRange,
  temporaryFolder,
} from './store.js';
import { type Writer, isAlive, temporaryNames, thisWriter, writerOf } from './writer-name.js';
import { dayMs } from '../../core/windows.js';

export interface DiskOptions {
  /** What a temporary file's age is measured by. */
  readonly clock?: Clock;
  /** Gives a file a second name; tests hand in one that can't, as some file systems can't. */
  readonly link?: (existing: string, path: string) => Promise<void>;
}

/** What link() says on file systems without hard links. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK', 'EACCES']);

/** A folder can be taken away between its making and its use, but nobody does that without end. */
const attempts = 20;

/**
 * A lake in a folder of the local disk. A file is written under `_tmp`, flushed, and only then given its name, so that
 * nobody ever sees half a file; its folder is flushed too, so that the name outlives a crash. Folders stay when they
 * are empty: one that goes could take another writer's new file's name with it in a crash. Only a sweep of somebody who
 * is alone with the lake takes those of partitions away.
 */
export function diskStore(location: string, { clock = systemClock, link: giveName = link }: DiskOptions = {}): Store {
  const root = resolve(location);
  const files = new LakeFolder(root, giveName);

  const addressOf = (path: string): string => {
    checkFolder(path);
    if (path !== '') refuseLinks(root, path);
    return join(root, path);
  };
  /** Does `step` with the file at a path, once the path is found to lead nowhere else. */
  const at = async <T>(verb: 'read' | 'write' | 'remove', path: string, step: (file: string) => Promise<T>) => {
    checkPath(path);
    if (verb === 'read') refuseLinks(root, path);
    else refuseLinkedFolder(root, path);
    const file = join(root, path);
    return step(file).catch((error: unknown) => {
      throw diskFailure(verb, file, error);
    });
  };
  /** A read of something that isn't there: nothing, unless the lake itself is a file. */
  const absent = async (error: unknown): Promise<undefined> => {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'EISDIR') return;
    if (code === 'ENOTDIR' && (await isFolder(root))) return;
    throw error;
  };

  return {
    location,
    address: addressOf,
    localPath: addressOf,
    read: (path) => at('read', path, (file) => readFile(file).catch(absent)),
    readRange: async (path, start, length) => {
      checkRange(start, length);
      return at('read', path, (file) => readSlice(file, start, length).catch(absent));
    },
    write: (path, bytes) => at('write', path, (file) => files.replace(file, bytes)),
    create: (path, bytes) => at('write', path, (file) => files.create(file, bytes)),
    list: (folder, after = '') => filesBelow(root, addressOf(folder), folder === '' ? '' : `${folder}/`, after),
    remove: (path) =>
      at('remove', path, async (file) => {
        await unlink(file).catch(absent);
        // A file that a commit replaced would be counted again if a crash brought it back.
        await flushFolder(dirname(file));
      }),
    removeUnfinished: (all = false) => files.sweep(all, clock.now()),
  };
}

/** The files of `listFiles`; a folder that is a file holds none, as on S3, but a lake that is one is a mistake. */
async function* filesBelow(root: string, folder: string, prefix: string, after: string): AsyncIterable<StoredFile> {
  try {
    yield* listFiles(root, prefix, after);
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR' || !(await isFolder(root))) throw diskFailure('list', folder, error);
  }
}

/** The files of a lake: written under `_tmp`, and given their names once they are whole. */
class LakeFolder {
  readonly #root: string;
  readonly #temporary: string;
  readonly #link: NonNullable<DiskOptions['link']>;
  #names: Promise<() => string> | undefined;
  /** Folders that are known to outlive a crash. */
  readonly #flushedFolders = new Set<string>();

  constructor(root: string, giveName: NonNullable<DiskOptions['link']>) {
    this.#root = root;
    this.#temporary = join(root, temporaryFolder);
    this.#link = giveName;
  }

  /** Writes a file, also where there is one. */
  async replace(file: string, bytes: Uint8Array): Promise<void> {
    const source = await this.#writeTemporary(bytes);
    await this.#inFolder(file, () => rename(source, file)).catch((error: unknown) => discard(source, error));
    await flushFolder(dirname(file));
  }

  /** Writes a file unless there is one; whether this call did. */
  async create(file: string, bytes: Uint8Array): Promise<boolean> {
    const source = await this.#writeTemporary(bytes);
    const won = await this.#inFolder(file, () => this.#linkOnce(source, file, bytes)).catch((error: unknown) =>
      discard(source, error),
    );
    await unlinkIfExists(source);
    // The losers flush as well: what they go on from must not vanish in a crash.
    await flushFolder(dirname(file));
    return won;
  }

  /** See `Store.removeUnfinished`. `now`: milliseconds since 1970. */
  async sweep(all: boolean, now: number): Promise<number> {
    refuseLinks(this.#root, temporaryFolder);
    try {
      const swept = await sweepFolder(this.#temporary, await thisWriter(), all ? Infinity : now);
      if (all) {
        this.#flushedFolders.clear();
        await removeEmptyPartitions(this.#root);
      }
      return swept;
    } catch (error) {
      throw diskFailure('remove', this.#temporary, error);
    }
  }

  async #writeTemporary(bytes: Uint8Array): Promise<string> {
    refuseLinks(this.#root, temporaryFolder);
    this.#names ??= thisWriter().then(temporaryNames);
    const path = join(this.#temporary, (await this.#names)());
    await this.#inFolder(path, () => writeWhole(path, bytes));
    return path;
  }

  /** Does `step` with the file's folder there, again where the folder goes before it is done. */
  async #inFolder<T>(file: string, step: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#makeFolder(dirname(file));
        return await step();
      } catch (error) {
        if (systemCode(error) !== 'ENOENT' || attempt === attempts) throw error;
        this.#flushedFolders.clear();
      }
    }
  }

  /** Makes a folder, and sees to it that every name on the way to it is on the disk. */
  async #makeFolder(folder: string): Promise<void> {
    if (this.#flushedFolders.has(folder)) return;
    const first = await makeFolders(folder);
    // Up to the lake always, as another process may have made a folder and not flushed its name yet; above it only
    // where this call made one.
    const top = first !== undefined && this.#root.startsWith(first) ? dirname(first) : this.#root;
    for (let at = folder; at !== top && at !== dirname(at); at = dirname(at)) await flushFolder(dirname(at));
    this.#flushedFolders.add(folder);
  }

  /** Gives the temporary file its name unless that is taken, on file systems of either kind. */
  async #linkOnce(source: string, target: string, bytes: Uint8Array): Promise<boolean> {
    try {
      await this.#link(source, target);
      return true;
    } catch (error) {
      const code = systemCode(error) ?? '';
      // Over a network a link can be made and its answer lost, and the repeated call then finds it there: two names, ours.
      if (code === 'EEXIST') return (await stat(source)).nlink === 2;
      if (!noLinks.has(code)) throw error;
    }
    try {
      // Without hard links exclusive creation still decides who wins, but a reader may see the file grow.
      await writeWhole(target, bytes);
      return true;
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false;
      throw error;
    }
  }
}

/** Writes a file that isn't there yet and flushes it; one that can't be finished is taken away again. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await file.close();
    await discard(path, error);
  }
  await file.close();
}

async function discard(path: string, error: unknown): Promise<never> {
  await unlinkIfExists(path);
  throw error;
}

async function unlinkIfExists(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
  });
}

/** Flushes the names in a folder; one that is gone has none. */
async function flushFolder(folder: string): Promise<void> {
  let handle;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    // Windows opens no folders and some network file systems flush none: there the system orders names by itself.
    const code = systemCode(error) ?? '';
    if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'EINVAL', 'ENOTSUP'].includes(code)) throw error;
  } finally {
    await handle?.close();
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    (error: unknown) => systemCode(error) === 'ENOENT',
  );
}

async function readSlice(path: string, start: number, length: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { from, to } = clampRange((await file.stat()).size, start, length);
    return await readFileRange(file, from, to - from);
  } finally {
    await file.close();
  }
}

/**
 * Removes the temporaries of dead processes of this host, and those of other hosts that are older than a day. With
 * `now` at infinity also what no store has named.
 */
async function sweepFolder(folder: string, self: Writer, now: number): Promise<number> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  let removed = 0;
  for (const name of names) {
    const writer = writerOf(name);
    const path = join(folder, name);
    if (writer === undefined && now !== Infinity) continue;
    const dead = writer?.host === self.host ? !(await isAlive(writer)) : await isOlder(path, now - dayMs);
    if (!dead) continue;
    await unlinkIfExists(path);
    removed++;
  }
  return removed;
}

async function isOlder(path: string, instant: number): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.mtimeMs < instant,
    () => false,
  );
}
