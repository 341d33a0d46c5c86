import { LedgerlakeError } from '../../core/errors.js';
import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { fileAt, isReferenced } from './references.js';
import { isDerivedFile, mainOf, swappedAdd, swapRemoval } from '../delta/file-tags.js';

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
    const [own] = lost.get(main) ?? [];
    if (own !== undefined) throw namesItself(main, own);
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
    `expected the log of ${table.schema.name} to name derived files of other tables, it names its own ` +
      `${JSON.stringify(path.slice(0, 200))}; restore the log from a copy`,
  );
}

/** What a main table's files name and derived tables don't have: paths in their logs. */
function lostFiles(tables: readonly DeltaTable[], main: DeltaTable): Map<DeltaTable, Set<string>> {
  const named = [...main.snapshot.referenced].filter((path) => fileAt(tables, path) === undefined);
  const lost = new Map<DeltaTable, Set<string>>();
  for (const table of tables) {
    const prefix = `${table.schema.name}/`;
    const own = named.filter((path) => path.startsWith(prefix));
    if (own.length > 0) lost.set(table, new Set(own.map((path) => path.slice(prefix.length))));
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
    const back = (await takenOut(table, paths)).filter(({ modificationTime }) => modificationTime < before);
    isRestored = back.length > 0;
    if (!isRestored) return undefined;
    const isDead = (add: Add): boolean =>
      isDerivedFile(add) &&
      mainOf(add) === main.schema.name &&
      !isReferenced(tables, table.pathOf(add)) &&
      add.modificationTime < before;
    // As a swap in its turn: a living run may name one of them before this one claims its version of the main table, and
    // finds it brought back then.
    const successors = [...files.values()].filter(isDead);
    return [...successors.map((add) => swapRemoval(add, now, false)), ...back.map((add) => ({ add }))];
  });
  return isRestored;
}

/**
 * Those of the paths that a swap took out of the table's log, as they were: nobody deletes such a file as long as it
 * counts. One that was removed in any other way may be gone already.
 */
export async function takenOut(table: DeltaTable, paths: ReadonlySet<string>): Promise<Add[]> {
  const missing = new Set([...paths].filter((path) => !table.snapshot.files.has(path)));
  return (await table.removals(missing)).flatMap((remove) => swappedAdd(remove) ?? []);
}
