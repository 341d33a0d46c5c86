import { usageError } from '../../core/errors.js';
import { CatalogFiles } from '../../lake/catalog/catalog-files.js';
import { chainDown } from '../../lake/catalog/chain.js';
import type { Lake } from '../../lake/lake.js';

/**
 * When a version of the catalog was committed, in milliseconds since 1970.
 *
 * @throws LedgerlakeError USAGE for a version that the lake doesn't have, or no longer
 */
export async function versionInstant({ store, snapshot }: Lake, wanted: number): Promise<number> {
  if (wanted > snapshot.version) {
    throw usageError(
      `expected --since to be a version up to ${snapshot.version}, the newest of the lake, got ${wanted}`,
    );
  }
  for await (const { version, commit } of chainDown(new CatalogFiles(store), snapshot.version, snapshot.hash)) {
    if (version === wanted && commit !== undefined) return commit.value.at;
  }
  throw usageError(
    `expected --since to be a version whose commit the lake still has, got ${wanted}; \`ledgerlake log\` lists the versions`,
  );
}
