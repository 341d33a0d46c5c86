import type { Clock } from '../../core/clock.js';
import { isoInstant } from '../../core/numeric/instant.js';
import type { Emit } from '../../core/events/run-event.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { deleteOrphans, isReferenced, orphansOf, restoreSwapped, swappedOut } from '../transaction/references.js';
import { tombstone, isDerivedFile, mainOf } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';
import { isDataFile, symlinkFolder } from '../data-files.js';
import { logMissing } from '../newest-versions.js';
import { otherLeases, type RunLease, type Lease } from './leases.js';
import type { StoredFile, Store } from '../store/store.js';
import { thisWriter } from '../store/writer-name.js';

interface VacuumOptions {
  readonly clock: Clock;
  readonly emit: Emit;
  /**
   * Whose files alone the run has written: where no run has died since the last vacuum only its folders are looked
   * through, which takes no longer however many accounts the lake holds.
   */
  readonly account?: string | undefined;
}

/**
 * Clears what dead runs left: files of the lake's own (`isDataFile`) that no log references, and files of derived tables that no
 * main table's file names. `emit` gets each, and how many they are of each table. Beside them go checkpoints of the logs that newer
 * ones have superseded.
 *
 * A dead run's last commit may still be on its way to the store, and a living one may be about to commit what lies here
 * unnamed. So every file is tombstoned by a commit before it is deleted: a late commit loses the version, and whoever lives
 * reads the bar, and writes the file anew under another name. As that is a nuisance, files of other runs on this
 * machine, which can be known to be alive, are left to them; with the others no run would ever know what is a dead one's.
 *
 * Where the lake lacks the note of its tables' versions, files that no log references may be of commits that are gone: they are
 * moved to `setAsideFolder`, and nothing is deleted. Where a log names files that are missing, it may be that of another time, and all stay.
 *
 * @throws LedgerlakeError LAKE_LOG where a table has files and no log: nothing says then which of them are orphans
 */
export async function vacuumLake(lake: Lake, lease: RunLease, { clock, emit, account }: VacuumOptions): Promise<void> {
  await lease.clearUp();
  await lake.store.removeUnfinished();
  await deleteReplaced(lake, clock);
  const { dead } = await otherLeases(lake.store, lease.id, clock);
  // Files first, then the logs, then who is at work: whoever wrote one of the files had a lease by then.
  const listedAccount = dead.length === 0 ? account : undefined;
  const found = await filesByTable(lake, listedAccount);
  await lake.refresh();
  for (const [{ snapshot, logLocation }, [file]] of found) {
    if (file !== undefined && snapshot.version < 0) throw logMissing(logLocation, file.path);
  }
  await lake.noteVersions();
  const before = await earliestOtherStart((await otherLeases(lake.store, lease.id, clock)).living);
  await restoreSwapped(lake.tables, before, clock.now());
  const unreferenced = unreferencedDerived(lake);
  const old = unreferenced.filter(({ modifiedAt }) => modifiedAt < before);
  const orphans = await orphansOf(
    lake,
    old.map(({ path }) => path),
  );

  const filesOf = (table: DeltaTable): string[] =>
    (found.get(table) ?? []).filter(({ modifiedAt }) => modifiedAt < before).map(({ path }) => path);
  const fenced = new Set(old.flatMap(({ mains }) => mains));
  let hasOrphans = old.length > 0;
  for (const table of lake.tables) {
    const unreferenced = unreferencedOf(table, filesOf(table));
    if (unreferenced.length === 0) continue;
    hasOrphans = true;
    for (const main of (await swappedOf(table, unreferenced)).values()) fenced.add(main);
  }
  const isDoubtful = lake.hasVersionNote && hasOrphans && (await lacksFiles(lake, found, listedAccount));
  if (isDoubtful) emit({ event: 'orphans-left' });
  else await deleteFound({ lake, orphans, filesOf, fenced, clock, emit });
  // Where an account alone is vacuumed, only what this run has added to: a log of many accounts takes a while to list.
  for (const table of lake.tables) {
    await table.repairCheckpoints(account === undefined);
    await table.dropOldCheckpoints(account === undefined);
  }
  // Those of which something may lie among what others are writing, or was left, wait for a later vacuum.
  for (const { path, wroteBefore } of isDoubtful ? [] : dead)
    if (before === Infinity || wroteBefore < before) await lake.store.remove(path);
  await lake.noteVersions();
}

