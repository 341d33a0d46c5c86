import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import { hourMs } from '../core/windows.js';
import type { Add, Txn } from './delta/actions.js';
import { DeltaTable } from './delta/delta-table.js';
import { fileAt, isReferenced, referencedFiles } from './transaction/references.js';
import { commitTransaction, type TransactionResult } from './transaction/transaction.js';
import { importSpansOf, isDerivedFile, DamagedFile, rowsInLog, type ImportSpan } from './delta/file-tags.js';
import { describedTables } from './table-descriptions.js';
import { checkDescribed, checkLogs, noteNewestVersions, noVersions, readNewestVersions } from './newest-versions.js';
import { inspectLocation } from './inspect-location.js';
import { importedKey } from './loads/imported-days.js';
import {
  type Revisions,
  WaitingSlices,
  combineSlices,
  type ComparedSlice,
  type MissingLoads,
  sliceAdd,
  type SliceCommit,
  type SliceFile,
} from './transaction/slice-commit.js';
import type { Snapshot } from './delta/snapshot.js';
import type { Store } from './store/store.js';
import {
  displacedKeys,
  filesOf,
  filesToReplace,
  filesToSplit,
  replacedKeys,
  hasConflict,
  loadTxns,
} from './loads/load-keys.js';

export type { SliceCommit, SliceFile } from './transaction/slice-commit.js';

/**
 * Splits files of the slice's main table that have load keys of the slice and others, so that afterwards each has only
 * the one or the other. The rows stay the same, except that undated imported events move to other days. Concurrent
 * commits may leave some files unsplit.
 */
export type Split = (slice: SliceCommit) => Promise<void>;

/** A set of Delta tables in one store. All slices are committed by `commit`. */
export class Lake {
  readonly store: Store;
  readonly #clock: Clock;
  readonly #tables: ReadonlyMap<string, DeltaTable>;
  readonly #revisions: Revisions | undefined;
  #hasVersionNote = true;
  readonly #waiting = new WaitingSlices();
  readonly #splitting = new Mutex();
  readonly #displacing = new Mutex();

  private constructor(store: Store, tables: readonly Table[], clock: Clock, revisions: Revisions | undefined) {
    this.store = store;
    this.#clock = clock;
    this.#revisions = revisions;
    this.#tables = new Map(tables.map((table) => [table.name, new DeltaTable(table, store, clock)]));
  }

  /**
   * Opens a lake, or an empty location, at the newest version of each table: of the given ones, and of those that the
   * lake describes, which are `described` where they were read already. `revisions` compares re-read slices with the
   * stored ones; without it a refresh replaces the rows and keeps no history.
   *
   * @throws LedgerlakeError LAKE_STORE where the location can't be read, LAKE_LOG where its log can't, USAGE where it
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
    const lake = new Lake(store, [...tables, ...custom], clock, revisions);
    const noted = await readNewestVersions(store);
    const newest = noted ?? noVersions;
    await lake.refresh();
    lake.#hasVersionNote = noted !== undefined || lake.tables.every(({ snapshot }) => snapshot.version < 0);
    checkDescribed(newest, lake.#tables, store.location);
    await checkLogs(newest, lake.tables, store);
    if (lake.tables.every(({ snapshot }) => snapshot.version < 0))
      await inspectLocation(store, [...lake.#tables.keys()]);
    return lake;
  }

  /** Reads newer commits, until all files that main tables reference are in the derived tables. */
  async refresh(): Promise<void> {
    for (let before: string | undefined; ;) {
      // Append-only tables first, so that their files aren't seen before the main table's commit that references them.
      await Promise.all(this.tables.filter(({ schema }) => schema.appendOnly).map((table) => table.refresh()));
      await Promise.all(this.tables.filter(({ schema }) => !schema.appendOnly).map((table) => table.refresh()));
      const versions = this.tables.map(({ snapshot }) => snapshot.version).join();
      // A derived table may have been read before the commit that another table's newer commit references. Where a
      // further refresh finds nothing new, a log is damaged, and opening the missing file reports it.
      if (versions === before || this.#hasAllReferences()) return;
      before = versions;
    }
  }

  #hasAllReferences(): boolean {
    return this.tables.every(({ snapshot: { referenced, pinned } }) =>
      [...referenced, ...pinned].every((path) => fileAt(this.tables, path) !== undefined),
    );
  }

