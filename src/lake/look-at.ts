import { dirname, join } from 'node:path';
import { usageError } from '../core/errors.js';
import { isDataFile } from './data-files.js';
import { lakeFolder } from './store/open-store.js';
import type { Store } from './store/store.js';

/** Files that are looked at to tell what a place without a log is. */
const mostFiles = 1000;

/** What a place without the log of a table holds. */
interface Place {
  readonly isEmpty: boolean;
  /** Whether a run has begun there, and has left its lease, pages or files. */
  readonly isBegun: boolean;
  /** A lake in a folder of it, as users write it. */
  readonly lakeBelow: string | undefined;
}

/**
 * Looks at a place that has no log of a table where a lake has one.
 *
 * @param tables names
 * @throws LedgerlakeError USAGE where it is a table's folder: nothing is read or loaded there
 */
export async function lookAt(store: Store, tables: readonly string[]): Promise<Place> {
  const names = new Set(tables);
  let files = 0;
  let isBegun = false;
  let lakeBelow: string | undefined;
  for await (const { path } of store.list('')) {
    const [first = ''] = path.split('/', 1);
    if (first === '_delta_log' || isDataFile(`table/${path}`)) throw tableFolder(store.location);
    isBegun ||= first.startsWith('_') || names.has(first);
    lakeBelow ??= /^(.+)\/[^/]+\/_delta_log\/[^/]+$/.exec(path)?.[1];
    if (++files === mostFiles) break;
  }
  return {
    isEmpty: files === 0,
    isBegun,
    lakeBelow: lakeBelow && `${store.location.replace(/\/+$/, '')}/${lakeBelow}`,
  };
}

function tableFolder(location: string): Error {
  const place = location.replace(/(?<=.)\/+$/, '');
  const isNamed = lakeFolder(place) === undefined || !/(^|[/\\])\.{1,2}$/.test(place);
  const lake =
    lakeFolder(place) === undefined ? place.replace(/\/[^/]*$/, '') : isNamed ? dirname(place) : join(place, '..');
  return usageError(`expected a lake at ${location}, it is the folder of a table: did you mean --lake ${lake}?`);
}
