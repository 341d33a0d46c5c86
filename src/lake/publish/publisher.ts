import { hash } from 'node:crypto';
import { LedgerlakeError } from '../../core/errors.js';
import { Mutex } from '../../core/mutex.js';
import { version as programVersion } from '../../core/version.js';
import type { Catalog } from '../catalog/catalog.js';
import { ErasedCommit } from '../catalog/catalog-errors.js';
import { checkpointHintPath, checkpointPath, publishedPath } from '../catalog/catalog-files.js';
import type { SealedCommit } from '../catalog/commit.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { hasFile, parseNote, type Store, type StoredFile } from '../store/store.js';
import { encodeDeltaCheckpoint } from './delta-checkpoint.js';
import { deltaCommit, publishedHash } from './delta-commit.js';

/** Attempts at a version whose outcome is unclear. */
const attempts = 4;

/** A checkpoint is due after this many versions, plus one for this many files that it will have. */
const minVersionsPerCheckpoint = 20;
const checkpointFilesPerExtraVersion = 200;

/** A version that is to be published. */
interface Missing {
  readonly version: number;
  readonly commit: SealedCommit;
}

/**
 * Publishes the catalog as one Delta log for each table: its version is the number of commits that touch the table, less one,
 * and its content a function of the commit. So several runs may publish the same version: whoever is second finds it.
 */
export class DeltaPublisher {
  readonly #store: Store;
  readonly #catalog: Catalog;
  readonly #engine: string;
  /** The newest version of each table that is known to be published, with all before it. */
  readonly #published = new Map<string, number>();
  /** The version of each table's newest checkpoint that is known. */
  readonly #checkpointed = new Map<string, number>();
  /** The versions of the checkpoints that this run has written, the newest by table. */
  readonly #written = new Map<string, number>();
  readonly #mutex = new Mutex();

  constructor(store: Store, catalog: Catalog, engine = `ledgerlake/${programVersion}`) {
    this.#store = store;
    this.#catalog = catalog;
    this.#engine = engine;
  }

  /**
   * Publishes every commit that the catalog's snapshot has, in order for each table. Must be called before a file is deleted that
   * one of them removes, and before commits are erased.
   *
   * @throws LedgerlakeError LAKE_LOG where a published version isn't the catalog's; LAKE_STORE, LAKE_UNCLEAR
   */
  async publish(): Promise<void> {
    // One call at a time: the next one finds nothing left where the commits are the same.
    await this.#mutex.run(() => this.#publish());
  }

