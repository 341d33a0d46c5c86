import { DamagedFile, type DataFile } from '../delta/data-file.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { zstd } from '../../core/parquet/encoder/zstd.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { CatalogFiles, checkpointHintPath, commitPath } from '../catalog/catalog-files.js';
import { ErasedCommit } from '../catalog/catalog-errors.js';
import { chainDown } from '../catalog/chain.js';
import { encodeCheckpoint } from '../catalog/checkpoint.js';
import { hashesOf } from '../catalog/commit.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { isDataFile, symlinkFolder } from '../data-files.js';
import { catalogError } from '../delta/actions.js';
import { faultOf, sizeFault } from '../files/local-file.js';
import { Lake } from '../lake.js';
import { hasFile, type Store, type StoredFile } from '../store/store.js';
import { backupNotes, placeOf } from './backup-notes.js';
import { lastRunNotes } from './last-run.js';
import { acquireExclusiveLease, otherLeases, unfinishedCopy, type copyCommands } from '../leases.js';
import { lookBackNotes } from './look-backs.js';
import { requestedNotes } from './requested-ranges.js';
import { icebergFolder } from '../data-files.js';

interface CopyContext {
  readonly command: (typeof copyCommands)[number];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Receives lines of progress. */
  readonly emit: Emit;
  /** Called once nothing stands in the way, before anything is copied. */
  readonly begin?: () => Promise<void>;
}

/** What a copy has changed at its target. */
export interface CopiedLake {
  /** The version that the target has now. */
  readonly version: number;
  readonly hash: string;
  /** The data files of that version. */
  readonly files: number;
  readonly copied: StoredTotal;
  /** Data files that the version doesn't have. */
  readonly removed: StoredTotal;
  /** Commits that were replaced by stubs, because the source has erased them. */
  readonly erasedCommits: number;
}

type StoredSize = Pick<StoredFile, 'path' | 'size'>;

interface StoredTotal {
  readonly files: number;
  readonly bytes: number;
}

/** Notes of a lake that aren't in its catalog, and that a copy has too. */
const noteFolders = [requestedNotes, backupNotes, lookBackNotes, lastRunNotes].map(({ folder }) => folder);

/** Files that are copied at once: so many, and so many bytes. */
const mostAtOnce = 16;
const mostBytesAtOnce = 32_000_000;

/** Milliseconds between lines of progress. */
const progressMs = 10_000;

/**
 * Copies the newest version of a lake to a place that is empty, has an earlier version of it, or has what an interrupted copy left.
 * Other runs may commit to the source meanwhile. Files that are there already are not copied again, because names are used once.
 *
 * The target shows its old version until everything that the new one needs is there: then one checkpoint makes it the newest. What
 * follows (commits before it, Delta logs, the removal of files) a second copy completes. What the source has erased is removed
 * from the target too. Each file is compared with its hash in the log, and the target's chain is read back.
 *
 * @throws LedgerlakeError before anything is changed: USAGE where the target has something else, LAKE_CONFLICT where a run is
 * active on it; LAKE_STORE where a file of the source is damaged, LAKE_LOG where its catalog is; STOPPED
 */
export async function copyLake(source: Lake, target: Store, context: CopyContext): Promise<CopiedLake> {
  const { command, clock } = context;
  source.checkWriter();
  const before = await Lake.openLost(target, [], clock);
  await refuseOther(source, before, context);
  const { version, hash } = source.snapshot;
  // Before anything is written: a damaged catalog leaves nothing at the target.
  const { first } = await differingCommits(source.store, target, version);
  await checkChain(new CatalogFiles(source.store), version, hash, first);
  const lease = await acquireExclusiveLease(before, clock, {
    command,
    pipelines: [],
    source: placeOf(source.store.location),
  });
  try {
    await before.refresh();
    await refuseOther(source, before, context);
    await context.begin?.();
    const { snapshot, copied } = await copyDataFiles(source, target, context);
    await copyNotes(source.store, target);
    const { removed, erasedCommits } = await copyCatalog(source, snapshot, target, context);
    await target.removeUnfinished(true);
    for (const { path } of (await otherLeases(target, lease.id, clock)).dead) await target.remove(path);
    lease.cleared();
    return {
      version: snapshot.version,
      hash: snapshot.hash,
      files: dataFiles(snapshot).length,
      copied,
      removed,
      erasedCommits,
    };
  } finally {
    await lease.release();
  }
}

