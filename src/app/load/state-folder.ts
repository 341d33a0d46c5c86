import { shortHash } from '../../core/short-hash.js';
import { variableOf } from '../../core/environment.js';
import { systemCode } from '../../core/errors.js';
import { homeFolder, userCache } from '../../core/io/home-folder.js';
import { readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { below, checkedPath, refuseLinks, type PathBelow } from '../../core/io/links.js';
import { isTemporaryName } from '../../core/io/write-file.js';
import type { OptionalSettings, Settings } from '../configuration/settings.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import { openPersistedQuota, type PersistedQuota } from '../../engine/page-journal/persisted-quota.js';

/** The options that decide where a run's state is kept. */
export interface StateLocation extends Pick<Settings, 'lake'>, OptionalSettings<'journal'> {
  /** Keeps the level of the quota elsewhere than in a file, by the file's name. */
  readonly quotas?: ((name: string) => Promise<PersistedQuota>) | undefined;
}

/** The folder of saved pages, within an account's state folder. */
export const pagesFolder = 'pages';

/**
 * The folder for the pages of an account's unfinished slices and the level of its quota: in the lake under a name that no table
 * has, for a lake on S3 in the user's cache, without a home folder in the temporary folder. It may be deleted at any time. Names have
 * hashes of addresses, which may contain a password.
 *
 * @throws LedgerlakeError LAKE_STORE where a link in the lake leads elsewhere, or others can open the temporary cache
 */
export function stateFolder({ lake, journal }: StateLocation, account: string): PathBelow {
  if (journal !== undefined) return { root: resolve(journal), path: account };
  const root = lakeFolder(lake);
  if (root !== undefined) {
    refuseLinks(root, `_journal/${account}/${pagesFolder}`);
    return { root, path: `_journal/${account}` };
  }
  return { root: userCache(), path: `ledgerlake/${shortHash(lake.replace(/\/+$/, ''))}/${account}` };
}

/** Whether the state is in the temporary folder, as the user has no home folder. */
export function isStateTemporary({ lake, journal }: StateLocation): boolean {
  const isCached = journal === undefined && lakeFolder(lake) === undefined;
  return isCached && variableOf(process.env, 'XDG_CACHE_HOME') === undefined && homeFolder() === undefined;
}

/** The file with the level of an account's quota at an endpoint. */
export function quotaFile(location: StateLocation, account: string, endpoint: string): PathBelow {
  return below(stateFolder(location, account), `quota-${shortHash(endpoint)}.json`);
}

/** Opens the level of a quota, wherever it is kept. */
export async function openQuota(
  location: StateLocation,
  account: string,
  endpoint: string,
  warn: (reason: unknown) => void,
): Promise<PersistedQuota> {
  const file = quotaFile(location, account, endpoint);
  return location.quotas === undefined ? openPersistedQuota(file, warn) : location.quotas(basename(file.path, '.json'));
}

/**
 * Deletes an account's saved pages, and with `all` the level of its quota too. In the default location it deletes the whole
 * folder; in a folder that the user named only the files of runs. It follows no link.
 *
 * @throws LedgerlakeError LAKE_STORE where a link in the lake leads elsewhere, or the system's error
 */
export async function eraseState(location: StateLocation, account: string, all: boolean): Promise<void> {
  const folder = checkedPath(stateFolder(location, account));
  if (location.journal === undefined) {
    await rm(all ? folder : join(folder, pagesFolder), { recursive: true, force: true });
    return;
  }
  refuseLinks(resolve(location.journal), account);
  if (all) await eraseFiles(folder, (name) => keptFile.test(name) || isTemporaryName(name));
  await eraseFiles(join(folder, pagesFolder), (name) => name.endsWith('.page') || isTemporaryName(name), true);
  await rmdir(folder).catch(() => undefined);
}

const keptFile = /^quota-[^/]+\.json$/;

/** Deletes a folder's state files; with `deep` those of its subfolders too, and the folders that are empty then. */
async function eraseFiles(folder: string, isStateFile: (name: string) => boolean, deep = false): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isFile() && isStateFile(entry.name)) await unlink(path);
    else if (entry.isDirectory() && deep) await eraseFiles(path, isStateFile, true);
  }
  // A folder with other files stays.
  if (deep) await rmdir(folder).catch(() => undefined);
}
