import { stat } from 'node:fs/promises';
import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { systemCode, usageError } from '../core/errors.js';
import { Lake } from './lake.js';
import { inspectLocation } from './inspect-location.js';
import { lakeFolder, openStore } from './store/open-store.js';

/**
 * Opens a lake that must be there already, for commands that load nothing: a folder that isn't there, or that holds
 * other things, is a slip of the hand, and `nothing is wrong` would be no answer to it. A folder that is empty is a lake
 * that holds nothing yet.
 *
 * @param location as the user wrote it
 * @throws LedgerlakeError USAGE where there is none, LAKE_STORE where the location can't be read, LAKE_LOG where its log can't
 */
export async function existingLake(location: string, tables: readonly Table[], clock: Clock): Promise<Lake> {
  const store = openStore(location, { clock });
  await refuseWithoutFolder(location);
  const lake = await Lake.open(store, tables, clock);
  if (lake.tables.some(({ snapshot }) => snapshot.version >= 0)) return lake;
  const { isEmpty, isBegun, lakeBelow } = await inspectLocation(
    store,
    tables.map(({ name }) => name),
  );
  if (isEmpty && lakeFolder(location) === undefined) throw missing(location);
  if (isEmpty || isBegun) return lake;
  throw noLake(location, 'got something else', lakeBelow);
}

/** @throws LedgerlakeError USAGE where the lake's folder is a file */
export async function refuseFile(location: string): Promise<void> {
  const folder = lakeFolder(location);
  if (folder !== undefined && (await foundAt(folder)) === 'file') throw noLake(location, 'got a file');
}

/** @throws LedgerlakeError USAGE where a lake on disk has no folder */
export async function refuseWithoutFolder(location: string): Promise<void> {
  const folder = lakeFolder(location);
  const found = folder === undefined ? undefined : await foundAt(folder);
  if (found === 'file') throw noLake(location, 'got a file');
  if (found === 'nothing') throw missing(location);
}

async function foundAt(path: string): Promise<'folder' | 'file' | 'nothing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const code = systemCode(error) ?? '';
    // What else is wrong with it the store will say.
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'nothing' : 'folder';
  }
}

function missing(location: string): Error {
  return usageError(`expected a lake at ${location}, got none; check --lake, or load one with \`ledgerlake backfill\``);
}

/** Nothing may be loaded there. `meant`: a lake that is near. */
function noLake(location: string, found: string, nearby?: string): Error {
  const advice = nearby === undefined ? 'name another with --lake' : `did you mean --lake ${nearby}?`;
  return usageError(`expected a lake at ${location}, ${found}; ${advice}`);
}
