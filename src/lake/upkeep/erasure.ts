import { accountOfPath, removedFile } from '../catalog/change.js';
import { loadKeyId } from '../catalog/load-key.js';
import { runOfDataFile } from '../data-files.js';
import type { Add } from '../delta/actions.js';
import type { Lake } from '../lake.js';
import { orphanFiles, filesAboutAccount } from './vacuum.js';
import { writeNote, type StoredFile } from '../store/store.js';

export interface Load {
  readonly pipeline: string;
  readonly loadKey: string;
}

/** All accounts with any trace in the lake: load keys, files in the log or not, unfinished `forget` commands. */
export async function accountsIn(lake: Lake): Promise<Set<string>> {
  const accounts = new Set(lake.accounts());
  for (const { schema } of lake.tables) {
    for await (const { path } of lake.store.list(schema.name)) {
      const [, account] = /^[^/]+\/account=([^/]+)\//.exec(path) ?? [];
      if (account !== undefined) accounts.add(account);
    }
  }
  for await (const { path } of lake.store.list(forgetFolder)) {
    const [, account] = /^[^/]+\/(.+)\.json$/.exec(path) ?? [];
    if (account !== undefined) accounts.add(account);
  }
  return accounts;
}

/** Removes all that the catalog has of an account. The traces stay until `eraseTraces`. */
export async function removeAccount(lake: Lake, account: string): Promise<void> {
  await lake.commitChange('DELETE', (snapshot) => {
    const tables = [...snapshot.tables.keys()].flatMap((table) => {
      const remove = [...snapshot.filesOf(table, account).values()].map((add) => removedFile(add));
      return remove.length === 0 ? [] : [[table, { remove }] as const];
    });
    const keys = [...snapshot.allKeysOf(account)];
    const forgotten = snapshot.forgottenBefore(account) === undefined ? {} : { [account]: null };
    return tables.length + keys.length + Object.keys(forgotten).length === 0
      ? undefined
      : { tables: Object.fromEntries(tables), keys: { delete: keys.map(loadKeyId) }, forgotten };
  });
}

/** Deletes load keys of an account that `forgets` selects. */
export async function removeLoadKeys(lake: Lake, account: string, forgets: (load: Load) => boolean): Promise<void> {
  await lake.commitChange('DELETE', (snapshot) => {
    const keys = [...snapshot.allKeysOf(account)].filter(({ pipeline, key }) => forgets({ pipeline, loadKey: key }));
    return keys.length === 0 ? undefined : { keys: { delete: keys.map(loadKeyId) } };
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
export function accountFiles(lake: Lake, account: string): ReadonlyMap<string, { table: string; add: Add }> {
  return new Map(
    lake.tables.flatMap((table) =>
      [...table.snapshot.filesOf(account)].map(
        (add) => [table.pathOf(add), { table: table.schema.name, add }] as const,
      ),
    ),
  );
}

/** The folder of a lake with the notes of unfinished `forget` commands. */
export const forgetFolder = '_forget';

/** The note of an unfinished `forget`, with what is needed after a crash and no longer in the log. */
export interface ForgetNote {
  readonly account: string;
  /** Load keys whose rows are being removed. */
  readonly loads: readonly Load[];
}

/** The path of the note within the lake. */
export function forgetNotePath(account: string): string {
  return `${forgetFolder}/${account}.json`;
}

export async function writeForgetNote(lake: Lake, note: ForgetNote): Promise<void> {
  await writeNote(lake.store, forgetNotePath(note.account), note);
}

/** Load keys in the note of an earlier `forget` that didn't finish. */
export async function notedLoads(lake: Lake, account: string): Promise<readonly Load[]> {
  const bytes = await lake.store.read(forgetNotePath(account));
  // Notes are written atomically, and only by this program.
  return bytes === undefined ? [] : (JSON.parse(Buffer.from(bytes).toString('utf8')) as ForgetNote).loads;
}
