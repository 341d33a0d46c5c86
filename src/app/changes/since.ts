import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { codeOf, LedgerlakeError, usageError } from '../../core/errors.js';
import { isoInstant, millisecondsOf, readInstant } from '../../core/numeric/instant.js';
import { CatalogFiles } from '../../lake/catalog/catalog-files.js';
import { hashesOf } from '../../lake/catalog/commit.js';
import { snapshotAt, versionAt } from '../../lake/catalog/past-snapshot.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import type { Lake } from '../../lake/lake.js';

/** An earlier state of a lake, as a user names it. */
export type Since =
  | { readonly version: number; readonly hash: string | undefined }
  /** Milliseconds since 1970. */
  | { readonly instant: number };

/**
 * Reads `VERSION`, `VERSION:HASH` or an instant.
 *
 * @throws LedgerlakeError USAGE
 */
export function readSince(text: string): Since {
  const [, version, hash] = /^(\d{1,15})(?::([0-9a-f]{64}))?$/.exec(text) ?? [];
  if (version !== undefined) return { version: Number(version), hash };
  const micros = readInstant(text);
  if (micros === undefined) {
    throw usageError(
      `expected --since to be VERSION, VERSION:HASH, or an ISO 8601 date or instant such as 2025-01-31T06:00:00Z, got ${JSON.stringify(text)}`,
    );
  }
  return { instant: millisecondsOf(micros) };
}

/**
 * The state of a lake at an earlier version, whose files may be deleted.
 *
 * @throws LedgerlakeError LAKE_HISTORY where its commits are erased, the lake doesn't have that version, or had none yet at that
 * instant; LAKE_LOG, LAKE_STORE
 */
export async function snapshotSince({ store, snapshot: newest }: Lake, since: Since, zstd: Zstd): Promise<Snapshot> {
  const files = new CatalogFiles(store);
  const version =
    'version' in since
      ? since.version
      : await unlessErased(`the version at ${isoInstant(since.instant)}`, versionAt(files, newest, since.instant));
  if ('instant' in since && version < 0) {
    const first = (await files.commit(0))?.value.at;
    throw lostHistory(
      `expected --since to be an instant at which ${store.location} had a version, got ${isoInstant(since.instant)}: ` +
        (first === undefined ? 'it has none yet' : `its first is of ${isoInstant(first)}`),
    );
  }
  if (version > newest.version) {
    throw lostHistory(
      `expected --since to be a version up to ${newest.version}, the newest of ${store.location}, got ${version}: the lake may be an older copy`,
    );
  }
  if ('version' in since && since.hash !== undefined) {
    const found = await files.stored(version);
    if (found === undefined || hashesOf(found).own !== since.hash) {
      throw lostHistory(
        `expected version ${version} of ${store.location} with the hash ${since.hash}, got another one: it is another lake, or was restored`,
      );
    }
  }
  if (version === newest.version) return newest;
  return unlessErased(`version ${version}`, snapshotAt(files, zstd, version));
}

/** The result of a look at older commits. `what` names what they lead to. Throws LAKE_HISTORY where they are erased. */
async function unlessErased<T>(what: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (codeOf(error) !== 'USAGE') throw error;
    throw lostHistory(
      `expected the commits up to ${what}, got ones that \`ledgerlake forget\` or \`ledgerlake repair\` has erased`,
    );
  }
}

/** The error for a state of a lake that can't be read any more, with what to do. */
export function lostHistory(fault: string): LedgerlakeError {
  return new LedgerlakeError('LAKE_HISTORY', `${fault}; load everything once, without --since`);
}
