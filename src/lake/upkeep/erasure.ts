import type { DataFile } from '../delta/data-file.js';
import type { Clock } from '../../core/clock.js';
import { accountOfPath, removedFile, lakePathOf } from '../catalog/change.js';
import { loadKeyId } from '../catalog/load-key.js';
import { runOfDataFile } from '../data-files.js';
import type { Lake } from '../lake.js';
import type { StoredFile } from '../store/store.js';
import { forgottenBy, otherLeases } from '../leases.js';
import { readLastRuns } from './last-run.js';
import { orphanFiles, filesAboutAccount } from './vacuum.js';

/** All accounts with any trace in the lake: load keys, files in the log or not, last runs, leases of `forget` commands that didn't finish. */
export async function accountsIn(lake: Lake, clock: Clock): Promise<Set<string>> {
  const accounts = new Set([...lake.snapshot.accounts(), ...(await readLastRuns(lake.store)).keys()]);
  for (const { name } of lake.tables) {
    for await (const { path } of lake.store.list(name)) {
      const [, account] = /^[^/]+\/account=([^/]+)\//.exec(path) ?? [];
      if (account !== undefined) accounts.add(account);
    }
  }
  for (const { lease } of (await otherLeases(lake.store, undefined, clock)).dead) {
    const account = forgottenBy(lease);
    if (account !== undefined) accounts.add(account);
  }
  return accounts;
}

/** Removes all that the catalog has of an account. The traces stay until `eraseTraces`. */
export async function removeAccount(lake: Lake, account: string): Promise<void> {
  await lake.commitChange('DELETE', (snapshot) => {
    const tables = [...snapshot.tables.keys()].flatMap((table) => {
      const remove = snapshot.filesOf(table, account).map((add) => removedFile(add));
      return remove.length === 0 ? [] : [[table, { remove }] as const];
    });
    const keys = [...snapshot.allKeysOf(account)];
    const forgotten = snapshot.forgottenBefore(account) === undefined ? {} : { [account]: null };
    return tables.length + keys.length + Object.keys(forgotten).length === 0
      ? undefined
      : { tables: Object.fromEntries(tables), keys: { delete: keys.map(loadKeyId) }, forgotten };
  });
}

/** The files that were erased, besides the logs. */
export interface Erased {
  readonly files: readonly StoredFile[];
  /** Number of partial files of dead writers. */
  readonly partial: number;
}

/**
 * Erases the traces of an account's removed files: retained files, older commits and versions of the published logs, all data files
 * and all files in the account's folders that no version has, and notes that name the account. Empty partition folders are removed
 * as well. No other run may be active on the lake.
 *
 * @param spare notes that stay, as paths within the lake
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR, LAKE_LOG; a repeated call continues
 */
export async function eraseTraces(lake: Lake, account: string, spare: ReadonlySet<string>): Promise<Erased> {
  await lake.commitChange('DELETE', (snapshot) => {
    const deleted = [...snapshot.retired()].flatMap(([path]) => (accountOfPath(path) === account ? path : []));
    return deleted.length === 0 ? undefined : { deleted };
  });
  const orphans = await orphanFiles(lake, account);
  const runs = new Set(orphans.flatMap(({ path }) => runOfDataFile(path) ?? []));
  runs.delete(lake.run);
  // Before a file is deleted: a sleeping run that has written it must not commit it.
  await lake.erase('ERASE', [...runs]);
  const unused = orphans.filter(({ path }) => !lake.snapshot.has(path));
  const files = [...unused, ...(await filesAboutAccount(lake.store, account, spare))];
  await lake.removeFiles(files.map(({ path }) => path));
  const partial = await lake.store.removeUnfinished(true);
  return { files, partial };
}

/** The committed files of an account, by path within the lake. */
export function accountFiles({ tables, snapshot }: Lake, account: string): ReadonlyMap<string, DataFile> {
  const files = tables.flatMap(({ name }) => snapshot.filesOf(name, account));
  return new Map(files.map((file) => [lakePathOf(file.table, file), file]));
}