/** What a vacuum has found. */
interface Found {
  readonly lake: Lake;
  /** Files of derived tables that their logs have and that count nowhere. */
  readonly orphans: Awaited<ReturnType<typeof orphansOf>>;
  /** The files of a table that are old enough. */
  readonly filesOf: (table: DeltaTable) => string[];
  /** Names of tables whose newest version has to be known for certain first. */
  readonly fenced: ReadonlySet<string>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Deletes what no commit references, or sets it aside. */
async function deleteFound({ lake, orphans, filesOf, fenced, clock, emit }: Found): Promise<void> {
  const folder = setAsideFolderAt(clock.now());
  const store = lake.hasVersionNote ? lake.store : movingRemoved(lake.store, folder);
  const deleted: string[] = [];
  const isFenced = (table: DeltaTable): boolean => fenced.has(table.schema.name);
  // What those name by their newest versions is known for certain then.
  for (const table of lake.tables.toSorted((a, b) => Number(isFenced(b)) - Number(isFenced(a)))) {
    deleted.push(...(await deleteUnreferenced({ lake, store, table, files: filesOf(table), fenced, clock })));
  }
  deleted.push(...(await deleteOrphans({ store, tables: lake.tables }, orphans, clock.now())));
  if (lake.hasVersionNote) for (const file of deleted) emit({ event: 'orphan-deleted', file });
  for (const { schema } of lake.tables) {
    const files = deleted.filter((path) => path.startsWith(`${schema.name}/`)).length;
    const counted = { table: schema.name, files };
    if (files > 0) {
      emit(
        lake.hasVersionNote
          ? { event: 'orphans-deleted', ...counted }
          : { event: 'orphans-set-aside', ...counted, folder },
      );
    }
  }
}

/** Whether a log names a file that isn't there, of an account or of all. `found` are those that were there before. */
async function lacksFiles(
  { store }: Lake,
  found: ReadonlyMap<DeltaTable, readonly StoredFile[]>,
  account: string | undefined,
): Promise<boolean> {
  for (const [table, files] of found) {
    const paths = new Set(files.map(({ path }) => path));
    for (const add of table.snapshot.files.values()) {
      if (account !== undefined && add.partitionValues['account'] !== account) continue;
      const path = table.pathOf(add);
      // One that was committed meanwhile is there all the same.
      if (!paths.has(path) && (await store.readRange(path, 0, 1)) === undefined) return true;
    }
  }
  return false;
}

/** The same store, which keeps in a folder what it removes. */
function movingRemoved(store: Store, folder: string): Store {
  return {
    ...store,
    remove: async (path) => {
      const bytes = await store.read(path);
      if (bytes !== undefined) await store.write(`${folder}/${path}`, bytes);
      await store.remove(path);
    },
  };
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
    for await (const file of lake.store.list(folder)) if (isDataFile(file.path)) files.push(file);
    found.set(table, files);
  }
  return found;
}

/**
 * Of files that a derived table's log doesn't reference those that a swap took out of it, each with its main table, which may
 * name it all the same.
 */
async function swappedOf(table: DeltaTable, files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const prefix = `${table.schema.name}/`;
  const swapped = await swappedOut(table, new Set(files.map((path) => path.slice(prefix.length))));
  const mains = new Map<string, string>();
  for (const add of swapped) {
    const main = mainOf(add);
    if (main !== undefined) mains.set(table.pathOf(add), main);
  }
  return mains;
}

/** Those of the files that a table's newest version doesn't reference, but for those that stay for readers of older ones. */
function unreferencedOf(table: DeltaTable, files: readonly string[]): string[] {
  const prefix = `${table.schema.name}/`;
  return files.filter((path) => table.fileAt(path) === undefined && !table.isRetained(path.slice(prefix.length)));
}

/** Deletes the files of every account that were replaced longer ago than the retention. */
async function deleteReplaced(lake: Lake, clock: Clock): Promise<void> {
  const tables = lake.tables.filter(({ retentionMs }) => retentionMs > 0);
  if (tables.length === 0) return;
  await lake.refresh();
  for (const table of tables) {
    let expired: string[] = [];
    await table.commit('VACUUM', () => {
      // What a swap has taken out counts until the main table's commit.
      expired = table
        .replacedFiles()
        .map(({ path }) => path)
        .filter((path) => !table.isRetained(path) && !isReferenced(lake.tables, table.pathOf({ path })));
      return expired.length === 0 ? undefined : expired.map((path) => tombstone(path, clock.now()));
    });
    await lake.removeFiles(expired.map((path) => table.pathOf({ path })));
  }
}

/**
 * Deletes those of a table's files that its newest version doesn't reference; of the `fenced` tables it claims a version even where
 * there is none. What a swap took out is left alone as long as its main table isn't one of them: that may name it by now.
 */
async function deleteUnreferenced({
  lake,
  store,
  table,
  files,
  fenced,
  clock,
}: Pick<Found, 'lake' | 'fenced' | 'clock'> & {
  /** What removes them. */
  readonly store: Store;
  readonly table: DeltaTable;
  readonly files: readonly string[];
}): Promise<readonly string[]> {
  let deleted: string[] = [];
  await table.commit('FENCE', async () => {
    const unreferenced = unreferencedOf(table, files).filter((path) => !isReferenced(lake.tables, path));
    const swapped = unreferenced.length === 0 ? new Map<string, string>() : await swappedOf(table, unreferenced);
    deleted = unreferenced.filter((path) => {
      const main = swapped.get(path);
      return main === undefined || fenced.has(main);
    });
    const prefix = `${table.schema.name}/`;
    if (deleted.length > 0) await table.checkNotAdded(new Set(deleted.map((path) => path.slice(prefix.length))));
    if (deleted.length === 0 && !fenced.has(table.schema.name)) return undefined;
    return deleted.map((path) => tombstone(path.slice(prefix.length), clock.now()));
  });
  for (const path of new Set(deleted)) await store.remove(path);
  return deleted;
}

