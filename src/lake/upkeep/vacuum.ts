import type { Clock } from '../../core/clock.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { dropLeftovers, isNamed, leftoversOf } from '../transaction/derived-files.js';
import { barring, isDerivedFile, mainOf } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';
import { otherLeases, type HeldLease, type Lease } from './leases.js';
import { noteNewestVersions } from '../newest-versions.js';
import { isOwnFile } from './own-files.js';
import type { StoredFile } from '../store/store.js';
import { restoreSwapped, takenOut } from '../transaction/swapped-files.js';
import { thisWriter } from '../store/writer-name.js';

/**
 * Clears what dead runs left: files of the lake's own (`isOwnFile`) that no log names, and files of derived tables that no main table's file names. How
 * many files went. Beside them go checkpoints of the logs that newer ones have superseded.
 *
 * A dead run's last commit may still be on its way to the store, and a living one may be about to commit what lies here
 * unnamed. So every file is barred by a commit before it is deleted: a late commit loses the version, and whoever lives
 * reads the bar, and writes the file anew under another name. As that is a nuisance, files of other runs on this
 * machine, which can be known to be alive, are left to them; with the others no run would ever know what is a dead one's.
 *
 * @param account whose files alone the run has written: where no run has died since the last sweep only its folders are
 * looked through, which takes no longer however many accounts the lake holds
 */
export async function sweepLake(lake: Lake, lease: HeldLease, clock: Clock, account?: string): Promise<number> {
  await lease.clearUp();
  let swept = await lake.store.sweep();
  const { dead } = await otherLeases(lake.store, lease.id, clock);
  // Files first, then the logs, then who is at work: whoever wrote one of the files had a lease by then.
  const found = await filesByTable(lake, dead.length === 0 ? account : undefined);
  await lake.refresh();
  const before = await othersBegan((await otherLeases(lake.store, lease.id, clock)).living);
  await restoreSwapped(lake.tables, before, clock.now());
  const orphans = unnamedDerived(lake);
  const old = orphans.filter(({ modifiedAt }) => modifiedAt < before);
  const leftovers = await leftoversOf(
    lake,
    old.map(({ path }) => path),
  );

  const filesOf = (table: DeltaTable): string[] =>
    (found.get(table) ?? []).filter(({ modifiedAt }) => modifiedAt < before).map(({ path }) => path);
  const fenced = new Set(old.flatMap(({ mains }) => mains));
  for (const table of lake.tables) {
    const unnamed = unnamedOf(table, filesOf(table));
    if (unnamed.length > 0) for (const main of (await swappedOf(table, unnamed)).values()) fenced.add(main);
  }
  const isFenced = (table: DeltaTable): boolean => fenced.has(table.schema.name);
  // What those name by their newest versions is known for certain then.
  for (const table of lake.tables.toSorted((a, b) => Number(isFenced(b)) - Number(isFenced(a)))) {
    swept += await dropUnnamed(lake, table, filesOf(table), fenced, clock);
  }
  swept += await dropLeftovers(lake, leftovers, clock.now());
  // Where an account alone is swept, only what this run has added to: a log of many accounts takes a while to list.
  for (const table of lake.tables) {
    await table.mendCheckpoints(account === undefined);
    await table.dropOldCheckpoints(account === undefined);
  }
  // Those of which something may lie among what others are writing wait for a later sweep.
  for (const { path, wroteBefore } of dead)
    if (before === Infinity || wroteBefore < before) await lake.store.remove(path);
  await noteNewestVersions(lake.store, lake.tables);
  return swept;
}

/** The lake's own files in each table's folders, or in an account's ones. */
async function filesByTable(
  lake: Lake,
  account: string | undefined,
): Promise<ReadonlyMap<DeltaTable, readonly StoredFile[]>> {
  const found = new Map<DeltaTable, StoredFile[]>();
  for (const table of lake.tables) {
    const files: StoredFile[] = [];
    const folder = account === undefined ? table.schema.name : `${table.schema.name}/account=${account}`;
    for await (const file of lake.store.list(folder)) if (isOwnFile(file.path)) files.push(file);
    found.set(table, files);
  }
  return found;
}

/**
 * Of files that a derived table's log doesn't name those that a swap took out of it, each with its main table, which may
 * name it all the same.
 */
async function swappedOf(table: DeltaTable, files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const prefix = `${table.schema.name}/`;
  const swapped = await takenOut(table, new Set(files.map((path) => path.slice(prefix.length))));
  const mains = new Map<string, string>();
  for (const add of swapped) {
    const main = mainOf(add);
    if (main !== undefined) mains.set(table.pathOf(add), main);
  }
  return mains;
}

/** Those of the files that a table's newest version doesn't name. */
function unnamedOf(table: DeltaTable, files: readonly string[]): string[] {
  return files.filter((path) => table.fileAt(path) === undefined);
}

/**
 * Deletes those of a table's files that its newest version doesn't name; of the `fenced` tables it claims a version even where
 * there is none. What a swap took out is left alone as long as its main table isn't one of them: that may name it by now.
 */
async function dropUnnamed(
  lake: Lake,
  table: DeltaTable,
  files: readonly string[],
  fenced: ReadonlySet<string>,
  clock: Clock,
): Promise<number> {
  let gone: string[] = [];
  await table.commit('FENCE', async () => {
    const unnamed = unnamedOf(table, files).filter((path) => !isNamed(lake.tables, path));
    const swapped = unnamed.length === 0 ? new Map<string, string>() : await swappedOf(table, unnamed);
    gone = unnamed.filter((path) => {
      const main = swapped.get(path);
      return main === undefined || fenced.has(main);
    });
    const prefix = `${table.schema.name}/`;
    if (gone.length > 0) await table.refuseAdded(new Set(gone.map((path) => path.slice(prefix.length))));
    if (gone.length === 0 && !fenced.has(table.schema.name)) return undefined;
    return gone.map((path) => barring(path.slice(prefix.length), clock.now()));
  });
  await lake.drop(gone);
  return gone.length;
}

/** Files in the logs of derived tables that count nowhere, with the tables whose commits could make them count. */
function unnamedDerived(lake: Lake): { path: string; modifiedAt: number; mains: readonly string[] }[] {
  const begun = lake.tables.filter(({ snapshot }) => snapshot.version >= 0).map(({ schema }) => schema.name);
  return lake.tables.flatMap((table) =>
    [...table.snapshot.files.values()]
      .filter((add) => isDerivedFile(add) && !isNamed(lake.tables, table.pathOf(add)))
      .map((add) => {
        const main = mainOf(add);
        const mains = main === undefined ? begun : [main];
        return { path: table.pathOf(add), modifiedAt: add.modificationTime, mains };
      }),
  );
}

/** When the first of the other runs on this machine began: what was written before that is none of theirs. */
async function othersBegan(others: readonly Lease[]): Promise<number> {
  if (others.length === 0) return Infinity;
  const { host } = await thisWriter();
  const writing = others.filter(({ machine, clearing }) => machine === host && clearing !== true);
  return Math.min(Infinity, ...writing.map(({ startedAt }) => startedAt));
}
