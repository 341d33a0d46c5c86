import { randomBytes } from 'node:crypto';
import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { codeOf, LedgerlakeError } from '../core/errors.js';
import { groupBy } from '../core/group-by.js';
import { dayMs, hourMs } from '../core/windows.js';
import { zstd } from '../core/parquet/encoder/zstd.js';
import { Catalog } from './catalog/catalog.js';
import { CatalogFiles } from './catalog/catalog-files.js';
import { pastSnapshot, type PastVersion } from './catalog/past-snapshot.js';
import { ErasedCommit } from './catalog/catalog-errors.js';
import { type Change, firstVersionOf } from './catalog/change.js';
import type { SealedCommit } from './catalog/commit.js';
import type { Snapshot } from './catalog/snapshot.js';
import {
  addsOf,
  changeOf,
  noFiles,
  replacedBy,
  schemaChange,
  type FileCommit,
  type NewFile,
  type WrittenFiles,
} from './commit-files.js';
import type { Add } from './delta/actions.js';
import { type DataFile, lakePathOf } from './delta/data-file.js';
import { withRetention } from './delta/table-metadata.js';
import { inspectLocation } from './inspect-location.js';
import { copyUnfinished, unfinishedCopy } from './leases.js';
import { DeltaPublisher } from './publish/publisher.js';
import type { Store } from './store/store.js';
import { describedTables } from './table-descriptions.js';

/** The tables of a lake in one store, and the catalog that says what they have. */
export class Lake {
  readonly store: Store;
  readonly #clock: Clock;
  readonly #tables: ReadonlyMap<string, Table>;
  #catalog: Catalog;
  #publisher: DeltaPublisher;
  #files = 0;
  #isUnclear = false;
  #past: Snapshot | undefined;
  #accounts: readonly string[] | undefined;
  /** The tables of custom pipelines, as the catalog had them when it was opened. */
  readonly described: readonly Table[];

  private constructor(
    store: Store,
    catalog: Catalog,
    tables: readonly Table[],
    described: readonly Table[],
    clock: Clock,
  ) {
    this.store = store;
    this.#catalog = catalog;
    this.#publisher = new DeltaPublisher(store, catalog);
    this.#clock = clock;
    this.described = described;
    const names = new Set(tables.map(({ name }) => name));
    const all = [...tables, ...described.filter(({ name }) => !names.has(name))];
    this.#tables = new Map(all.map((table) => [table.name, table]));
  }

  /**
   * Opens the newest version of a lake, or an empty location. It has the given tables, and those that the catalog describes.
   *
   * @throws LedgerlakeError LAKE_STORE where the location can't be read, LAKE_LOG where its catalog can't, USAGE where it
   * is the folder of a lake's table
   */
  static async open(store: Store, tables: readonly Table[], clock: Clock): Promise<Lake> {
    const lake = await Lake.openLost(store, tables, clock);
    if (lake.snapshot.isEmpty) {
      const names = lake.tables.map(({ name }) => name);
      const { lostFile, hasRunTraces } = await inspectLocation(store, names);
      const copy = hasRunTraces ? await unfinishedCopy(store, clock) : undefined;
      if (copy !== undefined) throw copyUnfinished(store, copy);
      if (lostFile !== undefined) throw catalogMissing(store, lostFile);
    }
    return lake;
  }

  /** The same where the catalog may be lost: the data files that it has named may still be there. */
  static async openLost(store: Store, tables: readonly Table[], clock: Clock): Promise<Lake> {
    const catalog = await openCatalog(store, tables, clock);
    const described = await describedTables(catalog.snapshot, store.location);
    return new Lake(store, catalog, tables, described, clock);
  }

  /** The newest version that `refresh` has read, or the one of `goTo`. With `limitTo` it has only those accounts. */
  get snapshot(): Snapshot {
    const snapshot = this.#past ?? this.#catalog.snapshot;
    return this.#accounts === undefined ? snapshot : snapshot.limitedTo(this.#accounts);
  }

  /** Shows no other accounts from now on, to readers. */
  limitTo(accounts: readonly string[]): void {
    this.#accounts = accounts;
  }

  /**
   * Shows an earlier version from now on, to readers.
   *
   * @throws LedgerlakeError as `pastSnapshot`
   */
  async goTo(version: PastVersion): Promise<void> {
    this.#past = await pastSnapshot(new CatalogFiles(this.store), await zstd(), this.#catalog.snapshot, version);
  }

  /** The name of this run: in its commits, its lease and the names of its files. */
  get run(): string {
    return this.#catalog.run;
  }

  /** Damaged checkpoints that were skipped when the catalog was opened, as paths within the lake. */
  get damagedCheckpoints(): readonly string[] {
    return this.#catalog.skippedCheckpoints;
  }

  /** Whether the store didn't say whether a commit of this run exists: then none of its files may be deleted. */
  get isUnclear(): boolean {
    return this.#isUnclear;
  }

