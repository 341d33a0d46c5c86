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

/** Files of a main table and of those derived from it that come into the lake together, and replace others. */
export interface Transaction {
  /** For the log: `WRITE`. */
  readonly operation: string;
  /** The table whose files name the derived ones; its commit makes all of it count. */
  readonly main: Table;
  readonly files: readonly NewFile[];
  /** What goes and what else is to be said, given the main table's newest version; undefined: the files aren't wanted. */
  readonly decide: (snapshot: Snapshot) => Decision | undefined;
  /**
   * What the files replace leaves each derived table in the commit that brings its successors: who reads such a
   * table by itself sees neither both nor none. Until the main table's commit its files name what its log no longer has.
   */
  readonly swaps?: true;
}

export interface Decision {
  /** Files of the main table that go, and with them the derived files that they name. */
  readonly replaced: readonly Add[];
  readonly actions: readonly Action[];
}

/** What a transaction changed. */
export interface TransactionResult {
  /** False where `decide` declined: nothing was changed. */
  readonly isCommitted: boolean;
  /** Files written that count now, and their bytes. */
  readonly files: number;
  readonly bytes: number;
}

/** The lake as a transaction sees it. */
export interface LakeTables {
  readonly store: Store;
  readonly tables: readonly DeltaTable[];
  table(name: string): DeltaTable;
  /** Notes which versions the tables have come to: a commit that is lost later is missed then. */
  noteVersions(): Promise<void>;
}

/**
 * Brings files into the lake, all of them or none: derived tables are committed first, the main table last, and only
 * what its files reference counts. Optimistic concurrency keeps what counts in the lake, whoever else commits:
 *
 * - A path gets a tombstone before its file is deleted, and nobody adds it for a day then: who wants to sees the tombstone
 *   and takes another name, or is first, and is seen by who wants to delete it.
 * - A derived file is referenced by one log and added by another. So who references it adds it, again if need be, after
 *   reading the version of the main log on which the reference builds; and who deletes it claims a version of the main log
 *   first, and deletes it only if nobody has added it again meanwhile.
 *
 * @throws LedgerlakeError as the store and the log do; what was committed by then stays, and orphans wait for the vacuum
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

  // Should this commit be lost after a crash, its log must not pass for one that still names what is deleted now.
  if (step.deleted.length + step.orphans.size > 0) await lake.noteVersions();
  for (const path of step.deleted) await lake.store.remove(main.pathOf({ path }));
  await deleteOrphans(lake, step.orphans, clock.now());
  const { isCommitted, files, bytes } = step;
  return { isCommitted, files, bytes };
}

const notCommitted: TransactionResult = { isCommitted: false, files: 0, bytes: 0 };

/** The outcome of one attempt at the next version of the main table. */
interface Step extends TransactionResult {
  /** The commit of the main table; undefined where there is nothing to say. */
  readonly actions: readonly Action[] | undefined;
  /** Paths in the main table's log whose files are deleted once the commit is taken. */
  readonly deleted: readonly string[];
  /** Derived files that nothing references once the commit is taken. */
  readonly orphans: Orphans;
}

/** A derived file as its table's log has it now. */
interface CommittedDerived {
  readonly table: DeltaTable;
  readonly add: Add;
  readonly file: NewFile;
}

/** A transaction whose files are written: each attempt at a version takes up what the ones before it wrote and swapped. */
class OpenTransaction {
  readonly #lake: LakeTables;
  readonly #clock: Clock;
  readonly #transaction: Transaction;
  readonly #main: DeltaTable;
  readonly #derivedTables: readonly DeltaTable[];
  readonly #written: WrittenFiles;
  /** What was taken out of derived tables before the main table's commit, as their logs had it. */
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

  /** Ahead of the commit's turn, so that slices that are whole at the same time are written side by side. */
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
    // A file that stays may have referenced other derived files than it does now.
    const changed = adds.flatMap(({ path }) => snapshot.files.get(path) ?? []);
    const referenced = new Set(derived.map(({ table, add }) => table.pathOf(add)));
    const orphans = onlyReferencedBy(snapshot, [...removed, ...changed], this.#writtenDerived());
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
      orphans: await orphansOf(
        this.#lake,
        orphans.filter((path) => !referenced.has(path)),
      ),
    };
  }

  /**
   * Takes back what was written in vain, unless another's file of the same name is in the lake by now; what was swapped out
   * and still counts comes back.
   */
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
    const orphans = await orphansOf(
      this.#lake,
      this.#writtenDerived().filter((path) => !this.#references(path)),
    );
    // Only behind a version of its own can it distinguish an orphan from what others are about to reference.
    const isNeeded = deleted.length > 0 || orphans.size > 0;
    const tombstones = deleted.map((path) => tombstone(path, this.#clock.now()));
    return { ...notCommitted, actions: isNeeded ? tombstones : undefined, deleted, orphans };
  }

  /** Adds the files of each derived table, and takes those out in the same commit that they replace. */
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

  /** Files that nothing references yet are added also where the log has them already. */
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
      const fresh = adds.filter((add) => !snapshot.files.has(add.path) || !this.#references(table.pathOf(add)));
      const kept = new Set(adds.map(({ path }) => path));
      const leaving = swappedPaths.flatMap((path) => {
        const found = table.fileAt(path);
        return found === undefined || kept.has(found.path) ? [] : [found];
      });
      if (fresh.length + leaving.length === 0) return undefined;
      for (const add of leaving) swapped.set(add.path, add);
      return [...leaving.map((add) => swapRemoval(add, now, hasDataChange(files))), ...fresh.map((add) => ({ add }))];
    });
    return committed;
  }

  /** The main table's files, each with references to its derived ones; those of lasting tables are pinned instead. */
  async #referencingAdds(derived: readonly CommittedDerived[]): Promise<Add[]> {
    const files = this.#transaction.files.filter(({ table }) => this.#lake.table(table.name) === this.#main);
    const referenced = groupBy(
      derived.filter(({ table }) => table.schema.appendOnly !== true),
      ({ file }) => bundleOf(file, files),
    );
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

  /** Whether the main table's log references a file, by its path within the lake. */
  #references(path: string): boolean {
    const { snapshot } = this.#main;
    return snapshot.referenceCount(path) > 0 || snapshot.pinned.has(path);
  }
}

