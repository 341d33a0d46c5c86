import { LedgerlakeError } from '../../core/errors.js';
import { catalogError, isObject } from '../delta/actions.js';
import { hasFile, type Store } from '../store/store.js';
import { ErasedCommit } from './catalog-errors.js';
import type { EncodedCheckpoint } from './checkpoint.js';
import { readCommit, sealStub, type ErasedStub, type SealedCommit, seal, unseal } from './commit.js';

/** The folder of a lake with its catalog. */
export const catalogFolder = '_catalog';
const checkpoints = `${catalogFolder}/_checkpoints`;
const hintPath = `${catalogFolder}/_last-checkpoint`;

/** Commits that are read concurrently when the catalog is opened. */
const readAhead = 32;

/** Commits that are erased concurrently. */
const erasedAtOnce = 16;

/** Checkpoints that stay when one is written: readers may have begun with the one before. */
const keptCheckpoints = 2;

/** The path of a commit. Directly in its folder no other name ends in `.json`. */
export function commitPath(version: number): string {
  return `${catalogFolder}/${padded(version)}.json`;
}

/** The path of a table's published version (Delta protocol, "Delta Log Entries"). */
export function publishedPath(table: string, version: number): string {
  return `${table}/_delta_log/${padded(version)}.json`;
}

/** The path of a table's published checkpoint (Delta protocol, "Checkpoints"). */
export function checkpointPath(table: string, version: number): string {
  return `${table}/_delta_log/${padded(version)}.checkpoint.parquet`;
}

/** The path of the hint to a table's newest published checkpoint (Delta protocol, "Last Checkpoint File"). */
export function checkpointHintPath(table: string): string {
  return `${table}/_delta_log/_last_checkpoint`;
}

function padded(version: number): string {
  return String(version).padStart(20, '0');
}

/** A damaged or missing file of the catalog or of a published log. */
export interface CatalogFault {
  /** Within the lake. */
  readonly path: string;
  /** What is wrong with it, in words. */
  readonly fault: string;
}

/** The name of a checkpoint, with what it says. */
export interface CheckpointName {
  readonly path: string;
  readonly version: number;
  /** SHA-256 of the head. */
  readonly sha256: string;
}

function parseName(path: string): CheckpointName | undefined {
  const [, version, sha256] = /^_catalog\/_checkpoints\/(\d{20})-([0-9a-f]{64})\.checkpoint$/.exec(path) ?? [];
  return version === undefined || sha256 === undefined ? undefined : { path, version: Number(version), sha256 };
}

/** The checkpoint that a hint names; undefined where the hint is damaged. */
function hintedName(bytes: Uint8Array): CheckpointName | undefined {
  const hint = unseal(bytes)?.value;
  const path = isObject(hint) ? hint['path'] : undefined;
  return typeof path === 'string' ? parseName(path) : undefined;
}

/** The files of the catalog in a store. */
export class CatalogFiles {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `LAKE/_catalog`, for messages. */
  get location(): string {
    return `${this.#store.location}/${catalogFolder}`;
  }

  /** A file for messages. */
  fileName(path: string): string {
    return `${this.#store.location}/${path}`;
  }

  /**
   * The commit of a version; undefined where there is none.
   *
   * @throws LedgerlakeError LAKE_LOG where it is damaged; ErasedCommit where only its stub is left
   */
  async commit(version: number): Promise<SealedCommit | undefined> {
    const found = await this.stored(version);
    if (found !== undefined && 'erased' in found) throw new ErasedCommit(version, this.fileName(commitPath(version)));
    return found;
  }

  /** The same; the stub where the commit was erased. */
  async stored(version: number): Promise<SealedCommit | ErasedStub | undefined> {
    const path = commitPath(version);
    const bytes = await this.#store.read(path);
    return bytes && readCommit(bytes, version, this.fileName(path));
  }

  /** The commits up to a version, in order; undefined for one that is missing. */
  async *commits(from: number, upTo: number): AsyncGenerator<SealedCommit | undefined> {
    for (let next = from; next <= upTo; next += readAhead) {
      const versions = Array.from({ length: Math.min(readAhead, upTo + 1 - next) }, (_, at) => next + at);
      yield* await Promise.all(versions.map((version) => this.commit(version)));
    }
  }

  /** The newest version behind one by the names in the folder; that version where there is no newer one. */
  async newestListed(version: number): Promise<number> {
    let newest = version;
    for await (const listed of this.listed(version)) newest = listed.version;
    return newest;
  }

