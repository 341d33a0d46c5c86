import { hash } from 'node:crypto';
import { commitPath } from '../../../src/lake/catalog/catalog-files.js';
import { lakePathOf } from '../../../src/lake/delta/data-file.js';
import { accountOf } from '../../../src/lake/catalog/change.js';
import {
  canonicalCommit,
  noHash,
  readCommit,
  sealCommit,
  type SealedCommit,
} from '../../../src/lake/catalog/commit.js';
import { Snapshot } from '../../../src/lake/catalog/snapshot.js';
import { readPublished } from '../../../src/lake/publish/delta-commit.js';
import type { Add } from '../../../src/lake/delta/actions.js';
import { decodeRows, tableNames, textOf } from './rows.js';
import { SequentialModel, type Meaning } from './sequential-model.js';
import type { Observer } from './memory-files.js';
import { PublishedTables } from './published-tables.js';
import type { SimulatedFiles } from './simulated-store.js';
import { Violation } from './violation.js';

interface State {
  readonly hash: string;
  readonly commit: SealedCommit;
  readonly versions: ReadonlyMap<string, number>;
  readonly paths: ReadonlyMap<string, readonly string[]>;
}

/** What must hold at every instant, whatever runs do. It sees calls when they take effect, and nothing of the runs. */
export class Checks implements Observer {
  readonly model = new SequentialModel();
  /** The catalog by its commits alone. */
  truth = Snapshot.empty;
  readonly states = new Map<number, State>();
  /** What a commit means, by its nonce. */
  readonly meanings = new Map<string, readonly Meaning[]>();
  /** Data files that the simulation has damaged or removed. */
  readonly damaged = new Set<string>();
  commits = 0;
  /** Operations that commits have. */
  operations = 0;
  failure: unknown;
  files: SimulatedFiles | undefined;
  readonly #now: () => number;
  readonly #retention: number;
  readonly #published = new PublishedTables();
  readonly #rows = new Map<string, readonly string[]>();

  constructor(now: () => number, retention: number) {
    this.#now = now;
    this.#retention = retention;
  }

