import { readdir, rmdir, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dirent, Stats } from 'node:fs';
import { type StoredFile, compareBytes, temporaryFolder } from './store.js';
import { systemCode } from '../../core/errors.js';

const partition = /^(?:account|month)=/;

/** Error codes of a folder that isn't empty or doesn't exist any more. */
const ignoredCodes = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/**
 * Removes empty partition folders (`account=…/month=…`) below a lake's tables, also those with only empty partition
 * folders. A concurrent writer creates its folder again.
 *
 * @throws the system's error
 */
export async function removeEmptyPartitions(root: string): Promise<void> {
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
  for (const found of await entriesOf(join(root, prefix))) {
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

async function entriesOf(folder: string): Promise<Dirent[]> {
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
