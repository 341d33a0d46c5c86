import { mkdir, readdir, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from './disk-failure.js';

/**
 * Makes a folder with those on the way to it; the first one that wasn't there, or undefined where all of them were.
 *
 * @throws what the system has against it
 */
export async function makeFolders(folder: string): Promise<string | undefined> {
  try {
    return await mkdir(folder, { recursive: true });
  } catch (error) {
    // Node says ENOENT for whole paths, whatever the reason: the first folder that is missing tells it.
    if (codeOf(error) === 'ENOENT') await makeFirstMissing(folder, error);
    throw error;
  }
}

async function makeFirstMissing(folder: string, error: unknown): Promise<void> {
  let missing = folder;
  while (dirname(missing) !== missing && !(await isThere(dirname(missing)))) missing = dirname(missing);
  await mkdir(missing).catch((reason: unknown) => {
    throw codeOf(reason) === 'EEXIST' ? error : reason;
  });
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Folders of partitions. */
const partition = /^(?:account|month)=/;

/** What keeps a folder where it is: somebody has put something into it, or has taken it away already. */
const keeping = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/**
 * Removes the folders of partitions (`account=…/month=…`) below a lake's tables that hold nothing, or nothing but such folders.
 * A writer that is about to put a file into one makes it anew.
 *
 * @throws what the system has against it
 */
export async function removeEmptyPartitions(root: string): Promise<void> {
  for (const table of await foldersIn(root)) {
    if (table.startsWith('_')) continue;
    for (const name of await foldersIn(join(root, table))) {
      if (partition.test(name)) await removeEmpty(join(root, table, name));
    }
  }
}

async function removeEmpty(folder: string): Promise<void> {
  for (const name of await foldersIn(folder)) if (partition.test(name)) await removeEmpty(join(folder, name));
  try {
    await rmdir(folder);
  } catch (error) {
    if (!keeping.has(codeOf(error) ?? '')) throw error;
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (keeping.has(codeOf(error) ?? '')) return [];
    throw error;
  }
}
