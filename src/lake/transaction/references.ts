import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { tombstone, isDerivedFile, removal } from '../delta/file-tags.js';
import type { Store } from '../store/store.js';

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
  const names = tables.flatMap(({ snapshot }) => [...snapshot.referenced]);
  const lasting = tables.flatMap(({ snapshot }) => [...snapshot.pinned]);
  return new Set([...names, ...lasting.filter((path) => isReferenced(tables, path))]);
}

/** Whether a derived file counts, by its path within the lake. */
export function isReferenced(tables: readonly DeltaTable[], path: string): boolean {
  if (tables.some(({ snapshot }) => snapshot.referenceCount(path) > 0)) return true;
  if (!tables.some(({ snapshot }) => snapshot.pinned.has(path))) return false;
  // A name lasts for good. A file that has come to count by itself, or in whose place others do, needs none.
  const found = fileAt(tables, path);
  return found?.table.schema.lasting === true && isDerivedFile(found.add);
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
      const own = orphans.get(table) ?? new Map<string, Add | undefined>();
      orphans.set(table, own.set(add?.path ?? path.slice(prefix.length), add));
    }
  }
  return orphans;
}

/**
 * Takes leftovers of derived tables out of the log and deletes them; how many. They must have been found before this
 * process claimed a version of the main table: what another run named by then is spared, and what one is about to name
 * it has added again.
 */
export async function deleteOrphans({ store, tables }: Tables, orphans: Orphans, now: number): Promise<number> {
  let dropped = 0;
  for (const [table, files] of orphans) {
    let gone: string[] = [];
    await table.commit('WRITE', (snapshot) => {
      const unreferenced = [...files].filter(
        ([path, add]) => snapshot.files.get(path) === add && !isReferenced(tables, table.pathOf({ path })),
      );
      gone = unreferenced.map(([path]) => path);
      if (gone.length === 0) return undefined;
      return unreferenced.map(([path, add]) => (add === undefined ? tombstone(path, now) : removal(add, now)));
    });
    for (const path of gone) await store.remove(table.pathOf({ path }));
    dropped += gone.length;
  }
  return dropped;
}