/** @throws LedgerlakeError USAGE where a target has something else than an earlier version of the source */
async function refuseOther(
  source: Lake,
  { store, snapshot }: Lake,
  { command, clock }: Pick<CopyContext, 'command' | 'clock'>,
): Promise<void> {
  const another = command === 'restore' ? '--lake' : 'DESTINATION';
  const { version, hash } = snapshot;
  const refuse = (found: string) =>
    usageError(
      `expected an empty place or an earlier copy of ${source.store.location} at ${store.location}, got ${found}; name another with ${another}`,
    );
  if (version < 0) {
    for await (const { path } of store.list('')) {
      if ((await unfinishedCopy(store, clock)) !== undefined) return;
      throw refuse(`other files (${path})`);
    }
    return;
  }
  if (version > source.snapshot.version) await source.refresh();
  // Of the newer one, the commit at the version of the older one.
  const isNewer = version > source.snapshot.version;
  const [older, newer] = isNewer ? [source.snapshot, store] : [{ version, hash }, source.store];
  const found = await new CatalogFiles(newer).stored(older.version);
  // An interrupted backup may lack older commits.
  if (found === undefined && !isNewer)
    throw catalogError(`expected ${newer.location}/${commitPath(older.version)}, got none`);
  if (found !== undefined && hashesOf(found).own !== older.hash) {
    const anew = `; where a run has begun ${source.store.location} anew, check whether its disk is mounted`;
    throw refuse(`another lake${command === 'backup' ? anew : ''}`);
  }
  if (isNewer) throw refuse(`version ${version}, which is newer than ${source.snapshot.version}`);
}

/** A data file that a version needs. */
interface NeededFile {
  readonly path: string;
  /** Undefined for a replaced file that is kept for readers of older versions. */
  readonly file: DataFile | undefined;
}

/** The data files of a version, of all tables. */
function dataFiles(snapshot: Snapshot): NeededFile[] {
  return [...snapshot.tables.keys()].flatMap((table) =>
    [...snapshot.files(table)].map((file) => ({ path: file.lakePath, file })),
  );
}

/** Copies the data files of the newest version; of a newer one where some were replaced and deleted meanwhile. */
async function copyDataFiles(
  source: Lake,
  target: Store,
  { clock, signal, emit }: CopyContext,
): Promise<{ readonly snapshot: Snapshot; readonly copied: StoredTotal }> {
  const present = new Map((await dataFilesIn(target, source.snapshot)).map(({ path, size }) => [path, size]));
  const copied: StoredSize[] = [];
  let said = clock.now();
  for (;;) {
    const { snapshot } = source;
    const retired = [...snapshot.retired()].map(([path]) => ({ path, file: undefined }));
    const wanted = [...dataFiles(snapshot), ...retired].filter(({ path, file }) => {
      const size = present.get(path);
      return size === undefined || (file !== undefined && sizeFault(file, size) !== undefined);
    });
    if (wanted.length > 0)
      emit({
        event: 'message',
        message: `copying ${formatCount(wanted.length, 'file')} of version ${snapshot.version}`,
      });
    for (const some of batchesOf(wanted, ({ file }) => file?.size ?? 0)) {
      signal.throwIfAborted();
      const found = (await allOf(some.map((file) => copyDataFile(file, source, target)))).flat();
      copied.push(...found);
      for (const { path, size } of found) present.set(path, size);
      if (source.snapshot !== snapshot) break;
      if (clock.now() - said < progressMs) continue;
      said = clock.now();
      emit({
        event: 'message',
        message: `copied ${formatCount(copied.length, 'file')}, ${formatBytes(totalOf(copied).bytes)}`,
      });
    }
    if (source.snapshot === snapshot) return { snapshot, copied: totalOf(copied) };
  }
}

