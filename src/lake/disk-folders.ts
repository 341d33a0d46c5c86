import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
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
