import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { customPipelinesOf, familiesOf } from '../../core/columns/table.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import type { Action } from '../../lake/delta/actions.js';
import { countsAsLoaded, mainOf, parseAppId, rowsInLog } from '../../lake/delta/file-tags.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { noteNewestVersions } from '../../lake/newest-versions.js';
import { existingLake } from '../../lake/existing-lake.js';
import type { Store } from '../../lake/store/store.js';
import { describedTables } from '../../lake/table-descriptions.js';
import { unpinFiles } from '../../lake/transaction/references.js';
import { acquireExclusiveLease } from '../../lake/upkeep/leases.js';
import { endpointToName, readLastRun } from '../../lake/upkeep/last-run.js';
import { setAsideFolderAt } from '../../lake/upkeep/vacuum.js';
import { tables as ownTables } from '../../sources/finances/lake-tables.js';
import { backfillCommandLine } from '../command-text.js';
import { unknownPipeline } from '../configuration/chosen-pipelines.js';
import type { RunContext } from '../context.js';
import { monthRange, ordersCommand, type RepairedLake } from '../reread-command.js';
import { historyFamily } from '../reconcile/event-history.js';
import { loadKeyWindow } from './recovered-files.js';
import { existingStore, type LakeAddress } from './command.js';
import {
  loadKeyOf,
  openTables,
  planOf,
  type DamagedLogs,
  type OpenedTable,
  type TablePlan,
} from './log-rebuild-plan.js';

export interface RebuildLogsOptions extends LakeAddress {
  /** Names of pipelines whose logs are rebuilt, damaged or not; empty: all damaged logs are rebuilt. */
  readonly pipelines: readonly string[];
  /** The configuration file, for printed commands; undefined: they don't name it. */
  readonly config?: string | undefined;
  /** Asks the user; undefined: nobody can be asked; `true`: don't ask. */
  readonly confirm: ((question: string) => Promise<boolean>) | true | undefined;
}

export interface RebuiltLogs {
  readonly tables: readonly { readonly table: string; readonly files: number; readonly rows: number }[];
  /** Pipelines whose derived tables are empty until they are derived again. */
  readonly pipelines: readonly string[];
  /** The folder with the moved files, within the lake; null where no file was moved. */
  readonly setAside: string | null;
  readonly notLoaded: readonly string[];
  /** Commands that load what isn't loaded any more. */
  readonly commands: readonly string[];
}

