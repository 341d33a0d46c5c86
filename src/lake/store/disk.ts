import { link, lstat, readdir, rename, stat, unlink, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.js';
import { makeFolders, openToRead, openUnlinked, readFileRange } from '../../core/io/files.js';
import { refuseLinkedFolder, refuseLinks } from '../../core/io/links.js';
import { writeNewFile } from '../../core/io/write-file.js';
import { systemCode, LedgerlakeError, messageOf } from '../../core/errors.js';
import {
  type Store,
  type StoredFile,
  checkFolder,
  checkPath,
  checkRange,
  clampRange,
  temporaryFolder,
  compareBytes,
} from './store.js';
import { type Writer, isRunning, temporaryNames, thisWriter, writerOf } from './writer-name.js';
import { dayMs } from '../../core/windows.js';
import type { Dirent, Stats } from 'node:fs';

export interface DiskOptions {
  /** Measures the age of temporary files. */
  readonly clock?: Clock;
  /** Creates a hard link; tests pass one that fails, as on some file systems. */
  readonly link?: (existing: string, path: string) => Promise<void>;
}

/** Error codes of link() on file systems without hard links. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK', 'EACCES']);

/** Maximum attempts where another process removes a folder between its creation and its use. */
const attempts = 20;

/**
 * A lake in a local folder. A file is written under `_tmp`, flushed and then renamed, so that no reader sees a partial
 * file; its folder is flushed as well, so that the name survives a crash. Empty folders stay, because removing one
 * could lose another writer's new file in a crash. Only an exclusive sweep removes empty partition folders.
 */
export function diskStore(location: string, { clock = systemClock, link: hardLink = link }: DiskOptions = {}): Store {
  const root = resolve(location);
  const files = new LakeFolder(root, hardLink);

  const addressOf = (path: string): string => {
    checkFolder(path);
    if (path !== '') refuseLinks(root, path);
    return join(root, path);
  };
  /** Calls `step` with the file at a path, after the path was checked for links. */
  const at = async <T>(verb: 'read' | 'write' | 'remove', path: string, step: (file: string) => Promise<T>) => {
    checkPath(path);
    if (verb === 'read') refuseLinks(root, path);
    else refuseLinkedFolder(root, path);
    const file = join(root, path);
    return step(file).catch((error: unknown) => {
      throw diskFailure(verb, file, error);
    });
  };
  /** Handles the error of a missing file: undefined, unless the lake itself is a file. */
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
    read: (path) => at('read', path, (file) => readWhole(file).catch(absent)),
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
        // Flushed, so that a crash can't restore the file.
        await flushFolder(dirname(file));
      }),
    removeUnfinished: (all = false) => files.sweep(all, clock.now()),
  };
}

/** The files of `listFiles`; a folder that is a file has none, as on S3, but a lake that is a file is an error. */
async function* filesBelow(root: string, folder: string, prefix: string, after: string): AsyncIterable<StoredFile> {
  try {
    yield* listFiles(root, prefix, after);
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR' || !(await isFolder(root))) {
      // The folder that the system names may be one below.
      const failed = error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : folder;
      throw diskFailure('list', resolve(failed), error);
    }
  }
}

/** Writes the files of a lake under `_tmp` and renames them once they are complete. */
class LakeFolder {
  readonly #root: string;
  readonly #temporary: string;
  readonly #link: NonNullable<DiskOptions['link']>;
  #names: Promise<() => string> | undefined;
  /** Folders whose names are known to survive a crash. */
  readonly #flushedFolders = new Set<string>();

  constructor(root: string, hardLink: NonNullable<DiskOptions['link']>) {
    this.#root = root;
    this.#temporary = join(root, temporaryFolder);
    this.#link = hardLink;
  }

  /** Writes a file, and replaces an existing one. */
  async replace(file: string, bytes: Uint8Array): Promise<void> {
    const source = await this.#writeTemporary(bytes);
    await this.#inFolder(file, () => rename(source, file)).catch((error: unknown) => discard(source, error));
    await flushFolder(dirname(file));
  }

