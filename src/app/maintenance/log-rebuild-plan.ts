import { pipelineNamed } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import type { Family, Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import { LedgerlakeError, messageOf } from '../../core/errors.js';
import { overlap, type Window } from '../../core/windows.js';
import { isDataFile } from '../../lake/data-files.js';
import type { MetaData, Txn } from '../../lake/delta/actions.js';
import { DeltaTable } from '../../lake/delta/delta-table.js';
import { isDerivedFile, countsAsLoaded, loadKeyAppId, loadKeysOf, parseAppId } from '../../lake/delta/file-tags.js';
import type { LogRemains } from '../../lake/delta/log-remains.js';
import { logColumns } from '../../lake/delta/table-metadata.js';
import { loadKeyCondition } from '../../lake/files/load-key-rows.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { defaultLimits, localFile, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { firstDataFile, noVersions, readNewestVersions } from '../../lake/newest-versions.js';
import { parseImportedKey } from '../../lake/loads/imported-days.js';
import type { Store } from '../../lake/store/store.js';
import { monthRange } from '../reread-command.js';
import { keepsHistory } from '../reconcile/event-history.js';
import { chooseFiles, type FileComparison } from './chosen-files.js';
import {
  isDoubtful,
  storedRows,
  windowOf,
  type DoubtfulFile,
  type StoredRows,
  type StoredTable,
} from './recovered-files.js';

/** A table, and what is wrong with its log, in words. */
export interface OpenedTable {
  readonly schema: Table;
  readonly table: DeltaTable;
  readonly fault: string | undefined;
  /** The least version that a new log may begin with. */
  readonly from: number;
}

export async function openTables(store: Store, schemas: readonly Table[], clock: Clock): Promise<OpenedTable[]> {
  const note = await readNewestVersions(store);
  const { versions } = note ?? noVersions;
  const opened: OpenedTable[] = [];
  for (const schema of schemas) {
    const table = new DeltaTable(schema, store, clock);
    const noted = versions[schema.name] ?? -1;
    let fault: string | undefined;
    try {
      const { version } = await table.refresh();
      if (version < noted) fault = 'commits are missing at its end';
      else if (version < 0 && (await firstDataFile(store, schema.name)) !== undefined) fault = 'there is none';
      else if (note === undefined && (await hasUnnamedFiles(store, table))) fault = 'commits may be missing at its end';
      // Every other command reads a checkpoint in its place, until it needs this very commit.
      else fault = (await table.replay()).commits[0]?.fault;
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
async function hasUnnamedFiles(store: Store, table: DeltaTable): Promise<boolean> {
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

/** A lake some of whose logs are written anew. */
export interface DamagedLogs {
  readonly store: Store;
  readonly families: readonly Family[];
  readonly opened: readonly OpenedTable[];
  /** Those of the opened tables whose logs are written anew. */
  readonly broken: readonly OpenedTable[];
}

/** Something that isn't loaded any more. */
interface LostLoad {
  readonly account: string;
  readonly text: string;
}

/** What becomes of one table. */
export interface TablePlan {
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

/** What a load key of a family's main table names. */
export function loadKeyOf({ pipeline }: Family): string {
  return pipelineNamed(pipeline)?.loadKey ?? 'window';
}

export async function planOf(
  { schema, table, from }: OpenedTable,
  logs: DamagedLogs & { readonly clock: Clock },
): Promise<TablePlan> {
  const { store, clock, families } = logs;
  const remains = await table.remains();
  const paths: string[] = [];
  for await (const { path } of store.list(schema.name)) if (!path.startsWith(`${schema.name}/_`)) paths.push(path);
  const base = { table, from, metaData: fittingMetaData(remains, schema) };
  const family = families.find(({ main }) => main === schema);
  if (family === undefined) {
    const moved = paths.map((path) => ({ path, reason: 'its rows are derived again' }));
    return { ...base, files: [], txns: [], moved, lost: [], family };
  }
  const isLasting = schema.appendOnly === true;
  const stored: StoredTable = {
    schema,
    pipelines: new Set([...(isLasting ? families.map(({ pipeline }) => pipeline) : []), family.pipeline]),
    loadKey: isLasting ? undefined : loadKeyOf(family),
    hasNet: family.derived.length > 0,
  };
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const { sound, doubtful, replaced } = await readFiles(stored, paths, remains, { ...logs, workspace });
    const { chosen, refused } = isLasting
      ? await disjointFiles(sound, store, workspace)
      : await chooseFiles(sound, comparisonOf(schema, store, workspace));
    const moved = [
      ...doubtful.map(({ path, reason }) => ({ path, reason })),
      ...replaced.map((path) => ({ path, reason: 'the log has removed it' })),
      ...[...refused].map(([{ path }, refusal]) => ({ path, reason: refusals[refusal] })),
    ];
    const loads = isLasting
      ? { txns: [], lost: [] }
      : loadsOf(family, chosen, [...doubtful, ...refused.keys()], remains, clock.now());
    return { ...base, files: chosen, ...loads, moved, family };
  });
}

interface ReadFiles {
  readonly sound: readonly StoredRows[];
  readonly doubtful: readonly DoubtfulFile[];
  /** Paths of those that a commit has removed, which has what replaced them. */
  readonly replaced: readonly string[];
}

/** Reads every file of a table's folders, and sorts out those that may count. */
async function readFiles(
  stored: StoredTable,
  paths: readonly string[],
  remains: LogRemains,
  { clock, workspace, ...logs }: DamagedLogs & { readonly clock: Clock; readonly workspace: Workspace },
): Promise<ReadFiles> {
  const sound: StoredRows[] = [];
  const doubtful: DoubtfulFile[] = [];
  const replaced: string[] = [];
  for (const path of paths) {
    const file = await storedRows(stored, path, { store: logs.store, workspace, remains, now: clock.now() });
    if (isDoubtful(file)) doubtful.push(file);
    else if (remains.removed.has(file.add.path)) replaced.push(path);
    else if (stored.schema.appendOnly === true && !mayCount(file, remains, logs)) {
      doubtful.push({ ...file, reason: 'no commit has named it' });
    } else sound.push(file);
  }
  return { sound, doubtful, replaced };
}

const refusals = {
  replaced: 'a newer file has its rows',
  repeated: 'another file has the same rows',
  undecided: 'another file claims its rows, and it is unknown which is newer',
} as const;

/** What is left of a log's description of its table, where it can be one. */
function fittingMetaData({ metaData }: LogRemains, { name }: Table): MetaData | undefined {
  if (metaData === undefined || (metaData.name ?? name) !== name) return undefined;
  try {
    logColumns(metaData.schemaString);
    return metaData;
  } catch {
    return undefined;
  }
}

/** Whether a file of a lasting table may have counted: a main table's log has named it, or can't be read any more. */
function mayCount(
  { path, add }: StoredRows,
  { files }: LogRemains,
  { broken, opened }: Pick<DamagedLogs, 'broken' | 'opened'>,
): boolean {
  if (broken.some(({ schema }) => keepsHistory(schema) && schema.appendOnly !== true)) return true;
  const logged = files.get(add.path)?.add;
  if (logged !== undefined && !isDerivedFile(logged)) return true;
  if (/\/compact-[^/]*$/.test(path)) return true;
  return opened.some(({ table }) => table.snapshot.pinned.has(path));
}

function comparisonOf(schema: Table, store: Store, workspace: Workspace): FileComparison {
  const { database } = workspace;
  const using = async <T>(files: readonly StoredRows[], use: (...rows: string[]) => Promise<T>): Promise<T> => {
    const rows: string[] = [];
    for (const { path } of files) rows.push(rowsIn([(await localFile(store, path, workspace.newPath)) ?? '']));
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
        const sql = `SELECT count(*) AS rows, bit_xor(hash(rows_)) AS hash FROM (FROM ${rows} WHERE ${condition}) AS rows_`;
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
    const local = (await localFile(store, path, workspace.newPath)) ?? '';
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

/** What an account has loaded under a load key. */
interface AccountLoad {
  readonly account: string;
  readonly loadKey: string;
}

function idOf({ account, loadKey }: AccountLoad): string {
  return `${account} ${loadKey}`;
}

/** A window of an account. */
interface AccountWindow {
  readonly account: string;
  readonly window: Window;
}

function windowsOf({ account, loadKey }: AccountLoad): AccountWindow[] {
  const window = windowOf(loadKey);
  return window === undefined ? [] : [{ account, window }];
}

/**
 * What is loaded: the load keys of the files, and those that the log had for loaded and that had no rows, unless something that
 * was left out may have some. What else is known to have been loaded is lost.
 */
function loadsOf(
  { pipeline, main }: Family,
  files: readonly StoredRows[],
  left: readonly (DoubtfulFile | StoredRows)[],
  remains: LogRemains,
  now: number,
): Pick<TablePlan, 'txns' | 'lost'> {
  const before = new Map<string, Txn>();
  const others: Txn[] = [];
  for (const txn of remains.txns.values()) {
    const read = parseAppId(txn.appId);
    if (read?.pipeline === pipeline) before.set(idOf(read), txn);
    else others.push(txn);
  }
  const loads = files.flatMap(({ account, loadKeys }) => loadKeys.map((loadKey) => ({ account, loadKey })));
  const loaded = new Map(loads.map((load) => [idOf(load), load]));
  const { lost, doubted } = lostLoads(main, left, remains, loaded);
  addEmptyLoads(before, doubted, loaded, lost);
  const read = [...loaded].map(([id, { account, loadKey }]): Txn => {
    const version = Math.max(1, Math.abs(before.get(id)?.version ?? 0));
    const lastUpdated = before.get(id)?.lastUpdated ?? now;
    return { appId: loadKeyAppId(pipeline, account, loadKey), version, lastUpdated };
  });
  // How often it was read before counts on.
  const unread = [...before].flatMap(([id, txn]) =>
    loaded.has(id) ? [] : [{ ...txn, version: -Math.abs(txn.version) }],
  );
  return { txns: [...others, ...read, ...unread], lost: [...lost.values()] };
}

/** What was loaded in files that don't count any more or are missing, and the windows that they may have rows of. */
function lostLoads(
  { name }: Table,
  left: readonly (DoubtfulFile | StoredRows)[],
  remains: LogRemains,
  loaded: ReadonlyMap<string, AccountLoad>,
): { readonly lost: Map<string, LostLoad>; readonly doubted: readonly AccountWindow[] } {
  const lost = new Map<string, LostLoad>();
  const doubted: AccountWindow[] = [];
  const lose = (load: AccountLoad): void => {
    const id = idOf(load);
    if (!loaded.has(id) && !lost.has(id)) lost.set(id, { account: load.account, text: load.loadKey });
  };
  for (const { path, loadKeys } of left) {
    const [, account = '', month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(path) ?? [];
    for (const loadKey of loadKeys ?? []) {
      lose({ account, loadKey });
      doubted.push(...windowsOf({ account, loadKey }));
    }
    if (loadKeys !== undefined) continue;
    const window = monthRange(month);
    if (window !== undefined) doubted.push({ account, window });
    lost.set(`${account} ${path}`, { account, text: `${month} of ${name}, in part` });
  }
  // Files that the log names and that aren't there, or aren't what it names.
  for (const { add } of remains.files.values()) {
    const account = add.partitionValues['account'] ?? '';
    for (const loadKey of safeKeys(() => loadKeysOf(add))) lose({ account, loadKey });
  }
  return { lost, doubted };
}

/** Adds what the log had for loaded and no file has: to what is loaded, or where a doubted window may have it to what is lost. */
function addEmptyLoads(
  before: ReadonlyMap<string, Txn>,
  doubted: readonly AccountWindow[],
  loaded: Map<string, AccountLoad>,
  lost: Map<string, LostLoad>,
): void {
  const claimed = [...loaded.values()].flatMap(windowsOf);
  for (const [id, txn] of before) {
    const { account = '', loadKey = '' } = parseAppId(txn.appId) ?? {};
    if (!countsAsLoaded(txn) || loaded.has(id) || lost.has(id) || parseImportedKey(loadKey) !== undefined) continue;
    const windows = windowsOf({ account, loadKey });
    const isTouched = (other: AccountWindow) =>
      other.account === account && windows.some(({ window }) => overlap(other.window, window));
    if (claimed.some(isTouched)) continue;
    if (doubted.some(isTouched)) lost.set(id, { account, text: loadKey });
    else if (loadKey.startsWith('window/') === windows.length > 0) {
      loaded.set(id, { account, loadKey });
      claimed.push(...windows);
    }
  }
}

function safeKeys(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** Files of lasting tables count by themselves, whatever becomes of the logs that named them. */
export async function countByThemselves(
  broken: readonly OpenedTable[],
  opened: readonly OpenedTable[],
  clock: Clock,
): Promise<void> {
  const mains = new Set(broken.map(({ schema }) => schema.name));
  for (const lasting of opened) {
    const { schema, table } = lasting;
    if (schema.appendOnly !== true || broken.includes(lasting) || table.snapshot.version < 0) continue;
    await table.commit('UNPIN', ({ files }) => {
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
