import { randomBytes } from 'node:crypto';
import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { codeOf, LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import { hourMs } from '../core/windows.js';
import { Catalog } from './catalog/catalog.js';
import { ErasedCommit } from './catalog/catalog-errors.js';
import { lakePathOf, type Change } from './catalog/change.js';
import type { StoredLoadKey } from './catalog/load-key.js';
import type { Snapshot } from './catalog/snapshot.js';
import {
  changeOf,
  grownMetaData,
  namedFiles,
  notCommitted,
  replacedFiles,
  type CommitResult,
  type FileCommit,
  type TableFile,
} from './commit-files.js';
import type { Add } from './delta/actions.js';
import { importSpansOf, rowsInLog, type ImportSpan } from './delta/file-tags.js';
import { withRetention } from './delta/table-metadata.js';
import { inspectLocation } from './inspect-location.js';
import { LakeTable, TableSnapshot } from './lake-table.js';
import { importedKey } from './loads/imported-days.js';
import {
  displacedKeys,
  filesOf,
  filesToReplace,
  filesToSplit,
  hasConflict,
  keyChange,
  replacedKeys,
} from './loads/load-keys.js';
import { DeltaPublisher } from './publish/delta/publisher.js';
import {
  sliceAdd,
  type Remainder,
  type RevisionToCommit,
  type Revisions,
  type SliceCommit,
  type SliceFile,
} from './slice-commit.js';
import type { Store } from './store/store.js';
import { describedTables } from './table-descriptions.js';

export type { SliceCommit, SliceFile } from './slice-commit.js';

/**
 * Writes what stays of the files of the slice's main table that have load keys of the slice and others, and calls `use` with it:
 * undefined where no file has others. Undated imported events move to other days before, in a commit of their own.
 *
 * @throws DamagedFile for a file that can't be read; what `use` throws
 */
export type Split = <T>(slice: SliceCommit, use: (remainder: Remainder | undefined) => Promise<T>) => Promise<T>;

/** The tables of a lake in one store, and the catalog that says what they have. */
export class Lake {
  readonly store: Store;
  readonly #clock: Clock;
  readonly #tables: ReadonlyMap<string, LakeTable>;
  readonly #revisions: Revisions | undefined;
  readonly #splitting = new Mutex();
  readonly #displacing = new Mutex();
  #catalog: Catalog;
  #publisher: DeltaPublisher;
  #files = 0;
  #isUnclear = false;

  private constructor(
    store: Store,
    catalog: Catalog,
    tables: readonly Table[],
    clock: Clock,
    revisions: Revisions | undefined,
  ) {
    this.store = store;
    this.#catalog = catalog;
    this.#publisher = new DeltaPublisher(store, catalog);
    this.#clock = clock;
    this.#revisions = revisions;
    const newest = () => this.snapshot;
    this.#tables = new Map(tables.map((table) => [table.name, new LakeTable(table, store, newest)]));
  }

  /**
   * Opens a lake, or an empty location, at its newest version, with the given tables and those that the lake describes, which are
   * `described` where they were read already. `revisions` compares re-read slices with the stored ones; without it a refresh
   * replaces the rows and keeps no history.
   *
   * @throws LedgerlakeError LAKE_STORE where the location can't be read, LAKE_LOG where its catalog can't, USAGE where it
   * is the folder of a lake's table
   */
  static async open(
    store: Store,
    tables: readonly Table[],
    clock: Clock,
    revisions?: Revisions,
    described?: readonly Table[],
  ): Promise<Lake> {
    const names = new Set(tables.map(({ name }) => name));
    const custom = (described ?? (await describedTables(store))).filter(({ name }) => !names.has(name));
    const all = [...tables, ...custom];
    const lake = new Lake(store, await openCatalog(store, all, clock), all, clock, revisions);
    if (lake.isEmpty) {
      const { lostFile } = await inspectLocation(
        store,
        all.map(({ name }) => name),
      );
      if (lostFile !== undefined) throw catalogMissing(store, lostFile);
    }
    return lake;
  }

  /** The newest version read; `refresh` reads newer ones. */
  get snapshot(): Snapshot {
    return this.#catalog.snapshot;
  }

  /** Whether nothing was ever committed. */
  get isEmpty(): boolean {
    return this.snapshot.version < 0;
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
      this.#catalog = await openCatalog(
        this.store,
        this.tables.map(({ schema }) => schema),
        this.#clock,
      );
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

  /** The retention of replaced files, in milliseconds. */
  get retentionMs(): number {
    return this.snapshot.config.retentionMs;
  }

  get tables(): readonly LakeTable[] {
    return [...this.#tables.values()];
  }

  table(name: string): LakeTable {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`the lake has no table ${name}`);
    return table;
  }

  /** Accounts with files or load keys. */
  accounts(): ReadonlySet<string> {
    return new Set(this.snapshot.accounts());
  }

  /** The loaded load keys of a pipeline and account. */
  loadKeys(pipeline: string, account: string): ReadonlyMap<string, StoredLoadKey> {
    return this.snapshot.keysOf(account, pipeline);
  }

  /** The files of a table, pipeline and account. */
  files(pipeline: string, table: string, account: string): readonly Add[] {
    return filesOf(this.table(table).snapshot, pipeline, account);
  }

  /** The addresses of the files by table, of tables that have some. */
  committedFiles(): Map<string, string[]> {
    const files = new Map<string, string[]>();
    for (const table of this.tables) {
      const addresses = [...table.snapshot.files()].map((add) => this.store.address(table.pathOf(add)));
      if (addresses.length > 0) files.set(table.schema.name, addresses);
    }
    return files;
  }

  /** The same files, as log entries. */
  committedAdds(): { table: LakeTable; add: Add }[] {
    return this.tables.flatMap((table) => [...table.snapshot.files()].map((add) => ({ table, add })));
  }

  /**
   * Writes files and commits them, with what they replace, as one version of the lake: readers see either all of it or nothing.
   *
   * @returns what changed; nothing where `decide` says so
   * @throws LedgerlakeError LAKE_STORE; LAKE_UNCLEAR where the commit may exist, now or later; LAKE_CONFLICT where this run is fenced
   */
  async commitFiles(commit: FileCommit): Promise<CommitResult> {
    if (commit.decide(this.snapshot) === undefined) return notCommitted;
    await this.#createTables([commit.main, ...commit.files.map(({ table }) => table)]);
    const files = namedFiles(commit, this.run, () => this.#files++);
    const own = files.map(({ table, add }) => lakePathOf(table, add));
    try {
      for (const { table, add, read } of files) await this.store.write(lakePathOf(table, add), await read());
      const isCommitted = await this.commitChange(commit.operation, (snapshot) => {
        const decision = commit.decide(snapshot);
        if (decision === undefined) return undefined;
        const removed = replacedFiles(snapshot, commit.main.name, decision);
        const { tables, ...rest } = changeOf(snapshot, files, removed, decision.keys, this.#clock.now());
        return { ...rest, tables: { [commit.main.name]: {}, ...tables } };
      });
      if (!isCommitted) {
        await this.removeFiles(own);
        return notCommitted;
      }
    } catch (error) {
      if (!this.#isUnclear) await this.removeFiles(own);
      throw error;
    }
    return { isCommitted: true, files: files.length, bytes: files.reduce((sum, { add }) => sum + add.size, 0) };
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
    let removed: TableFile[] = [];
    const commit = await this.#catalog
      .commit(operation, (snapshot) => {
        const change = decide(snapshot);
        removed = Object.entries(change?.tables ?? {}).flatMap(([table, { remove = [] }]) =>
          remove.flatMap(({ path }) => {
            const add = snapshot.file(table, path);
            return add === undefined ? [] : [{ table, add }];
          }),
        );
        return change;
      })
      .catch((error: unknown) => {
        this.#isUnclear ||= codeOf(error) === 'LAKE_UNCLEAR';
        throw error;
      });
    if (commit === undefined) return false;
    await this.publish();
    // Published logs must not name files that are gone.
    if (this.retentionMs === 0) await this.removeFiles(removed.map(({ table, add }) => lakePathOf(table, add)));
    await this.#catalog.writeDueCheckpoint();
    return true;
  }

  /** Writes a checkpoint in place of damaged ones. */
  async replaceDamagedCheckpoints(): Promise<void> {
    await this.#catalog.replaceSkippedCheckpoints();
  }

  /** Publishes every commit that was read. */
  async publish(): Promise<void> {
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
        const metaData = grownMetaData(snapshot, table, this.#clock.now());
        return [table.name, metaData === undefined ? {} : { metaData }] as const;
      });
      return created.length === 0 ? undefined : { tables: Object.fromEntries(created) };
    });
  }

  /**
   * Overwrites all older commits by stubs, and makes the published logs begin anew. No other run may be active on the lake.
   *
   * @throws LedgerlakeError LAKE_LOG where the checkpoint that replaces the commits can't be read back; then none is erased
   */
  async erase(operation: string): Promise<void> {
    await this.#catalog.erase(operation, () => this.publish());
    await this.#publisher.eraseOlder();
  }

  /**
   * Writes and commits a slice's files: readers see either the whole slice or nothing of it.
   *
   * Of a file that also holds other load keys `split` writes what stays, for the same commit.
   *
   * Differences from the stored rows are added to an append-only table (see `Revisions`) in the same commit. Of two writers that
   * compared the same rows the first wins, and the other compares again.
   *
   * @returns what changed; nothing where another run has committed conflicting load keys, or `Revisions` refused the slice
   * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; UPSTREAM_EMPTY where it has no rows and would replace imported ones;
   * LAKE_CONFLICT where a file that it replaces has other load keys and can't be split; DamagedFile where such a file can't be read
   */
  async commit(slice: SliceCommit, split?: Split): Promise<CommitResult> {
    const main = slice.tables.at(-1);
    if (main === undefined) throw new Error(`the pipeline ${slice.pipeline} has no table`);
    if (split === undefined || !this.#displaces(slice, main)) return this.#commitWhole(slice, main, split);
    // Which day undated imported events move to depends on the loaded windows.
    return this.#displacing.run(() => this.#commitWhole(slice, main, split));
  }

  async #commitWhole(slice: SliceCommit, main: Table, split: Split | undefined): Promise<CommitResult> {
    for (let attempt = 1; ; attempt++) {
      const replaces = slice.refresh || (slice.retires ?? []).length > 0;
      const revision = replaces ? await this.#revisions?.compare(this, slice) : undefined;
      if (revision?.verdict === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision?.verdict === 'refused') return notCommitted;
      this.#refuseEmptying(slice, main);
      const mayBeMixed = split !== undefined && (replaces || this.#displaces(slice, main));
      const commit = async (): Promise<CommitResult & { isStale: boolean }> => {
        const displacedPaths = this.#displacedPaths(this.snapshot, slice, main);
        const isCurrent = (snapshot: Snapshot) =>
          split === undefined || this.#displacedPaths(snapshot, slice, main) === displacedPaths;
        const one = { slice, main, revision, isCurrent };
        if (!mayBeMixed) return this.#commitOne(one, undefined);
        return split({ ...slice, loadKeys: replacedKeys(slice) }, (remainder) => this.#commitOne(one, remainder));
      };
      // Slices of one merged file replace it one after the other, because each would copy all of it, all but one in vain.
      const isMixed = mayBeMixed && this.#isMixed(slice, main);
      const { isStale, ...committed } = await (isMixed ? this.#splitting.run(commit) : commit());
      if (committed.isCommitted) revision?.committed();
      if (!isStale || attempt === mostSplits) return committed;
    }
  }

  #isMixed(slice: SliceCommit, main: Table): boolean {
    const mixed = filesToSplit(this.snapshot, this.table(main.name).snapshot, slice);
    return mixed.length > 0 || undatedFiles(this.snapshot, slice, main).length > 0;
  }

  /** Refuses to replace imported rows by nothing: they may be the only copy, as the upstream has no data older than two years. */
  #refuseEmptying(slice: SliceCommit, main: Table): void {
    if (slice.acceptsEmpty === true || slice.files.some(({ table }) => table === main)) return;
    const keys = displacedKeys(this.snapshot, slice);
    const rows = rowsInLog(this.table(main.name).snapshot.filesWith(slice.account, slice.pipeline, keys));
    if (rows === 0) return;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ` +
        'none from the service; the imported rows stay, --accept-empty removes them',
    );
  }

  /** Whether the slice replaces imported rows, or may do so. */
  #displaces(slice: SliceCommit, main: Table): boolean {
    return displacedKeys(this.snapshot, slice).length > 0 || undatedFiles(this.snapshot, slice, main).length > 0;
  }

  /** The files with imported rows that the slice replaces, or may replace, as one text. */
  #displacedPaths(snapshot: Snapshot, slice: SliceCommit, main: Table): string {
    if (slice.splits === undefined) return '';
    const table = new TableSnapshot(snapshot, main.name);
    const displaced = table.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    return [...new Set([...displaced, ...undatedFiles(snapshot, slice, main)])].map(({ path }) => path).join();
  }

  async #commitOne(
    { slice, main, revision, isCurrent }: OneCommit,
    remainder: Remainder | undefined,
  ): Promise<CommitResult & { isStale: boolean }> {
    const now = this.#clock.now();
    let isStale = false;
    const newFile = (file: SliceFile, name: string) => ({
      table: file.table,
      add: sliceAdd({ ...slice, name }, file, now),
      read: () => Promise.resolve(file.bytes),
    });
    const committed = await this.commitFiles({
      operation: 'WRITE',
      main,
      files: [
        ...slice.files.map((file) => newFile(file, slice.name)),
        ...(revision?.files ?? []).map((file) => newFile(file, revision?.name ?? slice.name)),
        ...(remainder?.files ?? []),
      ],
      decide: (snapshot) => {
        const table = new TableSnapshot(snapshot, main.name);
        const copied = new Set(remainder?.mains.map(({ path }) => path));
        const [mixed] = filesToSplit(snapshot, table, slice).filter(({ path }) => !copied.has(path));
        const isWhole = mixed === undefined && [...copied].every((path) => table.file(path) !== undefined);
        isStale = !isCurrent(snapshot) || !isWhole || revision?.isCurrent(snapshot) === false;
        if (isStale || hasConflict(snapshot, slice)) return undefined;
        const keys = keyChange(snapshot, slice, now, { pieces: remainder?.pieces });
        return { replaced: filesToReplace(snapshot, table, slice), keys };
      },
    });
    return { ...committed, isStale };
  }

  /** Removes files that no version has. */
  async removeFiles(paths: readonly string[]): Promise<void> {
    for (const path of new Set(paths)) await this.store.remove(path);
  }
}

function openCatalog(store: Store, tables: readonly Table[], clock: Clock): Promise<Catalog> {
  const random = () => randomBytes(8).toString('hex');
  return Catalog.open(store, { clock, random, knownTables: tables.map(({ name }) => name) });
}

function catalogMissing(store: Store, file: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected the catalog of ${file} in ${store.location}/_catalog, got none; copy the folders whose names begin with \`_\` too, ` +
      'or run `ledgerlake repair`',
  );
}

/** Files with undated imported events that may belong to the slice. */
function undatedFiles(snapshot: Snapshot, { pipeline, account, splits }: SliceCommit, main: Table): readonly Add[] {
  if (splits === undefined) return [];
  const mayBelong = ({ first, last }: ImportSpan) => splits(importedKey({ start: first, end: last + 1 })) !== undefined;
  const files = filesOf(new TableSnapshot(snapshot, main.name), pipeline, account);
  return files.filter((add) => importSpansOf(add).some(mayBelong));
}

interface OneCommit {
  readonly slice: SliceCommit;
  readonly main: Table;
  readonly revision: RevisionToCommit | undefined;
  /** Whether the imported rows that the slice displaces are still the same. */
  readonly isCurrent: (snapshot: Snapshot) => boolean;
}

/** Maximum number of attempts at a commit while other runs merge files. */
const mostSplits = 5;
