import { pipelines } from '../../../pipelines/all-pipelines.js';
import { customPipelinesOf, familiesOf } from '../../core/columns/table.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { grid } from '../../core/text/width.js';
import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import type { Action } from '../../lake/delta/actions.js';
import { isLoaded, parseAppId } from '../../lake/delta/file-tags.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { noteNewestVersions } from '../../lake/newest-versions.js';
import { existingLake, refuseWithoutFolder } from '../../lake/existing-lake.js';
import { openStore } from '../../lake/store/open-store.js';
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
import {
  countByThemselves,
  openTables,
  planOf,
  type OpenedTable,
  type PlanContext,
  type TablePlan,
} from './log-plan.js';

export interface RebuildLogsOptions {
  readonly lake: string;
  /** Whose logs are written anew, whatever their state; none: those that can't be read. */
  readonly pipelines: readonly string[];
  /** The configuration file, if that was said: for commands that are printed. */
  readonly config?: string | undefined;
  /** In the place of the one that `lake` names. */
  readonly store?: Store | undefined;
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
  { lake: location, pipelines: names, config, store: given, confirm }: RebuildLogsOptions,
  { clock, signal, print }: Pick<RunContext, 'clock' | 'signal' | 'print'>,
): Promise<RebuiltLogs> {
  const store = given ?? openStore(location, { clock });
  if (given === undefined) await refuseWithoutFolder(location);
  const schemas = [...ownTables, ...(await describedTables(store))];
  const known = [...pipelines, historyFamily, ...customPipelinesOf(schemas)];
  const families = familiesOf(known);
  const unknown = names.find((name) => families.every(({ pipeline }) => pipeline !== name));
  if (unknown !== undefined) throw unknownPipeline(unknown, known);
  const opened = await openTables(store, schemas, clock);
  // Where there is no lake, that is what is to be said.
  if (given === undefined && opened.every(({ fault, table }) => fault === undefined && table.snapshot.version < 0)) {
    await existingLake(location, schemas, clock);
  }
  const isAnew = ({ fault, schema }: OpenedTable): boolean =>
    names.length === 0
      ? fault !== undefined
      : families.some(({ pipeline, main, derived }) => names.includes(pipeline) && [main, ...derived].includes(schema));
  const chosen = new Set(opened.filter(isAnew).map(({ schema }) => schema));
  // The files of a main table name those of its derived tables.
  for (const { main, derived } of families) if (chosen.has(main)) for (const table of derived) chosen.add(table);
  const broken = opened.filter(({ schema }) => chosen.has(schema));
  if (broken.length === 0) {
    print(`\nNothing to do: every log of ${printable(location)} can be read.\n`);
    return { tables: [], pipelines: [], setAside: null, notLoaded: [], commands: [] };
  }
  const what = broken.map(({ schema }) => schema.name).join(', ');
  if (confirm === undefined) {
    throw usageError(`expected --yes or a terminal, got neither; --yes writes the logs of ${what} anew`);
  }
  const lease = await acquireExclusiveLease(store, clock, { command: 'rebuild', pipelines: [...names] });
  try {
    const lastRun = await readLastRun(store);
    const folder = setAsideFolderAt(clock.now(), true);
    const context: PlanContext = { store, clock, opened, families };
    const plans: TablePlan[] = [];
    for (const table of broken) {
      signal.throwIfAborted();
      plans.push(await planOf(table, broken, context));
    }
    const setAside = plans.reduce((sum, plan) => sum + plan.moved.length, 0);
    const kept = plans.reduce((sum, { files }) => sum + files.length, 0);
    const question =
      `Write the logs of ${what} anew in ${location}, with ${formatCount(kept, 'file')}, and move ` +
      `${formatCount(setAside, 'other file')} and the old logs to ${folder}?`;
    if (confirm !== true && !(await confirm(question))) {
      throw new LedgerlakeError('STOPPED', 'not confirmed; nothing was changed');
    }
    await countByThemselves(broken, opened, clock);
    // Derived tables first: as long as their main table's log isn't written, all of it is begun again.
    const inOrder = plans.toSorted((a, b) => Number(a.family !== undefined) - Number(b.family !== undefined));
    for (const plan of inOrder) await applyPlan(plan, folder, store);
    await noteNewestVersions(
      store,
      plans.map(({ table }) => table),
    );
    lease.cleared();
    const result: RebuiltLogs = {
      tables: plans.map(({ table, files }) => ({
        table: table.schema.name,
        files: files.length,
        rows: files.reduce((sum, { add }) => sum + Number(add.tags?.['rows'] ?? 0), 0),
      })),
      pipelines: families
        .filter(({ derived }) => broken.some(({ schema }) => derived.includes(schema)))
        .map(({ pipeline }) => pipeline),
      setAside: folder,
      notLoaded: plans.flatMap(({ lost }) => lost.map(({ text }) => text)),
      commands: commandsOf(plans, { location, config, lastRun, opened }),
    };
    print(textOf(result, plans, location));
    return result;
  } finally {
    await lease.release();
  }
}

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