  created(path: string, bytes: Uint8Array): void {
    this.#note(() => {
      const [, version] = /^_catalog\/(\d{20})\.json$/.exec(path) ?? [];
      if (version !== undefined) this.#committed(Number(version), bytes, path);
      const [, table = '', published] = /^(\w+)\/_delta_log\/(\d{20})\.json$/.exec(path) ?? [];
      if (published !== undefined) this.#publishedNow(table, Number(published), bytes, path);
    });
  }

  written(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void {
    this.#note(() => {
      if (/^_catalog\/\d{20}\.json$/.test(path)) this.#erased(path, bytes, before);
      const isOther = before !== undefined && Buffer.compare(before, bytes) !== 0;
      if (isDataFile(path) && isOther && !this.damaged.has(path)) throw new Violation(`${path} is written twice`);
    });
  }

  removed(path: string): void {
    this.#note(() => {
      if (this.damaged.has(path)) return;
      if (this.truth.has(path)) throw new Violation(`${path} is deleted, which the newest version has`);
      const [table = ''] = path.split('/', 1);
      if (this.#published.paths(table).has(path.slice(table.length + 1))) {
        throw new Violation(`${path} is deleted, which its published table has`);
      }
      const retiredAt = this.#retiredAt(path);
      if (retiredAt !== undefined && this.#now() - retiredAt < this.#retention)
        throw new Violation(`${path} is deleted, which is retained`);
    });
  }

  #retiredAt(path: string): number | undefined {
    if (!this.truth.isRetired(path)) return undefined;
    return new Map(this.truth.retired()).get(path);
  }

  #note(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.failure ??= error;
    }
  }

  #committed(version: number, bytes: Uint8Array, path: string): void {
    this.commits++;
    const commit = readCommit(bytes, version, path);
    if ('erased' in commit) throw new Violation(`${path} is created as a stub`);
    const { value } = commit;
    const meanings = this.meanings.get(value.nonce);
    if (meanings === undefined) throw new Violation(`${path} is of no run, or committed twice`);
    this.meanings.delete(value.nonce);
    if (this.truth.isFenced(value.run))
      throw new Violation(`the fenced run ${value.run} has committed version ${version}`);
    if (value.at < this.truth.state.at)
      throw new Violation(`version ${version} is of an earlier instant than the one before`);
    this.operations += meanings.length;
    for (const meaning of meanings) this.model.apply(meaning);
    this.truth = this.truth.apply([commit]);
    for (const table of tableNames) this.#compareRows(table, version);
    const loaded = [...this.truth.accounts()].flatMap((account) =>
      [...this.truth.allKeysOf(account)].map(({ key }) => `${account} ${key}`),
    );
    const expected = this.model.loaded().join();
    if (loaded.toSorted().join() !== expected)
      throw new Violation(`version ${version} has loaded ${loaded.join()}, expected ${expected}`);
    this.states.set(version, {
      hash: commit.hash,
      commit,
      versions: new Map([...this.truth.tables].map(([name, { versions }]) => [name, versions])),
      paths: new Map(
        [...this.truth.tables.keys()].map((name) => [
          name,
          [...this.truth.files(name)].map(({ path: one }) => one).toSorted(),
        ]),
      ),
    });
  }

  #compareRows(table: string, version: number): void {
    const expected = this.model.rows(table);
    const stored = [...this.truth.files(table)].map((file) => this.rowsOf(table, file));
    if (expected === undefined || stored.includes(undefined)) return;
    const found = stored.flatMap((rows) => rows ?? []).toSorted();
    if (found.join('\n') === expected.join('\n')) return;
    throw new Violation(`version ${version} has ${found.length} rows of ${table}, expected ${expected.length}`);
  }

  /** The rows of a file; undefined where it is damaged. */
  rowsOf(table: string, file: Add): readonly string[] | undefined {
    const path = lakePathOf(table, file);
    if (this.damaged.has(path)) return undefined;
    const bytes = this.files?.files.get(path);
    if (bytes === undefined) throw new Violation(`${path} is missing, which a version has`);
    const known = this.#rows.get(path);
    if (known !== undefined) return known;
    if (hash('sha256', bytes) !== file.tags?.['sha256']) throw new Violation(`${path} has changed`);
    const account = accountOf(file);
    const rows = decodeRows(bytes).map((row) => (row.change === undefined ? `${account} ${textOf(row)}` : textOf(row)));
    this.#rows.set(path, rows);
    return rows;
  }

  #publishedNow(table: string, version: number, bytes: Uint8Array, path: string): void {
    const published = this.#published.publish(table, version, bytes, path);
    const paths = this.#published.paths(table);
    const state = this.states.get(published.header.version);
    const isState =
      state?.versions.get(table) === version + 1 && state.paths.get(table)?.join() === [...paths].toSorted().join();
    if (!isState) throw new Violation(`${path} is no state of the catalog`);
    for (const one of paths) {
      const file = `${table}/${one}`;
      if (this.files?.files.has(file) === true || this.damaged.has(file)) continue;
      throw new Violation(`${path} has ${file}, which is gone`);
    }
  }

  #erased(path: string, bytes: Uint8Array, before: Uint8Array | undefined): void {
    const version = Number(path.slice('_catalog/'.length, -'.json'.length));
    const stub = readCommit(bytes, version, path);
    if (!('erased' in stub) || before === undefined)
      throw new Violation(`${path} is overwritten by something else than its stub`);
    const state = this.states.get(version);
    if (state?.hash !== stub.erased || state.commit.value.previous !== stub.previous)
      throw new Violation(`${path} is another commit's stub`);
    for (const table of Object.keys(state.commit.value.tables)) {
      const isPublished = this.#published.version(table) >= (state.versions.get(table) ?? 0) - 1;
      if (!isPublished) throw new Violation(`${path} is erased before it is published`);
    }
  }

  /** What must hold when all runs have ended and one has cleaned up. */
  atTheEnd(snapshot: Snapshot): void {
    const files = this.files?.files ?? new Map<string, Uint8Array>();
    if (snapshot.hash !== this.truth.hash) throw new Violation('the last run has read another version');
    for (const [table, { versions }] of this.truth.tables) {
      const published = this.#published.version(table) + 1;
      if (published !== versions) throw new Violation(`${table} is published up to ${published} of ${versions}`);
    }
    const orphans = [...files.keys()].filter((path) => isDataFile(path) && !this.truth.has(path));
    if (orphans.length > 0) throw new Violation(`orphans stay: ${orphans.join()}`);
    let previous = noHash;
    for (let version = 0; version <= this.truth.version; version++) {
      const path = commitPath(version);
      const bytes = files.get(path);
      if (bytes === undefined) throw new Violation(`${path} is missing`);
      const commit = readCommit(bytes, version, path);
      if (('erased' in commit ? commit : commit.value).previous !== previous)
        throw new Violation(`the chain is broken at ${version}`);
      previous = 'erased' in commit ? commit.erased : commit.hash;
    }
    this.#comparePublications(files);
  }

  /** Every commit can be written again, byte for byte, from its publications. */
  #comparePublications(files: ReadonlyMap<string, Uint8Array>): void {
    for (const { commit, versions } of this.states.values()) {
      const names = Object.keys(commit.value.tables);
      const published = names.map((name) => {
        const path = `${name}/_delta_log/${String((versions.get(name) ?? 0) - 1).padStart(20, '0')}.json`;
        const found = readPublished(files.get(path) ?? new Uint8Array());
        if (found === undefined) throw new Violation(`${path} is missing`);
        return [name, found] as const;
      });
      const [first] = published;
      if (first === undefined) continue;
      const [, { header, tables }] = first;
      if (tables.join() !== names.join())
        throw new Violation(`version ${header.version} is published with other tables`);
      const change = { ...header, tables: Object.fromEntries(published.map(([name, one]) => [name, one.change])) };
      if (sealCommit(canonicalCommit(header, change)).hash !== commit.hash) {
        throw new Violation(`version ${header.version} can't be restored from its publications`);
      }
    }
  }
}

/** Not a checkpoint of a published log. */
function isDataFile(path: string): boolean {
  return path.endsWith('.parquet') && !path.includes('/_delta_log/');
}
