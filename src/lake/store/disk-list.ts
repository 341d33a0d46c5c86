import type { Dirent, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from './disk-failure.js';
import type { StoredFile } from './store.js';
import { compareBytes, temporaryFolder } from './store-path.js';

/** So many files are asked for their size at once. */
const batch = 32;

interface Entry {
  /** What it is sorted by: the path relative to the lake, with a slash at the end of a folder's. */
  readonly key: string;
  readonly stats: Stats | undefined;
}

/**
 * The files below a folder of a lake on disk, in the byte order of their whole paths, those behind `after` only. What
 * vanishes meanwhile is left out. `prefix` is the folder relative to the lake with a slash at its end, or `''`.
 */
export async function* listFiles(root: string, prefix: string, after: string): AsyncIterable<StoredFile> {
  const entries: Entry[] = [];
  for (const found of await entriesOf(join(root, prefix))) {
    const path = prefix + found.name;
    if (path === temporaryFolder) continue;
    const stats = found.isSymbolicLink() ? await statsOf(join(root, path)) : undefined;
    if ((stats ?? found).isDirectory()) entries.push({ key: `${path}/`, stats: undefined });
    else if ((stats ?? found).isFile()) entries.push({ key: path, stats });
  }
  // With the slash a folder stands where its files do: `a-b` before `a/b`, for `-` comes before `/`.
  entries.sort((a, b) => compareBytes(a.key, b.key));
  const wanted = entries.filter(
    ({ key }) => compareBytes(key, after) > 0 || (key.endsWith('/') && after.startsWith(key)),
  );
  for (let from = 0; from < wanted.length; from += batch) {
    const some = wanted.slice(from, from + batch);
    const found = await Promise.all(
      some.map(async ({ key, stats }) => (key.endsWith('/') ? undefined : (stats ?? statsOf(join(root, key))))),
    );
    for (const [at, { key }] of some.entries()) {
      const file = found[at];
      if (key.endsWith('/')) yield* listFiles(root, key, after);
      else if (file !== undefined) yield { path: key, size: file.size, modifiedAt: file.mtimeMs };
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
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