  /** Writes a file unless it exists. Returns whether this call wrote it. */
  async create(file: string, bytes: Uint8Array): Promise<boolean> {
    const source = await this.#writeTemporary(bytes);
    const won = await this.#inFolder(file, () => this.#linkOnce(source, file, bytes)).catch((error: unknown) =>
      discard(source, error),
    );
    await unlinkIfExists(source);
    // The losers flush as well: the file that they continue from must survive a crash.
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
    await this.#inFolder(path, () => writeNewFile(path, bytes, { isFlushed: true }));
    return path;
  }

  /** Creates the file's folder and calls `step`, again where the folder is removed meanwhile. */
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

  /** Creates a folder, and flushes the names of its parents. */
  async #makeFolder(folder: string): Promise<void> {
    if (this.#flushedFolders.has(folder)) return;
    const first = await makeFolders(folder);
    // Up to the lake's root always, because another process may have created a folder without flushing it yet; above
    // the root only where this call created a folder.
    const top = first !== undefined && this.#root.startsWith(first) ? dirname(first) : this.#root;
    for (let at = folder; at !== top && at !== dirname(at); at = dirname(at)) await flushFolder(dirname(at));
    this.#flushedFolders.add(folder);
  }

  /** Gives the temporary file its name unless a file of that name exists, with or without hard links. */
  async #linkOnce(source: string, target: string, bytes: Uint8Array): Promise<boolean> {
    try {
      await this.#link(source, target);
      return true;
    } catch (error) {
      const code = systemCode(error) ?? '';
      // On a network file system the answer to a successful link may be lost, and the retry finds the name taken: then
      // the file has two names.
      if (code === 'EEXIST') return (await stat(source)).nlink === 2;
      if (!noLinks.has(code)) throw error;
    }
    try {
      // Without hard links exclusive creation decides who wins, but a reader may see a partial file.
      await writeNewFile(target, bytes, { isFlushed: true });
      return true;
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false;
      throw error;
    }
  }
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