/**
 * Copies a data file. Where it is gone, reads the newest version of the source, which doesn't need it either, or it is damaged.
 *
 * @returns nothing where it wasn't copied
 */
async function copyDataFile({ path, file }: NeededFile, source: Lake, target: Store): Promise<StoredSize[]> {
  const { store } = source;
  const bytes = await store.read(path);
  const fault = file && faultOf(file, bytes);
  if (bytes !== undefined && fault === undefined) {
    await target.write(path, bytes);
    return [{ path, size: bytes.length }];
  }
  if (bytes === undefined) await source.refresh();
  if (fault !== undefined && file !== undefined && (bytes !== undefined || source.snapshot.has(path))) {
    throw new DamagedFile(store.address(path), fault, '`ledgerlake verify` says what to do');
  }
  return [];
}

/** Makes the notes of the target those of the source. */
async function copyNotes(source: Store, target: Store): Promise<void> {
  const paths = new Set<string>();
  for (const store of [source, target]) {
    for (const folder of noteFolders) for await (const { path } of store.list(folder)) paths.add(path);
  }
  for (const some of batchesOf([...paths])) {
    await allOf(
      some.map(async (path) => {
        const bytes = await source.read(path);
        await (bytes === undefined ? target.remove(path) : target.write(path, bytes));
      }),
    );
  }
}

/**
 * Makes a version the newest of a target that has its data files, with the commits before it, its Delta logs, and nothing that it
 * doesn't need.
 */
async function copyCatalog(
  source: Lake,
  snapshot: Snapshot,
  target: Store,
  { clock, signal }: CopyContext,
): Promise<Pick<CopiedLake, 'removed' | 'erasedCommits'>> {
  const { version, hash, tables } = snapshot;
  const [files, targetFiles] = [new CatalogFiles(source.store), new CatalogFiles(target)];
  const { differing, first, here } = await differingCommits(source.store, target, version);
  await checkChain(files, version, hash, first);
  signal.throwIfAborted();
  if ((await targetFiles.hintedCheckpoint())?.version !== version)
    await targetFiles.writeOnlyCheckpoint(version, encodeCheckpoint(snapshot, await zstd()));

  // What is there already and differs the source has replaced by stubs, or it is damaged there. The oldest stub goes last, so that an
  // interrupted copy does what follows from it again.
  const erased: number[] = [];
  for (const some of batchesOf(differing.filter((at) => here.has(at)))) {
    const found = await allOf(some.map((at) => files.stored(at)));
    erased.push(...some.filter((_, index) => 'erased' in (found[index] ?? {})));
  }
  const others = differing.filter((at) => at !== erased[0]);
  // The newest first: who has an earlier version open reads on once all are there.
  for (const some of batchesOf(others.toReversed()))
    await allOf(some.map((at) => copyCommit(source.store, target, at)));

  if (erased.length > 0) {
    // The logs, and what was exported, have names and bounds of what is erased.
    const folders = [...tables.keys()].flatMap((table) => [`${table}/_delta_log`, `${table}/${symlinkFolder}`]);
    await removeAll(
      target,
      (await Promise.all([icebergFolder, ...folders].map((folder) => listed(target, folder)))).flat(),
    );
  }
  const copy = await Lake.openLost(target, [], clock);
  if (copy.snapshot.hash !== hash)
    throw unlike(target, commitPath(version), `it has ${copy.snapshot.version}:${copy.snapshot.hash}`);
  await copy.publish();
  const oldest = await files.stored(0);
  for (const table of tables.keys()) {
    // Versions of erased commits are missing: the log begins at a checkpoint.
    const isBegun = oldest === undefined || !('erased' in oldest) || (await hasFile(target, checkpointHintPath(table)));
    if (!isBegun) await copy.writePublishedCheckpoint(table);
  }
  await copy.tidyCheckpoints();

  const stored = await dataFilesIn(target, snapshot);
  const sizes = new Map(stored.map(({ path, size }) => [path, size]));
  for (const { path, file } of dataFiles(snapshot)) {
    const fault = file && sizeFault(file, sizes.get(path) ?? 0);
    if (fault !== undefined) throw unlike(target, path, fault);
  }
  const removed = stored.filter(({ path }) => !snapshot.keeps(path));
  await removeAll(target, removed);
  for (const at of erased.slice(0, 1)) await copyCommit(source.store, target, at);
  await checkChain(targetFiles, version, hash, first);
  return { removed: totalOf(removed), erasedCommits: erased.length };
}

