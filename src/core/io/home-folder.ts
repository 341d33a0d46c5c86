import { lstatSync, mkdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { variableOf } from '../environment.js';
import { LedgerlakeError, systemCode } from '../errors.js';

/** The user's home folder; undefined where there is none, as in a container under a uid that passwd doesn't have. */
export function homeFolder(find: () => string = homedir): string | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

/**
 * The folder for caches: `XDG_CACHE_HOME`, else `.cache` in the user's home folder, else `temporaryCache`.
 *
 * @throws LedgerlakeError LAKE_STORE, or the system's error, as `temporaryCache`
 */
export function userCache(): string {
  const set = variableOf(process.env, 'XDG_CACHE_HOME');
  if (set !== undefined) return set;
  const home = homeFolder();
  return home === undefined ? temporaryCache() : join(home, '.cache');
}

/**
 * The folder for caches of a user without a home: in the temporary folder, created for this user alone.
 *
 * @throws LedgerlakeError LAKE_STORE where it belongs to somebody else or others can write to it, or the system's error
 */
export function temporaryCache(root = tmpdir(), uid = process.getuid?.() ?? 0): string {
  const folder = join(root, `ledgerlake-cache-${uid}`);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  const found = lstatSync(folder);
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0) return folder;
  throw new LedgerlakeError(
    'LAKE_STORE',
    `expected ${folder} to be a folder of this user alone, got one that others own or can open; remove it, or set XDG_CACHE_HOME`,
  );
}
