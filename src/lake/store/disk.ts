import { link, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.js';
import { makeFolders, readRange } from '../../core/io/files.js';
import { codeOf, diskFailure } from './disk-failure.js';
import { removeEmptyPartitions, listFiles, refuseLinkedFolder, refuseLinks } from './disk-folders.js';
import { type Store, checkFolder, checkPath, checkRange, sliceOf, temporaryFolder } from './store.js';
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
export function diskStore(location: string, options: DiskOptions = {}): Store {
  const { clock = systemClock, link: giveName = link } = options;
  const root = resolve(location);
  const temporary = join(root, temporaryFolder);
  let naming: Promise<() => string> | undefined;
  /** Folders that are known to outlive a crash. */
  const lasting = new Set<string>();

  /** Makes a folder, and sees to it that every name on the way to it is on the disk. */
  const makeFolder = async (folder: string): Promise<void> => {
    if (lasting.has(folder)) return;
    const first = await makeFolders(folder);
    // Up to the lake always, as another process may have made a folder and not flushed its name yet; above it only
    // where this call made one.
    const top = first !== undefined && root.startsWith(first) ? dirname(first) : root;
    for (let at = folder; at !== top && at !== dirname(at); at = dirname(at)) await flushFolder(dirname(at));
    lasting.add(folder);
  };

  const writeTemporary = async (bytes: Uint8Array): Promise<string> => {
    refuseLinks(root, temporaryFolder);
    naming ??= thisWriter().then(temporaryNames);
    const path = join(temporary, (await naming)());
    await withRetries(() => makeFolder(temporary).then(() => writeWhole(path, bytes)));
    return path;
  };

  /** Does `step` with the file's folder there, again where the folder goes before it is done. */
  const inFolder = <T>(file: string, step: () => Promise<T>): Promise<T> =>
    withRetries(async () => {
      await makeFolder(dirname(file));
      return step();
    });

  const withRetries = async <T>(step: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await step();
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === attempts) throw error;
        lasting.clear();
      }
    }
  };

  /** Gives the temporary file its name unless that is taken, on file systems of either kind. */
  const nameOnce = async (source: string, target: string, bytes: Uint8Array): Promise<boolean> => {
    try {
      await giveName(source, target);
      return true;
    } catch (error) {
      const code = codeOf(error) ?? '';
      // Over a network a link can be made and its answer lost, and the repeated call then finds it there: two names, ours.
      if (code === 'EEXIST') return (await stat(source)).nlink === 2;
      if (!noLinks.has(code)) throw error;
    }
    try {
      // Without hard links exclusive creation still decides who wins, but a reader may see the file grow.
      await writeWhole(target, bytes);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  };

  /** A read of something that isn't there: nothing, unless the lake itself is a file. */
  const absent = async (error: unknown): Promise<undefined> => {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'EISDIR') return undefined;
    if (code === 'ENOTDIR' && (await isFolder(root))) return undefined;
    throw error;
  };

  /** Does `step` with the file at a path, once the path is found to lead nowhere else. */
  const at = async <T>(
    verb: 'read' | 'write' | 'remove',
    path: string,
    refuse: (root: string, path: string) => unknown,
    step: (file: string) => Promise<T>,
  ): Promise<T> => {
    checkPath(path);
    refuse(root, path);
    const file = join(root, path);
    try {
      return await step(file);
    } catch (error) {
      throw diskFailure(verb, file, error);
    }
  };

  const address = (path: string): string => {
    checkFolder(path);
    if (path !== '') refuseLinks(root, path);
    return join(root, path);
  };

  return {
    location,
    address,
    localPath: address,

    read: (path) => at('read', path, refuseLinks, (file) => readFile(file).catch(absent)),

    readRange: async (path, start, length) => {
      checkRange(start, length);
      return at('read', path, refuseLinks, (file) => readSlice(file, start, length).catch(absent));
    },

    write: (path, bytes) =>
      at('write', path, refuseLinkedFolder, async (file) => {
        const source = await writeTemporary(bytes);
        await inFolder(file, () => rename(source, file)).catch((error: unknown) => discard(source, error));
        await flushFolder(dirname(file));
      }),

    create: (path, bytes) =>
      at('write', path, refuseLinkedFolder, async (file) => {
        const source = await writeTemporary(bytes);
        const won = await inFolder(file, () => nameOnce(source, file, bytes)).catch((error: unknown) =>
          discard(source, error),
        );
        await unlinkIfExists(source);
        // The losers flush as well: what they go on from must not vanish in a crash.
        await flushFolder(dirname(file));
        return won;
      }),

    list: (folder, after = '') => {
      checkFolder(folder);
      if (folder !== '') refuseLinks(root, folder);
      const files = listFiles(root, folder === '' ? '' : `${folder}/`, after);
      return named(files, async (error) => {
        // A folder that is a file holds nothing, as on S3; a lake that is one is a mistake.
        if (codeOf(error) === 'ENOTDIR' && (await isFolder(root))) return;
        throw diskFailure('list', join(root, folder), error);
      });
    },

    remove: (path) =>
      at('remove', path, refuseLinkedFolder, async (file) => {
        await unlink(file).catch(absent);
        // A file that a commit replaced would be counted again if a crash brought it back.
        await flushFolder(dirname(file));
      }),

    removeUnfinished: async (all = false) => {
      refuseLinks(root, temporaryFolder);
      try {
        const swept = await sweepFolder(temporary, await thisWriter(), all ? Infinity : clock.now());
        if (all) {
          lasting.clear();
          await removeEmptyPartitions(root);
        }
        return swept;
      } catch (error) {
        throw diskFailure('remove', temporary, error);
      }
    },
  };
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
    if (codeOf(error) !== 'ENOENT') throw error;
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
    const code = codeOf(error) ?? '';
    if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'EINVAL', 'ENOTSUP'].includes(code)) throw error;
  } finally {
    await handle?.close();
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    (error: unknown) => codeOf(error) === 'ENOENT',
  );
}

async function readSlice(path: string, start: number, length: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { from, to } = sliceOf((await file.stat()).size, start, length);
    return await readRange(file, from, to - from);
  } finally {
    await file.close();
  }
}

/** Passes a list on; `failed` decides about its error. */
async function* named<T>(source: AsyncIterable<T>, failed: (error: unknown) => Promise<void>): AsyncIterable<T> {
  try {
    yield* source;
  } catch (error) {
    await failed(error);
  }
}

/**
 * Removes the temporaries of dead processes of this host, and those of other hosts that are older than a day. With
 * `now` at infinity also what no store has named.
 */
async function sweepFolder(folder: string, self: Writer, now: number): Promise<number> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
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
