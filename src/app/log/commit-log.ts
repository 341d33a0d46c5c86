import { rowsOf, DataFile } from '../../lake/delta/data-file.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { usageError } from '../../core/errors.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import type { ResultCell, ResultColumn } from '../../core/text/rows.js';
import { CatalogFiles } from '../../lake/catalog/catalog-files.js';
import { chainDown } from '../../lake/catalog/chain.js';
import { accountOf } from '../../lake/catalog/change.js';
import type { Commit } from '../../lake/catalog/commit.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import type { ReadingContext } from '../context.js';
import { openExistingLake } from '../query/lake-files.js';

export interface CommitLogOptions {
  readonly lake: string;
  /** Only commits that change something of this account, and of them what they change of it; undefined: all. */
  readonly account: string | undefined;
  /** Largest number of commits. */
  readonly limit: string;
  readonly format: Format;
}

const columns: readonly ResultColumn[] = [
  { name: 'version', kind: 'number' },
  { name: 'at', kind: 'time' },
  { name: 'run', kind: 'text' },
  { name: 'operation', kind: 'text' },
  { name: 'table', kind: 'text' },
  { name: 'rows', kind: 'number' },
  { name: 'files', kind: 'number' },
  { name: 'replaced', kind: 'number' },
];

/**
 * `ledgerlake log`: the commits of the catalog, the newest first: a row for each table of which a commit adds or replaces files, and one
 * without a table for any other commit. `rows` and `files` are those that were added. Commits that were erased are left out.
 *
 * @throws LedgerlakeError USAGE for a limit that is no number, where there is no lake, and for an account that the lake lacks;
 * LAKE_STORE and LAKE_LOG where the lake can't be read
 */
export async function commitLog(
  { lake: location, account, limit, format }: CommitLogOptions,
  { clock, output, emit }: ReadingContext,
): Promise<void> {
  const most = /^[1-9]\d{0,8}$/.test(limit) ? Number(limit) : undefined;
  if (most === undefined) throw usageError(`expected --limit to be a number of commits, got ${JSON.stringify(limit)}`);
  const lake = await openExistingLake(location, clock, emit);
  const { store, snapshot } = lake;
  refuseUnknownAccount(account, lake.snapshot.accounts(), location);
  const rows: ResultCell[][] = [];
  let commits = 0;
  for await (const { commit, fault } of chainDown(new CatalogFiles(store), snapshot.version, snapshot.hash)) {
    if (commit === undefined && fault === undefined) break;
    const found = commit === undefined ? [] : commitRows(commit.value, account);
    if (found.length === 0) continue;
    rows.push(...found);
    if (++commits === most) break;
  }
  await writeRows(output, format, columns, chunksOf(rows));
}

/** The rows of a commit; none where it changes nothing of the account. */
function commitRows(
  { version, at, run, operation, tables, keys = {} }: Commit,
  account: string | undefined,
): ResultCell[][] {
  const head = [version, isoInstant(at), run, operation];
  const changed = Object.entries(tables).flatMap(([table, { add = [], remove = [] }]) => {
    const isAsked = (file: Parameters<typeof accountOf>[0]) => account === undefined || accountOf(file) === account;
    const [added, removed] = [add.filter(isAsked), remove.filter(isAsked)];
    if (added.length + removed.length === 0) return [];
    return [[...head, table, rowsOf(added.map((file) => new DataFile(file, table))), added.length, removed.length]];
  });
  if (changed.length > 0) return changed;
  const isOfAccount = [...(keys.set ?? []), ...(keys.delete ?? [])].some((key) => key.account === account);
  return account === undefined || isOfAccount ? [[...head, null, null, null, null]] : [];
}
