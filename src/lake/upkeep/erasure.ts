import { isoInstant } from '../../core/numeric/instant.js';
import type { Add } from '../delta/actions.js';
import type { DeltaTable } from '../delta/delta-table.js';
import { referencedFiles } from '../transaction/references.js';
import { accountOf, derivedOf, isDerivedFile, removal, parseAppId } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';
import { orphanFiles, filesAboutAccount } from './vacuum.js';
import { parseNote, type Store, type StoredFile } from '../store/store.js';

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
  for await (const { path } of lake.store.list(folder)) {
    const [, account] = /^[^/]+\/(.+)\.json$/.exec(path) ?? [];
    if (account !== undefined) accounts.add(account);
  }
  return accounts;
}

/**
 * Removes an account's files from all main and append-only tables; the derived files that they reference no longer
 * count. The files themselves and their log entries stay until `eraseTraces`.
 *
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR; a repeated call continues
 */
export async function removeAccount(lake: Lake, account: string, now: number): Promise<void> {
  for (const table of lake.tables) {
    const counts = (add: Add) => table.schema.appendOnly === true || !isDerivedFile(add);
    await removeFiles(table, now, (add) => counts(add) && accountOf(add) === account);
  }
}

/** Commits the removal of a table's files that `isRemoved` accepts. */
async function removeFiles(table: DeltaTable, now: number, isRemoved: (add: Add) => boolean): Promise<void> {
  await table.commit('DELETE', ({ files }) => {
    const removed = [...files.values()].filter(isRemoved);
    return removed.length === 0 ? undefined : removed.map((add) => removal(add, now));
  });
}

/** The files that were erased, besides the logs. */
export interface Erased {
  readonly files: readonly StoredFile[];
  /** Number of partial files of dead writers. */
  readonly partial: number;
}

/**
 * Erases the traces of an account's removed files: unreferenced derived files, older versions of every table's log, the
 * transactions that `forgets` selects, all data files and all files in the account's folders that no log references,
 * and notes that name the account. Empty partition folders are removed as well. No other run may be active on the lake.
 *
 * @param spare notes that stay, as paths within the lake
 * @throws LedgerlakeError LAKE_STORE, LAKE_UNCLEAR, LAKE_LOG; a repeated call continues
 */
export async function eraseTraces(
  lake: Lake,
  account: string,
  forgets: (loadKey: Load) => boolean,
  spare: ReadonlySet<string>,
  now: number,
): Promise<Erased> {
  await lake.refresh();
  const referenced = referencedFiles(lake.tables);
  for (const table of lake.tables) {
    await removeFiles(table, now, (add) => isDerivedFile(add) && !referenced.has(table.pathOf(add)));
  }
  for (const table of lake.tables) await cleanUpLog(table, account, forgets);

  // Each log was cleaned up behind a claimed version, so that a late commit of a dead run can't reference these files.
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

/** The committed files of an account, by path within the lake. */
export function accountFiles(lake: Lake, account: string): ReadonlyMap<string, { table: string; add: Add }> {
  return new Map(
    lake
      .committedAdds()
      .filter(({ add }) => accountOf(add) === account)
      .map(({ table, add }) => [table.pathOf(add), { table: table.schema.name, add }]),
  );
}

/** A main table's files of an account, each with the derived files that it references. */
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

/** The note of an unfinished `forget`, with what is needed after a crash and no longer in the log. */
export interface ForgetNote {
  readonly account: string;
  /** Load keys whose rows are being removed. */
  readonly loads: readonly Load[];
}

interface WrittenNote {
  readonly account: string;
  readonly units: readonly { readonly pipeline: string; readonly unit: string }[];
}

/** The path of the note within the lake. */
export function forgetNotePath(account: string): string {
  return `${folder}/${account}.json`;
}

export async function writeForgetNote(lake: Lake, begun: ForgetNote): Promise<void> {
  const units = begun.loads.map(({ pipeline, loadKey }) => ({ pipeline, unit: loadKey }));
  const note: WrittenNote = { account: begun.account, units };
  await lake.store.write(forgetNotePath(begun.account), Buffer.from(JSON.stringify(note)));
}

/** Load keys in the note of an earlier `forget` that didn't finish. */
export async function notedLoads(lake: Lake, account: string): Promise<readonly Load[]> {
  const bytes = await lake.store.read(forgetNotePath(account));
  // Notes are written atomically, and only by this program.
  if (bytes === undefined) return [];
  const { units } = JSON.parse(Buffer.from(bytes).toString('utf8')) as WrittenNote;
  return units.map(({ pipeline, unit }) => ({ pipeline, loadKey: unit }));
}

/** The path of the note within the lake that says which of an account's rows were forgotten. */
function forgottenPath(account: string): string {
  return `_forgotten/${account}.json`;
}

/**
 * Notes that the rows of an account before an instant are forgotten, because a window without its rows looks like an empty one.
 *
 * @param before milliseconds since 1970; an earlier one than noted changes nothing
 * @returns the path of the note within the lake
 * @throws LedgerlakeError LAKE_STORE
 */
export async function noteForgotten(store: Store, account: string, before: number): Promise<string> {
  const latest = Math.max(before, (await readForgottenBefore(store, account)) ?? before);
  const path = forgottenPath(account);
  await store.write(path, Buffer.from(`${JSON.stringify({ account, before: isoInstant(latest) }, undefined, 2)}\n`));
  return path;
}

/** What a lake has noted of the forgotten rows of an account. */
export interface ForgottenNote {
  /** Within the lake. */
  readonly path: string;
  /** The instant before which rows were forgotten, milliseconds since 1970; undefined where none were, or the note is damaged. */
  readonly before: number | undefined;
  readonly isDamaged: boolean;
}

/** @throws LedgerlakeError LAKE_STORE */
export async function readForgottenNote(store: Store, account: string): Promise<ForgottenNote> {
  const path = forgottenPath(account);
  const bytes = await store.read(path);
  const note = parseNote(bytes, (value) => value as { readonly before?: unknown } | null);
  const instant = typeof note?.before === 'string' ? Date.parse(note.before) : Number.NaN;
  const before = Number.isNaN(instant) ? undefined : instant;
  return { path, before, isDamaged: bytes !== undefined && before === undefined };
}

/** The path of a damaged note, what that means, and its remedy; undefined where the note is whole, or there is none. */
export function noteFault({ path, isDamaged }: ForgottenNote): string | undefined {
  return isDamaged ? `${path}: ${damagedNote}` : undefined;
}

/** What a damaged note means, and its remedy. */
export const damagedNote =
  'expected the instant before which rows are forgotten, the file is damaged: days without rows may be forgotten ones; ' +
  'restore it from a copy, or run `ledgerlake forget --before` again with the same instant';

/** The instant of `readForgottenNote`. */
export async function readForgottenBefore(store: Store, account: string): Promise<number | undefined> {
  return (await readForgottenNote(store, account)).before;
}
