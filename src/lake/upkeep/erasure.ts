import type { DataFile } from '../delta/data-file.js';
import type { Clock } from '../../core/clock.js';
import { catalogFolder } from '../catalog/catalog-files.js';
import { accountOfPath, removedFile } from '../catalog/change.js';
import { loadKeyId } from '../catalog/load-key.js';
import { icebergFolder, isDataFile, runOfDataFile, symlinkFolder } from '../data-files.js';
import type { Lake } from '../lake.js';
import type { Store, StoredFile } from '../store/store.js';
import { forgottenBy, otherLeases } from '../leases.js';
import { readLastRuns } from './last-run.js';

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
      const remove = snapshot.filesOf(table, account).map((file) => removedFile(file));
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
  return new Map(files.map((file) => [file.lakePath, file]));
}

/** Data files in the tables' folders that no version has, except retained ones, and all other files in an account's folders. */
async function orphanFiles(lake: Lake, account: string): Promise<StoredFile[]> {
  const orphans: StoredFile[] = [];
  const { snapshot } = lake;
  for (const { name } of lake.tables) {
    const folders = [`${name}/account=${account}/`, `${name}/${symlinkFolder}/account=${account}/`];
    for await (const file of lake.store.list(name)) {
      if (snapshot.has(file.path)) continue;
      // The note of the manifests names every account, and the next export writes it again.
      const isOfAccount =
        folders.some((folder) => file.path.startsWith(folder)) || file.path === `${name}/${symlinkFolder}/_state.json`;
      if (isOfAccount || (isDataFile(file.path) && !snapshot.keeps(file.path))) orphans.push(file);
    }
  }
  return orphans;
}

/**
 * Files besides the tables (at the lake's root, under names that begin with `_`: page journals, notes of runs) that belong
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
    const names = path.split('/');
    // The catalog has nothing of the account any more, and its own words are names of accounts too.
    if (!path.startsWith('_') || names[0] === catalogFolder || spare.has(path)) continue;
    // Iceberg metadata is of all accounts, and the next export writes it again.
    const isIceberg = names[0] === icebergFolder;
    const accountNames = [account, `${account}.json`, `account=${account}`];
    const belongs = isIceberg || names.some((name) => accountNames.includes(name));
    // Only files directly below the first folder may be about several accounts; page journals are in a folder for each
    // account.
    if (belongs || (names.length <= 2 && (await includes(store, path, quoted)))) found.push(file);
  }
  return found;
}

async function includes(store: Store, path: string, text: Buffer): Promise<boolean> {
  const bytes = await store.read(path);
  return bytes !== undefined && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text);
}
