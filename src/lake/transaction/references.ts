import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { tombstone, isDerivedFile, removal, mainOf, swappedAdd, swapRemoval } from '../delta/file-tags.js';
import type { Store } from '../store/store.js';
import { LedgerlakeError } from '../../core/errors.js';

/**
 * Files that should no longer be referenced, by table and path in its log, each with its log entry when it was found;
 * undefined where it had none.
 */
export type Orphans = ReadonlyMap<DeltaTable, ReadonlyMap<string, Add | undefined>>;

interface Tables {
  readonly store: Store;
  readonly tables: readonly DeltaTable[];
}

/**
 * Paths, within the lake, of the derived files that count: those that main tables' files reference, and the pinned
 * files of append-only tables.
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
  // A pin is permanent. A file that counts by itself now, or was replaced, no longer needs it.
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
    // Another run's commit to this log may not have been read yet, although the main table's was.
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
 * Removes orphans of derived tables from the log and deletes them. Returns their paths within the lake. With a retention, files
 * with a log entry stay for it. The orphans must have been found before this process claimed a version of the main table: files
 * that another run references by then are kept, and a run that is about to reference one has added it again.
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
      // Files that a swap removed stay until the retention after their removal.
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
 * Restores derived files that are referenced but no longer in their tables' logs, because a run died between a swap and
 * the main table's commit; the successors are removed in the same commit. Swaps since `before` may be of an active run
 * and are left alone. The logs must have been refreshed before.
 *
 * Claims a version of the main table, so that a late commit of the dead run fails.
 *
 * @throws LedgerlakeError as the store and the log do; a repeated call continues
 */
export async function restoreSwapped(tables: readonly DeltaTable[], before: number, now: number): Promise<void> {
  for (const main of tables) {
    const lost = missingReferences(tables, main);
    if (lost.size === 0) continue;
    const [selfReference] = lost.get(main) ?? [];
    // Restoring it would wait for the table's own mutex.
    if (selfReference !== undefined) {
      throw new LedgerlakeError(
        'LAKE_LOG',
        `expected the log of ${main.schema.name} to name derived files of other tables, got its own ` +
          `${JSON.stringify(selfReference.slice(0, 200))}; restore the log from a copy`,
      );
    }
    await main.commit('FENCE', async () => {
      let isRestored = false;
      for (const [table, paths] of missingReferences(tables, main)) {
        if (await restoreTable(tables, main, table, paths, before, now)) isRestored = true;
      }
      return isRestored ? [] : undefined;
    });
  }
}

/** The files that a main table references and derived tables lack, as paths in the derived tables' logs. */
function missingReferences(tables: readonly DeltaTable[], main: DeltaTable): Map<DeltaTable, Set<string>> {
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
    // Removed by a swap as well: an active run may reference one of them before this run claims a version of the main
    // table, and can then be restored.
    const successors = [...files.values()].filter(isDead);
    return [...successors.map((add) => swapRemoval(add, now, false)), ...lost.map((add) => ({ add }))];
  });
  return isRestored;
}

/**
 * The log entries of those paths that a swap removed from the table: such a file isn't deleted as long as it is
 * referenced. A file that was removed in any other way may be deleted already.
 */
export async function swappedOut(table: DeltaTable, paths: ReadonlySet<string>): Promise<Add[]> {
  const missing = new Set([...paths].filter((path) => !table.snapshot.files.has(path)));
  return (await table.removals(missing)).flatMap((remove) => swappedAdd(remove) ?? []);
}

/**
 * Makes the pinned files of append-only tables count by themselves, so that they can be merged or rewritten under new
 * names, which no other log has pinned. A pin is never revoked, so readers see no change.
 *
 * @throws LedgerlakeError as the store and the log do
 */
export async function unpinAppended({ tables }: Pick<Tables, 'tables'>, now: number): Promise<void> {
  for (const table of tables) await unpinFiles(table, now, (add) => isReferenced(tables, table.pathOf(add)));
}

/** The same for the pinned files of one table that `isUnpinned` accepts; nothing where the table isn't append-only. */
export async function unpinFiles(table: DeltaTable, now: number, isUnpinned: (add: Add) => boolean): Promise<void> {
  if (table.schema.appendOnly !== true) return;
  await table.commit('UNPIN', ({ files }) => {
    const pinned = [...files.values()].filter((add) => isDerivedFile(add) && isUnpinned(add));
    if (pinned.length === 0) return undefined;
    return pinned.map((add) => {
      const tags = Object.fromEntries(Object.entries(add.tags ?? {}).filter(([name]) => name !== 'main'));
      return { add: { ...add, modificationTime: now, dataChange: false, tags: { ...tags, derived: '[]' } } };
    });
  });
}
