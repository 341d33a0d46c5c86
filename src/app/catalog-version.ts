import type { Lake } from '../lake/lake.js';
import type { CatalogVersion } from './results.js';

/** The newest version of a lake's catalog and its hash, for programs; null where nothing was ever committed. */
export function catalogVersion({ snapshot }: Pick<Lake, 'snapshot'>): CatalogVersion | null {
  return snapshot.version < 0 ? null : { version: snapshot.version, hash: snapshot.hash };
}

/** The same for people, in the form that `verify --expect` takes. */
export function catalogLine({ version, hash }: CatalogVersion): string {
  return `Catalog: ${version}:${hash}\n`;
}
