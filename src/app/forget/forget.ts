import { plainLog } from '../../observe/log/plain-log.js';
import type { Emit } from '../../core/events/run-event.js';
import { emitDamage, type CommandContext } from '../context.js';
import { exportAfterRun, type ExportOptions } from '../export/export-after-run.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import type { Add } from '../../lake/delta/actions.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { tables } from '../../sources/finances/lake-tables.js';
import {
  accountFiles,
  eraseTraces,
  accountsIn,
  writeForgetNote,
  forgetNotePath,
  removeAccount,
  type Load,
} from '../../lake/upkeep/erasure.js';
import { existingLake } from '../../lake/existing-lake.js';
import { descriptionPath } from '../../lake/table-descriptions.js';
import type { Lake } from '../../lake/lake.js';
import { forgetRequestedRanges } from '../../lake/upkeep/requested-ranges.js';
import { acquireExclusiveLease, leasePath, otherLeases } from '../../lake/upkeep/leases.js';
import { rowsInLog } from '../../lake/files/new-file.js';
import { restoreSwapped } from '../../lake/transaction/references.js';
import type { Store } from '../../lake/store/store.js';
import { removeAged } from './aged-rows.js';
import { readAccountName } from '../configuration/account.js';
import { readInstantOption } from '../configuration/range.js';
import { eraseState, type StateLocation } from '../load/state-folder.js';

export interface ForgetOptions extends StateLocation, Pick<ExportOptions, 'export'> {
  readonly account: string;
  /** ISO 8601 date or instant: only what lies before it goes. Undefined: everything. */
  readonly before: string | undefined;
  /** Don't ask. */
  readonly yes: boolean;
}

export interface ForgetContext extends CommandContext {
  /** Asks the user; undefined where nobody can be asked, as standard input is no terminal: then it takes `yes`. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
  /** Left out: `log` gets a line for each event. */
  readonly emit?: Emit;
}

/**
 * `ledgerlake forget`: removes an account's rows, raw bytes, journals and replaced files for good, and prints what went.
 * Other accounts' files stay as they are.
 *
 * Without `before` the lake is as if the account had never been loaded. With it rows before that instant go, and files that hold
 * others too are made anew without them. The windows that were read stay loaded; a group that ended before and an order whose
 * rows all went don't.
 *
 * Killed at any instant it leaves a lake that can be read, and the same command continues from there.
 *
 * @throws LedgerlakeError USAGE before anything is touched: for a date that is none, for an account that the lake
 * doesn't hold; STOPPED when the answer is no; LAKE_CONFLICT while another run
 * is at work on the lake
 */
export async function forget(options: ForgetOptions, context: ForgetContext): Promise<void> {
  const before = options.before === undefined ? undefined : readInstantOption('--before', options.before);
  const known = {
    account: options.account,
    lake: options.lake,
    before: before === undefined ? null : isoInstant(before),
  };
  context.setProvisionalSummary?.(() => known);
  await forgetIn(await existingLake(options.lake, tables, context.clock), before, options, context);
}

