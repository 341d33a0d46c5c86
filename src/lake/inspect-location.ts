import { dirname, join } from 'node:path';
import { usageError } from '../core/errors.js';
import { isDataFile } from './data-files.js';
import { lakeFolder } from './store/open-store.js';
import type { Store } from './store/store.js';

/** Maximum number of files that are listed at a location without a catalog. */
const mostFiles = 1000;

/** The state of a location without a catalog. */
interface LocationState {
  readonly isEmpty: boolean;
  /** A data file, by its path within the lake: its catalog was lost. */
  readonly lostFile: string | undefined;
  /** Whether a run has started there, and has left a lease, pages or files. */
  readonly hasRunTraces: boolean;
  /** A lake in a subfolder, as users write it. */
  readonly lakeBelow: string | undefined;
}

/**
 * Inspects a location that has no catalog.
 *
 * @param tables names
 * @throws LedgerlakeError USAGE where it is the folder of a table
 */
export async function inspectLocation(store: Store, tables: readonly string[]): Promise<LocationState> {
  const names = new Set(tables);
  let files = 0;
  let hasRunTraces = false;
  let lakeBelow: string | undefined;
  let lostFile: string | undefined;
  for await (const { path } of store.list('')) {
    const [first = ''] = path.split('/', 1);
    if (first === '_delta_log' || isDataFile(`table/${path}`)) throw tableFolder(store.location);
    if (isDataFile(path)) lostFile ??= path;
    hasRunTraces ||= first.startsWith('_') || names.has(first);
    lakeBelow ??= /^(.+)\/_catalog\/[^/]+$/.exec(path)?.[1];
    if (++files === mostFiles) break;
  }
  return {
    isEmpty: files === 0,
    lostFile,
    hasRunTraces,
    lakeBelow: lakeBelow && `${store.location.replace(/\/+$/, '')}/${lakeBelow}`,
  };
}

function tableFolder(location: string): Error {
  const trimmed = location.replace(/(?<=.)\/+$/, '');
  const isNamed = !/(^|[/\\])\.{1,2}$/.test(trimmed);
  const above = isNamed ? dirname(trimmed) : join(trimmed, '..');
  const lake = lakeFolder(trimmed) === undefined ? trimmed.replace(/\/[^/]*$/, '') : above;
  return usageError(`expected a lake at ${location}, got the folder of a table; did you mean --lake ${lake}?`);
}
