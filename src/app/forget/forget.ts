import type { Clock } from '../../core/clock.js';
import { resultOf, underLease, withKnown, type CommandResult } from '../command-result.js';
import { emitDamage, type RunContext } from '../context.js';
import { catalogVersion } from '../catalog-version.js';
import { exportAfterRun } from '../export/export-after-run.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { accountFiles, eraseTraces, accountsIn, removeAccount } from '../../lake/upkeep/erasure.js';
import { existingLake } from '../../lake/existing-lake.js';
import type { Lake } from '../../lake/lake.js';
import { forgetRequestedRanges } from '../../lake/upkeep/requested-ranges.js';
import { readBackupNotes, type BackupNote } from '../../lake/upkeep/backup-notes.js';
import { acquireExclusiveLease, leasePath, otherLeases, type RunLease } from '../../lake/leases.js';
import { removeLeases } from '../../lake/upkeep/vacuum.js';
import { rowsOf, type DataFile } from '../../lake/delta/data-file.js';
import type { Store } from '../../lake/store/store.js';
import { removeAged } from './aged-rows.js';
import { readAccountName } from '../configuration/account.js';
import type { OptionalSettings } from '../configuration/settings.js';
import { readInstantOption } from '../../core/text/value-forms.js';
import { eraseState, type StateLocation } from '../load/state-folder.js';

export interface ForgetOptions extends StateLocation, OptionalSettings<'export' | 'encryption'> {
  readonly account: string;
  /** ISO 8601 date or instant: rows before it are removed. Undefined: all rows. */
  readonly before: string | undefined;
  /** Skips the confirmation. */
  readonly yes: boolean;
}

/**
 * `ledgerlake forget`: removes an account's rows, raw bytes, page journals and replaced files for good. Files of other accounts are not changed.
 *
 * Without `before` the lake is as if the account had never been loaded. With it, rows before that instant are removed, and files with
 * other rows too are rewritten. Windows stay loaded; a group that ended before, and an order without rows, don't.
 *
 * After a kill at any instant the lake can be read, and the same command continues from there.
 *
 * @throws LedgerlakeError before anything is changed: USAGE for an invalid date and for an account that the lake lacks, STOPPED when
 * the user declines, LAKE_CONFLICT while another run is active; afterwards EXPORT
 */
export async function forget(options: ForgetOptions, context: RunContext): Promise<CommandResult> {
  const before = options.before === undefined ? undefined : readInstantOption('--before', options.before);
  const { account, lake } = options;
  const known = { account, lake, before: before === undefined ? null : isoInstant(before) };
  const opening = existingLake(options, tables, context);
  return withKnown(
    opening.then((opened) => forgetIn(opened, before, options, context)),
    () => known,
  );
}

/** Forgets rows in an open lake; `before` in milliseconds since 1970. */
export async function forgetIn(
  lake: Lake,
  before: number | undefined,
  options: Omit<ForgetOptions, 'before'>,
  context: RunContext,
): Promise<CommandResult> {
  const { clock, confirm, emit } = context;
  const { store } = lake;
  const { account, yes } = options;
  emitDamage(lake, emit);
  await refuseAbsentAccount(lake, account, clock);
  // A foreign lake may have any name, and the name becomes a folder's.
  readAccountName(account);
  if (!yes) await ask(store, account, before, confirm);

  const lease = await acquireExclusiveLease(lake, clock, { command: 'forget', account, pipelines: [] });
  return underLease(lease, async () => {
    const forgotten = await removeAccountRows(lake, before, options, lease, context);
    const unexported = await exportAfterRun(lake, options, context);
    const status = unexported === undefined ? 'done' : 'failed';
    const instant = before === undefined ? null : isoInstant(before);
    const summary = { status, ...forgotten, before: instant, catalog: catalogVersion(lake) };
    return resultOf({ text: forgottenText(forgotten), summary }, unexported);
  });
}