  /** Notes the newest versions of the tables, so that a commit that is lost later is detected. */
  async noteVersions(): Promise<void> {
    await noteNewestVersions(this.store, this.tables);
  }

  /** Sets the retention of replaced files of all tables, in hours; undefined: unchanged. */
  async setRetention(hours: number | undefined): Promise<void> {
    if (hours === undefined) return;
    for (const table of this.tables) await table.setRetention(hours * hourMs);
  }

  /** The longest retention of any table, in milliseconds. */
  get retentionMs(): number {
    return Math.max(0, ...this.tables.map((table) => table.retentionMs));
  }

  /**
   * Whether the lake had the note of its tables' newest versions when it was opened. Without it commits may be missing
   * undetected, and files that no log references may belong to them.
   */
  get hasVersionNote(): boolean {
    return this.#hasVersionNote;
  }

  get tables(): readonly DeltaTable[] {
    return [...this.#tables.values()];
  }

  table(name: string): DeltaTable {
    const table = this.#tables.get(name);
    if (table === undefined) throw new Error(`the lake has no table ${name}`);
    return table;
  }

  /** Accounts with transactions. */
  accounts(): ReadonlySet<string> {
    return new Set(this.tables.flatMap(({ snapshot }) => [...snapshot.accounts()]));
  }

  /** The loaded load keys of a pipeline and account, with their transactions. */
  loadKeys(pipeline: string, table: string, account: string): ReadonlyMap<string, Txn> {
    // A copy, because the caller may iterate while commits are applied.
    return new Map(this.table(table).snapshot.loadKeysOf(account, pipeline));
  }

  /** The files of a table, pipeline and account. */
  files(pipeline: string, table: string, account: string): readonly Add[] {
    return filesOf(this.table(table).snapshot, pipeline, account);
  }

  /**
   * The committed files by table, as addresses: those of main tables, and those of derived tables that a main table
   * references, so that a slice's tables appear together.
   */
  committedFiles(): Map<string, string[]> {
    const named = [...referencedFiles(this.tables)];
    const files = new Map<string, string[]>();
    for (const table of this.tables) {
      const direct = [...table.snapshot.files.values()].filter((add) => !isDerivedFile(add));
      const derived = named.filter((path) => path.startsWith(`${table.schema.name}/`));
      const addresses = [...direct.map((add) => table.pathOf(add)), ...derived].map((path) => this.store.address(path));
      if (addresses.length > 0) files.set(table.schema.name, addresses);
    }
    return files;
  }

  /** The same files, as log entries. */
  committedAdds(): { table: DeltaTable; add: Add }[] {
    return this.tables.flatMap((table) => this.committedAddsOf(table).map((add) => ({ table, add })));
  }

  /** The committed files of one table. */
  committedAddsOf(table: DeltaTable): Add[] {
    return [...table.snapshot.files.values()].filter(
      (add) => !isDerivedFile(add) || isReferenced(this.tables, table.pathOf(add)),
    );
  }

  /**
   * Writes and commits a slice's files: readers of Ledgerlake see either the whole slice or nothing of it.
   *
   * The names of files depend on the slice and their content, so that writing them is idempotent, and an unchanged file is
   * neither written nor committed again. See `transaction` for concurrent writers.
   *
   * A file that also holds other load keys is never replaced: `split` parts it first. Where it is damaged and can't be split
   * the slice waits until all that the file holds was read again: see `missingLoads`.
   *
   * Differences from the stored rows are added to an append-only table (see `Revisions`) in the same transaction: its files are
   * committed before the main table's commit, which pins them, and count from that commit on. So they appear together with the
   * replacement. Of two writers that compared the same rows the first wins, and the other compares again. Their names have the
   * number of times that the load key was read, so that they are unique.
   *
   * @returns what changed; nothing where another run has committed conflicting load keys, or `Revisions` refused the slice
   * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; UPSTREAM_EMPTY where it has no rows and would replace imported ones;
   * LAKE_CONFLICT where a file that it replaces has other load keys and can't be split
   */
  async commit(slice: SliceCommit, split?: Split): Promise<TransactionResult> {
    const main = slice.tables.at(-1);
    if (main === undefined) throw new Error(`the pipeline ${slice.pipeline} has no table`);
    if (split === undefined || !this.#displaces(slice, main)) return this.#commitWhole(slice, main, split);
    // Which day undated imported events move to depends on the loaded windows.
    return this.#displacing.run(() => this.#commitWhole(slice, main, split));
  }

  async #commitWhole(slice: SliceCommit, main: Table, split: Split | undefined): Promise<TransactionResult> {
    for (let attempt = 1; ; attempt++) {
      const replaces = slice.refresh || (slice.retires ?? []).length > 0;
      const revision = replaces ? await this.#revisions?.compare(this, slice) : undefined;
      if (revision?.verdict === 'same') return { isCommitted: true, files: 0, bytes: 0 };
      if (revision?.verdict === 'refused') return { isCommitted: false, files: 0, bytes: 0 };
      const displaces = this.#displaces(slice, main);
      const damaged =
        (replaces || displaces) && split !== undefined ? await this.#split(slice, main, split) : undefined;
      if (damaged !== undefined && !slice.refresh) throw damaged;
      const displacedPaths = this.#displacedPaths(slice, main);
      const one = { slice, revision };
      const slices =
        damaged === undefined ? [one] : this.#waiting.with(this.table(main.name).snapshot, { ...one, main, damaged });
      if (slices === undefined) return { isCommitted: true, files: 0, bytes: 0 };
      this.#refuseEmptying(combineSlices(slices), main);
      try {
        const isCurrent = () => split === undefined || this.#displacedPaths(slice, main) === displacedPaths;
        const { isStale, ...committed } = await this.#commit(slices, main, isCurrent);
        if (committed.isCommitted) for (const each of slices) each.revision?.committed();
        if (!isStale || attempt === mostSplits) return committed;
      } catch (error) {
        // Another run has merged files since they were split.
        if (!(error instanceof MixedFile) || split === undefined || attempt === mostSplits) throw error;
      }
    }
  }

  /** Refuses to replace imported rows by nothing: they may be the only copy, as the upstream has no data older than two years. */
  #refuseEmptying(slice: SliceCommit, main: Table): void {
    if (slice.acceptsEmpty === true || slice.files.some(({ table }) => table === main)) return;
    const { snapshot } = this.table(main.name);
    const displaced = snapshot.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    const rows = rowsInLog(displaced);
    if (rows === 0) return;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ` +
        'none from the service; the imported rows stay, --accept-empty removes them',
    );
  }

  /**
   * The load keys that a pipeline must re-read as well, before the waiting slices can replace a damaged file; undefined
   * where no slice waits. Waiting slices aren't committed.
   */
  missingLoads(pipeline: string, account: string): MissingLoads | undefined {
    return this.#waiting.missing((main) => this.table(main.name).snapshot, pipeline, account);
  }

  /**
   * Splits files for one slice at a time, because several slices of one file would all read it, all but one in vain.
   *
   * @returns the error of a damaged file, which can't be split; undefined on success
   */
  async #split(slice: SliceCommit, main: Table, split: Split): Promise<DamagedFile | undefined> {
    try {
      await this.#splitting.run(async () => {
        const mixed = filesToSplit(this.table(main.name).snapshot, slice);
        if (mixed.length > 0 || this.#undatedFiles(slice, main).length > 0)
          await split({ ...slice, loadKeys: replacedKeys(slice) });
      });
      return undefined;
    } catch (error) {
      if (error instanceof DamagedFile) return error;
      throw error;
    }
  }

  /** Whether the slice replaces imported rows, or may do so. */
  #displaces(slice: SliceCommit, main: Table): boolean {
    const { snapshot } = this.table(main.name);
    return displacedKeys(snapshot, slice).length > 0 || this.#undatedFiles(slice, main).length > 0;
  }

  /** Files with undated imported events that may belong to the slice. */
  #undatedFiles({ pipeline, account, splits }: SliceCommit, main: Table): readonly Add[] {
    if (splits === undefined) return [];
    const mayBelong = ({ first, last }: ImportSpan) =>
      splits(importedKey({ start: first, end: last + 1 })) !== undefined;
    return this.files(pipeline, main.name, account).filter((add) => importSpansOf(add).some(mayBelong));
  }

  /** The files with imported rows that the slice replaces, or may replace, as one text. */
  #displacedPaths(slice: SliceCommit, main: Table): string {
    if (slice.splits === undefined) return '';
    const { snapshot } = this.table(main.name);
    const displaced = snapshot.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    return [...new Set([...displaced, ...this.#undatedFiles(slice, main)])].map(({ path }) => path).join();
  }

  /** Commits slices in one transaction. */
  async #commit(
    slices: readonly ComparedSlice[],
    main: Table,
    isCurrent: () => boolean,
  ): Promise<TransactionResult & { isStale: boolean }> {
    const now = this.#clock.now();
    const all = combineSlices(slices);
    let isStale = false;
    const newFile = (slice: SliceCommit, file: SliceFile, name: string) => ({
      table: file.table,
      add: sliceAdd({ ...slice, name }, file, now),
      read: () => Promise.resolve(file.bytes),
      // With several slices each main file references its own entries.
      ...(slices.length > 1 && { bundle: `${slice.name} ${file.month}` }),
    });
    const committed = await commitTransaction(this, this.#clock, {
      operation: 'WRITE',
      main,
      files: slices.flatMap(({ slice, revision }) => [
        ...slice.files.map((file) => newFile(slice, file, slice.name)),
        ...(revision?.files ?? []).map((file) => newFile(slice, file, revision?.name ?? slice.name)),
      ]),
      decide: (snapshot) => {
        isStale = !isCurrent() || slices.some(({ revision }) => revision?.isCurrent(snapshot) === false);
        return isStale || hasConflict(snapshot, all)
          ? undefined
          : { replaced: this.#replacedBy(snapshot, all), actions: loadTxns(snapshot, all, now) };
      },
    });
    return { ...committed, isStale };
  }

  /** The files with any of a slice's load keys; they have no others. */
  #replacedBy(snapshot: Snapshot, slice: SliceCommit): Add[] {
    const [mixed] = filesToSplit(snapshot, slice);
    if (mixed === undefined) return filesToReplace(snapshot, slice);
    throw new MixedFile(`${this.store.location}/${slice.tables.at(-1)?.name ?? ''}/${mixed.path}`, slice);
  }

  /** Removes files that no version of the log references any more. */
  async removeFiles(paths: readonly string[]): Promise<void> {
    for (const path of new Set(paths)) await this.store.remove(path);
  }
}

/** Maximum number of attempts at a commit while other runs merge files. */
const mostSplits = 5;

/** The error for a file that can't be replaced as a whole. */
class MixedFile extends LedgerlakeError {
  constructor(file: string, { loadKeys }: SliceCommit) {
    super(
      'LAKE_CONFLICT',
      `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
        'another run has merged files meanwhile, run the same command again',
    );
  }
}