/**
 * `ledgerlake rebuild --log`: rebuilds damaged logs from their remains and from the data files; docs/lake.md, "A damaged log", has
 * the rules. Derived tables are empty afterwards. Nothing is deleted: old logs, derived files and files that don't count are moved
 * to a folder. After a kill at any instant it can be run again.
 *
 * @throws LedgerlakeError before anything is changed: USAGE where there is no lake or no confirmation is possible, STOPPED where the
 *   user declines, LAKE_CONFLICT while another run is active
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
    // Files that main tables with rebuilt logs pinned count by themselves from now on.
    const mains = new Set(broken.map(({ schema }) => schema.name));
    for (const each of opened) {
      if (broken.includes(each) || each.table.snapshot.version < 0) continue;
      await unpinFiles(each.table, clock.now(), (add) => mains.has(mainOf(add) ?? ''));
    }
    await applyPlans(plans, folder, store);
    lease.cleared();
    const commands = commandsOf(plans, { location, config, lastRun, opened });
    const result = resultOf(plans, logs, folder, commands);
    print(resultText(result, plans, location));
    return result;
  } finally {
    await lease.release();
  }
}

/** Opens every table, and chooses those whose logs are rebuilt: with a main table also those derived from it. */
async function findLogs(options: RebuildLogsOptions, clock: Clock): Promise<DamagedLogs> {
  const { lake: location, pipelines: names } = options;
  const store = await existingStore(options, { clock });
  const schemas = [...ownTables, ...(await describedTables(store))];
  const known = [...pipelines, historyFamily, ...customPipelinesOf(schemas)];
  const families = familiesOf(known);
  const unknown = names.find((name) => families.every(({ pipeline }) => pipeline !== name));
  if (unknown !== undefined) throw unknownPipeline(unknown, known);
  const opened = await openTables(store, schemas, clock);
  // Throws USAGE where there is no lake.
  if (
    options.store === undefined &&
    opened.every(({ fault, table }) => fault === undefined && table.snapshot.version < 0)
  ) {
    await existingLake(location, schemas, clock);
  }
  const isRebuilt = ({ fault, schema }: OpenedTable): boolean =>
    names.length === 0
      ? fault !== undefined
      : families.some(({ pipeline, main, derived }) => names.includes(pipeline) && [main, ...derived].includes(schema));
  const chosen = new Set(opened.filter(isRebuilt).map(({ schema }) => schema));
  // The files of a main table reference those of its derived tables.
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

/** Writes derived tables first: until the log of their main table is written, a second run starts from the beginning. */
async function applyPlans(plans: readonly TablePlan[], folder: string, store: Store): Promise<void> {
  const inOrder = plans.toSorted((a, b) => Number(a.family !== undefined) - Number(b.family !== undefined));
  for (const plan of inOrder) await applyPlan(plan, folder, store);
  const written = plans.map(({ table }) => table);
  await noteNewestVersions(store, written);
}

/** Copies the old log and the files that don't count, writes the new log, and only then removes what was copied. */
async function applyPlan(
  { table, from, metaData, files, txns, moved }: TablePlan,
  folder: string,
  store: Store,
): Promise<void> {
  // A table without files or a log needs none.
  const needsLog = from > 0 || files.length + txns.length > 0;
  const paths = [...moved.map(({ path }) => path), ...(needsLog ? await table.logPaths() : [])];
  for (const path of paths) {
    const bytes = await store.read(path);
    if (bytes !== undefined) await store.write(`${folder}/${path}`, bytes);
  }
  const actions: Action[] = [...files.map(({ add }) => ({ add })), ...txns.map((txn) => ({ txn }))];
  const written = new Set(needsLog ? await table.beginAnew(from, metaData, actions) : []);
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

interface CommandContext extends Pick<RepairedLake, 'location' | 'config' | 'lastRun'> {
  readonly opened: readonly OpenedTable[];
}

/** The commands that load what isn't loaded any more, account by account. */
function commandsOf(plans: readonly TablePlan[], context: CommandContext): string[] {
  const { lastRun } = context;
  const accounts = new Set(plans.flatMap(({ files, lost }) => [...files, ...lost].map(({ account }) => account)));
  if (lastRun !== undefined && plans.some(({ family }) => family?.main.appendOnly !== true))
    accounts.add(lastRun.account);
  return [...accounts].toSorted().flatMap((account) => accountCommands(account, plans, context));
}

/** The commands of an account: one for its known days, and one for each pipeline's orders. */
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
    ...dated.flatMap(({ read, lost }) => [...read, ...lost.flatMap((text) => loadKeyWindow(text) ?? [])]),
    ...stored.flatMap(({ appId }) => loadKeyWindow(parseAppId(appId)?.loadKey ?? '') ?? []),
  ];
  // Folders of settlements are the last resort: their months may begin before any requested range.
  const range = spanOf(windows.length > 0 ? windows : dated.flatMap(({ folders }) => folders));
  if (range === undefined) return orders;
  // The number of settlements is unknown, so any range may lack some.
  const incomplete = dated.filter(
    ({ lost, read, hasLoads, loadKey }) =>
      lost.length > 0 || !hasLoads || (loadKey === 'window' && uncovered(range, read).length > 0),
  );
  if (incomplete.length === 0) return orders;
  const names = incomplete.map(({ pipeline }) => pipeline);
  return [backfillCommandLine({ pipelines: names, lake: location, account, range, endpoint, config }), ...orders];
}

/** The known loads of an account in a main table whose log is rebuilt. */
interface KnownLoads {
  readonly pipeline: string;
  readonly loadKey: string;
  /** Load keys and folders that aren't loaded any more. */
  readonly lost: readonly string[];
  readonly hasLoads: boolean;
  /** Loaded windows. */
  readonly read: readonly Window[];
  /** Months of the files. */
  readonly folders: readonly Window[];
}

/** Undefined for a derived or an append-only table. */
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
    read: loadKeys.flatMap((key) => loadKeyWindow(key) ?? []),
    folders: ofAccount.flatMap(({ add }) => monthRange(add.partitionValues['month'] ?? '') ?? []),
  };
}

/** The span of windows, without those that are too long to be of this program; undefined where there is none. */
function spanOf(windows: readonly Window[]): Window | undefined {
  const [first, ...others] = joined(windows.filter(({ start, end }) => end - start <= mostDays * dayMs));
  return first && { start: first.start, end: others.at(-1)?.end ?? first.end };
}

function resultText(
  { tables, setAside, notLoaded, commands }: RebuiltLogs,
  plans: readonly TablePlan[],
  location: string,
) {
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

/** Maximum number of days of a window of this program. */
const mostDays = 400;

/** Files that are listed for people; further ones are counted. */
const mostShown = 20;