/** What is known of an account's rows in a table whose log is written anew. */
interface DatedPlan {
  readonly pipeline: string;
  /** Whether something isn't loaded any more, or nothing is. */
  readonly hasLost: boolean;
  readonly loadKey: string;
  /** Windows that are loaded. */
  readonly read: readonly Window[];
}

/** The commands that read what isn't loaded: one an account, over all that is known of its days, and its orders. */
function commandsOf(
  plans: readonly TablePlan[],
  {
    location,
    config,
    lastRun,
    opened,
  }: Pick<MendedLake, 'location' | 'config' | 'lastRun'> & { opened: readonly OpenedTable[] },
): string[] {
  const accounts = new Set(plans.flatMap(({ files, lost }) => [...files, ...lost].map(({ account }) => account)));
  if (lastRun !== undefined && plans.some(({ family }) => family?.main.lasting !== true)) accounts.add(lastRun.account);
  return [...accounts].toSorted().flatMap((account) => {
    const endpoint = endpointToName(lastRun, account);
    const asked =
      lastRun?.account === account ? [{ start: Date.parse(lastRun.from), end: Date.parse(lastRun.to) }] : [];
    const windows: Window[] = [...asked];
    const folders: Window[] = [];
    const dated: DatedPlan[] = [];
    const orders: string[] = [];
    for (const { family, files, lost, txns } of plans) {
      if (family === undefined || family.main.lasting === true) continue;
      const loadKey = pipelines.find(({ name }) => name === family.pipeline)?.loadKey ?? 'window';
      const ofAccount = lost.filter((of) => of.account === account);
      if (loadKey === 'order') {
        const ids = ofAccount.flatMap(({ text }) => /^order\/(.+)$/.exec(text)?.[1] ?? []);
        const command = ordersCommand(family.pipeline, ids, { location, account, endpoint, config });
        if (command !== undefined) orders.push(command);
        continue;
      }
      for (const { account: of, add } of files) {
        const month = of === account ? monthRange(add.partitionValues['month'] ?? '') : undefined;
        if (month !== undefined) folders.push(month);
      }
      const keys = txns.flatMap(({ appId }) => {
        const read = parseAppId(appId);
        return read?.account === account ? [read.loadKey] : [];
      });
      const read = keys.flatMap((key) => windowOf(key) ?? []);
      windows.push(...read, ...ofAccount.flatMap(({ text }) => windowOf(text) ?? []));
      dated.push({ pipeline: family.pipeline, hasLost: ofAccount.length > 0 || keys.length === 0, loadKey, read });
    }
    for (const { table } of opened) {
      const read = [...table.snapshot.txnsOf(account)].filter(isLoaded);
      windows.push(...read.flatMap(({ appId }) => windowOf(parseAppId(appId)?.loadKey ?? '') ?? []));
    }
    // Settlements lie in months that may begin before anything was asked for.
    const known = windows.length > 0 ? windows : folders;
    const [range, ...others] = joined(known.filter(({ start, end }) => end - start <= mostDays * dayMs));
    if (range === undefined) return orders;
    const whole = { start: range.start, end: others.at(-1)?.end ?? range.end };
    // Of settlements nothing says how many there are.
    const incomplete = dated.filter(
      ({ hasLost, loadKey, read }) => hasLost || (loadKey === 'window' && uncovered(whole, read).length > 0),
    );
    if (incomplete.length === 0) return orders;
    const names = incomplete.map(({ pipeline }) => pipeline);
    return [backfillCommand({ pipelines: names, lake: location, account, range: whole, endpoint, config }), ...orders];
  });
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
    ...(rows.length === 0 ? [] : [...grid([['table', 'files', 'rows'], ...rows]), '']),
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

/** Days that a window has at the most: what says something else was not written by this program. */
const mostDays = 400;

/** Files that are named to people. */
const mostShown = 20;
