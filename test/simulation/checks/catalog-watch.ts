import { hash } from 'node:crypto';
import { lakePathOf } from '../../../src/lake/delta/data-file.js';
import { readCommit, type SealedCommit } from '../../../src/lake/catalog/commit.js';
import { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import { readPublished } from '../../../src/lake/publish/delta-commit.js';
import { isDataFile } from '../../../src/lake/data-files.js';
import type { Observer } from '../../lake/simulation/memory-files.js';
import { PublishedTables } from '../../lake/simulation/published-tables.js';
import { Violation } from '../../lake/simulation/violation.js';
import { currentProcess, type Process, type World } from '../world/world.js';

/** A commit, and who made it; undefined: it has landed late. */
export interface WatchedCommit {
  readonly commit: SealedCommit;
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly process: Process | undefined;
}

/** The most that clocks are off. */
const clockErrorMs = 20 * 60_000;

/** The rules of catalog, data files and published logs, checked with each call of the store when it takes effect. */
export class CatalogWatch implements Observer {
  /** The catalog by its commits alone. */
  truth = Snapshot.empty;
  commits = 0;
  /** Files that the simulation has damaged or removed. */
  readonly damaged = new Set<string>();
  files: ReadonlyMap<string, Uint8Array> = new Map();
  readonly #world: World;
  readonly #committed: (commit: WatchedCommit) => void;
  readonly #published = new PublishedTables();
  readonly #versions = new Map<
    number,
    {
      readonly hash: string;
      readonly versions: ReadonlyMap<string, number>;
      readonly paths: ReadonlyMap<string, string>;
    }
  >();

  constructor(world: World, committed: (commit: WatchedCommit) => void) {
    this.#world = world;
    this.#committed = committed;
  }

  created(path: string, bytes: Uint8Array): void {
    this.#note(() => {
      const [, version] = /^_catalog\/(\d{20})\.json$/.exec(path) ?? [];
      if (version !== undefined) this.#commit(Number(version), bytes, path);
      this.#notePublished(path, bytes, this.damaged.has(path));
    });
  }

  written(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void {
    this.#note(() => {
      if (/^_catalog\/\d{20}\.json$/.test(path)) this.#overwritten(path, bytes, before);
      // A repair writes what is damaged, and what no run has published yet.
      this.#notePublished(path, bytes, before !== undefined || this.damaged.has(path));
      if (!isDataFile(path) || before === undefined || this.damaged.has(path)) return;
      if (Buffer.compare(before, bytes) !== 0) throw new Violation(`${path} is written twice`);
    });
    if (isDataFile(path)) this.damaged.delete(path);
  }

  removed(path: string): void {
    this.#note(() => {
      if (this.damaged.has(path) || !isDataFile(path)) return;
      if (this.truth.has(path)) throw new Violation(`${path} is deleted, which the newest version has`);
      const [table = ''] = path.split('/', 1);
      if (this.#published.paths(table).has(path.slice(table.length + 1)))
        throw new Violation(`${path} is deleted, which its published table has`);
      const retiredAt = this.truth.isRetired(path) ? new Map(this.truth.retired()).get(path) : undefined;
      const { retentionMs } = this.truth.config;
      if (retiredAt !== undefined && this.#world.now() - retiredAt < retentionMs - clockErrorMs)
        throw new Violation(`${path} is deleted, which is retained`);
    });
  }

  /** What must hold once all runs have ended, and one has cleaned up. */
  atTheEnd(): void {
    for (const [table, { versions }] of this.truth.tables) {
      const published = this.#published.version(table) + 1;
      if (published !== versions) throw new Violation(`${table} is published up to ${published} of ${versions}`);
      const paths = this.#published.paths(table);
      const expected = [...this.truth.files(table)].map(({ path }) => path);
      if (expected.length !== paths.size || expected.some((path) => !paths.has(path)))
        throw new Violation(`the published ${table} has other files than the catalog`);
    }
    for (const path of this.files.keys()) {
      if (isDataFile(path) && !this.truth.keeps(path)) throw new Violation(`${path} stays, which no version has`);
    }
  }

  #note(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#world.fail(error);
    }
  }

  #commit(version: number, bytes: Uint8Array, path: string): void {
    this.commits++;
    const commit = readCommit(bytes, version, path);
    if ('erased' in commit) throw new Violation(`${path} is created as a stub`);
    const { value } = commit;
    const before = this.truth;
    if (before.isFenced(value.run)) throw new Violation(`the fenced run ${value.run} has committed version ${version}`);
    if (value.at < before.state.at)
      throw new Violation(`version ${version} is of an earlier instant than the one before`);
    for (const [table, { add = [], remove = [] }] of Object.entries(value.tables)) {
      for (const file of remove) {
        if (before.file(table, file.path) === undefined)
          throw new Violation(`${path} removes ${file.path}, which isn't there`);
      }
      for (const file of add) this.#checkFile(lakePathOf(table, file), file.tags?.['sha256'], path);
    }
    this.truth = before.apply([commit]);
    this.#versions.set(version, {
      hash: commit.hash,
      versions: new Map([...this.truth.tables].map(([name, { versions }]) => [name, versions])),
      paths: new Map(Object.keys(value.tables).map((name) => [name, pathsOf(this.truth, name)])),
    });
    this.#committed({ commit: { ...commit, bytes }, before, after: this.truth, process: currentProcess() });
  }

  #checkFile(path: string, sha256: string | undefined, commit: string): void {
    const bytes = this.files.get(path);
    if (bytes === undefined) throw new Violation(`${commit} adds ${path}, which is missing`);
    if (hash('sha256', bytes) !== sha256) throw new Violation(`${commit} adds ${path}, whose bytes are others`);
  }

  #notePublished(path: string, bytes: Uint8Array, isRestored: boolean): void {
    const [, table = '', published] = /^(\w+)\/_delta_log\/(\d{20})\.json$/.exec(path) ?? [];
    if (published === undefined) return;
    if (isRestored) this.#restorePublished(table, Number(published), bytes, path);
    else this.#publish(table, Number(published), bytes, path);
  }

  #publish(table: string, version: number, bytes: Uint8Array, path: string): void {
    const published = this.#published.publish(table, version, bytes, path);
    const state = this.#versions.get(published.header.version);
    if (state?.hash !== published.sha256 || state.versions.get(table) !== version + 1)
      throw new Violation(`${path} is no version of the catalog`);
    if (state.paths.get(table) !== digest(this.#published.paths(table)))
      throw new Violation(`${path} has other files than the catalog`);
  }

  /** A damaged publication is written as it was. */
  #restorePublished(table: string, version: number, bytes: Uint8Array, path: string): void {
    this.damaged.delete(path);
    const published = readPublished(bytes);
    const state = published === undefined ? undefined : this.#versions.get(published.header.version);
    if (state?.versions.get(table) !== version + 1 || state.hash !== published?.sha256)
      throw new Violation(`${path} is restored as another version`);
  }

  #overwritten(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void {
    const version = Number(path.slice('_catalog/'.length, -'.json'.length));
    const written = readCommit(bytes, version, path);
    if (this.damaged.delete(path)) {
      if ('erased' in written || written.hash !== this.#versions.get(version)?.hash)
        throw new Violation(`${path} is restored as another commit`);
      return;
    }
    if (!('erased' in written) || before === undefined)
      throw new Violation(`${path} is overwritten by something else than its stub`);
    if (this.#versions.get(version)?.hash !== written.erased) throw new Violation(`${path} is another commit's stub`);
  }
}

function pathsOf(snapshot: Snapshot, table: string): string {
  return digest([...snapshot.files(table)].map(({ path }) => path));
}

function digest(paths: Iterable<string>): string {
  return hash('sha1', [...paths].toSorted().join('\n'));
}