  /** The versions behind one in the folder, in order, and the sizes of their files in bytes. */
  async *listed(behind = -1): AsyncGenerator<{ readonly version: number; readonly size: number }> {
    for await (const { path, size } of this.#store.list(catalogFolder, behind < 0 ? undefined : commitPath(behind))) {
      const [, digits] = /^_catalog\/(\d{20})\.json$/.exec(path) ?? [];
      // The digits of commits are before all other names.
      if (digits === undefined) break;
      yield { version: Number(digits), size };
    }
  }

  /** Claims a version: whether this commit has it. Throws LAKE_UNCLEAR where that is unknown. */
  async create({ value: { version }, bytes }: SealedCommit): Promise<boolean> {
    return this.#store.create(commitPath(version), bytes, version > 0 ? commitPath(version - 1) : undefined);
  }

  /**
   * Overwrites the commits before a version by their stubs, so that their names stay taken: a few at a time, the oldest first, so that
   * the newest ones, which other runs may still read, go last. Where it ends early, erasing again continues.
   */
  async eraseBefore(version: number): Promise<void> {
    for (let from = 0; from < version; from += erasedAtOnce) {
      const versions = Array.from({ length: Math.min(erasedAtOnce, version - from) }, (_, at) => from + at);
      const erased = await Promise.allSettled(versions.map((older) => this.#erase(older)));
      for (const one of erased) if (one.status === 'rejected') throw one.reason;
    }
  }

  /** One that is erased already stays. */
  async #erase(version: number): Promise<void> {
    try {
      const commit = await this.commit(version);
      if (commit !== undefined) await this.#store.write(commitPath(version), sealStub(commit));
    } catch (error) {
      if (!(error instanceof ErasedCommit)) throw error;
    }
  }

  hasCommit(version: number): Promise<boolean> {
    return hasFile(this.#store, commitPath(version));
  }

  /** Whether a version of a table is published. */
  isPublished(table: string, version: number): Promise<boolean> {
    return hasFile(this.#store, publishedPath(table, version));
  }

  /** The checkpoint that the hint names; undefined where the hint is missing or damaged. It may be wrong. */
  async hintedCheckpoint(): Promise<CheckpointName | undefined> {
    const bytes = await this.#store.read(hintPath);
    return bytes && hintedName(bytes);
  }

  /** What is wrong with the hint; undefined where it is well, or missing: it is written after the checkpoint. */
  async hintFault(): Promise<CatalogFault | undefined> {
    const bytes = await this.#store.read(hintPath);
    if (bytes === undefined || hintedName(bytes) !== undefined) return undefined;
    return { path: hintPath, fault: 'its bytes have changed' };
  }

  /** All checkpoints by their names, the newest first. */
  async listedCheckpoints(): Promise<CheckpointName[]> {
    const found: CheckpointName[] = [];
    for await (const { path } of this.#store.list(checkpoints)) found.push(...[parseName(path) ?? []].flat());
    return found.toReversed();
  }

  async readCheckpoint({ path }: CheckpointName): Promise<Uint8Array | undefined> {
    return this.#store.read(path);
  }

  /** Writes a checkpoint and the hint to it, then removes older ones but the one before. */
  async writeCheckpoint(version: number, encoded: EncodedCheckpoint): Promise<void> {
    await this.#write(version, encoded);
    await this.#removeOlder(version, keptCheckpoints - 1);
  }

  /**
   * The same, and reads it back before it removes all older ones.
   *
   * @throws LedgerlakeError LAKE_LOG where it isn't as it was written, LAKE_CONFLICT where another run has removed it, for a newer
   * one; then nothing is removed
   */
  async writeOnlyCheckpoint(version: number, encoded: EncodedCheckpoint): Promise<void> {
    const path = await this.#write(version, encoded);
    const found = await this.#store.read(path);
    const file = this.fileName(path);
    if (found === undefined) {
      const what = `expected no other run on ${this.#store.location}, but one has replaced the checkpoint ${file}`;
      throw new LedgerlakeError('LAKE_CONFLICT', `${what}; no commit was erased, run again when it has ended`);
    }
    if (Buffer.compare(found, encoded.bytes) !== 0) {
      throw catalogError(
        `expected the checkpoint ${file} as it was just written, its bytes have changed; no commit was erased`,
      );
    }
    await this.#removeOlder(version, 0);
  }

  async #write(version: number, { bytes, sha256 }: EncodedCheckpoint): Promise<string> {
    const path = `${checkpoints}/${padded(version)}-${sha256}.checkpoint`;
    await this.#store.write(path, bytes);
    await this.#store.write(hintPath, seal({ path }).bytes);
    return path;
  }

  async removeCheckpoints(paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.#store.remove(path);
  }

  async #removeOlder(version: number, kept: number): Promise<void> {
    const older = (await this.listedCheckpoints()).filter((one) => one.version < version);
    for (const one of older.slice(kept)) await this.#store.remove(one.path);
  }
}
