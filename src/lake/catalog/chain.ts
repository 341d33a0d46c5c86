import { codeOf, messageOf } from '../../core/errors.js';
import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { commitPath, type CatalogFault, type CatalogFiles, type CheckpointName } from './catalog-files.js';
import { decodeCheckpoint } from './checkpoint.js';
import { hashesOf, noHash, type SealedCommit } from './commit.js';
import type { Snapshot } from './snapshot.js';

/** One version of the chain. */
export interface ChainLink {
  readonly version: number;
  /** The hash of its commit, by its own seal or by the version behind it; undefined where neither can be read. */
  readonly hash: string | undefined;
  /** Undefined where it was erased, is missing or is damaged. */
  readonly commit: SealedCommit | undefined;
  /** Undefined where the version is as it was written, or as it was erased. */
  readonly fault: CatalogFault | undefined;
}

/**
 * Walks the chain from a version down to the first one. Erased commits are links too: their stubs keep the hashes.
 *
 * @param expected the hash of the first link's commit; undefined where it is to be believed
 * @throws LedgerlakeError LAKE_STORE
 */
export async function* chainDown(
  files: CatalogFiles,
  from: number,
  expected: string | undefined,
): AsyncGenerator<ChainLink> {
  let hash = expected;
  for await (const { version, found, fault } of storedDown(files, from)) {
    const { own, previous } = found === undefined ? {} : hashesOf(found);
    const isOther = own !== undefined && hash !== undefined && own !== hash;
    const isFirst = version > 0 || previous === undefined || previous === noHash;
    const wrong =
      fault ??
      (isOther ? `its hash is ${own}, later versions name ${hash}` : undefined) ??
      (isFirst ? undefined : 'it names a commit before the first one');
    const isSound = wrong === undefined && found !== undefined;
    yield {
      version,
      hash: hash ?? own,
      commit: isSound && !('erased' in found) ? found : undefined,
      fault: wrong === undefined ? undefined : { path: commitPath(version), fault: wrong },
    };
    hash = isSound ? previous : undefined;
  }
}

/** Versions that are read concurrently. */
const readAhead = 32;

type Stored = Awaited<ReturnType<CatalogFiles['stored']>>;

/** What each version has, from one on downwards. */
async function* storedDown(files: CatalogFiles, from: number) {
  for (let next = from; next >= 0; next -= readAhead) {
    const versions = Array.from({ length: Math.min(readAhead, next + 1) }, (_, at) => next - at);
    yield* await Promise.all(versions.map((version) => storedAt(files, version)));
  }
}

async function storedAt(files: CatalogFiles, version: number) {
  let found: Stored;
  let fault: string | undefined;
  try {
    found = await files.stored(version);
    if (found === undefined) fault = 'it is missing';
  } catch (error) {
    if (codeOf(error) !== 'LAKE_LOG') throw error;
    fault = messageOf(error).split('; run ')[0] ?? '';
  }
  return { version, found, fault };
}

/** A checkpoint of the catalog that can be read, of all accounts. */
export interface ReadCheckpoint {
  readonly name: CheckpointName;
  readonly snapshot: Snapshot;
}

/**
 * Reads every checkpoint of the catalog, with the blocks of all accounts, and the hint.
 *
 * @throws LedgerlakeError LAKE_STORE
 */
export async function readCheckpoints(
  files: CatalogFiles,
  zstd: Zstd,
): Promise<{ readonly checkpoints: readonly ReadCheckpoint[]; readonly faults: readonly CatalogFault[] }> {
  const checkpoints: ReadCheckpoint[] = [];
  const faults: CatalogFault[] = [];
  for (const name of await files.listedCheckpoints()) {
    const bytes = await files.readCheckpoint(name);
    // Another run may have removed it meanwhile, for a newer one.
    if (bytes === undefined) continue;
    try {
      const snapshot = decodeCheckpoint(bytes, name.sha256, files.fileName(name.path), zstd);
      // Decodes the block of each account.
      for (const account of snapshot.accounts()) snapshot.filesOf('', account);
      checkpoints.push({ name, snapshot });
    } catch (error) {
      if (codeOf(error) !== 'LAKE_LOG') throw error;
      faults.push({ path: name.path, fault: messageOf(error).split('; run ')[0] ?? '' });
    }
  }
  const hint = await files.hintFault();
  return { checkpoints, faults: hint === undefined ? faults : [...faults, hint] };
}
