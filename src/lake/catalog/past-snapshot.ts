import { usageError } from '../../core/errors.js';
import { isoInstant } from '../../core/numeric/instant.js';
import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { ErasedCommit } from './catalog-errors.js';
import type { CatalogFiles } from './catalog-files.js';
import { chainDown, readCheckpoints } from './chain.js';
import { Snapshot } from './snapshot.js';

/** A version of the catalog by its number, or by an instant that it was the newest at, in milliseconds since 1970. */
export type PastVersion = { readonly version: number } | { readonly instant: number };

/**
 * The state of the lake at an earlier version, whose files are all still there.
 *
 * @param newest the newest snapshot
 * @throws LedgerlakeError USAGE where there is no such version, its commits are erased, or files of it are deleted; LAKE_LOG, LAKE_STORE
 */
export async function pastSnapshot(
  files: CatalogFiles,
  zstd: Zstd,
  newest: Snapshot,
  wanted: PastVersion,
): Promise<Snapshot> {
  const version = 'version' in wanted ? wanted.version : await versionAt(files, newest, wanted.instant);
  if (version < 0 && 'instant' in wanted) {
    throw usageError(
      `expected --at to be an instant at which the lake had a version, got ${isoInstant(wanted.instant)}`,
    );
  }
  if (version > newest.version) {
    throw usageError(`expected --at to be a version up to ${newest.version}, the newest of the lake, got ${version}`);
  }
  const snapshot = version === newest.version ? newest : await snapshotAt(files, zstd, version);
  let deleted = 0;
  for (const table of snapshot.tables.keys()) {
    for (const file of snapshot.files(table)) {
      const path = file.lakePath;
      if (!newest.keeps(path)) deleted++;
    }
  }
  if (deleted === 0) return snapshot;
  throw usageError(
    `expected all files of version ${version}, got ${deleted} that were replaced and deleted since; retentionHours keeps replaced ` +
      'files for queries of earlier versions, `ledgerlake log` lists the versions',
  );
}

/**
 * The newest version at or before an instant, in milliseconds since 1970; -1 where there was none yet.
 *
 * @throws LedgerlakeError USAGE where the commits of that time are erased
 */
export async function versionAt(files: CatalogFiles, newest: Snapshot, instant: number): Promise<number> {
  for await (const { version, commit, fault } of chainDown(files, newest.version, newest.hash)) {
    if (fault === undefined && commit === undefined) throw erased(version);
    if (commit !== undefined && commit.value.at <= instant) return version;
  }
  return -1;
}

/**
 * The state of the lake at a version that it has or had, also where files of it are deleted.
 *
 * @throws LedgerlakeError USAGE where its commits are erased; LAKE_LOG, LAKE_STORE
 */
export async function snapshotAt(files: CatalogFiles, zstd: Zstd, version: number): Promise<Snapshot> {
  const { checkpoints } = await readCheckpoints(files, zstd);
  const [base] = checkpoints
    .map(({ snapshot }) => snapshot)
    .filter((snapshot) => snapshot.version <= version)
    .toSorted((a, b) => b.version - a.version);
  let state = base ?? Snapshot.empty;
  try {
    for await (const commit of files.commits(state.version + 1, version)) {
      if (commit !== undefined) state = state.apply([commit]);
    }
  } catch (error) {
    throw error instanceof ErasedCommit ? erased(version) : error;
  }
  return state;
}

function erased(version: number): Error {
  return usageError(
    `expected the commits up to version ${version}, got ones that \`ledgerlake forget\` or \`ledgerlake repair\` has erased; ` +
      '`ledgerlake log` lists the versions that are left',
  );
}