/** Removes the rows from the tables, then erases all remaining files with them. */
async function removeAccountRows(
  lake: Lake,
  before: number | undefined,
  { lake: address, journal, account }: Omit<ForgetOptions, 'before'>,
  lease: RunLease,
  { clock, signal, emit }: RunContext,
): Promise<ForgetResult> {
  const { store } = lake;
  await lake.refresh();
  const filesBefore = accountFiles(lake, account);
  const spared = new Set([leasePath(lease.id)]);
  signal.throwIfAborted();
  await (before === undefined ? removeAccount(lake, account) : removeAged(lake, account, before));
  if (before !== undefined) for (const path of await forgetRequestedRanges(store, account, before)) spared.add(path);
  emit({ event: 'message', message: `${account}: removed from the tables; erasing the remaining files` });
  // Saved pages may be outside of the lake: those of a lake on S3 are on this machine.
  await eraseState({ lake: address, journal }, account, before === undefined);
  const { files, partial } = await eraseTraces(lake, account, spared);
  const untracked = files.filter(({ path }) => !filesBefore.has(path));
  lease.cleared();
  // The leftovers of dead runs are erased, so their leases are no longer needed.
  await removeLeases(lake, (await otherLeases(store, lease.id, clock)).dead);
  const tablesRemoved = forgottenRows(filesBefore, accountFiles(lake, account));
  const { version } = lake.snapshot;
  const backups = (await readBackupNotes(store)).filter((noted) => (noted.version ?? -1) < version);
  const bytes = untracked.reduce((sum, { size }) => sum + size, 0);
  const leftovers = { files: untracked.length + partial, bytes };
  return { account, before, lake: store.location, tables: tablesRemoved, leftovers, backups };
}

/** The rows and files that were removed from one table. */
interface ForgottenRows {
  readonly table: string;
  readonly rows: number;
  /** Files that were removed, or rewritten with fewer rows. */
  readonly files: number;
  readonly bytes: number;
}

interface ForgetResult {
  readonly account: string;
  /** Milliseconds since 1970; undefined: everything. */
  readonly before: number | undefined;
  readonly lake: string;
  readonly tables: readonly ForgottenRows[];
  /** Other erased files: notes, page journals, orphans of dead runs. */
  readonly leftovers: { readonly files: number; readonly bytes: number };
  /** Backups that were made before. */
  readonly backups: readonly BackupNote[];
}

/** Names no similar account: that would suggest to forget another one. */
async function refuseAbsentAccount(lake: Lake, account: string, clock: Clock): Promise<void> {
  const accounts = await accountsIn(lake, clock);
  if (accounts.has(account)) return;
  const names = [...accounts].toSorted().join(', ');
  throw usageError(
    `expected --account to be an account of ${lake.store.location} (${names === '' ? 'it has none' : names}), ` +
      `got ${JSON.stringify(account)}`,
  );
}

async function ask(
  { location }: Store,
  account: string,
  before: number | undefined,
  confirm: RunContext['confirm'],
): Promise<void> {
  const what = before === undefined ? 'everything' : `everything before ${isoInstant(before)}`;
  if (confirm === undefined) {
    throw usageError(`expected --yes or a terminal, got neither; --yes removes ${what} of ${account} for good`);
  }
  if (await confirm(`Remove ${what} of ${account} from ${location} for good?`)) return;
  throw new LedgerlakeError('STOPPED', 'not confirmed; nothing was removed');
}

type Files = ReadonlyMap<string, DataFile>;

/** Compares an account's files before and after, table by table. */
function forgottenRows(before: Files, after: Files): ForgottenRows[] {
  const names = [...new Set([...before.values()].map(({ table }) => table))];
  return names
    .map((table) => {
      const inTable = (files: Files) => [...files].filter(([, file]) => file.table === table);
      const rows = (files: Files) => rowsOf(inTable(files).map(([, file]) => file));
      const bytes = (files: Files) => inTable(files).reduce((sum, [, { size }]) => sum + size, 0);
      return {
        table,
        rows: rows(before) - rows(after),
        files: inTable(before).filter(([path]) => !after.has(path)).length,
        bytes: bytes(before) - bytes(after),
      };
    })
    .filter(({ files }) => files > 0);
}

function forgottenText({ account, before, lake, tables, leftovers, backups }: ForgetResult): string {
  const whose = printable(account);
  const what = before === undefined ? whose : `${whose} before ${isoInstant(before)}`;
  const rows = tables.map(({ table, rows, files, bytes }) => [
    printable(table),
    formatCount(rows),
    formatCount(files),
    formatBytes(Math.max(0, bytes)),
  ]);
  const lines = alignedLines([['table', 'rows', 'files', 'size'], ...rows]).map((line) => `  ${line}`);
  return [
    '',
    rows.length === 0 ? `${printable(lake)} has no rows of ${what}` : `Forgotten in ${printable(lake)}: ${what}`,
    ...(rows.length === 0 ? [] : ['', ...lines]),
    '',
    `Also erased: ${formatCount(leftovers.files, 'file')} that no table references, ${formatBytes(leftovers.bytes)}; the logs were written anew`,
    ...(backups.length === 0
      ? []
      : [
          '',
          'Backups may still hold it; `ledgerlake backup` to the same place removes it there:',
          ...backups.map(backupText),
        ]),
    '',
  ].join('\n');
}

function backupText({ destination, version, at }: BackupNote): string {
  const what = version === null ? 'not finished' : `version ${version}`;
  return `  ${printable(destination)}: ${what}, ${at}`;
}
