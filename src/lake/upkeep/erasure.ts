import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { referencedFiles } from '../transaction/references.js';
import { accountOf, derivedOf, isDerivedFile, removal, parseAppId } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';
import { orphanFiles, filesAboutAccount } from './vacuum.js';
import type { StoredFile } from '../store/store.js';

/** A load key of an account, as the log names it. */
export interface Load {
  readonly pipeline: string;
  readonly loadKey: string;
}

/** Accounts of which the lake has anything at all: load keys, files that the log names or doesn't, files of dead runs. */
export async function accountsIn(lake: Lake): Promise<Set<string>> {
  const accounts = new Set(lake.accounts());
  for (const { schema } of lake.tables) {
    for await (const { path } of lake.store.list(schema.name)) {
      const [, account] = /^[^/]+\/account=([^/]+)\//.exec(path) ?? [];
      if (account !== undefined) accounts.add(account);
    }
  }
  for (const account of await accountsBeingForgotten(lake)) accounts.add(account);
  return accounts;
}

/**
 * Takes every file of an account out of every table, main tables first: what their files name goes with them, and what
 * their logs have named for good goes too. The files
 * themselves and what the log has of them stay until `eraseTraces`.
 *
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; called again it goes on from there
 */
export async function removeAccount(lake: Lake, account: string, now: number): Promise<void> {
  for (const table of lake.tables) {
    await table.commit('DELETE', ({ files }) => {
      const accountFiles = [...files.values()].filter(
        (add) => (table.schema.appendOnly === true || !isDerivedFile(add)) && accountOf(add) === account,
      );
      return accountFiles.length === 0 ? undefined : accountFiles.map((add) => removal(add, now));
    });
  }
}

/** What was erased beside the logs. */
export interface Erased {
  readonly files: readonly StoredFile[];
  /** Files that dead writers left half-written. */
  readonly partial: number;
}

/**
 * Erases the traces of an account's removed files: derived files that nothing names, the older versions of every
 * table's log and the transactions that `forgets` chooses, every file of the lake's own and in the account's folders that
 * no log references, whoever left it, and the lake's own notes that name the account. Folders that are empty then go too. Nobody else may work on the lake meanwhile.
 *
 * @param spare notes that stay, as paths within the lake
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR, LAKE_LOG; called again it goes on from there
 */
export async function eraseTraces(
  lake: Lake,
  account: string,
  forgets: (loadKey: Load) => boolean,
  spare: ReadonlySet<string>,
  now: number,
): Promise<Erased> {
  await lake.refresh();
  await removeUnreferenced(lake, now);
  for (const table of lake.tables) await cleanUpLog(table, account, forgets);

  // Each log was cut behind a version that was claimed: a dead run's late commit can name nothing of this any more.
  const files = [...(await orphanFiles(lake, account)), ...(await filesAboutAccount(lake.store, account, spare))];
  await lake.removeFiles(files.map(({ path }) => path));
  const partial = await lake.store.removeUnfinished(true);
  return { files, partial };
}

async function cleanUpLog(table: DeltaTable, account: string, forgets: (loadKey: Load) => boolean): Promise<void> {
  if (table.snapshot.version < 0) return;
  await table.cleanUpLog(
    ({ appId }) => {
      const read = parseAppId(appId);
      return read?.account !== account || !forgets(read);
    },
    ({ partitionValues }) => partitionValues?.['account'] !== account,
  );
}

/** Takes the files of derived tables that no main table names out of their tables. */
async function removeUnreferenced(lake: Lake, now: number): Promise<void> {
  const named = referencedFiles(lake.tables);
  for (const table of lake.tables) {
    await table.commit('DELETE', ({ files }) => {
      const unreferenced = [...files.values()].filter((add) => isDerivedFile(add) && !named.has(table.pathOf(add)));
      return unreferenced.length === 0 ? undefined : unreferenced.map((add) => removal(add, now));
    });
  }
}

/** What an account's files that count come to, by path within the lake. */
export function accountFiles(lake: Lake, account: string): ReadonlyMap<string, { table: string; add: Add }> {
  return new Map(
    lake
      .committedAdds()
      .filter(({ add }) => accountOf(add) === account)
      .map(({ table, add }) => [table.pathOf(add), { table: table.schema.name, add }]),
  );
}

/** The main table's files of an account that may be read for their rows, each with the derived files that it names. */
export function mainFiles(
  table: DeltaTable,
  account: string,
): readonly { readonly add: Add; readonly derived: readonly string[] }[] {
  return [...table.snapshot.files.values()].flatMap((add) => {
    const derived = derivedOf(add);
    return derived === undefined || accountOf(add) !== account ? [] : [{ add, derived }];
  });
}

const folder = '_forget';

/** A `forget` that has begun: notes what must outlive a crash, as the log won't have it any more. */
export interface ForgetNote {
  readonly account: string;
  /** Load keys whose rows go, or are gone already. */
  readonly loads: readonly Load[];
}

/** A note as it is stored. */
interface WrittenNote {
  readonly account: string;
  readonly units: readonly { readonly pipeline: string; readonly unit: string }[];
}

/** The path within the lake of the note that an account is being forgotten. */
export function forgetNotePath(account: string): string {
  return `${folder}/${account}.json`;
}

export async function writeForgetNote(lake: Lake, begun: ForgetNote): Promise<void> {
  const units = begun.loads.map(({ pipeline, loadKey }) => ({ pipeline, unit: loadKey }));
  const note: WrittenNote = { account: begun.account, units };
  await lake.store.write(forgetNotePath(begun.account), Buffer.from(JSON.stringify(note)));
}

/** Load keys that an earlier forgetting of the account noted and didn't live to strike out. */
export async function notedLoads(lake: Lake, account: string): Promise<readonly Load[]> {
  const bytes = await lake.store.read(forgetNotePath(account));
  // Notes are written whole, and by this program alone.
  if (bytes === undefined) return [];
  const { units } = JSON.parse(Buffer.from(bytes).toString('utf8')) as WrittenNote;
  return units.map(({ pipeline, unit }) => ({ pipeline, loadKey: unit }));
}

async function accountsBeingForgotten(lake: Lake): Promise<string[]> {
  const accounts: string[] = [];
  for await (const { path } of lake.store.list(folder)) {
    const [, account] = /^[^/]+\/(.+)\.json$/.exec(path) ?? [];
    if (account !== undefined) accounts.push(account);
  }
  return accounts;
}
