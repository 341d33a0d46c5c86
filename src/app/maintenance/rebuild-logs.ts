import { pipelines } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { customPipelinesOf, familiesOf, type Family, type Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { formatCount } from '../../core/text/amounts.js';
import { grid } from '../../core/text/width.js';
import { dayMs, joined, uncovered, type Window } from '../../core/windows.js';
import { isDataFile } from '../../lake/data-files.js';
import type { Action, MetaData, Txn } from '../../lake/delta/actions.js';
import { DeltaTable } from '../../lake/delta/delta-table.js';
import { isDerivedFile, isLoaded, loadKeyAppId, loadKeysOf, parseAppId } from '../../lake/delta/file-tags.js';
import type { LogRemains } from '../../lake/delta/log-remains.js';
import { columnsOf } from '../../lake/delta/table-metadata.js';
import { loadKeyCondition, loadKeysText } from '../../lake/files/load-key-rows.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { defaultLimits, localFile, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { firstDataFile, noteNewestVersions, nothingNoted, readNewestVersions } from '../../lake/newest-versions.js';
import { existingLake, refuseWithoutFolder } from '../../lake/existing-lake.js';
import { parseImportedKey } from '../../lake/loads/imported-days.js';
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
import { historyFamily, keepsHistory } from '../reconcile/event-history.js';
import { chooseFiles, type FileComparison } from './chosen-files.js';
import {
  isDoubtful,
  storedRows,
  windowOf,
  type DoubtfulFile,
  type StoredRows,
  type StoredTable,
} from './stored-files.js';

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
 * `ledgerlake rebuild --log`: writes the logs of tables anew whose own can't be read, from what is left of them and from the data
 * files. The bytes of each file of a main table must be those that its name and its footer tell, and no row comes in twice: of
 * files that claim the same rows the one counts that the log named last, or any where the rows are the same, and else none. What
 * can't be shown to be loaded isn't loaded any more. Derived tables come out empty. Nothing is deleted: old logs, derived
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
    const folder = setAsideFolderAt(clock.now());
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
    for (const plan of inOrder) await carryOut(plan, folder, store);
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

/** A table, and what is wrong with its log, in words. */
interface OpenedTable {
  readonly schema: Table;
  readonly table: DeltaTable;
  readonly fault: string | undefined;
  /** The least version that a new log may begin with. */
  readonly from: number;
}

async function openTables(store: Store, schemas: readonly Table[], clock: Clock): Promise<OpenedTable[]> {
  const note = await readNewestVersions(store);
  const { versions } = note ?? nothingNoted;
  const opened: OpenedTable[] = [];
  for (const schema of schemas) {
    const table = new DeltaTable(schema, store, clock);
    const noted = versions[schema.name] ?? -1;
    let fault: string | undefined;
    try {
      const { version } = await table.refresh();
      if (version < noted) fault = 'commits are missing at its end';
      else if (version < 0 && (await firstDataFile(store, schema.name)) !== undefined) fault = 'there is none';
      else if (note === undefined && (await holdsUnnamed(store, table))) fault = 'commits may be missing at its end';
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'LAKE_LOG') throw error;
      fault = messageOf(error);
    }
    const named = (await table.logPaths()).flatMap((path) => /\/(\d{20})\.[^/]*$/.exec(path)?.[1] ?? []);
    const newest = Math.max(noted, table.snapshot.version, ...named.map(Number).filter(isPlausible));
    opened.push({ schema, table, fault, from: newest + 1 });
  }
  return opened;
}

/** Whether data files lie in a table's folders that its log names neither as its own nor as replaced ones that stay. */
async function holdsUnnamed(store: Store, table: DeltaTable): Promise<boolean> {
  const prefix = `${table.schema.name}/`;
  for await (const { path } of store.list(table.schema.name)) {
    if (!isDataFile(path) || table.fileAt(path) !== undefined) continue;
    if (!table.isRetained(path.slice(prefix.length))) return true;
  }
  return false;
}

/** A file with any other version is not the log's. */
function isPlausible(version: number): boolean {
  return version < 1e12;
}

interface PlanContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly opened: readonly OpenedTable[];
  readonly families: readonly Family[];
}

/** Something that isn't loaded any more. */
interface LostLoad {
  readonly account: string;
  readonly text: string;
}

