import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './disk-failure.js';
import type { StoredFile } from './store.js';
import { compareBytes, temporaryFolder } from './store-path.js';

/** So many files are asked for their size at once. */
const batch = 32;

/**
 * The files below a folder of a lake on disk, in the byte order of their whole paths, those behind `after` only. What
 * vanishes meanwhile is left out, and so is what is neither a file nor a folder: a link may lead out of the lake, to where
 * nobody may list or delete. `prefix` is the folder relative to the lake with a slash at its end, or `''`.
 */
export async function* listFiles(root: string, prefix: string, after: string): AsyncIterable<StoredFile> {
  // What it is sorted by: the path relative to the lake, with a slash at the end of a folder's.
  const keys: string[] = [];
  for (const found of await entriesOf(join(root, prefix))) {
    const path = prefix + found.name;
    if (path === temporaryFolder) continue;
    if (found.isDirectory()) keys.push(`${path}/`);
    else if (found.isFile()) keys.push(path);
  }
  // With the slash a folder stands where its files do: `a-b` before `a/b`, for `-` comes before `/`.
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
      else if (file?.isFile() === true) yield { path: key, size: file.size, modifiedAt: file.mtimeMs };
    }
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
