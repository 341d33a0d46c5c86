import type { Clock } from '../../core/clock.js';
import { count } from '../../core/count.js';
import type { Emit } from '../../core/events/run-event.js';
import { firstVersionOf } from '../catalog/change.js';
import type { Snapshot } from '../catalog/snapshot.js';
import { isDataFile, runOfDataFile } from '../data-files.js';
import type { Lake } from '../lake.js';
import { hasFile } from '../store/store.js';
import { forgottenBy, otherLeases, type DeadLease, type RunLease } from '../leases.js';

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
 * Deletes the remains of dead runs, data files (`isDataFile`) that no version has, and replaced files whose retention is over.
 * `emit` receives each file of a dead run, and their number for each table. Damaged checkpoints are replaced, and superseded ones of the published logs removed.
 *
 * A dead run's last commit may still be on its way to the store. So its run is fenced before a file is deleted: whoever claims a
 * version has read the fence, and a fenced run commits nothing any more. Files of active runs are left alone.
 *
 * Where files show that the lake has lost commits, or the catalog has files that are missing, it may be an older copy, and all
 * unused files stay.
 *
 * @throws LedgerlakeError LAKE_LOG, LAKE_STORE, LAKE_UNCLEAR
 */
export async function vacuumLake(lake: Lake, lease: RunLease, { clock, emit, account }: VacuumOptions): Promise<void> {
  const { store } = lake;
  await store.removeUnfinished();
  const { dead } = await otherLeases(store, lease.id, clock);
  const listedAccount = dead.length === 0 ? account : undefined;
  // Files first, then the leases, then the catalog: the writer of a listed file had a lease by then.
  const listed = await dataFiles(lake, listedAccount);
  const { activeRuns } = await otherLeases(store, lease.id, clock);
  await lake.refresh();
  const mayDelete = (run: string) => (run === lake.run ? !lake.isUnclear : !activeRuns.has(run));
  const unusedIn = (snapshot: Snapshot): string[] =>
    listed.filter((path) => mayDelete(runOfDataFile(path) ?? '') && !snapshot.keeps(path));
  const unused = unusedIn(lake.snapshot);
  const isDoubtful = unused.length > 0 && (await isOlderCopy(lake, unused, listed, listedAccount));
  if (isDoubtful) emit({ event: 'orphans-left' });
  const deletable = new Set(isDoubtful ? [] : unused);

  let deleted: string[] = [];
  let expired: string[] = [];
  await lake.commitChange('VACUUM', (snapshot) => {
    const until = clock.now() - snapshot.config.retentionMs;
    expired = [...snapshot.retired()].filter(([, at]) => at <= until).map(([path]) => path);
    deleted = unusedIn(snapshot).filter((path) => deletable.has(path));
    const runs = new Set(deleted.flatMap((path) => runOfDataFile(path) ?? []));
    const fenced = [...runs].filter((run) => run !== lake.run && !snapshot.isFenced(run));
    return fenced.length + expired.length === 0 ? undefined : { fence: { runs: fenced }, deleted: expired };
  });
  // Also where nothing was committed: other runs' removals have been read since.
  await lake.publish();
  await lake.removeFiles([...expired, ...deleted]);
  report(deleted, emit);
  await lake.tidyCheckpoints();
  if (!isDoubtful) await removeLeases(lake, dead);
}

/**
 * Removes leases of dead runs that have left nothing. The one of a `forget` stays where the catalog's newest version has nothing of the
 * account any more: nothing else says that the lake may still have traces of it.
 */
export async function removeLeases({ store, snapshot }: Lake, dead: readonly DeadLease[]): Promise<void> {
  for (const { path, lease } of dead) {
    const account = forgottenBy(lease);
    const isGone = account !== undefined && (snapshot.accountStates().get(account)?.isEmpty ?? true);
    if (!isGone) await store.remove(path);
  }
}

function report(deleted: readonly string[], emit: Emit): void {
  const files = new Map<string, number>();
  for (const file of deleted) {
    emit({ event: 'orphan-deleted', file });
    count(files, file.slice(0, file.indexOf('/')));
  }
  for (const [table, number] of files) emit({ event: 'orphans-deleted', table, files: number });
}

/** Whether unused files may belong to commits that this lake has lost: as those of a run that began behind its newest version. */
async function isOlderCopy(
  { store, snapshot }: Lake,
  unused: readonly string[],
  listed: readonly string[],
  account: string | undefined,
): Promise<boolean> {
  if (unused.some((path) => firstVersionOf(runOfDataFile(path) ?? '') > snapshot.version + 1)) return true;
  const paths = new Set(listed);
  for (const table of snapshot.tables.keys()) {
    const accounts = account === undefined ? snapshot.accounts() : [account];
    for (const name of accounts) {
      for (const file of snapshot.filesOf(table, name)) {
        const path = file.lakePath;
        // A file that was committed meanwhile isn't in the list but exists.
        if (!paths.has(path) && !(await hasFile(store, path))) return true;
      }
    }
  }
  return false;
}

/** The data files in the tables' folders, or in those of an account. */
async function dataFiles(lake: Lake, account: string | undefined): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of lake.tables) {
    const folder = account === undefined ? name : `${name}/account=${account}`;
    for await (const { path } of lake.store.list(folder)) if (isDataFile(path)) found.push(path);
  }
  return found;
}
