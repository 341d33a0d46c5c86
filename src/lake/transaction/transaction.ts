import type { Clock } from '../../core/clock.js';
import type { Table } from '../../core/columns/table.js';
import type { Action, Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { tombstone, derivedOf, removal, swapRemoval } from '../delta/file-tags.js';
import { deleteOrphans, orphansOf, type Orphans } from './references.js';
import type { Snapshot } from '../delta/snapshot.js';
import type { Store } from '../store/store.js';
import { referenceTxn } from '../delta/load-key-ids.js';
import { takenOut } from './restore-swapped.js';
import { WrittenFiles, type NewFile } from './written-files.js';

/** Files of a main table and of those derived from it that come into the lake together, in the place of others. */
export interface Transaction {
  /** For the log: `WRITE`. */
  readonly operation: string;
  /** The table whose files name the derived ones; its commit makes all of it count. */
  readonly main: Table;
  readonly files: readonly NewFile[];
  /** What goes and what else is to be said, given the main table's newest version; undefined: the files aren't wanted. */
  readonly decide: (snapshot: Snapshot) => Decision | undefined;
  /**
   * What the files take the place of leaves each derived table in the commit that brings its successors: who reads such a
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
  /** False where `decide` wanted no part of it: nothing was changed. */
  readonly taken: boolean;
  /** Files written that count now, and their bytes. */
  readonly files: number;
  readonly bytes: number;
}

/** The lake as a transaction sees it. */
export interface LakeTables {
  readonly store: Store;
  readonly tables: readonly DeltaTable[];
  table(name: string): DeltaTable;
}

/** What is left to do when the main table's commit has been taken. */
interface Aftermath extends TransactionResult {
  /** Paths in the main table's log of files to delete: removed by the commit. */
  readonly gone: readonly string[];
  readonly orphans: Orphans;
}

/**
 * Brings files into the lake, all of them or none: derived tables are committed first, the main table last, and only
 * what its files name counts. Whoever else is at work, a file that counts is there:
 *
 * - A path is removed from the log before its file is deleted, and is tombstoned for a day then. Who wants to add it sees
 *   that and takes another name, or is first, and is seen by who wants to remove it.
 * - A derived file is named in one log and stands in another. So who names it adds it, again if need be, after having
 *   read the version of the main log on which the naming builds; and who removes it claims a version of the main log
 *   first, and then removes it only if nobody has added it again meanwhile.
 *
 * @throws LedgerlakeError as the store and the log do; what was taken by then stays, and leftovers wait for the vacuum
 */
export async function commitTransaction(
  lake: LakeTables,
  clock: Clock,
  change: Transaction,
): Promise<TransactionResult> {
  const main = lake.table(change.main.name);
  let outcome: Aftermath = { taken: false, files: 0, bytes: 0, gone: [], orphans: new Map() };
  if (change.decide(main.snapshot) === undefined) return outcome;

  const written = new WrittenFiles(lake.store);
  const swapped: Swapped = new Map();
  // Ahead of the commit's turn, so that slices that are whole at the same time are written side by side.
  for (const file of change.files) await written.place(lake.table(file.table.name), file);
  await main.commit(change.operation, async (snapshot) => {
    const decision = change.decide(snapshot);
    const step = await (decision === undefined
      ? refusal(lake, main, change, written, swapped)
      : taking(lake, main, change, written, swapped, decision, clock));
    outcome = step.outcome;
    const gone = new Map(decision?.replaced.map((add) => [add.path, add]));
    const removals = outcome.gone.map((path) => {
      const add = gone.get(path);
      if (add === undefined) return tombstone(path, clock.now());
      return removal(add, clock.now(), isNews(change.files));
    });
    if (decision !== undefined)
      return [...removals, ...step.adds.map((add) => ({ add })), ...decision.actions, ...step.names];
    // Only behind a version of its own can it tell what is left over from what others are about to name.
    return removals.length > 0 || outcome.orphans.size > 0 ? removals : undefined;
  });

  for (const path of outcome.gone) await lake.store.remove(main.pathOf({ path }));
  await deleteOrphans(lake, outcome.orphans, clock.now());
  return outcome;
}

/** Files that this transaction took out of derived tables before the main table's commit, as their logs had them. */
type Swapped = Map<DeltaTable, Map<string, Add>>;

interface Step {
  readonly outcome: Aftermath;
  /** For the main table. */
  readonly adds: readonly Add[];
  /** For the main table: the transactions that name the files of lasting tables. */
  readonly names: readonly Action[];
}

/** Adds the derived files, and says what becomes of the main table's. */
async function taking(
  lake: LakeTables,
  main: DeltaTable,
  { files, swaps }: Transaction,
  written: WrittenFiles,
  swapped: Swapped,
  { replaced }: Decision,
  clock: Clock,
): Promise<Step> {
  const { snapshot } = main;
  const counts = { files: 0, bytes: 0 };
  const count = (table: DeltaTable, adds: readonly Add[]): void => {
    const more = written.count(table, adds);
    counts.files += more.files;
    counts.bytes += more.bytes;
  };

  const successed = swaps === true ? onlyReferencedBy(snapshot, replaced) : [];
  const bundles = new Map<string, string[]>();
  const lasting: { account: string; path: string }[] = [];
  for (const table of tablesOf(lake, files)) {
    if (table === main) continue;
    const own = files.filter((file) => lake.table(file.table.name) === table);
    const swap = { paths: new Set(successed), swapped: swappedOf(swapped, table), now: clock.now() };
    const adds = await addDerived(table, own, main, written, swap);
    count(table, adds);
    if (table.schema.lasting) {
      // What names them must outlive the files that they came with.
      for (const add of adds) lasting.push({ account: add.tags?.['account'] ?? '', path: table.pathOf(add) });
      continue;
    }
    for (const [at, add] of adds.entries()) {
      const bundle = bundleOf(own[at], files, main);
      bundles.set(bundle, [...(bundles.get(bundle) ?? []), table.pathOf(add)]);
    }
  }
  const named = [...[...bundles.values()].flat(), ...lasting.map(({ path }) => path)];
  const adds: Add[] = [];
  for (const file of files) {
    if (lake.table(file.table.name) !== main) continue;
    const add = await written.place(main, file);
    const derived = JSON.stringify(bundles.get(keyOf(file)) ?? []);
    adds.push({ ...add, tags: { ...add.tags, derived } });
  }
  count(main, adds);

  const kept = new Set(adds.map(({ path }) => path));
  const leaving = replaced.filter(({ path }) => !kept.has(path));
  const unused = written.paths(main).filter((path) => !kept.has(path) && !snapshot.files.has(path));
  // A file that stays may have named others than those it names now.
  const renamed = [...kept].flatMap((path) => snapshot.files.get(path) ?? []);
  const changing = [...leaving, ...renamed];
  const own = writtenDerived(lake, main, files, written);
  const stale = onlyReferencedBy(snapshot, changing, own).filter((path) => !named.includes(path));
  const orphans = await orphansOf(lake, stale);
  return {
    outcome: { taken: true, ...counts, gone: [...leaving.map(({ path }) => path), ...unused], orphans },
    adds: adds.filter(({ path, tags }) => snapshot.files.get(path)?.tags?.['derived'] !== tags?.['derived']),
    names: lasting.map(({ account, path }) => referenceTxn(account, path, clock.now())),
  };
}

/**
 * What was written in vain goes again, unless another's file of the same name is in the lake by now; what was taken out
 * and counts still comes back.
 */
async function refusal(
  lake: LakeTables,
  main: DeltaTable,
  { files }: Transaction,
  written: WrittenFiles,
  swapped: Swapped,
): Promise<Step> {
  const { snapshot } = main;
  for (const [table, adds] of swapped) {
    const counting = new Set([...adds.keys()].filter((path) => names(main, table.pathOf({ path }))));
    await table.restore('WRITE', async () => {
      const lost = await takenOut(table, counting);
      return lost.length === 0 ? undefined : lost.map((add) => ({ add }));
    });
  }
  const stale = writtenDerived(lake, main, files, written).filter((path) => !names(main, path));
  const gone = written.paths(main).filter((path) => !snapshot.files.has(path));
  const orphans = await orphansOf(lake, stale);
  return { outcome: { taken: false, files: 0, bytes: 0, gone, orphans }, adds: [], names: [] };
}

/** What leaves a derived table together with what is added: paths within the lake, and where to note it. */
interface Swap {
  readonly paths: ReadonlySet<string>;
  readonly swapped: Map<string, Add>;
  readonly now: number;
}

/** Puts files into a derived table's log, those that nothing names yet also where they stand there already. */
async function addDerived(
  table: DeltaTable,
  files: readonly NewFile[],
  main: DeltaTable,
  written: WrittenFiles,
  { paths, swapped, now }: Swap,
): Promise<readonly Add[]> {
  let adds: Add[] = [];
  await table.commit('WRITE', async (snapshot) => {
    adds = [];
    for (const file of files) {
      const add = await written.place(table, file);
      adds.push({ ...add, tags: { ...add.tags, main: main.schema.name } });
    }
    const fresh = adds.filter((add) => !snapshot.files.has(add.path) || !names(main, table.pathOf(add)));
    const kept = new Set(adds.map(({ path }) => path));
    const leaving = [...paths].flatMap((path) => {
      const found = table.fileAt(path);
      return found === undefined || kept.has(found.path) ? [] : [found];
    });
    if (fresh.length + leaving.length === 0) return undefined;
    for (const add of leaving) swapped.set(add.path, add);
    return [...leaving.map((add) => swapRemoval(add, now, isNews(files))), ...fresh.map((add) => ({ add }))];
  });
  return adds;
}

/** A file belongs with those of its month, as long as it doesn't say with which. */
function keyOf({ bundle, add }: NewFile): string {
  return bundle ?? add.partitionValues['month'] ?? '';
}

/**
 * By which key the main table's file is found that names a derived one, so that each names its own and one can be
 * replaced without the others. Where its own bundle has no file in the main table the first one's names it.
 */
function bundleOf(file: NewFile | undefined, files: readonly NewFile[], main: DeltaTable): string {
  const keys = files.filter(({ table }) => table.name === main.schema.name).map(keyOf);
  const own = file === undefined ? '' : keyOf(file);
  return keys.includes(own) ? own : (keys[0] ?? own);
}

function swappedOf(swapped: Swapped, table: DeltaTable): Map<string, Add> {
  const own = swapped.get(table) ?? new Map<string, Add>();
  swapped.set(table, own);
  return own;
}

/** Whether the files hold other rows than those that they replace: news for who follows the tables' changes. */
function isNews(files: readonly NewFile[]): boolean {
  return files.some(({ add }) => add.dataChange);
}

function tablesOf(lake: LakeTables, files: readonly NewFile[]): Set<DeltaTable> {
  return new Set(files.map(({ table }) => lake.table(table.name)));
}

/** Derived files that this transaction has written, as paths within the lake. */
function writtenDerived(
  lake: LakeTables,
  main: DeltaTable,
  files: readonly NewFile[],
  written: WrittenFiles,
): string[] {
  return [...tablesOf(lake, files)]
    .filter((table) => table !== main)
    .flatMap((table) => written.paths(table).map((path) => table.pathOf({ path })));
}

/** Whether a main table's log names a file, by its path within the lake. */
function names({ snapshot }: DeltaTable, path: string): boolean {
  return snapshot.referenceCount(path) > 0 || snapshot.pinned.has(path);
}

/** What these files of a table name, and other paths within the lake, where no other file of the table names it. */
function onlyReferencedBy(snapshot: Snapshot, files: readonly Add[], others: readonly string[] = []): string[] {
  const times = new Map<string, number>(others.map((path) => [path, 0]));
  for (const path of files.flatMap(namesOf)) times.set(path, (times.get(path) ?? 0) + 1);
  return [...times].filter(([path, own]) => snapshot.referenceCount(path) <= own).map(([path]) => path);
}

function namesOf(add: Add): readonly string[] {
  return derivedOf(add) ?? [];
}
