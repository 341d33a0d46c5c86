import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { customPipelinesOf, familiesOf } from '../../core/columns/table.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import type { Action } from '../../lake/delta/actions.js';
import { countsAsLoaded, parseAppId } from '../../lake/delta/file-tags.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { noteNewestVersions } from '../../lake/newest-versions.js';
import { rowsInLog } from '../../lake/files/new-file.js';
import { existingLake } from '../../lake/existing-lake.js';
import type { Store } from '../../lake/store/store.js';
import { describedTables } from '../../lake/table-descriptions.js';
import { acquireExclusiveLease } from '../../lake/upkeep/leases.js';
import { endpointToName, readLastRun } from '../../lake/upkeep/last-run.js';
import { setAsideFolderAt } from '../../lake/upkeep/vacuum.js';
import { tables as ownTables } from '../../sources/finances/lake-tables.js';
import { backfillCommand } from '../command-text.js';
import { unknownPipeline } from '../configuration/chosen-pipelines.js';
import type { RunContext } from '../context.js';
import { monthRange, ordersCommand, type MendedLake } from '../reread-command.js';
import { historyFamily } from '../reconcile/event-history.js';
import { windowOf } from './recovered-files.js';
import { existingStore, type LakeAddress } from './command.js';
import {
  countByThemselves,
  loadKeyOf,
  openTables,
  planOf,
  type DamagedLogs,
  type OpenedTable,
  type TablePlan,
} from './log-rebuild-plan.js';