/**
 * Walks the chain from a version down to an earlier one.
 *
 * @throws LedgerlakeError LAKE_LOG where a commit is missing or isn't as it was written, or the newest was erased meanwhile
 */
async function checkChain(files: CatalogFiles, from: number, hash: string, downTo: number): Promise<void> {
  if (downTo > from) return;
  for await (const { version, fault, commit } of chainDown(files, from, hash)) {
    if (fault !== undefined) {
      const file = files.fileName(fault.path);
      throw catalogError(
        fault.fault.includes(file) ? fault.fault : `expected ${file} as it was written, ${fault.fault}`,
      );
    }
    if (version === from && commit === undefined) throw new ErasedCommit(version, files.fileName(commitPath(version)));
    if (version === downTo) return;
  }
}

async function copyCommit(source: Store, target: Store, version: number): Promise<void> {
  const path = commitPath(version);
  const bytes = await source.read(path);
  if (bytes === undefined) throw catalogError(`expected ${source.location}/${path}, got none`);
  await target.write(path, bytes);
}

/** The commits up to a version that the target lacks or has otherwise, the first of them, and the sizes of those that it has. */
async function differingCommits(source: Store, target: Store, version: number) {
  const [there, here] = [await commitSizes(new CatalogFiles(source)), await commitSizes(new CatalogFiles(target))];
  const differing = Array.from({ length: version + 1 }, (_, at) => at).filter((at) => there.get(at) !== here.get(at));
  const [first = version + 1] = differing;
  return { differing, first, here };
}

/** The sizes of commits, by version. A stub is smaller than any commit. */
async function commitSizes(files: CatalogFiles): Promise<ReadonlyMap<number, number>> {
  const sizes = new Map<number, number>();
  for await (const { version, size } of files.listed()) sizes.set(version, size);
  return sizes;
}

/** The data files in the folders of a version's tables. */
async function dataFilesIn(store: Store, { tables }: Snapshot): Promise<StoredFile[]> {
  const found = await Promise.all([...tables.keys()].map((table) => listed(store, table)));
  return found.flat().filter(({ path }) => isDataFile(path));
}

async function listed(store: Store, folder: string): Promise<StoredFile[]> {
  const files: StoredFile[] = [];
  for await (const file of store.list(folder)) files.push(file);
  return files;
}

async function removeAll(store: Store, files: readonly StoredFile[]): Promise<void> {
  for (const some of batchesOf(files)) await allOf(some.map(({ path }) => store.remove(path)));
}

function unlike({ location }: Store, path: string, fault: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_STORE',
    `expected ${location}/${path} as it was just copied, ${fault}; run the same command again`,
  );
}

function totalOf(files: readonly StoredSize[]): StoredTotal {
  return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0) };
}

/** Cuts a list into pieces that are handled at once. */
function* batchesOf<T>(items: readonly T[], bytesOf: (item: T) => number = () => 0): Generator<readonly T[]> {
  let some: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = bytesOf(item);
    if (some.length === mostAtOnce || (some.length > 0 && bytes + more > mostBytesAtOnce)) {
      yield some;
      [some, bytes] = [[], 0];
    }
    some.push(item);
    bytes += more;
  }
  if (some.length > 0) yield some;
}

/** Awaits all, then throws the first error: nothing goes on in the background. */
async function allOf<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const ended = await Promise.allSettled(calls);
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
