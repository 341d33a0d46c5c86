import { count } from '../../core/count.js';
import type { Clock } from '../../core/clock.js';
import { groupBy } from '../../core/group-by.js';
import type { Table } from '../../core/columns/table.js';
import type { Action, Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { tombstone, derivedOf, removal, swapRemoval, referenceTxn } from '../delta/file-tags.js';
import { deleteOrphans, orphansOf, type Orphans, swappedOut } from './references.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { Store } from '../store/store.js';
import { numbered } from '../delta/log-paths.js';

/** Files of a main table and its derived tables that are committed together, and replace others. */
export interface Transaction {
  /** Operation in the log: `WRITE`. */
  readonly operation: string;
  /** The table whose files reference the derived ones; its commit makes all files count. */
  readonly main: Table;
  readonly files: readonly NewFile[];
  /**
   * Decides on top of the main table's newest version what is replaced and which other actions are committed;
   * undefined: the transaction is dropped.
   */
  readonly decide: (snapshot: Snapshot) => Decision | undefined;
  /**
   * Whether replaced files leave each derived table in the same commit that adds their successors, so that readers of
   * such a table alone see neither both nor none. Until the main table's commit its files reference files that the
   * derived logs no longer have.
   */
  readonly swaps?: true;
}

export interface Decision {
  /** Replaced files of the main table; the derived files that they reference are replaced as well. */
  readonly replaced: readonly Add[];
  readonly actions: readonly Action[];
}

export interface TransactionResult {
  /** False where `decide` returned undefined: nothing was changed. */
  readonly isCommitted: boolean;
  /** Files written and committed, and their bytes. */
  readonly files: number;
  readonly bytes: number;
}

export interface LakeTables {
  readonly store: Store;
  readonly tables: readonly DeltaTable[];
  table(name: string): DeltaTable;
  /** Notes the newest versions of the tables, so that a commit that is lost later is detected. */
  noteVersions(): Promise<void>;
}

/**
 * Commits files atomically: derived tables first, the main table last, and only derived files that its files reference count.
 * Optimistic concurrency keeps referenced files in the lake, whatever others commit:
 *
 * - A path gets a tombstone before its file is deleted, and isn't added for a day after: a writer either sees the tombstone and
 *   uses another name, or commits first and is seen by the deleting run.
 * - A derived file is referenced by one log and added by another. So a writer that references it adds it, again if necessary,
 *   after reading the version of the main log on which the reference builds; and a deleting run first claims a version of the
 *   main log, and deletes the file only if it wasn't added again meanwhile.
 *
 * @throws LedgerlakeError as the store and the log do; earlier commits of the transaction stay, and the vacuum deletes orphans
 */
export async function commitTransaction(
  lake: LakeTables,
  clock: Clock,
  transaction: Transaction,
): Promise<TransactionResult> {
  const main = lake.table(transaction.main.name);
  let step: Step = { ...notCommitted, actions: undefined, deleted: [], orphans: new Map() };
  if (transaction.decide(main.snapshot) === undefined) return notCommitted;

  const open = new OpenTransaction(lake, clock, transaction);
  await open.writeAhead();
  await main.commit(transaction.operation, async (snapshot) => {
    const decision = transaction.decide(snapshot);
    step = await (decision === undefined ? open.refuse() : open.accept(decision));
    return step.actions;
  });

  // If this commit is lost in a crash, the note shows that the log is incomplete, as it would reference deleted files.
  if (step.deleted.length + step.orphans.size > 0) await lake.noteVersions();
  for (const path of step.deleted) await lake.store.remove(main.pathOf({ path }));
  await deleteOrphans(lake, step.orphans, clock.now());
  const { isCommitted, files, bytes } = step;
  return { isCommitted, files, bytes };
}

const notCommitted: TransactionResult = { isCommitted: false, files: 0, bytes: 0 };

/** The outcome of one attempt at the next version of the main table. */
interface Step extends TransactionResult {
  /** The actions of the main table's commit; undefined where there is none. */
  readonly actions: readonly Action[] | undefined;
  /** Paths in the main table's log whose files are deleted after the commit. */
  readonly deleted: readonly string[];
  /** Derived files that nothing references after the commit. */
  readonly orphans: Orphans;
}

interface CommittedDerived {
  readonly table: DeltaTable;
  readonly add: Add;
  readonly file: NewFile;
}

/** The state of a transaction across attempts at a version: later attempts reuse the files written and the swaps made. */
class OpenTransaction {
  readonly #lake: LakeTables;
  readonly #clock: Clock;
  readonly #transaction: Transaction;
  readonly #main: DeltaTable;
  readonly #derivedTables: readonly DeltaTable[];
  readonly #written: WrittenFiles;
  /** Log entries that swaps removed from derived tables before the main table's commit. */
  readonly #swapped = new Map<DeltaTable, Map<string, Add>>();

  constructor(lake: LakeTables, clock: Clock, transaction: Transaction) {
    this.#lake = lake;
    this.#clock = clock;
    this.#transaction = transaction;
    this.#main = lake.table(transaction.main.name);
    const tables = new Set(transaction.files.map(({ table }) => lake.table(table.name)));
    this.#derivedTables = [...tables].filter((table) => table !== this.#main);
    this.#written = new WrittenFiles(lake.store);
  }

  /** Writes the files before the commit waits for its turn, so that concurrent slices are written in parallel. */
  async writeAhead(): Promise<void> {
    for (const file of this.#transaction.files) {
      const table = this.#lake.table(file.table.name);
      await table.begin();
      await this.#written.ensureWritten(table, file);
    }
  }

  /** Commits the derived files, and returns the actions of the main table's commit. */
  async accept({ replaced, actions }: Decision): Promise<Step> {
    const { snapshot } = this.#main;
    const derived = await this.#commitDerived(replaced);
    const adds = await this.#referencingAdds(derived);

    const kept = new Set(adds.map(({ path }) => path));
    const removed = replaced.filter(({ path }) => !kept.has(path));
    const unused = this.#written.paths(this.#main).filter((path) => !kept.has(path) && !snapshot.files.has(path));
    // A kept file may have referenced other derived files before.
    const changed = adds.flatMap(({ path }) => snapshot.files.get(path) ?? []);
    const referenced = new Set(derived.map(({ table, add }) => table.pathOf(add)));
    const unreferenced = onlyReferencedBy(snapshot, [...removed, ...changed], this.#writtenDerived());
    const orphans = unreferenced.filter((path) => !referenced.has(path));
    const now = this.#clock.now();
    const isNew = ({ path, tags }: Add) => {
      const live = snapshot.files.get(path)?.tags;
      return live?.['derived'] !== tags?.['derived'] || live?.['net'] !== tags?.['net'];
    };
    return {
      isCommitted: true,
      ...this.#written.count([...derived, ...adds.map((add) => ({ table: this.#main, add }))]),
      actions: [
        ...removed.map((add) => removal(add, now, hasDataChange(this.#transaction.files))),
        ...unused.map((path) => tombstone(path, now)),
        ...adds.filter(isNew).map((add) => ({ add })),
        ...actions,
        ...pins(derived, now),
      ],
      deleted: [...(this.#main.retentionMs > 0 ? [] : removed.map(({ path }) => path)), ...unused],
      orphans: await orphansOf(this.#lake, orphans),
    };
  }

  /** Deletes the written files, unless another run has committed a file of the same name, and restores swapped files that still count. */
  async refuse(): Promise<Step> {
    const { snapshot } = this.#main;
    for (const [table, adds] of this.#swapped) {
      const counting = new Set([...adds.keys()].filter((path) => this.#references(table.pathOf({ path }))));
      await table.restore('WRITE', async () => {
        const lost = await swappedOut(table, counting);
        return lost.length === 0 ? undefined : lost.map((add) => ({ add }));
      });
    }
    const deleted = this.#written.paths(this.#main).filter((path) => !snapshot.files.has(path));
    const unreferenced = this.#writtenDerived().filter((path) => !this.#references(path));
    const orphans = await orphansOf(this.#lake, unreferenced);
    // Claiming a version ensures that no other run is about to reference the orphans.
    const isNeeded = deleted.length > 0 || orphans.size > 0;
    const tombstones = deleted.map((path) => tombstone(path, this.#clock.now()));
    return { ...notCommitted, actions: isNeeded ? tombstones : undefined, deleted, orphans };
  }

  /** Adds the files of each derived table, with swaps also the removals of those that they replace. */
  async #commitDerived(replaced: readonly Add[]): Promise<CommittedDerived[]> {
    const { files, swaps } = this.#transaction;
    const swappedPaths = swaps === true ? onlyReferencedBy(this.#main.snapshot, replaced) : [];
    const committed: CommittedDerived[] = [];
    for (const table of this.#derivedTables) {
      const tableFiles = files.filter((file) => this.#lake.table(file.table.name) === table);
      committed.push(...(await this.#commitTable(table, tableFiles, swappedPaths)));
    }
    return committed;
  }

  /** Files that the main table doesn't reference yet are added even where the log has them already. */
  async #commitTable(
    table: DeltaTable,
    files: readonly NewFile[],
    swappedPaths: readonly string[],
  ): Promise<readonly CommittedDerived[]> {
    const swapped = this.#swapped.get(table) ?? new Map<string, Add>();
    this.#swapped.set(table, swapped);
    const now = this.#clock.now();
    let committed: CommittedDerived[] = [];
    await table.commit('WRITE', async (snapshot) => {
      committed = [];
      for (const file of files) {
        const add = await this.#written.ensureWritten(table, file);
        committed.push({ table, file, add: { ...add, tags: { ...add.tags, main: this.#main.schema.name } } });
      }
      const adds = committed.map(({ add }) => add);
      const newAdds = adds.filter((add) => !snapshot.files.has(add.path) || !this.#references(table.pathOf(add)));
      const kept = new Set(adds.map(({ path }) => path));
      const leaving = swappedPaths.flatMap((path) => {
        const found = table.fileAt(path);
        return found === undefined || kept.has(found.path) ? [] : [found];
      });
      if (newAdds.length + leaving.length === 0) return undefined;
      for (const add of leaving) swapped.set(add.path, add);
      return [...leaving.map((add) => swapRemoval(add, now, hasDataChange(files))), ...newAdds.map((add) => ({ add }))];
    });
    return committed;
  }

  /** The main table's files, each with references to its derived ones; those of lasting tables are pinned instead. */
  async #referencingAdds(derived: readonly CommittedDerived[]): Promise<Add[]> {
    const files = this.#transaction.files.filter(({ table }) => this.#lake.table(table.name) === this.#main);
    const referencing = derived.filter(({ table }) => table.schema.appendOnly !== true);
    const referenced = groupBy(referencing, ({ file }) => bundleOf(file, files));
    const adds: Add[] = [];
    for (const file of files) {
      const add = await this.#written.ensureWritten(this.#main, file);
      const paths = (referenced.get(keyOf(file)) ?? []).map((other) => other.table.pathOf(other.add));
      adds.push({ ...add, tags: { ...add.tags, derived: JSON.stringify(paths) } });
    }
    return adds;
  }

  /** Derived files that this transaction has written, as paths within the lake. */
  #writtenDerived(): string[] {
    return this.#derivedTables.flatMap((table) => this.#written.paths(table).map((path) => table.pathOf({ path })));
  }

  /** Whether the main table's log references or pins a file, by its path within the lake. */
  #references(path: string): boolean {
    const { snapshot } = this.#main;
    return snapshot.referenceCount(path) > 0 || snapshot.pinned.has(path);
  }
}

/** The transactions that pin append-only files in the main table's log: a pin outlives the main file of its commit. */
function pins(derived: readonly CommittedDerived[], now: number): Action[] {
  return derived
    .filter(({ table }) => table.schema.appendOnly === true)
    .map(({ table, add }) => referenceTxn(add.tags?.['account'] ?? '', table.pathOf(add), now));
}

/** The bundle of a file: by default that of its month. */
function keyOf({ bundle, add }: NewFile): string {
  return bundle ?? add.partitionValues['month'] ?? '';
}

/**
 * The bundle of the main file that references a derived file: the derived file's bundle, or the first one where its
 * bundle has no main file. So each main file can be replaced with its derived files alone.
 */
function bundleOf(file: NewFile, mains: readonly NewFile[]): string {
  const keys = mains.map(keyOf);
  const key = keyOf(file);
  return keys.includes(key) ? key : (keys[0] ?? key);
}

/** Whether the files have other rows than the replaced ones, which matters to readers of the tables' changes. */
function hasDataChange(files: readonly NewFile[]): boolean {
  return files.some(({ add }) => add.dataChange);
}

/**
 * The paths that these files of a table reference, and other paths within the lake, as far as no other file of the
 * table references them.
 */
function onlyReferencedBy(snapshot: Snapshot, files: readonly Add[], others: readonly string[] = []): string[] {
  const times = new Map<string, number>(others.map((path) => [path, 0]));
  for (const path of files.flatMap((add) => derivedOf(add) ?? [])) count(times, path);
  return [...times].filter(([path, number]) => snapshot.referenceCount(path) <= number).map(([path]) => path);
}

/** A file to be added to a table. */
export interface NewFile {
  readonly table: Table;
  /** Its log entry; the path `…/NAME.parquet` may still get a number. Its tag `sha256` is the content's hash. */
  readonly add: Add;
  /** Reads its bytes, only when they are written, to save memory. */
  readonly read: () => Promise<Uint8Array>;
  /** Derived files are referenced by the main file of the same bundle; left out: of the same month. */
  readonly bundle?: string;
}

/** The files that one commit has written so far, perhaps several times under different names. */
export class WrittenFiles {
  readonly #store: Store;
  /** Size of each file in bytes, by table and path in its log. */
  readonly #sizes = new Map<DeltaTable, Map<string, number>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Ensures that the file is in the lake, and returns its log entry with the final path: that of a file with the same
   * content where there is one, else its own name, with a number where the name is taken or tombstoned.
   */
  async ensureWritten(table: DeltaTable, file: NewFile): Promise<Add> {
    const path = livePath(table, file.add) ?? freePath(table, file.add.path);
    const sizes = this.#sizes.get(table) ?? new Map<string, number>();
    if (!table.snapshot.files.has(path) && !sizes.has(path)) {
      await this.#store.write(table.pathOf({ ...file.add, path }), await file.read());
      this.#sizes.set(table, sizes.set(path, file.add.size));
    }
    return { ...file.add, path };
  }

  /** The files written to a table's folders, as paths in its log. */
  paths(table: DeltaTable): string[] {
    return [...(this.#sizes.get(table)?.keys() ?? [])];
  }

  /** Number and bytes of the used files that this commit has written. */
  count(used: readonly { readonly table: DeltaTable; readonly add: Add }[]): { files: number; bytes: number } {
    const sizes = used.flatMap(({ table, add }) => this.#sizes.get(table)?.get(add.path) ?? []);
    return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }
}

/** The path of a file with the same name, with or without a number, and the same content. */
function livePath({ snapshot }: DeltaTable, { path, tags }: Add): string | undefined {
  const hash = tags?.['sha256'];
  // Files of versions without hashes are matched by name alone.
  const sameName = snapshot.files.get(path);
  if (sameName !== undefined && (sameName.tags?.['sha256'] ?? hash) === hash) return path;
  for (const live of snapshot.numbered(path)) if (live.tags?.['sha256'] === hash) return live.path;
  return undefined;
}

/** The path, or the first numbered one, that is neither used nor tombstoned. */
function freePath(table: DeltaTable, path: string): string {
  let free = path;
  for (let number = 2; table.isTombstoned(free) || table.snapshot.files.has(free); number++)
    free = numbered(path, number);
  return free;
}
