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
   * The only account whose files the run has written: unless a run has died since the last vacuum, only its folders are
   * searched, which takes a time that doesn't depend on the number of accounts.
   */
  readonly account?: string | undefined;
}

/**
 * Deletes the remains of dead runs: data files (`isDataFile`) that no log references, and files of derived tables that no main
 * table's file references. `emit` receives each file, and their number for each table. Superseded checkpoints of the logs are
 * deleted as well.
 *
 * A dead run's last commit may still be on its way to the store, and an active run may be about to commit a file that isn't
 * referenced yet. So every file gets a tombstone by a commit before it is deleted: a late commit loses its version, and an active
 * run sees the tombstone and writes the file again under another name. To avoid that, files of other active runs on this machine
 * are left alone; those of other machines are indistinguishable from a dead run's.
 *
 * Where the lake lacks the note of its tables' versions, orphans may belong to missing commits: they are moved to
 * `setAsideFolder` instead of deleted. Where a log references missing files, it may be an older copy, and all orphans stay.
 *
 * @throws LedgerlakeError LAKE_LOG where a table has files and no log, so that orphans can't be identified
 */
export async function vacuumLake(lake: Lake, lease: RunLease, { clock, emit, account }: VacuumOptions): Promise<void> {
  await lease.clearUp();
  await lake.store.removeUnfinished();
  await deleteReplaced(lake, clock);
  const { dead } = await otherLeases(lake.store, lease.id, clock);
  // Files first, then the logs, then the leases: the writer of a listed file had a lease by then.
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
  const oldPaths = old.map(({ path }) => path);
  const orphans = await orphansOf(lake, oldPaths);

  const filesOf = (table: DeltaTable): string[] =>
    (found.get(table) ?? []).filter(({ modifiedAt }) => modifiedAt < before).map(({ path }) => path);
  const fenced = new Set(old.flatMap(({ mains }) => mains));
  let hasOrphans = old.length > 0;
  for (const table of lake.tables) {
    const unreferenced = filesOf(table).filter((path) => table.isOrphan(path));
    if (unreferenced.length === 0) continue;
    hasOrphans = true;
    for (const main of (await swappedOf(table, unreferenced)).values()) fenced.add(main);
  }
  const isDoubtful = lake.hasVersionNote && hasOrphans && (await lacksFiles(lake, found, listedAccount));
  if (isDoubtful) emit({ event: 'orphans-left' });
  else await deleteFound({ lake, orphans, filesOf, fenced, clock, emit });
  // For a single account only the logs that this run has added to, because listing a large log is slow.
  for (const table of lake.tables) {
    await table.repairCheckpoints(account === undefined);
    await table.dropOldCheckpoints(account === undefined);
  }
  // Leases of runs whose files may still exist stay for a later vacuum.
  for (const { path, wroteBefore } of isDoubtful ? [] : dead)
    if (before === Infinity || wroteBefore < before) await lake.store.remove(path);
  await lake.noteVersions();
}

interface Found {
  readonly lake: Lake;
  /** Unreferenced files in the logs of derived tables. */
  readonly orphans: Awaited<ReturnType<typeof orphansOf>>;
  /** The files of a table that no active run on this machine has written. */
  readonly filesOf: (table: DeltaTable) => string[];
  /** Names of tables of which a version must be claimed first. */
  readonly fenced: ReadonlySet<string>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Deletes orphans, or moves them to a folder. */
async function deleteFound({ lake, orphans, filesOf, fenced, clock, emit }: Found): Promise<void> {
  const folder = setAsideFolderAt(clock.now());
  const store = lake.hasVersionNote ? lake.store : movingRemoved(lake.store, folder);
  const deleted: string[] = [];
  const isFenced = (table: DeltaTable): boolean => fenced.has(table.schema.name);
  // Fenced tables first: after their commits it is certain what they reference.
  for (const table of lake.tables.toSorted((a, b) => Number(isFenced(b)) - Number(isFenced(a)))) {
    deleted.push(...(await deleteUnreferenced(table, filesOf(table), store, { lake, fenced, clock })));
  }
  deleted.push(...(await deleteOrphans({ store, tables: lake.tables }, orphans, clock.now())));
  if (lake.hasVersionNote) for (const file of deleted) emit({ event: 'orphan-deleted', file });
  for (const { schema } of lake.tables) {
    const files = deleted.filter((path) => path.startsWith(`${schema.name}/`)).length;
    const counted = { table: schema.name, files };
    if (files === 0) continue;
    if (lake.hasVersionNote) emit({ event: 'orphans-deleted', ...counted });
    else emit({ event: 'orphans-set-aside', ...counted, folder });
  }
}

/** Whether a log references a missing file, of an account or of all. `found`: the files listed before. */
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
      // A file that was committed meanwhile isn't in the list but exists.
      if (!paths.has(path) && (await store.readRange(path, 0, 1)) === undefined) return true;
    }
  }
  return false;
}

/** A store that moves files to a folder instead of removing them. */
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

/** The data files in each table's folders, or in those of an account. */
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

/** Those of the files that a swap removed from a derived table's log, each with its main table, which may still reference it. */
async function swappedOf(table: DeltaTable, files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const prefix = `${table.schema.name}/`;
  const swapped = await swappedOut(table, new Set(files.map((path) => path.slice(prefix.length))));
  return new Map(
    swapped.flatMap((add) => {
      const main = mainOf(add);
      return main === undefined ? [] : [[table.pathOf(add), main]];
    }),
  );
}