/** What becomes of one table. */
interface TablePlan {
  readonly table: DeltaTable;
  readonly from: number;
  readonly metaData: MetaData | undefined;
  readonly files: readonly StoredRows[];
  readonly txns: readonly Txn[];
  /** Paths within the lake, each with why. */
  readonly moved: readonly { readonly path: string; readonly reason: string }[];
  readonly lost: readonly LostLoad[];
  /** Undefined for a derived table. */
  readonly family: Family | undefined;
}

async function planOf(
  { schema, table, from }: OpenedTable,
  broken: readonly OpenedTable[],
  { store, clock, opened, families }: PlanContext,
): Promise<TablePlan> {
  const remains = await table.remains();
  const paths: string[] = [];
  for await (const { path } of store.list(schema.name)) if (!path.startsWith(`${schema.name}/_`)) paths.push(path);
  const base = { table, from, metaData: fittingMetaData(remains, schema) };
  const family = families.find(({ main }) => main === schema);
  if (family === undefined) {
    const moved = paths.map((path) => ({ path, reason: 'its rows are derived again' }));
    return { ...base, files: [], txns: [], moved, lost: [], family };
  }
  const stored: StoredTable = {
    schema,
    pipelines: new Set(
      schema.lasting === true ? [...families.map((of) => of.pipeline), family.pipeline] : [family.pipeline],
    ),
    loadKey:
      schema.lasting === true
        ? undefined
        : (pipelines.find(({ name }) => name === family.pipeline)?.loadKey ?? 'window'),
    hasNet: family.derived.length > 0,
  };
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const doubtful: DoubtfulFile[] = [];
    const sound: StoredRows[] = [];
    /** Each was removed by a commit that has what took its place. */
    const replaced: { readonly path: string; readonly reason: string }[] = [];
    for (const path of paths) {
      const file = await storedRows(stored, path, { store, workspace, remains, now: clock.now() });
      if (isDoubtful(file)) doubtful.push(file);
      else if (remains.removed.has(file.add.path)) replaced.push({ path, reason: 'the log has removed it' });
      else if (schema.lasting === true && !mayCount(file, remains, broken, opened)) {
        doubtful.push({ ...file, reason: 'no commit has named it' });
      } else sound.push(file);
    }
    const { chosen, refused } =
      schema.lasting === true
        ? await disjointFiles(sound, store, workspace)
        : await chooseFiles(sound, comparisonOf(schema, store, workspace));
    const moved = [
      ...doubtful.map(({ path, reason }) => ({ path, reason })),
      ...replaced,
      ...[...refused].map(([{ path }, refusal]) => ({ path, reason: refusals[refusal] })),
    ];
    if (schema.lasting === true) return { ...base, files: chosen, txns: [], moved, lost: [], family };
    const left = [...doubtful, ...[...refused.keys()]];
    const { txns, lost } = loadsOf(family, chosen, left, remains, clock.now());
    return { ...base, files: chosen, txns, moved, lost, family };
  });
}

const refusals = {
  replaced: 'a newer file has its rows',
  repeated: 'another file has the same rows',
  undecided: 'another file claims its rows, and nothing tells which is newer',
} as const;

/** What is left of a log's description of its table, where it can be one. */
function fittingMetaData({ metaData }: LogRemains, { name }: Table): MetaData | undefined {
  if (metaData === undefined || (metaData.name ?? name) !== name) return undefined;
  try {
    columnsOf(metaData.schemaString);
    return metaData;
  } catch {
    return undefined;
  }
}

/** Whether a file of a lasting table may have counted: a main table's log has named it, or can't be read any more. */
function mayCount(
  { path, add }: StoredRows,
  { files }: LogRemains,
  broken: readonly OpenedTable[],
  opened: readonly OpenedTable[],
): boolean {
  if (broken.some(({ schema }) => keepsHistory(schema) && schema.lasting !== true)) return true;
  const logged = files.get(add.path)?.add;
  if (logged !== undefined && !isDerivedFile(logged)) return true;
  if (/\/compact-[^/]*$/.test(path)) return true;
  return opened.some(({ table }) => table.snapshot.pinned.has(path));
}

