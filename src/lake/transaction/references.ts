import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { tombstone, isDerivedFile, removal, mainOf, swappedAdd, swapRemoval } from '../delta/file-tags.js';
import type { Store } from '../store/store.js';
import { LedgerlakeError } from '../../core/errors.js';

/**
 * Files that nothing should name any more, by table and path in its log, each as the log had it when that was found:
 * undefined where it hadn't.
 */
export type Orphans = ReadonlyMap<DeltaTable, ReadonlyMap<string, Add | undefined>>;

interface Tables {
  readonly store: Store;
  readonly tables: readonly DeltaTable[];
}

/**
 * Paths, within the lake, of the derived files that count: those that main tables' files name, and of lasting tables
 * those that main tables' logs have named.
 */
export function referencedFiles(tables: readonly DeltaTable[]): Set<string> {
  const referenced = tables.flatMap(({ snapshot }) => [...snapshot.referenced]);
  const pinned = tables.flatMap(({ snapshot }) => [...snapshot.pinned]);
  return new Set([...referenced, ...pinned.filter((path) => isReferenced(tables, path))]);
}

/** Whether a derived file counts, by its path within the lake. */
export function isReferenced(tables: readonly DeltaTable[], path: string): boolean {
  if (tables.some(({ snapshot }) => snapshot.referenceCount(path) > 0)) return true;
  if (!tables.some(({ snapshot }) => snapshot.pinned.has(path))) return false;
  // A name lasts for good. A file that counts by itself by now, or that others have replaced, needs none.
  const found = fileAt(tables, path);
  return found?.table.schema.appendOnly === true && isDerivedFile(found.add);
}

/** The file with a path within the lake, and its table; undefined where no log has it. */
export function fileAt(
  tables: readonly DeltaTable[],
  path: string,
): { readonly table: DeltaTable; readonly add: Add } | undefined {
  const name = path.slice(0, path.indexOf('/'));
  const table = tables.find(({ schema }) => schema.name === name);
  const add = table?.fileAt(path);
  return table === undefined || add === undefined ? undefined : { table, add };
}

/** The files with these paths within the lake, as the newest versions of their logs have them. */
export async function orphansOf({ tables }: Tables, paths: readonly string[]): Promise<Orphans> {
  const orphans = new Map<DeltaTable, Map<string, Add | undefined>>();
  for (const table of tables) {
    const prefix = `${table.schema.name}/`;
    const wanted = new Set(paths.filter((path) => path.startsWith(prefix)));
    if (wanted.size === 0) continue;
    // What another run added to this log may be known from the main table's already, but not from here.
    await table.refresh();
    for (const path of wanted) {
      const add = table.fileAt(path);
      const tableOrphans = orphans.get(table) ?? new Map<string, Add | undefined>();
      orphans.set(table, tableOrphans.set(add?.path ?? path.slice(prefix.length), add));
    }
  }
  return orphans;
}

/**
 * Takes leftovers of derived tables out of the log and deletes them, and says which: paths within the lake. Where the table has a
 * retention, those that the log has named stay for it. They must have been found before this
 * process claimed a version of the main table: what another run named by then is spared, and what one is about to name
 * it has added again.
 */
export async function deleteOrphans(
  { store, tables }: Tables,
  orphans: Orphans,
  now: number,
): Promise<readonly string[]> {
  const deleted: string[] = [];
  for (const [table, files] of orphans) {
    let deletable: string[] = [];
    await table.commit('WRITE', (snapshot) => {
      const unreferenced = [...files].filter(
        ([path, add]) => snapshot.files.get(path) === add && !isReferenced(tables, table.pathOf({ path })),
      );
      // What a swap has taken out stays, and its removal says since when.
      const leaving = unreferenced.filter(([path]) => !table.isRetained(path));
      deletable = leaving.flatMap(([path, add]) => (add !== undefined && table.retentionMs > 0 ? [] : [path]));
      if (leaving.length === 0) return undefined;
      return leaving.map(([path, add]) => (add === undefined ? tombstone(path, now) : removal(add, now)));
    });
    for (const path of deletable.map((each) => table.pathOf({ path: each }))) {
      await store.remove(path);
      deleted.push(path);
    }
  }
  return deleted;
}