/** The same over an open lake; `before` in milliseconds since 1970. */
export async function forgetIn(
  lake: Lake,
  before: number | undefined,
  options: Omit<ForgetOptions, 'before'>,
  { clock, signal, print, printJson, log, confirm, emit = plainLog(log) }: ForgetContext,
): Promise<void> {
  const { store } = lake;
  const { lake: address, journal, account, yes } = options;
  emitDamage(lake, emit);
  await refuseUnknownAccount(lake, account);
  // A lake may hold what this program would never write, and the name becomes a folder's.
  readAccountName(account);
  if (!yes) await ask(store, account, before, confirm);

  const lease = await acquireExclusiveLease(store, clock, { command: 'forget', account, pipelines: [] });
  try {
    await lake.refresh();
    // What a run that died took out of a derived table, and that still counts, must not pass for a leftover.
    await restoreSwapped(lake.tables, Infinity, clock.now());
    const filesBefore = accountFiles(lake, account);
    const described = lake.tables
      .flatMap(({ schema: { customPipeline } }) => customPipeline ?? [])
      .map(descriptionPath);
    const spare = new Set([forgetNotePath(account), leasePath(lease.id), ...described]);
    signal.throwIfAborted();
    const forgets =
      before === undefined
        ? await forgetAll(lake, account, clock.now())
        : await removeAged(lake, account, before, clock);
    if (before !== undefined) for (const path of await forgetRequestedRanges(store, account, before)) spare.add(path);
    log(`${account}: removed from the tables; erasing the remaining files`);
    // Pages that runs have left may lie elsewhere: a lake on S3 has them on this machine.
    await eraseState({ lake: address, journal }, account, before === undefined);
    const { files, partial } = await eraseTraces(lake, account, forgets, spare, clock.now());
    // What no table counted.
    const untracked = files.filter(({ path }) => !filesBefore.has(path));
    lease.cleared();
    // Of what dead runs left nothing is there any more.
    for (const { path } of (await otherLeases(store, lease.id, clock)).dead) await store.remove(path);
    const forgotten: Forgotten = {
      account,
      before,
      lake: store.location,
      tables: forgottenRows(filesBefore, accountFiles(lake, account)),
      leftovers: { files: untracked.length + partial, bytes: untracked.reduce((sum, { size }) => sum + size, 0) },
    };
    await store.remove(forgetNotePath(account));
    const unexported = await exportAfterRun(lake, options, { clock, signal, emit });
    print(forgottenText(forgotten));
    const status = unexported === undefined ? 'done' : 'failed';
    printJson({ status, ...forgotten, before: before === undefined ? null : isoInstant(before) });
    if (unexported !== undefined) throw unexported;
  } finally {
    await lease.release();
  }
}

/** What went from one table. */
interface ForgottenRows {
  readonly table: string;
  readonly rows: number;
  /** Files that went or were made anew with fewer rows. */
  readonly files: number;
  readonly bytes: number;
}

/** What a forgetting removed. */
interface Forgotten {
  readonly account: string;
  /** Milliseconds since 1970; undefined: everything. */
  readonly before: number | undefined;
  /** As the user wrote it. */
  readonly lake: string;
  readonly tables: readonly ForgottenRows[];
  /** What else was erased: notes, journals, what dead runs left. */
  readonly leftovers: { readonly files: number; readonly bytes: number };
}

async function forgetAll(lake: Lake, account: string, now: number): Promise<(load: Load) => boolean> {
  await writeForgetNote(lake, { account, loads: [] });
  await removeAccount(lake, account, now);
  return () => true;
}

async function refuseUnknownAccount(lake: Lake, account: string): Promise<void> {
  const accounts = await accountsIn(lake);
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
  confirm: ForgetContext['confirm'],
): Promise<void> {
  const what = before === undefined ? 'everything' : `everything before ${isoInstant(before)}`;
  if (confirm === undefined) {
    throw usageError(`expected --yes or a terminal, got neither; --yes removes ${what} of ${account} for good`);
  }
  if (await confirm(`Remove ${what} of ${account} from ${location} for good?`)) return;
  throw new LedgerlakeError('STOPPED', 'not confirmed; nothing was removed');
}

type Files = ReadonlyMap<string, { readonly table: string; readonly add: Add }>;

/** Compares an account's files before and after, table by table. */
function forgottenRows(before: Files, after: Files): ForgottenRows[] {
  const names = [...new Set([...before.values()].map(({ table }) => table))];
  return names
    .map((table) => {
      const inTable = (files: Files) => [...files].filter(([, file]) => file.table === table);
      const rows = (files: Files) => rowsInLog(inTable(files).map(([, { add }]) => add));
      const bytes = (files: Files) => inTable(files).reduce((sum, [, { add }]) => sum + add.size, 0);
      return {
        table,
        rows: rows(before) - rows(after),
        files: inTable(before).filter(([path]) => !after.has(path)).length,
        bytes: bytes(before) - bytes(after),
      };
    })
    .filter(({ files }) => files > 0);
}

/** For people: what went by table, and what was erased in all. */
function forgottenText({ account, before, lake, tables, leftovers }: Forgotten): string {
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
    '',
  ].join('\n');
}