function comparisonOf(schema: Table, store: Store, workspace: Workspace): FileComparison {
  const { database } = workspace;
  const using = async <T>(files: readonly StoredRows[], use: (...rows: string[]) => Promise<T>): Promise<T> => {
    const rows: string[] = [];
    for (const { path } of files) rows.push(rowsIn([(await localFile(store, path, workspace.fresh)) ?? '']));
    try {
      return await use(...rows);
    } finally {
      await workspace.clear();
    }
  };
  return {
    digest: (file, loadKey) =>
      using([file], async (rows = '') => {
        const condition = loadKeyCondition([loadKey]);
        const sql = `SELECT count(*) AS rows, bit_xor(hash(of)) AS hash FROM (FROM ${rows} WHERE ${condition}) AS of`;
        const [row] = await database.rows(sql);
        return `${String(row?.['rows'])} ${String(row?.['hash'])}`;
      }),
    sharesIds: (a, b) =>
      using([a, b], async (first = '', second = '') => {
        if (!hasColumn(schema, 'event_id')) return true;
        const id = identifier('event_id');
        const sql = `SELECT count(*) AS shared FROM (SELECT ${id} FROM ${first} INTERSECT SELECT ${id} FROM ${second})`;
        const [row] = await database.rows(sql);
        return Number(row?.['shared']) > 0;
      }),
  };
}

/** Files of a lasting table without a row that another one has: one that repeats another is left out, and where two overlap, both. */
async function disjointFiles(
  files: readonly StoredRows[],
  store: Store,
  workspace: Workspace,
): Promise<{ chosen: readonly StoredRows[]; refused: ReadonlyMap<StoredRows, keyof typeof refusals> }> {
  const { database } = workspace;
  const refused = new Map<StoredRows, keyof typeof refusals>();
  const columns = ['event_id', 'content_hash', 'change', 'seen_at', 'source'].map(identifier).join(', ');
  await database.execute(`CREATE OR REPLACE TEMP TABLE kept_ (file BIGINT, row_ UBIGINT)`);
  for (const [at, { path, account }] of files.entries()) {
    const local = (await localFile(store, path, workspace.fresh)) ?? '';
    const select = `SELECT ${at}, hash(${literal(account)}, ${columns}) FROM ${rowsIn([local])}`;
    await database.execute(`INSERT INTO kept_ ${select}`);
    await workspace.clear();
  }
  const shared = await database.rows(
    'SELECT a.file AS a, b.file AS b, count(DISTINCT a.row_) AS shared, ' +
      '(SELECT count(DISTINCT row_) FROM kept_ WHERE file = a.file) AS of_a, ' +
      '(SELECT count(DISTINCT row_) FROM kept_ WHERE file = b.file) AS of_b ' +
      'FROM kept_ AS a JOIN kept_ AS b ON a.row_ = b.row_ AND a.file < b.file GROUP BY ALL ORDER BY ALL',
  );
  for (const row of shared) {
    const [a, b] = [files[Number(row['a'])], files[Number(row['b'])]];
    if (a === undefined || b === undefined || refused.has(a) || refused.has(b)) continue;
    if (row['shared'] === row['of_a']) refused.set(a, 'repeated');
    else if (row['shared'] === row['of_b']) refused.set(b, 'repeated');
    else refused.set(a, 'undecided').set(b, 'undecided');
  }
  return { chosen: files.filter((file) => !refused.has(file)), refused };
}

/**
 * What is loaded: the load keys of the files, and those that the log had for loaded and that had no rows, unless something that
 * was left out may have some. What else was loaded, as far as anything tells, is lost.
 */
