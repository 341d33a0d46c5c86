import type { Clock } from '../core/clock.js';
import type { Table } from '../core/columns/table.js';
import { LedgerlakeError } from '../core/errors.js';
import { Mutex } from '../core/mutex.js';
import { dayMs } from '../core/windows.js';
import type { Add, Txn } from './delta/actions.js';
import { DeltaTable } from './delta/delta-table.js';
import { fileAt, isReferenced, referencedFiles } from './transaction/references.js';
import { commitTransaction, type TransactionResult } from './transaction/transaction.js';
import { importSpansOf, isDerivedFile, DamagedFile } from './delta/file-tags.js';
import { describedTables } from './table-descriptions.js';
import { checkDescribed, checkLogs, noteNewestVersions, noVersions, readNewestVersions } from './newest-versions.js';
import { inspectLocation } from './inspect-location.js';
import { importedKey } from './loads/imported-days.js';
import {
  type Revisions,
  WaitingSlices,
  combined,
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
 * Parts files of the slice's main table that hold load keys of the slice beside others, so that afterwards each holds only
 * ones or only others. It adds no row and takes none away: only imported events without a date move to other days. What
 * another run does to the files meanwhile may leave some as they were.
 */
export type Split = (slice: SliceCommit) => Promise<void>;

/** A set of Delta tables on one store, and the one way by which slices come into them. */
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
   * Opens a lake, or a location where one will be, at the newest version of each table: of those given, and of those that
   * the lake itself describes, `described` where they were read already. `revisions` compares what is read
   * again; without it a refresh replaces what is there, and no history is kept.
   *
   * @throws LedgerlakeError LAKE_STORE where the location can't be read, LAKE_LOG where its log can't, USAGE where it is the folder of
   * a lake's table
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

  /** Reads what was committed since, until what main tables' files name is in the tables that it belongs to. */
  async refresh(): Promise<void> {
    for (let before: string | undefined; ;) {
      // First those whose files count by themselves in the end: nothing is seen of them ahead of the commit they came with.
      await Promise.all(this.tables.filter(({ schema }) => schema.appendOnly).map((table) => table.refresh()));
      await Promise.all(this.tables.filter(({ schema }) => !schema.appendOnly).map((table) => table.refresh()));
      const versions = this.tables.map(({ snapshot }) => snapshot.version).join();
      // A table may have been read before a commit that a later read of another one builds on. Where reading on brings
      // nothing new, a log is damaged, and whoever opens the file that is missing says so.
      if (versions === before || this.#hasAllReferences()) return;
      before = versions;
    }
  }

  #hasAllReferences(): boolean {
    for (const { snapshot } of this.tables) {
      for (const path of snapshot.referenced) if (fileAt(this.tables, path) === undefined) return false;
      for (const path of snapshot.pinned) if (fileAt(this.tables, path) === undefined) return false;
    }
    return true;
  }

  /** Notes which versions the tables have come to: a commit that is lost later is missed then. */
  async noteVersions(): Promise<void> {
    await noteNewestVersions(this.store, this.tables);
  }

  /** Sets how long the files of every table stay that commits replace, in hours; undefined: as it was set before. */
  async setRetention(hours: number | undefined): Promise<void> {
    if (hours === undefined) return;
    for (const table of this.tables) await table.setRetention((hours * dayMs) / 24);
  }

  /** How long replaced files stay, in milliseconds: the longest of any table's. */
  get retentionMs(): number {
    return Math.max(0, ...this.tables.map((table) => table.retentionMs));
  }

  /**
   * Whether the lake said, when it was opened, which versions its tables had come to. Else commits may be gone that nobody
   * misses, and what no log references may be theirs.
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

  /** Accounts that something was read for. */
  accounts(): ReadonlySet<string> {
    return new Set(this.tables.flatMap(({ snapshot }) => [...snapshot.accounts()]));
  }

  /** The load keys that a pipeline has read for an account, with the files that hold them. */
  loadKeys(pipeline: string, table: string, account: string): ReadonlyMap<string, Txn> {
    // A copy: whoever asks may be at work while commits go on.
    return new Map(this.table(table).snapshot.loadKeysOf(account, pipeline));
  }

  /** The files of a table that a pipeline wrote for an account. */
  files(pipeline: string, table: string, account: string): readonly Add[] {
    return filesOf(this.table(table).snapshot, pipeline, account);
  }

  /**
   * The files that count, as addresses, by table: those of main tables, and of derived tables those that a main table's
   * commit names, so that a slice's tables appear together.
   */
  committedFiles(): Map<string, string[]> {
    const named = [...referencedFiles(this.tables)];
    const files = new Map<string, string[]>();
    for (const table of this.tables) {
      const direct = [...table.snapshot.files.values()]
        .filter((add) => !isDerivedFile(add))
        .map((add) => table.pathOf(add));
      const derived = named.filter((path) => path.startsWith(`${table.schema.name}/`));
      const addresses = [...direct, ...derived].map((path) => this.store.address(path));
      if (addresses.length > 0) files.set(table.schema.name, addresses);
    }
    return files;
  }

  /** The same files, as the log has them. */
  committedAdds(): { table: DeltaTable; add: Add }[] {
    return this.tables.flatMap((table) => this.committedAddsOf(table).map((add) => ({ table, add })));
  }

  /** Those of one of the lake's tables. */
  committedAddsOf(table: DeltaTable): Add[] {
    return [...table.snapshot.files.values()].filter(
      (add) => !isDerivedFile(add) || isReferenced(this.tables, table.pathOf(add)),
    );
  }

  /**
   * Writes a slice's files and commits them: readers of Ledgerlake see all of the slice or nothing of it.
   *
   * Files are written under names made of the slice and their content, so that writing them again changes nothing, and
   * an unchanged file is neither written nor committed again. See `transaction` for how others can't get in between.
   *
   * A file that also holds other load keys is never replaced: `split` parts it first. Where it is damaged and can't be split
   * the slice waits until all that the file holds was read again: see `lacking`.
   *
   * What differs from the stored rows goes into a lasting table (see `Revisions`) in the same transaction: its files
   * come before the main table's commit and count from that commit on, which names them in transactions of its own. So
   * they appear with the replacement, and with it only; and who replaces what was compared first, wins: the other
   * compares again. The number of times that the load key was read is in their names, so that no two commits share one.
   *
   * @returns what changed; nothing, where another run had committed what stands in its way, or `Revisions` refused it
   * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; UPSTREAM_EMPTY where it would replace imported rows and has
   * none; LAKE_CONFLICT where a file that it replaces holds other load keys as well, and can't be split
   */
  async commit(slice: SliceCommit, split?: Split): Promise<TransactionResult> {
    const main = slice.tables.at(-1);
    if (main === undefined) throw new Error(`the pipeline ${slice.pipeline} has no table`);
    if (split === undefined || !this.#displaces(slice, main)) return this.#commitWhole(slice, main, split);
    // Where imported events without a date move to depends on what is loaded.
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
      const givingWay = this.#displacedPaths(slice, main);
      const one = { slice, revision };
      const slices =
        damaged === undefined ? [one] : this.#waiting.with(this.table(main.name).snapshot, { ...one, main, damaged });
      if (slices === undefined) return { isCommitted: true, files: 0, bytes: 0 };
      this.#refuseEmptying(combined(slices), main);
      try {
        const { isStale, ...committed } = await this.#commit(
          slices,
          main,
          () => split === undefined || this.#displacedPaths(slice, main) === givingWay,
        );
        if (committed.isCommitted) for (const each of slices) each.revision?.committed();
        if (!isStale || attempt === mostSplits) return committed;
      } catch (error) {
        // Another run has merged files since they were split, or before this one knew of it.
        if (!(error instanceof MixedFile) || split === undefined || attempt === mostSplits) throw error;
      }
    }
  }

  /** What imports brought may be all there is: an upstream that keeps two years answers for older ones with nothing. */
  #refuseEmptying(slice: SliceCommit, main: Table): void {
    if (slice.acceptsEmpty === true || slice.files.some(({ table }) => table === main)) return;
    const { snapshot } = this.table(main.name);
    const lost = snapshot.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    const rows = lost.reduce((sum, { tags }) => sum + Number(tags?.['rows'] ?? 0), 0);
    if (rows === 0) return;
    throw new LedgerlakeError(
      'UPSTREAM_EMPTY',
      `expected results of ${slice.loadKeys.join(', ')}, for which imports stored up to ${rows} rows, got ` +
        'none from the service; the imported rows stay, --accept-empty removes them',
    );
  }

  /**
   * What a pipeline must read again as well, before what it has read can replace a damaged file that holds both;
   * undefined where nothing waits for it. Of what waits nothing is in the lake.
   */
  missingLoads(pipeline: string, account: string): MissingLoads | undefined {
    return this.#waiting.missing((main) => this.table(main.name).snapshot, pipeline, account);
  }

  /**
   * One slice at a time: several of one file would all read it, and all but one in vain.
   *
   * @returns the file that is damaged and so can't be split, as an error; undefined where all went well
   */
  async #split(slice: SliceCommit, main: Table, split: Split): Promise<DamagedFile | undefined> {
    try {
      await this.#splitting.run(async () => {
        const mixed = filesToSplit(this.table(main.name).snapshot, slice);
        if (mixed.length > 0 || this.#mayReplaceUndated(slice, main))
          await split({ ...slice, loadKeys: replacedKeys(slice) });
      });
      return undefined;
    } catch (error) {
      if (error instanceof DamagedFile) return error;
      throw error;
    }
  }

  /** Whether imported rows give way to the slice, or may have to. */
  #displaces(slice: SliceCommit, main: Table): boolean {
    return displacedKeys(this.table(main.name).snapshot, slice).length > 0 || this.#mayReplaceUndated(slice, main);
  }

  /** Whether imported events without a date may be of what the slice has read. */
  #mayReplaceUndated({ pipeline, account, splits }: SliceCommit, main: Table): boolean {
    return splits !== undefined && this.#undatedFiles({ pipeline, account, splits }, main).length > 0;
  }

  /** Files with imported events without a date that may be of what the slice has read. */
  #undatedFiles(
    { pipeline, account, splits }: Pick<SliceCommit, 'pipeline' | 'account' | 'splits'>,
    main: Table,
  ): readonly Add[] {
    return this.files(pipeline, main.name, account).filter((add) =>
      importSpansOf(add).some(
        ({ first, last }) => splits?.(importedKey({ start: first, end: last + 1 })) !== undefined,
      ),
    );
  }

  /** The files with imported rows that give way to the slice, or may have to, as one text. */
  #displacedPaths(slice: SliceCommit, main: Table): string {
    if (slice.splits === undefined) return '';
    const { snapshot } = this.table(main.name);
    const displaced = snapshot.filesWith(slice.account, slice.pipeline, displacedKeys(snapshot, slice));
    return [...new Set([...displaced, ...this.#undatedFiles(slice, main)])].map(({ path }) => path).join();
  }

  /** Commits slices as one. */
  async #commit(
    slices: readonly ComparedSlice[],
    main: Table,
    isCurrent: () => boolean,
  ): Promise<TransactionResult & { isStale: boolean }> {
    const now = this.#clock.now();
    const all = combined(slices);
    let isStale = false;
    const newFile = (slice: SliceCommit, file: SliceFile, name: string) => ({
      table: file.table,
      add: sliceAdd({ ...slice, name }, file, now),
      read: () => Promise.resolve(file.bytes),
      // Of several slices each main file names its own entries.
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

  /** The files that hold any of a slice's load keys: they hold nothing else. */
  #replacedBy(snapshot: Snapshot, slice: SliceCommit): Add[] {
    const [mixed] = filesToSplit(snapshot, slice);
    if (mixed !== undefined)
      throw new MixedFile(`${this.store.location}/${slice.tables.at(-1)?.name ?? ''}/${mixed.path}`, slice);
    return filesToReplace(snapshot, slice);
  }

  /** Removes files that no version of the log names any more. */
  async removeFiles(paths: readonly string[]): Promise<void> {
    for (const path of new Set(paths)) await this.store.remove(path);
  }
}

/** Merges of other runs that a commit parts again before it gives up. */
const mostSplits = 5;

/** A file that can't be replaced as a whole. */
class MixedFile extends LedgerlakeError {
  constructor(file: string, { loadKeys }: SliceCommit) {
    super(
      'LAKE_CONFLICT',
      `expected ${file} to contain only what is read again (${loadKeys.join(', ').slice(0, 200)}), got more; ` +
        'another run has merged files meanwhile, run the same command again',
    );
  }
}