/** Files in the logs of derived tables that count nowhere, with the tables whose commits could make them count. */
function unreferencedDerived(lake: Lake): { path: string; modifiedAt: number; mains: readonly string[] }[] {
  const begun = lake.tables.filter(({ snapshot }) => snapshot.version >= 0).map(({ schema }) => schema.name);
  return lake.tables.flatMap((table) =>
    [...table.snapshot.files.values()]
      .filter((add) => isDerivedFile(add) && !isReferenced(lake.tables, table.pathOf(add)))
      .map((add) => {
        const main = mainOf(add);
        const mains = main === undefined ? begun : [main];
        return { path: table.pathOf(add), modifiedAt: add.modificationTime, mains };
      }),
  );
}

/** When the first of the other runs on this machine began: what was written before that is none of theirs. */
async function earliestOtherStart(others: readonly Lease[]): Promise<number> {
  if (others.length === 0) return Infinity;
  const { host } = await thisWriter();
  const writing = others.filter(({ machine, clearing }) => machine === host && clearing !== true);
  return Math.min(Infinity, ...writing.map(({ startedAt }) => startedAt));
}

/**
 * Files in the tables' folders that no log references and that are the lake's own, whoever left them and when, but for those
 * of other accounts that stay for a while; in an account's folders whatever there is.
 */
export async function orphanFiles(lake: Lake, account: string): Promise<StoredFile[]> {
  const orphans: StoredFile[] = [];
  for (const table of lake.tables) {
    for await (const file of lake.store.list(table.schema.name)) {
      const manifests = `${table.schema.name}/${symlinkFolder}`;
      const folders = [`${table.schema.name}/account=${account}/`, `${manifests}/account=${account}/`];
      // The note beside the manifests names every account, and is written anew by the next export.
      const isOfAccount =
        folders.some((folder) => file.path.startsWith(folder)) || file.path === `${manifests}/_state.json`;
      if (table.fileAt(file.path) !== undefined) continue;
      const isOrphan = isDataFile(file.path) && !table.isRetained(file.path.slice(table.schema.name.length + 1));
      if (isOfAccount || isOrphan) orphans.push(file);
    }
  }
  return orphans;
}

/** Folder of a lake with the Iceberg metadata of its tables. */
export const icebergFolder = '_iceberg';

/** The folder of a lake for what was moved out of its tables: no reader takes a name that begins with `_` for data. */
export const setAsideFolder = '_set-aside';

/** Where in it goes what a run, or a rebuild of logs, moves at an instant, milliseconds since 1970. */
export function setAsideFolderAt(instant: number, isRebuild = false): string {
  return `${setAsideFolder}/${isoInstant(instant).replace(/[-:]|\.\d+/g, '')}${isRebuild ? rebuiltSuffix : ''}`;
}

const rebuiltSuffix = '-rebuild';

/** Whether a rebuild of logs has moved what lies in such a folder. */
export function isRebuildFolder(folder: string): boolean {
  return folder.endsWith(rebuiltSuffix);
}

/**
 * What the lake keeps beside its tables (at its root, under names that begin with `_`: journals, notes of runs) and that
 * belongs to an account, by a folder's or file's name or because it names the account. All of it is disposable.
 *
 * @param spare files that stay whatever they name
 */
export async function filesAboutAccount(
  store: Store,
  account: string,
  spare: ReadonlySet<string>,
): Promise<StoredFile[]> {
  const found: StoredFile[] = [];
  const quoted = Buffer.from(JSON.stringify(account));
  for await (const file of store.list('')) {
    const { path } = file;
    if (!path.startsWith('_') || spare.has(path)) continue;
    const names = path.split('/');
    // A log that was set aside names accounts, also where they are compressed.
    const isLog = names[0] === setAsideFolder && names.includes('_delta_log');
    // It is of all accounts, and is written anew by the next export.
    const isIceberg = names[0] === icebergFolder;
    const accountNames = [account, `${account}.json`, `account=${account}`];
    const belongs = isLog || isIceberg || names.some((name) => accountNames.includes(name));
    // The journals of other accounts lie in folders of their own: only files right below the first folder are about several.
    if (belongs || (names.length <= 2 && (await includes(store, path, quoted)))) found.push(file);
  }
  return found;
}

async function includes(store: Store, path: string, text: Buffer): Promise<boolean> {
  const bytes = await store.read(path);
  return bytes !== undefined && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text);
}
