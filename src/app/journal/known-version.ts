import { zstd } from '../../core/parquet/encoder/zstd.js';
import { codeOf, usageError } from '../../core/errors.js';
import { CatalogFiles } from '../../lake/catalog/catalog-files.js';
import { chainDown } from '../../lake/catalog/chain.js';
import { snapshotAt } from '../../lake/catalog/past-snapshot.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import type { Lake } from '../../lake/lake.js';

/** A version of the catalog that journals were made from. */
export interface KnownVersion {
  /** When it was committed, in milliseconds since 1970. */
  readonly at: number;
  /** Its state; that of now where commits before it are erased. */
  readonly snapshot: Snapshot;
  readonly isErased: boolean;
}

/**
 * Reads a version of the catalog, whose files may be deleted.
 *
 * @throws LedgerlakeError USAGE for a version that the lake doesn't have, or no longer
 */
export async function knownVersion({ store, snapshot: newest }: Lake, wanted: number): Promise<KnownVersion> {
  const files = new CatalogFiles(store);
  const at = await commitInstant(files, newest, wanted);
  if (wanted === newest.version) return { at, snapshot: newest, isErased: false };
  try {
    return { at, snapshot: await snapshotAt(files, await zstd(), wanted), isErased: false };
  } catch (error) {
    if (codeOf(error) !== 'USAGE') throw error;
    return { at, snapshot: newest, isErased: true };
  }
}

async function commitInstant(files: CatalogFiles, { version: last, hash }: Snapshot, wanted: number): Promise<number> {
  if (wanted > last) {
    throw usageError(`expected --since to be a version up to ${last}, the newest of the lake, got ${wanted}`);
  }
  for await (const { version, commit } of chainDown(files, last, hash)) {
    if (version === wanted && commit !== undefined) return commit.value.at;
  }
  throw usageError(
    `expected --since to be a version whose commit the lake still has, got ${wanted}; \`ledgerlake log\` lists the versions`,
  );
}