/** Flushes the names in a folder, unless it was removed. */
async function flushFolder(folder: string): Promise<void> {
  let handle;
  try {
    handle = await openToRead(folder);
    await handle.sync();
  } catch (error) {
    // Windows can't open folders, and some network file systems can't flush them: there the system orders names.
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

async function readWhole(path: string): Promise<Uint8Array> {
  const file = await openUnlinked(path);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function readSlice(path: string, start: number, length: number): Promise<Uint8Array> {
  const file = await openUnlinked(path);
  try {
    const { from, to } = clampRange((await file.stat()).size, start, length);
    return await readFileRange(file, from, to - from);
  } finally {
    await file.close();
  }
}

/**
 * Removes the temporary files of dead processes on this machine, and those of other machines that are older than a day. With
 * `now` at Infinity also files that no store has named.
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
    const age = await lstat(path).then(
      ({ mtimeMs }) => now - mtimeMs,
      () => 0,
    );
    if (writer?.machine === self.machine ? await isRunning(writer) : age <= dayMs) continue;
    await unlinkIfExists(path);
    removed++;
  }
  return removed;
}

const advice: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; give this user read and write access to it, or choose another --lake',
  EPERM: 'the system does not permit it; check its owner and its mount options, or choose another --lake',
  ENOSPC: 'the disk is full; free space and run again, what was committed stays',
  EDQUOT: 'the disk quota is used up; free space and run again, what was committed stays',
  EROFS: 'the file system is read-only; mount it for writing or choose another --lake',
  ENOENT:
    'a folder of the path is missing and cannot be created; check where its symbolic links lead, or choose another --lake',
  ENOTDIR: 'a part of the path is a file or a broken link, not a folder; choose another --lake or move that file away',
  EISDIR: 'it is a folder, not a file; move it away',
  EEXIST: 'it is a file, not a folder; choose another --lake or move that file away',
  ENAMETOOLONG: 'the name is too long for this file system; choose a shorter account id or --lake',
  EMFILE: 'too many files are open; raise the limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine; close other programs or raise its limit',
  EIO: 'the disk reports an input/output error; check the disk before you run again',
  ELOOP: 'its symbolic links form a loop; remove one of them',
  EFBIG: 'it is larger than the file system allows; choose another --lake',
  ESTALE: 'the network file system lost it; mount it again and run again',
};

/** The error for a failed file system call: the path, the fault and the advice. */
export function diskFailure(verb: 'read' | 'write' | 'list' | 'remove', path: string, error: unknown): LedgerlakeError {
  if (error instanceof LedgerlakeError) return error;
  const code = systemCode(error);
  const what = (code === undefined ? undefined : advice[code]) ?? messageOf(error);
  return new LedgerlakeError('LAKE_STORE', `cannot ${verb} ${path}: ${what}${code === undefined ? '' : ` (${code})`}`, {
    cause: error,
    details: messageOf(error),
  });
}

const partition = /^(?:account|month)=/;

/** Error codes of a folder that isn't empty or doesn't exist any more. */
const ignoredCodes = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/**
 * Removes empty partition folders (`account=…/month=…`) below a lake's tables, also those with only empty partition
 * folders. A concurrent writer creates its folder again.
 *
 * @throws the system's error
 */
async function removeEmptyPartitions(root: string): Promise<void> {
  for (const table of await foldersIn(root)) {
    if (table.startsWith('_')) continue;
    for (const name of await foldersIn(join(root, table))) {
      const folder = join(root, table, name);
      if (partition.test(name)) await removeEmpty(folder);
      // Symlink manifests have the same partition folders.
      else
        for (const child of await foldersIn(folder)) if (partition.test(child)) await removeEmpty(join(folder, child));
    }
  }
}

async function removeEmpty(folder: string): Promise<void> {
  for (const name of await foldersIn(folder)) if (partition.test(name)) await removeEmpty(join(folder, name));
  try {
    await rmdir(folder);
  } catch (error) {
    if (!ignoredCodes.has(systemCode(error) ?? '')) throw error;
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (ignoredCodes.has(systemCode(error) ?? '')) return [];
    throw error;
  }
}

/** Number of concurrent calls of `lstat`. */
const batch = 32;

/**
 * The files below a folder of a lake on disk, in the byte order of their paths, only those behind `after`. Files that
 * are removed meanwhile are left out, and so is anything but files and folders: a link may lead out of the lake.
 * `prefix` is the folder relative to the lake with a slash at its end, or `''`.
 */
export async function* listFiles(root: string, prefix: string, after: string): AsyncIterable<StoredFile> {
  // Sort keys: paths relative to the lake, with a slash at the end of a folder.
  const keys: string[] = [];
  for (const found of await folderEntries(join(root, prefix))) {
    const path = prefix + found.name;
    if (path === temporaryFolder) continue;
    if (found.isDirectory()) keys.push(`${path}/`);
    else if (found.isFile()) keys.push(path);
  }
  // The slash sorts a folder like its files: `a-b` before `a/b`, because `-` is before `/`.
  keys.sort(compareBytes);
  const wanted = keys.filter((key) => compareBytes(key, after) > 0 || (key.endsWith('/') && after.startsWith(key)));
  for (let from = 0; from < wanted.length; from += batch) {
    const some = wanted.slice(from, from + batch);
    const found = await Promise.all(
      some.map(async (key) => (key.endsWith('/') ? undefined : statsOf(join(root, key)))),
    );
    for (const [at, key] of some.entries()) {
      const file = found[at];
      if (key.endsWith('/')) yield* listFiles(root, key, after);
      else if (file?.isFile() === true)
        yield { path: key, size: file.size, modifiedAt: file.mtimeMs, changedAt: file.ctimeMs };
    }
  }
}

async function folderEntries(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
