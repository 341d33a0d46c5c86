import type { Lake } from '../lake/lake.js';

/** The newest version of a lake's catalog and its hash, for programs; null where nothing was ever committed. */
export function catalogVersion({ snapshot }: Pick<Lake, 'snapshot'>): { version: number; hash: string } | null {
  return snapshot.version < 0 ? null : { version: snapshot.version, hash: snapshot.hash };
}

/** The same for people, in the form that `verify --expect` takes. */
export function catalogLine({ version, hash }: { readonly version: number; readonly hash: string }): string {
  return `Catalog: ${version}:${hash}\n`;
}