  /** Reads newer commits. */
  async refresh(): Promise<void> {
    try {
      await this.#catalog.refresh();
    } catch (error) {
      if (!(error instanceof ErasedCommit)) throw error;
      // Old commits were erased meanwhile: a checkpoint has what they came to.
      // As the same run: its lease and its files have the name, and a fence of it counts.
      this.#catalog = await openCatalog(this.store, this.tables, this.#clock, this.run);
      this.#publisher = new DeltaPublisher(this.store, this.#catalog);
    }
  }

  /** @throws LedgerlakeError LAKE_LOG where the newest commit that was read is gone: somebody has removed the lake */
  async checkPresent(): Promise<void> {
    if (!(await this.#catalog.isPresent())) {
      const what = `expected version ${this.snapshot.version} of the catalog in ${this.store.location}/_catalog, got none`;
      throw new LedgerlakeError(
        'LAKE_LOG',
        `${what}; run \`ledgerlake repair\`, or restore the file from a copy of the lake`,
      );
    }
  }

  /** Sets the retention of replaced files, in hours; undefined: unchanged. */
  async setRetention(hours: number | undefined): Promise<void> {
    if (hours === undefined) return;
    const retentionMs = hours * hourMs;
    await this.commitChange('SET TBLPROPERTIES', ({ config, tables }) => {
      if (config.retentionMs === retentionMs) return undefined;
      const described = [...tables].map(
        ([name, { metaData }]) => [name, { metaData: withRetention(metaData, retentionMs) }] as const,
      );
      return { config: { retentionMs }, tables: Object.fromEntries(described) };
    });
  }

  get tables(): readonly Table[] {
    return [...this.#tables.values()];
  }

  table(name: string): Table {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`the lake has no table ${name}`);
    return table;
  }

  /** The files of all accounts, in the order of the tables. */
  files(): DataFile[] {
    return this.tables.flatMap(({ name }) => [...this.snapshot.files(name)]);
  }

  /** Their addresses by table, of tables that have some. */
  fileAddresses(): Map<string, string[]> {
    const files = groupBy(this.files(), ({ table }) => table);
    const address = (file: DataFile) => this.store.address(file.lakePath);
    return new Map([...files].map(([table, some]) => [table, some.map(address)]));
  }

  /**
   * Writes files and commits them, with what they replace, as one version of the lake: readers see either all of it or nothing.
   *
   * @throws CommitConflict; LedgerlakeError LAKE_STORE; LAKE_UNCLEAR where the commit may exist, now or later; LAKE_CONFLICT where this
   * run is fenced
   */
  async commitFiles(commit: FileCommit): Promise<WrittenFiles> {
    if (replacedBy(commit, this.snapshot) === undefined) return noFiles;
    await this.#createTables([commit.main, ...commit.files.map(({ table }) => table)]);
    const adds = addsOf(commit, this.run, () => this.#files++, this.#clock.now());
    const own = [...adds].map(([{ table }, add]) => lakePathOf(table.name, add));
    let claimed: ClaimedChange | undefined;
    try {
      await this.#write(adds);
      claimed = await this.#claim(commit.operation, (snapshot) => {
        const replaced = replacedBy(commit, snapshot);
        if (replaced === undefined) return undefined;
        const { tables, ...rest } = changeOf(snapshot, adds, replaced, this.#clock.now());
        return { ...rest, tables: { [commit.main.name]: {}, ...tables } };
      });
    } catch (error) {
      // What can't be deleted now a vacuum deletes.
      if (!this.#isUnclear) await this.removeFiles(own).catch(() => undefined);
      throw error;
    }
    if (claimed === undefined) {
      await this.removeFiles(own);
      return noFiles;
    }
    // From here on the files are the lake's, whatever fails.
    await this.#finish(claimed);
    const added = addedPaths(claimed.commit.value);
    await this.removeFiles(own.filter((path) => !added.has(path)));
    const { files } = commit;
    return { files: files.length, bytes: files.reduce((sum, { content }) => sum + content.size, 0) };
  }

  /** Writes files, small ones at once: a store may take long for each. */
  async #write(adds: ReadonlyMap<NewFile, Add>): Promise<void> {
    const write = async ([{ table, read }, add]: readonly [NewFile, Add]) =>
      this.store.write(lakePathOf(table.name, add), await read());
    const isSmall = ([{ content }]: readonly [NewFile, Add]) => content.size * adds.size <= mostBytesAtOnce;
    const written = await Promise.allSettled([...adds].filter(isSmall).map(write));
    for (const one of written) if (one.status === 'rejected') throw one.reason;
    for (const one of adds) if (!isSmall(one)) await write(one);
  }

  /**
   * Commits a change, publishes it, and deletes the files that it removes, unless they are retained. `decide` may be called several
   * times, and must look at no other snapshot.
   *
   * @param decide undefined: there is nothing to do
   * @returns whether it was committed
   * @throws as `commitFiles`
   */
  async commitChange(operation: string, decide: (snapshot: Snapshot) => Change | undefined): Promise<boolean> {
    const claimed = await this.#claim(operation, decide);
    if (claimed !== undefined) await this.#finish(claimed);
    return claimed !== undefined;
  }

  /** Commits a change, and notes which files it leaves without a use. */
  async #claim(
    operation: string,
    decide: (snapshot: Snapshot) => Change | undefined,
  ): Promise<ClaimedChange | undefined> {
    let unused: string[] = [];
    try {
      const commit = await this.#catalog.commit(operation, (snapshot) => {
        const change = decide(snapshot);
        const removed = snapshot.config.retentionMs > 0 ? [] : Object.entries(change?.tables ?? {});
        unused = removed.flatMap(([table, { remove = [] }]) => remove.map((file) => lakePathOf(table, file)));
        return change;
      });
      return commit && { commit, unused };
    } catch (error) {
      this.#isUnclear ||= codeOf(error) === 'LAKE_UNCLEAR';
      throw error;
    }
  }

  async #finish({ unused }: ClaimedChange): Promise<void> {
    await this.publish();
    // Published logs must not name files that are gone.
    await this.removeFiles(unused);
    await this.#catalog.writeDueCheckpoint();
  }

  /** Writes a checkpoint in place of damaged ones, and removes those of the published logs that were superseded a day ago. */
  async tidyCheckpoints(): Promise<void> {
    await this.#catalog.replaceSkippedCheckpoints();
    await this.#publisher.removeSuperseded(this.#clock.now() - dayMs);
  }

  /** Writes a checkpoint of the catalog, and the hint to it. */
  async writeCheckpoint(): Promise<void> {
    await this.#catalog.writeCheckpoint();
  }

  /** Writes the published checkpoint of a table, and the hint to it. */
  async writePublishedCheckpoint(table: string): Promise<void> {
    await this.#publisher.writeCheckpoint(table);
  }

  /** @throws LedgerlakeError LAKE_LOG where only a newer program may write to the lake */
  checkWriter(): void {
    this.#catalog.checkWriter();
  }

  /**
   * Publishes every commit that was read.
   *
   * @throws LedgerlakeError LAKE_LOG where only a newer program may write to the lake; LAKE_STORE, LAKE_UNCLEAR
   */
  async publish(): Promise<void> {
    this.checkWriter();
    await this.#publisher.publish();
  }

  /**
   * Creates the tables that the lake lacks. Must be called before the first file is written, so that files without a catalog mean
   * that it was lost.
   */
  async #createTables(tables: readonly Table[]): Promise<void> {
    const missing = (snapshot: Snapshot) => tables.filter(({ name }) => !snapshot.tables.has(name));
    if (missing(this.snapshot).length === 0) return;
    await this.commitChange('CREATE TABLE', (snapshot) => {
      const created = missing(snapshot).map((table) => {
        return [table.name, schemaChange(snapshot, table, this.#clock.now())] as const;
      });
      return created.length === 0 ? undefined : { tables: Object.fromEntries(created) };
    });
  }

  /** Adds the columns that tables of the lake have gained to its catalog, so that it is read with them everywhere. */
  async growTables(tables: readonly Table[]): Promise<void> {
    await this.commitChange('ADD COLUMNS', (snapshot) => {
      const changes = tables
        .filter(({ name }) => snapshot.tables.has(name))
        .map((table) => [table.name, schemaChange(snapshot, table, this.#clock.now())] as const)
        .filter(([, change]) => Object.keys(change).length > 0);
      return changes.length === 0 ? undefined : { tables: Object.fromEntries(changes) };
    });
  }

  /**
   * Overwrites all older commits by stubs, and makes the published logs begin anew. No other run may be active on the lake: all
   * that began at an earlier version are fenced.
   *
   * @param runs others that are fenced, by name
   * @throws LedgerlakeError LAKE_LOG where the checkpoint that replaces the commits can't be read back; then none is erased
   */
  async erase(operation: string, runs: readonly string[] = []): Promise<void> {
    const fence = { before: firstVersionOf(this.run), runs };
    await this.#catalog.erase(operation, () => this.publish(), fence);
    await this.#publisher.eraseOlder();
  }

  /** Removes files that no version has. */
  async removeFiles(paths: readonly string[]): Promise<void> {
    for (const path of new Set(paths)) await this.store.remove(path);
  }
}

function openCatalog(store: Store, tables: readonly Table[], clock: Clock, run?: string): Promise<Catalog> {
  const random = () => randomBytes(8).toString('hex');
  return Catalog.open(store, { clock, random, knownTables: tables.map(({ name }) => name), ...(run && { run }) });
}

/** A change that is committed. */
interface ClaimedChange {
  readonly commit: SealedCommit;
  /** Replaced files that aren't retained, as paths within the lake. */
  readonly unused: readonly string[];
}

function addedPaths({ tables }: Change): ReadonlySet<string> {
  const paths = Object.entries(tables ?? {}).flatMap(([table, { add = [] }]) =>
    add.map((file) => lakePathOf(table, file)),
  );
  return new Set(paths);
}

function catalogMissing(store: Store, file: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected the catalog of ${file} in ${store.location}/_catalog, got none; copy the folders ` +
      'whose names begin with `_` too, or run `ledgerlake repair`',
  );
}

/** Bytes of files that are in memory at once because they are written concurrently. */
const mostBytesAtOnce = 32_000_000;