/** Deletes the replaced files of all accounts whose retention has passed. */
async function deleteReplaced(lake: Lake, clock: Clock): Promise<void> {
  const tables = lake.tables.filter(({ retentionMs }) => retentionMs > 0);
  if (tables.length === 0) return;
  await lake.refresh();
  for (const table of tables) {
    let expired: string[] = [];
    await table.commit('VACUUM', () => {
      // A file that a swap removed counts until the main table's commit.
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
 * Deletes the files that a table's newest version doesn't have; claims a version of `fenced` tables even where there are none. A
 * file that a swap removed is kept unless its main table is fenced, because that table may reference it by now.
 */
async function deleteUnreferenced(
  table: DeltaTable,
  files: readonly string[],
  store: Store,
  { lake, fenced, clock }: Pick<Found, 'lake' | 'fenced' | 'clock'>,
): Promise<readonly string[]> {
  let deleted: string[] = [];
  await table.commit('FENCE', async () => {
    const unreferenced = files.filter((path) => table.isOrphan(path) && !isReferenced(lake.tables, path));
    const swapped = await swappedOf(table, unreferenced);
    deleted = unreferenced.filter((path) => {
      const main = swapped.get(path);
      return main === undefined || fenced.has(main);
    });
    const paths = deleted.map((path) => path.slice(table.schema.name.length + 1));
    await table.checkNotAdded(new Set(paths));
    if (paths.length === 0 && !fenced.has(table.schema.name)) return undefined;
    return paths.map((path) => tombstone(path, clock.now()));
  });
  for (const path of new Set(deleted)) await store.remove(path);
  return deleted;
}

/** Unreferenced files in the logs of derived tables, with the main tables whose commits could reference them. */
function unreferencedDerived(lake: Lake): { path: string; modifiedAt: number; mains: readonly string[] }[] {
  const namesWithLog = lake.tables.filter(({ snapshot }) => snapshot.version >= 0).map(({ schema }) => schema.name);
  return lake.tables.flatMap((table) =>
    [...table.snapshot.files.values()]
      .filter((add) => isDerivedFile(add) && !isReferenced(lake.tables, table.pathOf(add)))
      .map((add) => {
        const main = mainOf(add);
        const mains = main === undefined ? namesWithLog : [main];
        return { path: table.pathOf(add), modifiedAt: add.modificationTime, mains };
      }),
  );
}

/** The start of the earliest other active run on this machine: older files are not theirs. Milliseconds since 1970. */
async function earliestOtherStart(others: readonly Lease[]): Promise<number> {
  if (others.length === 0) return Infinity;
  const { host } = await thisWriter();
  const writing = others.filter(({ machine, clearing }) => machine === host && clearing !== true);
  return Math.min(Infinity, ...writing.map(({ startedAt }) => startedAt));
}

/** Data files in the tables' folders that no log has, except retained ones, and all other files in an account's folders. */
export async function orphanFiles(lake: Lake, account: string): Promise<StoredFile[]> {
  const orphans: StoredFile[] = [];
  for (const table of lake.tables) {
    const { name } = table.schema;
    const folders = [`${name}/account=${account}/`, `${name}/${symlinkFolder}/account=${account}/`];
    for await (const file of lake.store.list(name)) {
      if (table.fileAt(file.path) !== undefined) continue;
      // The note of the manifests names every account, and the next export writes it again.
      const isOfAccount =
        folders.some((folder) => file.path.startsWith(folder)) || file.path === `${name}/${symlinkFolder}/_state.json`;
      if (isOfAccount || (isDataFile(file.path) && table.isOrphan(file.path))) orphans.push(file);
    }
  }
  return orphans;
}

/** The folder of a lake with the Iceberg metadata of its tables. */
export const icebergFolder = '_iceberg';

/** The folder of a lake for files that were moved out of its tables: readers ignore names that begin with `_`. */
export const setAsideFolder = '_set-aside';

/** The subfolder for files that a run, or a rebuild of logs, moves at an instant, milliseconds since 1970. */
export function setAsideFolderAt(instant: number, isRebuild = false): string {
  return `${setAsideFolder}/${isoInstant(instant).replace(/[-:]|\.\d+/g, '')}${isRebuild ? rebuiltSuffix : ''}`;
}

const rebuiltSuffix = '-rebuild';

/** Whether a rebuild of logs created such a subfolder. */
export function isRebuildFolder(folder: string): boolean {
  return folder.endsWith(rebuiltSuffix);
}

/**
 * Files besides the tables (at the lake's root, under names that begin with `_`: journals, notes of runs) that belong
 * to an account, by their path or because they name the account. None of them is essential.
 *
 * @param spare files that are excluded
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
    // A log that was set aside names accounts, also in compressed checkpoints.
    const isLog = names[0] === setAsideFolder && names.includes('_delta_log');
    // Iceberg metadata is of all accounts, and the next export writes it again.
    const isIceberg = names[0] === icebergFolder;
    const accountNames = [account, `${account}.json`, `account=${account}`];
    const belongs = isLog || isIceberg || names.some((name) => accountNames.includes(name));
    // Only files directly below the first folder may be about several accounts; journals are in a folder for each
    // account.
    if (belongs || (names.length <= 2 && (await includes(store, path, quoted)))) found.push(file);
  }
  return found;
}

async function includes(store: Store, path: string, text: Buffer): Promise<boolean> {
  const bytes = await store.read(path);
  return bytes !== undefined && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text);
}