function loadsOf(
  { pipeline, main }: Family,
  files: readonly StoredRows[],
  left: readonly (DoubtfulFile | StoredRows)[],
  remains: LogRemains,
  now: number,
): { txns: Txn[]; lost: LostLoad[] } {
  const before = new Map<string, Txn>();
  const others: Txn[] = [];
  for (const txn of remains.txns.values()) {
    const read = parseAppId(txn.appId);
    if (read?.pipeline === pipeline) before.set(`${read.account} ${read.loadKey}`, txn);
    else others.push(txn);
  }
  const loaded = new Map<string, { readonly account: string; readonly loadKey: string }>();
  for (const { account, loadKeys } of files) {
    for (const loadKey of loadKeys) loaded.set(`${account} ${loadKey}`, { account, loadKey });
  }
  const claimed = [...loaded.values()].flatMap(({ account, loadKey }) => {
    const window = windowOf(loadKey);
    return window === undefined ? [] : [{ account, window }];
  });
  const lost = new Map<string, LostLoad>();
  const lose = (account: string, loadKey: string): void => {
    const id = `${account} ${loadKey}`;
    if (!loaded.has(id) && !lost.has(id)) lost.set(id, { account, text: loadKey });
  };
  const doubted: { account: string; window: Window }[] = [];
  for (const { path, loadKeys } of left) {
    const [, account = '', month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(path) ?? [];
    for (const loadKey of loadKeys ?? []) {
      lose(account, loadKey);
      const window = windowOf(loadKey);
      if (window !== undefined) doubted.push({ account, window });
    }
    const whole = loadKeys === undefined ? monthRange(month) : undefined;
    if (whole !== undefined) doubted.push({ account, window: whole });
    if (loadKeys === undefined) lost.set(`${account} ${path}`, { account, text: `${month} of ${main.name}, in part` });
  }
  // Files that the log names and that aren't there, or aren't what it names.
  for (const { add } of remains.files.values()) {
    for (const loadKey of safeKeys(() => loadKeysOf(add))) lose(add.partitionValues['account'] ?? '', loadKey);
  }
  for (const [id, txn] of before) {
    const { account = '', loadKey = '' } = parseAppId(txn.appId) ?? {};
    if (!isLoaded(txn) || loaded.has(id) || lost.has(id) || parseImportedKey(loadKey) !== undefined) continue;
    const window = windowOf(loadKey);
    const isIn = (of: { account: string; window: Window }) =>
      of.account === account && window !== undefined && of.window.start < window.end && window.start < of.window.end;
    if (claimed.some(isIn)) continue;
    if (doubted.some(isIn)) lose(account, loadKey);
    else if (loadKey.startsWith('window/') === (window !== undefined)) {
      loaded.set(id, { account, loadKey });
      if (window !== undefined) claimed.push({ account, window });
    }
  }
  const read = [...loaded].map(([id, { account, loadKey }]): Txn => {
    const version = Math.max(1, Math.abs(before.get(id)?.version ?? 0));
    return {
      appId: loadKeyAppId(pipeline, account, loadKey),
      version,
      lastUpdated: before.get(id)?.lastUpdated ?? now,
    };
  });
  // How often it was read before counts on.
  const unread = [...before].flatMap(([id, txn]) =>
    loaded.has(id) ? [] : [{ ...txn, version: -Math.abs(txn.version) }],
  );
  return { txns: [...others, ...read, ...unread], lost: [...lost.values()] };
}

function safeKeys(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** Files of lasting tables count by themselves, whatever becomes of the logs that named them. */
async function countByThemselves(
  broken: readonly OpenedTable[],
  opened: readonly OpenedTable[],
  clock: Clock,
): Promise<void> {
  const mains = new Set(broken.map(({ schema }) => schema.name));
  for (const of of opened) {
    if (of.schema.lasting !== true || broken.includes(of) || of.table.snapshot.version < 0) continue;
    await of.table.commit('UNPIN', ({ files }) => {
      const pinned = [...files.values()].filter((add) => isDerivedFile(add) && mains.has(add.tags?.['main'] ?? ''));
      if (pinned.length === 0) return undefined;
      const now = clock.now();
      return pinned.map((add) => {
        const tags = Object.fromEntries(Object.entries(add.tags ?? {}).filter(([name]) => name !== 'main'));
        return { add: { ...add, modificationTime: now, dataChange: false, tags: { ...tags, derived: '[]' } } };
      });
    });
  }
}

/** Copies what doesn't count and the old log, writes the new log, and only then removes what was copied. */
async function carryOut(
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
      const own = lost.filter((of) => of.account === account);
      if (loadKey === 'order') {
        const ids = own.flatMap(({ text }) => /^order\/(.+)$/.exec(text)?.[1] ?? []);
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
      windows.push(...read, ...own.flatMap(({ text }) => windowOf(text) ?? []));
      dated.push({ pipeline: family.pipeline, hasLost: own.length > 0 || keys.length === 0, loadKey, read });
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