/**
 * Brings derived files back that count and that their tables' logs no longer have, because a run died between taking them
 * out and the main table's commit; what it brought in for them goes out in the same step. Those that were taken out since
 * `before` are a living run's own affair. The logs must have been read just now.
 *
 * A version of the main table is claimed on the way, so that the dead run's commit can't come late.
 *
 * @throws LedgerlakeError as the store and the log do; called again it goes on from there
 */
export async function restoreSwapped(tables: readonly DeltaTable[], before: number, now: number): Promise<void> {
  for (const main of tables) {
    const lost = lostFiles(tables, main);
    if (lost.size === 0) continue;
    const [selfReference] = lost.get(main) ?? [];
    if (selfReference !== undefined) throw namesItself(main, selfReference);
    await main.commit('FENCE', async () => {
      let isRestored = false;
      for (const [table, paths] of lostFiles(tables, main)) {
        if (await restoreTable(tables, main, table, paths, before, now)) isRestored = true;
      }
      return isRestored ? [] : undefined;
    });
  }
}

/** To bring back its own file a table would wait for itself. */
function namesItself(table: DeltaTable, path: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected the log of ${table.schema.name} to name derived files of other tables, got its own ` +
      `${JSON.stringify(path.slice(0, 200))}; restore the log from a copy`,
  );
}

/** What a main table's files name and derived tables don't have: paths in their logs. */
function lostFiles(tables: readonly DeltaTable[], main: DeltaTable): Map<DeltaTable, Set<string>> {
  const named = [...main.snapshot.referenced].filter((path) => fileAt(tables, path) === undefined);
  const lost = new Map<DeltaTable, Set<string>>();
  for (const table of tables) {
    const prefix = `${table.schema.name}/`;
    const tablePaths = named.filter((path) => path.startsWith(prefix));
    if (tablePaths.length > 0) lost.set(table, new Set(tablePaths.map((path) => path.slice(prefix.length))));
  }
  return lost;
}

async function restoreTable(
  tables: readonly DeltaTable[],
  main: DeltaTable,
  table: DeltaTable,
  paths: ReadonlySet<string>,
  before: number,
  now: number,
): Promise<boolean> {
  let isRestored = false;
  await table.restore('RESTORE', async ({ files }) => {
    const lost = (await swappedOut(table, paths)).filter(({ modificationTime }) => modificationTime < before);
    isRestored = lost.length > 0;
    if (!isRestored) return undefined;
    const isDead = (add: Add): boolean =>
      isDerivedFile(add) &&
      mainOf(add) === main.schema.name &&
      !isReferenced(tables, table.pathOf(add)) &&
      add.modificationTime < before;
    // As a swap in its turn: a living run may name one of them before this one claims its version of the main table, and
    // finds it brought back then.
    const successors = [...files.values()].filter(isDead);
    return [...successors.map((add) => swapRemoval(add, now, false)), ...lost.map((add) => ({ add }))];
  });
  return isRestored;
}

/**
 * Those of the paths that a swap took out of the table's log, as they were: nobody deletes such a file as long as it
 * counts. One that was removed in any other way may be gone already.
 */
export async function swappedOut(table: DeltaTable, paths: ReadonlySet<string>): Promise<Add[]> {
  const missing = new Set([...paths].filter((path) => !table.snapshot.files.has(path)));
  return (await table.removals(missing)).flatMap((remove) => swappedAdd(remove) ?? []);
}

/**
 * Lets those files of lasting tables count by themselves that a main table's log has named: then they can be merged or
 * made anew under other names, which no log of another table knows. Nothing ever takes such a name back, so this changes
 * what no reader sees.
 *
 * @throws LedgerlakeError as the store and the log do
 */
export async function unpinAppended({ tables }: Pick<Tables, 'tables'>, now: number): Promise<void> {
  for (const table of tables) {
    if (table.schema.appendOnly !== true) continue;
    await table.commit('UNPIN', ({ files }) => {
      const pinned = [...files.values()].filter((add) => isDerivedFile(add) && isReferenced(tables, table.pathOf(add)));
      if (pinned.length === 0) return undefined;
      return pinned.map((add) => {
        const tags = Object.fromEntries(Object.entries(add.tags ?? {}).filter(([name]) => name !== 'main'));
        return { add: { ...add, modificationTime: now, dataChange: false, tags: { ...tags, derived: '[]' } } };
      });
    });
  }
}