/** Transactions of the main table's log: a reference to a lasting file outlives the file that it came with. */
function pins(derived: readonly CommittedDerived[], now: number): Action[] {
  return derived
    .filter(({ table }) => table.schema.appendOnly === true)
    .map(({ table, add }) => referenceTxn(add.tags?.['account'] ?? '', table.pathOf(add), now));
}

/** A file belongs with those of its month, as long as it doesn't say with which. */
function keyOf({ bundle, add }: NewFile): string {
  return bundle ?? add.partitionValues['month'] ?? '';
}

/**
 * By which key the file among `mains` is found that references a derived one, so that each references its own and one can
 * be replaced without the others. Where its own bundle has no file in the main table the first one's references it.
 */
function bundleOf(file: NewFile, mains: readonly NewFile[]): string {
  const keys = mains.map(keyOf);
  const key = keyOf(file);
  return keys.includes(key) ? key : (keys[0] ?? key);
}

/** Whether the files hold other rows than those that they replace: news for who follows the tables' changes. */
function hasDataChange(files: readonly NewFile[]): boolean {
  return files.some(({ add }) => add.dataChange);
}

/** What these files of a table reference, and other paths within the lake, where no other file of the table references it. */
function onlyReferencedBy(snapshot: Snapshot, files: readonly Add[], others: readonly string[] = []): string[] {
  const times = new Map<string, number>(others.map((path) => [path, 0]));
  for (const path of files.flatMap((add) => derivedOf(add) ?? [])) times.set(path, (times.get(path) ?? 0) + 1);
  return [...times].filter(([path, count]) => snapshot.referenceCount(path) <= count).map(([path]) => path);
}

/** A file on its way into a table. */
export interface NewFile {
  readonly table: Table;
  /** Its entry in the log; the path `…/NAME.parquet` may still get a number. Its tag `sha256` says what it holds. */
  readonly add: Add;
  /** Its bytes, as many as the entry says: read when they are written, so that none are in memory until then. */
  readonly read: () => Promise<Uint8Array>;
  /** Derived files are named by the main table's file of the same bundle; left out: by that of the same month. */
  readonly bundle?: string;
}

/** What one commit has written so far: it may have to write a file again under another name. */
export class WrittenFiles {
  readonly #store: Store;
  /** Bytes of each file by table and path in its log. */
  readonly #sizes = new Map<DeltaTable, Map<string, number>>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Sees to it that the file is in the lake, and gives its entry with the path that it has there: where the table holds
   * the same content already, that one's; else its own name, with a number behind it where that is tombstoned.
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

  /** What was written into a table's folders, as paths in its log. */
  paths(table: DeltaTable): string[] {
    return [...(this.#sizes.get(table)?.keys() ?? [])];
  }

  /** Files and bytes among those that are used. */
  count(used: readonly { readonly table: DeltaTable; readonly add: Add }[]): { files: number; bytes: number } {
    const sizes = used.flatMap(({ table, add }) => this.#sizes.get(table)?.get(add.path) ?? []);
    return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
  }
}

/** Where the table holds the same content under the same name, whatever the number behind it. */
function livePath({ snapshot }: DeltaTable, { path, tags }: Add): string | undefined {
  const hash = tags?.['sha256'];
  // A name may have been given to other content: a version without hashes doesn't say.
  const sameName = snapshot.files.get(path);
  if (sameName !== undefined && (sameName.tags?.['sha256'] ?? hash) === hash) return path;
  for (const live of snapshot.numbered(path)) if (live.tags?.['sha256'] === hash) return live.path;
  return undefined;
}

/** The path, or the first one with a number behind it, that has nothing else and that nobody may be about to delete. */
function freePath(table: DeltaTable, path: string): string {
  let free = path;
  for (let number = 2; table.isTombstoned(free) || table.snapshot.files.has(free); number++)
    free = numbered(path, number);
  return free;
}
