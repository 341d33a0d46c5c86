import { stat } from 'node:fs/promises';
import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { systemCode, usageError } from '../core/errors.js';
import { Lake } from './lake.js';
import { inspectLocation } from './inspect-location.js';
import { lakeFolder, openStore, type StoreOptions } from './store/open-store.js';
import type { Store, S3Encryption } from './store/store.js';

/** The location of a lake. */
export interface LakeAddress {
  /** As the user wrote it. */
  readonly lake: string;
  /** Used instead of the store that `lake` names. */
  readonly store?: Store | undefined;
  /** Of new objects of a lake on S3; undefined: as the bucket has it. */
  readonly encryption?: S3Encryption | undefined;
  /** The argument that names it in errors; left out: `--lake`. */
  readonly argument?: string;
}

type OpeningContext = Pick<StoreOptions, 'emit'> & { readonly clock: Clock };

/** Opens the store of an existing lake. Throws a USAGE error where its folder is missing. */
export async function existingStore(
  { lake, store, encryption, argument }: LakeAddress,
  { clock, emit }: OpeningContext,
): Promise<Store> {
  if (store !== undefined) return store;
  const opened = openStore(lake, { clock, emit, encryption });
  await refuseWithoutFolder(lake, argument);
  return opened;
}

/**
 * Opens an existing lake, for commands that load nothing: a missing folder, or one with other content, is a mistyped location. An
 * empty folder is an empty lake.
 *
 * @throws LedgerlakeError USAGE where there is none, LAKE_STORE where the location can't be read, LAKE_LOG where its log can't
 */
export async function existingLake(
  address: LakeAddress,
  tables: readonly Table[],
  context: OpeningContext,
): Promise<Lake> {
  const store = await existingStore(address, context);
  const lake = await Lake.open(store, tables, context.clock);
  const isFound = address.store !== undefined || lake.tables.some(({ name }) => lake.snapshot.tables.has(name));
  if (!isFound) await refuseOther(store, address, tables);
  return lake;
}

/** @throws LedgerlakeError USAGE where a location has neither a lake nor nothing */
export async function refuseOther(
  store: Store,
  { lake: location, argument }: Pick<LakeAddress, 'lake' | 'argument'>,
  tables: readonly Table[],
): Promise<void> {
  const names = tables.map(({ name }) => name);
  const { isEmpty, hasRunTraces, lakeBelow } = await inspectLocation(store, names);
  if (isEmpty && lakeFolder(location) === undefined) throw missing(location, argument);
  if (!isEmpty && !hasRunTraces) throw noLake(location, 'got something else', { lakeBelow, argument });
}

/** @throws LedgerlakeError USAGE where the lake's folder is a file */
export async function refuseFile(location: string, argument?: string): Promise<void> {
  const folder = lakeFolder(location);
  if (folder !== undefined && (await foundAt(folder)) === 'file') throw noLake(location, 'got a file', { argument });
}

/** @throws LedgerlakeError USAGE where a lake on disk has no folder */
export async function refuseWithoutFolder(location: string, argument?: string): Promise<void> {
  const folder = lakeFolder(location);
  const found = folder === undefined ? undefined : await foundAt(folder);
  if (found === 'file') throw noLake(location, 'got a file', { argument });
  if (found === 'nothing') throw missing(location, argument);
}

async function foundAt(path: string): Promise<'folder' | 'file' | 'nothing'> {
  return stat(path).then(
    (found) => (found.isDirectory() ? 'folder' : 'file'),
    // The store reports any other fault.
    (error: unknown) => (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '') ? 'nothing' : 'folder'),
  );
}

/** Whether a location has no file. Throws LAKE_STORE where it can't be listed. */
export async function isEmpty(store: Store): Promise<boolean> {
  const { done } = await store.list('')[Symbol.asyncIterator]().next();
  return done === true;
}

function missing(location: string, argument?: string): Error {
  return usageError(missingText(location, argument));
}

/** That a location has no lake, and what to do. */
export function missingText(location: string, argument = '--lake'): string {
  const load = argument === '--lake' ? ', or load one with `ledgerlake backfill`' : '';
  const mounted = lakeFolder(location) === undefined ? '' : ' and whether its disk is mounted';
  return `expected a lake at ${location}, got none; check ${argument}${mounted}${load}`;
}

/** The error for a location that is no lake. */
function noLake(
  location: string,
  found: string,
  {
    lakeBelow,
    argument = '--lake',
  }: { readonly lakeBelow?: string | undefined; readonly argument?: string | undefined },
): Error {
  const advice = lakeBelow === undefined ? `name another with ${argument}` : `did you mean ${argument} ${lakeBelow}?`;
  return usageError(`expected a lake at ${location}, ${found}; ${advice}`);
}