  async #publish(): Promise<void> {
    // A checkpoint is of the versions that are published here, whatever is committed meanwhile.
    const { snapshot } = this.#catalog;
    const missing = await this.#missing(snapshot);
    await Promise.all(
      [...missing].map(async ([table, versions]) => {
        for (const one of versions.toReversed()) await this.#publishOne(table, one);
        await this.#writeDueCheckpoint(table, snapshot);
      }),
    );
  }

  /** Writes a checkpoint of a table's newest version where one is due. */
  async #writeDueCheckpoint(table: string, snapshot: Snapshot): Promise<void> {
    const newest = this.#newestOf(table, snapshot);
    if (newest === undefined || newest < minVersionsPerCheckpoint) return;
    const known = this.#checkpointed.get(table) ?? (await this.#hintedCheckpoint(table));
    this.#checkpointed.set(table, known);
    if (newest - known < minVersionsPerCheckpoint) return;
    const files = [...snapshot.files(table)].length;
    if (newest - known >= minVersionsPerCheckpoint + files / checkpointFilesPerExtraVersion) {
      await this.#writeCheckpoint(table, newest, snapshot);
    }
  }

  /** The version of a table that a snapshot has, where it is published as the newest. */
  #newestOf(table: string, snapshot: Snapshot): number | undefined {
    const newest = snapshot.versionOf(table);
    return newest >= 0 && this.#published.get(table) === newest ? newest : undefined;
  }

  async #hintedCheckpoint(table: string): Promise<number> {
    const hint = parseNote(
      await this.#store.read(checkpointHintPath(table)),
      (value) => value as { version?: unknown },
    );
    return typeof hint?.version === 'number' ? hint.version : -1;
  }

  async #writeCheckpoint(table: string, version: number, snapshot: Snapshot): Promise<void> {
    const metaData = snapshot.tables.get(table)?.metaData;
    if (metaData === undefined) return;
    const prefix = `${table}/`;
    const removed = [...snapshot.retired()].filter(([path]) => path.startsWith(prefix));
    const { bytes, actions } = await encodeDeltaCheckpoint({
      metaData,
      files: snapshot.files(table),
      removed: removed.map(([path, at]) => [path.slice(prefix.length), at]),
    });
    await this.#store.write(checkpointPath(table, version), bytes);
    const hint = { version, size: actions, sizeInBytes: bytes.length, tags: { sha256: hash('sha256', bytes) } };
    await this.#store.write(checkpointHintPath(table), Buffer.from(JSON.stringify(hint)));
    this.#checkpointed.set(table, version);
    this.#written.set(table, version);
  }

  /**
   * Removes the checkpoints that were superseded before an instant (milliseconds since 1970), each of which is a copy of the
   * table's state: readers that have opened the log since began at a newer one. Only where readers begin at one that this run has
   * written, so that the log is listed seldom, and they find it.
   */
  async removeSuperseded(before: number): Promise<void> {
    await this.#mutex.run(async () => {
      for (const [table, version] of this.#written) {
        if ((await this.#hintedCheckpoint(table)) !== version) continue;
        const found: StoredFile[] = [];
        for await (const file of this.#store.list(`${table}/_delta_log`))
          if (file.path.endsWith('.checkpoint.parquet') && file.path <= checkpointPath(table, version))
            found.push(file);
        const old = found.filter((_, at) => (found[at + 1]?.modifiedAt ?? Infinity) < before);
        for (const { path } of old) await this.#store.remove(path);
      }
      this.#written.clear();
    });
  }

  /** Writes the checkpoint of a table's newest version, and the hint to it. */
  async writeCheckpoint(table: string): Promise<void> {
    await this.publish();
    const { snapshot } = this.#catalog;
    const newest = this.#newestOf(table, snapshot);
    if (newest !== undefined) await this.#writeCheckpoint(table, newest, snapshot);
  }

  /**
   * Makes each table's log begin at a checkpoint of its newest version, and removes what is older. No other run may be active on the
   * lake.
   */
  async eraseOlder(): Promise<void> {
    await this.#mutex.run(async () => {
      const { snapshot } = this.#catalog;
      for (const table of snapshot.tables.keys()) {
        const newest = this.#newestOf(table, snapshot);
        if (newest === undefined) continue;
        await this.#writeCheckpoint(table, newest, snapshot);
        const kept = [publishedPath(table, newest), checkpointPath(table, newest), checkpointHintPath(table)];
        const older: string[] = [];
        for await (const { path } of this.#store.list(`${table}/_delta_log`))
          if (!kept.includes(path)) older.push(path);
        for (const path of older) await this.#store.remove(path);
      }
    });
  }

  /** The versions of each table in a snapshot that may not be published, the newest first. */
  async #missing({ tables, version: newest }: Snapshot): Promise<ReadonlyMap<string, readonly Missing[]>> {
    const missing = new Map<string, Missing[]>();
    /** The version of each table that the next older commit which touches it has. */
    const next = new Map<string, number>();
    for (const [name, { versions }] of tables) {
      if ((this.#published.get(name) ?? -1) < versions - 1) next.set(name, versions - 1);
    }
    for (let version = newest; version >= 0 && next.size > 0; version--) {
      const commit = await this.#commitAt(version);
      // Commits are erased after they were published.
      if (commit === undefined) break;
      const touched = Object.keys(commit.value.tables).flatMap((name) => {
        const own = next.get(name);
        return own === undefined ? [] : [{ name, own }];
      });
      await Promise.all(
        touched.map(async ({ name, own }) => {
          const known = missing.get(name) ?? [];
          // The newest is created without asking.
          if (
            own <= (this.#published.get(name) ?? -1) ||
            (known.length > 0 && (await hasFile(this.#store, publishedPath(name, own))))
          ) {
            next.delete(name);
            return;
          }
          missing.set(name, [...known, { version: own, commit }]);
          if (own === 0) next.delete(name);
          else next.set(name, own - 1);
        }),
      );
    }
    return missing;
  }

  async #commitAt(version: number): Promise<SealedCommit | undefined> {
    try {
      const commit = await this.#catalog.commitAt(version);
      if (commit !== undefined) return commit;
    } catch (error) {
      if (error instanceof ErasedCommit) return undefined;
      throw error;
    }
    throw new LedgerlakeError(
      'LAKE_LOG',
      `expected version ${version} of the catalog of ${this.#store.location}, which a Delta log lacks, got none; ` +
        'run `ledgerlake repair`, or restore the file from a copy of the lake',
    );
  }

  async #publishOne(table: string, { version, commit }: Missing): Promise<void> {
    const path = publishedPath(table, version);
    const bytes = deltaCommit(table, version, commit, this.#engine);
    if (!(await this.#create(path, bytes))) {
      const found = await this.#store.read(path);
      // Not by its bytes, which another version of this program may have written otherwise.
      if (found !== undefined && publishedHash(found) !== commit.hash) {
        throw new LedgerlakeError(
          'LAKE_LOG',
          `expected version ${commit.value.version} of the catalog in ${this.#store.location}/${path}, got something else: another ` +
            'program has written to the Delta log, which is published from the catalog; move that file away and run again',
        );
      }
    }
    this.#published.set(table, version);
  }

  /** Creates a file that every writer creates with the same meaning, so that it can be tried again. */
  async #create(path: string, bytes: Uint8Array): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#store.create(path, bytes);
      } catch (error) {
        const isUnclear = error instanceof LedgerlakeError && error.code === 'LAKE_UNCLEAR';
        if (!isUnclear || attempt === attempts) throw error;
      }
    }
  }
}
