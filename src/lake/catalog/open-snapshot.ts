import { codeOf } from '../../core/errors.js';
import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { ErasedCommit } from './catalog-errors.js';
import { commitPath, type CatalogFiles, type CheckpointName } from './catalog-files.js';
import { decodeCheckpoint } from './checkpoint.js';
import { type SealedCommit } from './commit.js';
import { Snapshot } from './snapshot.js';
import { catalogError } from '../delta/actions.js';

export interface OpenedSnapshot {
  readonly snapshot: Snapshot;
  /** The version of the checkpoint that it was read from, -1 without one, and its bytes. */
  readonly checkpoint: { readonly version: number; readonly size: number };
  /** Checkpoints that were skipped because they are damaged, as paths within the lake. */
  readonly skipped: readonly string[];
}

const noCheckpoint = { version: -1, size: 0 };

/** Attempts where commits are erased meanwhile: then there is a newer checkpoint. */
const attempts = 3;

/**
 * Reads the catalog's newest version: from the checkpoint that the hint names, else from the newest that can be read, else
 * from the first commit.
 *
 * @throws LedgerlakeError LAKE_LOG where commits are damaged or missing, or a newer program's
 */
export async function openSnapshot(
  files: CatalogFiles,
  zstd: Zstd,
  seen: (commit: SealedCommit) => void,
): Promise<OpenedSnapshot> {
  let skipped: string[] = [];
  for (let attempt = 1; attempt <= attempts; attempt++) {
    skipped = [];
    // A hint may name an old checkpoint, behind which commits are erased.
    const hinted = attempt === 1 ? await files.hintedCheckpoint() : undefined;
    try {
      const opened = await fromCheckpoint(files, hinted, zstd, skipped, seen);
      return opened ?? { snapshot: await readOn(files, Snapshot.empty, seen), checkpoint: noCheckpoint, skipped };
    } catch (error) {
      if (!(error instanceof ErasedCommit)) throw error;
    }
  }
  const found = skipped.length === 0 ? 'none' : `only damaged ones (${skipped.join(', ')})`;
  throw catalogError(`expected a checkpoint in ${files.location}, because older commits are erased, got ${found}`);
}

/** The snapshot by the first checkpoint that can be read; undefined where there is none. */
async function fromCheckpoint(
  files: CatalogFiles,
  hinted: CheckpointName | undefined,
  zstd: Zstd,
  skipped: string[],
  seen: (commit: SealedCommit) => void,
): Promise<OpenedSnapshot | undefined> {
  const from = async (name: CheckpointName): Promise<OpenedSnapshot | undefined> => {
    const bytes = await files.readCheckpoint(name);
    const snapshot = bytes && decoded(bytes, name, files, zstd);
    if (bytes !== undefined && snapshot !== undefined) {
      const checkpoint = { version: snapshot.version, size: bytes.length };
      return { snapshot: await readOn(files, snapshot, seen), checkpoint, skipped };
    }
    skipped.push(name.path);
    return undefined;
  };
  const opened = hinted && (await from(hinted));
  if (opened !== undefined) return opened;
  for (const name of await files.listedCheckpoints()) {
    const found = skipped.includes(name.path) ? undefined : await from(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The snapshot of a checkpoint; undefined where it is damaged. */
function decoded(bytes: Uint8Array, name: CheckpointName, files: CatalogFiles, zstd: Zstd): Snapshot | undefined {
  const file = files.fileName(name.path);
  try {
    return decodeCheckpoint(bytes, name.sha256, file, zstd);
  } catch (error) {
    if (codeOf(error) !== 'LAKE_LOG') throw error;
    return undefined;
  }
}

/** Reads every commit behind a snapshot. */
async function readOn(files: CatalogFiles, from: Snapshot, seen: (commit: SealedCommit) => void): Promise<Snapshot> {
  const newest = await files.newestListed(from.version);
  const commits: SealedCommit[] = [];
  for await (const commit of files.commits(from.version + 1, newest)) {
    // Each version up to the newest, listed or not: the end of the chain is where a listing ends, not where a file is missing.
    if (commit === undefined) {
      const path = files.fileName(commitPath(from.version + 1 + commits.length));
      throw catalogError(`expected ${path}, because there are later commits, got none`);
    }
    commits.push(commit);
  }
  for (const commit of commits) seen(commit);
  return from.apply(commits);
}
