import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdtemp, readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, systemCode } from '../../core/errors.js';
import { formatCount } from '../../core/text/amounts.js';
import { isFolder } from '../../core/io/files.js';
import { printable } from '../../core/printable.js';
import { catalogFolder } from '../../lake/catalog/catalog-files.js';
import { diskFailure } from '../../lake/store/disk.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import type { AddFinding } from './findings.js';

/** Prefix of the files that test a store. They lie in the lake's root, under a name that no reader takes for data. */
const probePrefix = '_doctor-';

/** Files of examinations that died are removed after this time. */
const abandonedMs = 3_600_000;

/**
 * Examines whether the store of a lake can be written, read, listed and cleared, and lets exactly one of two writers create a
 * file. Returns the store's clock minus ours in milliseconds, where the store is a service.
 *
 * @throws LedgerlakeError LAKE_STORE for what fails
 */
export async function examineStore(store: Store, clock: Clock, add: AddFinding): Promise<number | undefined> {
  const { location } = store;
  const folder = lakeFolder(location);
  if (folder !== undefined && !(await isFolder(join(folder, catalogFolder)))) {
    const existing = await existingFolder(folder);
    await tryFolder(existing);
    add({ state: 'ok', found: `${location} has no lake yet, and ${existing} can be written` });
    return undefined;
  }
  if (folder !== undefined) await examineFolders(folder, add);
  const path = `${probePrefix}${randomUUID()}`;
  const bytes = Buffer.from(path);
  let modifiedAt: number | undefined;
  const createdAt = clock.now();
  try {
    if (!(await store.create(path, bytes)) || (await store.create(path, bytes))) {
      throw new LedgerlakeError(
        'LAKE_STORE',
        `expected ${location} to create a file once for two writers, which it did not: runs would overwrite the commits of each ` +
          'other; choose another --lake',
      );
    }
    if (Buffer.compare((await store.read(path)) ?? new Uint8Array(), bytes) !== 0) {
      throw new LedgerlakeError('LAKE_STORE', `expected to read from ${location} what was written; check the storage`);
    }
    for await (const file of store.list('', probePrefix.slice(0, -1))) {
      if (!file.path.startsWith(probePrefix)) break;
      if (file.path === path) ({ modifiedAt } = file);
      else if (createdAt - file.modifiedAt > abandonedMs) await store.remove(file.path);
    }
  } catch (error) {
    await store.remove(path).catch(() => undefined);
    throw error;
  }
  await store.remove(path);
  if (modifiedAt === undefined) {
    throw new LedgerlakeError('LAKE_STORE', `expected ${location} to list a file that it has; check the storage`);
  }
  add({
    state: 'ok',
    found: `${location} can be written, read, listed and cleared, and creates a file for one writer only`,
  });
  return folder === undefined ? modifiedAt - createdAt : undefined;
}

/** Folders without permission that are listed. */
const mostFolders = 3;

/**
 * Examines whether this user may list each folder of a lake on disk and write to it.
 *
 * @param permits as `access` of the system; rejects where it is not permitted
 */
export async function examineFolders(root: string, add: AddFinding, permits = access): Promise<void> {
  const faults: string[] = [];
  for await (const { message } of foldersRefused(root, permits)) faults.push(message);
  for (const found of faults.slice(0, mostFolders)) add({ state: 'fault', found });
  const more = faults.length - mostFolders;
  if (more > 0) add({ state: 'fault', found: `${formatCount(more, 'more folder')} of the lake without permission` });
}

/** The failures of the folders below one that can't be listed or written. What is below these is not looked at. */
async function* foldersRefused(folder: string, permits: typeof access): AsyncGenerator<LedgerlakeError> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    // A run may have removed it meanwhile.
    if (systemCode(error) === 'ENOENT') return [];
    throw diskFailure('list', printable(folder), error);
  });
  for (const entry of entries.filter((one) => one.isDirectory())) {
    const path = join(folder, entry.name);
    const error: unknown = await permits(path, constants.R_OK | constants.W_OK | constants.X_OK).catch(
      (refusal: unknown) => refusal,
    );
    if (error === undefined) yield* foldersRefused(path, permits);
    else if (systemCode(error) !== 'ENOENT') yield diskFailure('write', printable(path), error);
  }
}

/** The folder, or its nearest parent that exists. */
export async function existingFolder(path: string): Promise<string> {
  return (await isFolder(path)) || dirname(path) === path ? path : existingFolder(dirname(path));
}

/** @throws LedgerlakeError LAKE_STORE where nothing can be created in a folder */
export async function tryFolder(folder: string): Promise<void> {
  try {
    await rmdir(await mkdtemp(join(folder, probePrefix)));
  } catch (error) {
    throw diskFailure('write', printable(folder), error);
  }
}