export interface RebuildLogsOptions extends LakeAddress {
  /** Whose logs are written anew, whatever their state; none: those that can't be read. */
  readonly pipelines: readonly string[];
  /** The configuration file, if that was said: for commands that are printed. */
  readonly config?: string | undefined;
  /** Asks the user; undefined where nobody can be asked; `true`: don't ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | true | undefined;
}

/** What was written anew. */
export interface RebuiltLogs {
  readonly tables: readonly { readonly table: string; readonly files: number; readonly rows: number }[];
  /** Pipelines whose derived tables are empty now. */
  readonly pipelines: readonly string[];
  /** Within the lake; null where nothing was moved. */
  readonly setAside: string | null;
  readonly notLoaded: readonly string[];
  /** Commands that read what isn't loaded. */
  readonly commands: readonly string[];
}

/**
 * `ledgerlake rebuild --log`: writes the logs of tables anew that can't be read, or a commit of them, from what is left of them and
 * from the data files: docs/lake.md, "A damaged log", has the rules. Derived tables come out empty. Nothing is deleted: old logs, derived
 * files and files that don't count are moved to a folder.
 *
 * @throws LedgerlakeError USAGE where there is no lake or nobody confirms, STOPPED where the answer is no, LAKE_CONFLICT while another run is at
 *   work; before anything is changed. Killed at any instant, it can be run again
 */
export async function rebuildLogs(
  options: RebuildLogsOptions,
  { clock, signal, print }: Pick<RunContext, 'clock' | 'signal' | 'print'>,
): Promise<RebuiltLogs> {
  const { lake: location, confirm, config } = options;
  const logs = await findLogs(options, clock);
  const { store, opened, broken } = logs;
  if (broken.length === 0) {
    print(`\nNothing to do: every log of ${printable(location)} can be read.\n`);
    return { tables: [], pipelines: [], setAside: null, notLoaded: [], commands: [] };
  }
  if (confirm === undefined) {
    throw usageError(`expected --yes or a terminal, got neither; --yes writes the logs of ${namesOf(broken)} anew`);
  }
  const lease = await acquireExclusiveLease(store, clock, { command: 'rebuild', pipelines: options.pipelines });
  try {
    const lastRun = await readLastRun(store);
    const folder = setAsideFolderAt(clock.now(), true);
    const plans: TablePlan[] = [];
    for (const table of broken) {
      signal.throwIfAborted();
      plans.push(await planOf(table, { ...logs, clock }));
    }
    if (confirm !== true && !(await confirm(questionOf(plans, logs, location, folder)))) {
      throw new LedgerlakeError('STOPPED', 'not confirmed; nothing was changed');
    }
    await countByThemselves(broken, opened, clock);
    await applyPlans(plans, folder, store);
    lease.cleared();
    const commands = commandsOf(plans, { location, config, lastRun, opened });
    const result = resultOf(plans, logs, folder, commands);
    print(textOf(result, plans, location));
    return result;
  } finally {
    await lease.release();
  }
}

/** Opens every table, and chooses those whose logs are written anew: with a main table those derived from it. */
async function findLogs(options: RebuildLogsOptions, clock: Clock): Promise<DamagedLogs> {
  const { lake: location, pipelines: names } = options;
  const store = await existingStore(options, clock);
  const schemas = [...ownTables, ...(await describedTables(store))];
  const known = [...pipelines, historyFamily, ...customPipelinesOf(schemas)];
  const families = familiesOf(known);
  const unknown = names.find((name) => families.every(({ pipeline }) => pipeline !== name));
  if (unknown !== undefined) throw unknownPipeline(unknown, known);
  const opened = await openTables(store, schemas, clock);
  // Where there is no lake, that is what is to be said.
  if (
    options.store === undefined &&
    opened.every(({ fault, table }) => fault === undefined && table.snapshot.version < 0)
  ) {
    await existingLake(location, schemas, clock);
  }
  const isAnew = ({ fault, schema }: OpenedTable): boolean =>
    names.length === 0
      ? fault !== undefined
      : families.some(({ pipeline, main, derived }) => names.includes(pipeline) && [main, ...derived].includes(schema));
  const chosen = new Set(opened.filter(isAnew).map(({ schema }) => schema));
  // The files of a main table name those of its derived tables.
  for (const { main, derived } of families) if (chosen.has(main)) for (const table of derived) chosen.add(table);
  return { store, families, opened, broken: opened.filter(({ schema }) => chosen.has(schema)) };
}

function namesOf(tables: readonly OpenedTable[]): string {
  return tables.map(({ schema }) => schema.name).join(', ');
}

function questionOf(plans: readonly TablePlan[], { broken }: DamagedLogs, location: string, folder: string): string {
  const kept = plans.reduce((sum, { files }) => sum + files.length, 0);
  const moved = plans.reduce((sum, plan) => sum + plan.moved.length, 0);
  return (
    `Write the logs of ${namesOf(broken)} anew in ${location}, with ${formatCount(kept, 'file')}, and move ` +
    `${formatCount(moved, 'other file')} and the old logs to ${folder}?`
  );
}

/** Writes derived tables first: as long as their main table's log isn't written, all of it is begun again. */
async function applyPlans(plans: readonly TablePlan[], folder: string, store: Store): Promise<void> {
  const inOrder = plans.toSorted((a, b) => Number(a.family !== undefined) - Number(b.family !== undefined));
  for (const plan of inOrder) await applyPlan(plan, folder, store);
  await noteNewestVersions(
    store,
    plans.map(({ table }) => table),
  );
}

/** Copies what doesn't count and the old log, writes the new log, and only then removes what was copied. */
async function applyPlan(
  { table, from, metaData, files, txns, moved }: TablePlan,
  folder: string,
  store: Store,
): Promise<void> {
  // A table that never had a log needs none.
  const isBegun = from > 0 || files.length + txns.length > 0;
  const paths = [...moved.map(({ path }) => path), ...(isBegun ? await table.logPaths() : [])];
  for (const path of paths) {
    const bytes = await store.read(path);
    if (bytes !== undefined) await store.write(`${folder}/${path}`, bytes);
  }
  const actions: Action[] = [...files.map(({ add }) => ({ add })), ...txns.map((txn) => ({ txn }))];
  const written = new Set(isBegun ? await table.beginAnew(from, metaData, actions) : []);
  for (const path of paths) if (!written.has(path)) await store.remove(path);
}

function resultOf(
  plans: readonly TablePlan[],
  { families, broken }: DamagedLogs,
  folder: string,
  commands: readonly string[],
): RebuiltLogs {
  return {
    tables: plans.map(({ table, files }) => ({
      table: table.schema.name,
      files: files.length,
      rows: rowsInLog(files.map(({ add }) => add)),
    })),
    pipelines: families
      .filter(({ derived }) => broken.some(({ schema }) => derived.includes(schema)))
      .map(({ pipeline }) => pipeline),
    setAside: folder,
    notLoaded: plans.flatMap(({ lost }) => lost.map(({ text }) => text)),
    commands,
  };
}

interface CommandContext extends Pick<MendedLake, 'location' | 'config' | 'lastRun'> {
  readonly opened: readonly OpenedTable[];
}

/** The commands that read what isn't loaded, account by account. */
function commandsOf(plans: readonly TablePlan[], context: CommandContext): string[] {
  const { lastRun } = context;
  const accounts = new Set(plans.flatMap(({ files, lost }) => [...files, ...lost].map(({ account }) => account)));
  if (lastRun !== undefined && plans.some(({ family }) => family?.main.appendOnly !== true))
    accounts.add(lastRun.account);
  return [...accounts].toSorted().flatMap((account) => accountCommands(account, plans, context));
}

/** One command for all that is known of an account's days, and one for each pipeline's orders. */
function accountCommands(
  account: string,
  plans: readonly TablePlan[],
  { location, config, lastRun, opened }: CommandContext,
): string[] {
  const endpoint = endpointToName(lastRun, account);
  const known = plans.flatMap((plan) => knownLoads(plan, account) ?? []);
  const orders = known.flatMap(({ pipeline, loadKey, lost }) => {
    const ids = loadKey === 'order' ? lost.flatMap((text) => /^order\/(.+)$/.exec(text)?.[1] ?? []) : [];
    return ordersCommand(pipeline, ids, { location, account, endpoint, config }) ?? [];
  });
  const dated = known.filter(({ loadKey }) => loadKey !== 'order');
  const asked = lastRun?.account === account ? [{ start: Date.parse(lastRun.from), end: Date.parse(lastRun.to) }] : [];
  const stored = opened.flatMap(({ table }) => [...table.snapshot.txnsOf(account)].filter(countsAsLoaded));
  const windows = [
    ...asked,
    ...dated.flatMap(({ read, lost }) => [...read, ...lost.flatMap((text) => windowOf(text) ?? [])]),
    ...stored.flatMap(({ appId }) => windowOf(parseAppId(appId)?.loadKey ?? '') ?? []),
  ];
  // Settlements lie in months that may begin before anything was asked for.
  const range = spanOf(windows.length > 0 ? windows : dated.flatMap(({ folders }) => folders));
  if (range === undefined) return orders;
  // Of settlements nothing says how many there are.
  const incomplete = dated.filter(
    ({ lost, read, hasLoads, loadKey }) =>
      lost.length > 0 || !hasLoads || (loadKey === 'window' && uncovered(range, read).length > 0),
  );
  if (incomplete.length === 0) return orders;
  const names = incomplete.map(({ pipeline }) => pipeline);
  return [backfillCommand({ pipelines: names, lake: location, account, range, endpoint, config }), ...orders];
}

/** What is known of an account's loads in a main table whose log is written anew. */
interface KnownLoads {
  readonly pipeline: string;
  readonly loadKey: string;
  /** What isn't loaded any more. */
  readonly lost: readonly string[];
  readonly hasLoads: boolean;
  /** Windows that are loaded. */
  readonly read: readonly Window[];
  /** Months of the files. */
  readonly folders: readonly Window[];
}

/** Undefined for a derived or a lasting table. */
function knownLoads({ family, files, lost, txns }: TablePlan, account: string): KnownLoads | undefined {
  if (family === undefined || family.main.appendOnly === true) return undefined;
  const loadKeys = txns.flatMap(({ appId }) => {
    const read = parseAppId(appId);
    return read?.account === account ? [read.loadKey] : [];
  });
  const ofAccount = files.filter((file) => file.account === account);
  return {
    pipeline: family.pipeline,
    loadKey: loadKeyOf(family),
    lost: lost.filter((load) => load.account === account).map(({ text }) => text),
    hasLoads: loadKeys.length > 0,
    read: loadKeys.flatMap((key) => windowOf(key) ?? []),
    folders: ofAccount.flatMap(({ add }) => monthRange(add.partitionValues['month'] ?? '') ?? []),
  };
}

/** From the first to the last of some windows, those left out that this program has not written; undefined where there is none. */
function spanOf(windows: readonly Window[]): Window | undefined {
  const [first, ...others] = joined(windows.filter(({ start, end }) => end - start <= mostDays * dayMs));
  return first && { start: first.start, end: others.at(-1)?.end ?? first.end };
}

/** For people. */
function textOf({ tables, setAside, notLoaded, commands }: RebuiltLogs, plans: readonly TablePlan[], location: string) {
  // Derived tables are empty until their rows are derived, after this.
  const derived = new Set(plans.flatMap(({ family, table }) => (family === undefined ? [table.schema.name] : [])));
  const rows = tables.flatMap(({ table, files, rows: count }) =>
    derived.has(table) ? [] : [[table, formatCount(files), formatCount(count)]],
  );
  const moved = plans.flatMap((plan) => (plan.family === undefined ? [] : plan.moved));
  const shown = moved.slice(0, mostShown).map(({ path, reason }) => `  ${printable(path)}: ${reason}`);
  const more = moved.length > mostShown ? [`  and ${formatCount(moved.length - mostShown, 'more file')}`] : [];
  return [
    '',
    `Logs written anew in ${printable(location)}`,
    '',
    ...(rows.length === 0 ? [] : [...alignedLines([['table', 'files', 'rows'], ...rows]), '']),
    `The old logs, and files that don't count, are in ${printable(location)}/${setAside ?? ''}`,
    ...shown,
    ...more,
    ...(notLoaded.length === 0 ? [] : [`Not loaded any more: ${printable(loadKeysText(notLoaded))}`]),
    ...(commands.length === 0
      ? []
      : ['Next, load what is not loaded:', ...commands.map((command) => `  ${printable(command)}`)]),
    '',
  ].join('\n');
}

/** Days that a window of this program has at the most. */
const mostDays = 400;

/** Files that are named to people. */
const mostShown = 20;
