import { pipelineNamed } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import type { Family, Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/literals.js';
import { codeOf, messageOf } from '../../core/errors.js';
import { overlap, type Window } from '../../core/windows.js';
import type { Add, MetaData, Txn } from '../../lake/delta/actions.js';
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
import { chooseFiles, type ChosenFiles, type FileComparison } from './chosen-files.js';
import {
  isDoubtful,
  loadKeyWindow,
  recoverFile,
  type DoubtfulFile,
  type RecoveredFile,
  type RecoveredTable,
} from './recovered-files.js';

/** A table, and the fault of its log. */
export interface OpenedTable {
  readonly schema: Table;
  readonly table: DeltaTable;
  /** In words; undefined: none. */
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
      else if (note === undefined && (await firstDataFile(store, schema.name, (path) => table.isOrphan(path))))
        fault = 'commits may be missing at its end';
      // Other commands read a checkpoint instead, until they need this commit.
      else fault = (await table.replay()).commits[0]?.fault;
    } catch (error) {
      if (codeOf(error) !== 'LAKE_LOG') throw error;
      fault = messageOf(error);
    }
    const named = (await table.logPaths()).flatMap((path) => /\/(\d{20})\.[^/]*$/.exec(path)?.[1] ?? []);
    // A larger number in a file's name can't be a version of the log.
    const plausible = named.map(Number).filter((version) => version < 1e12);
    const newest = Math.max(noted, table.snapshot.version, ...plausible);
    opened.push({ schema, table, fault, from: newest + 1 });
  }
  return opened;
}

/** A lake with logs that are rebuilt. */
export interface DamagedLogs {
  readonly store: Store;
  readonly families: readonly Family[];
  readonly opened: readonly OpenedTable[];
  /** The tables whose logs are rebuilt. */
  readonly broken: readonly OpenedTable[];
}

/** A load key, or rows of a month, that isn't loaded any more. */
interface LostLoad {
  readonly account: string;
  readonly text: string;
}

/** The plan for one table's log. */
export interface TablePlan {
  readonly table: DeltaTable;
  readonly from: number;
  readonly metaData: MetaData | undefined;
  readonly files: readonly RecoveredFile[];
  readonly txns: readonly Txn[];
  /** Paths of moved files within the lake, each with the reason. */
  readonly moved: readonly { readonly path: string; readonly reason: string }[];
  readonly lost: readonly LostLoad[];
  /** Undefined for a derived table. */
  readonly family: Family | undefined;
}

/** The kind of a family's load keys. */
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
  const isAppendOnly = schema.appendOnly === true;
  const recovered: RecoveredTable = {
    schema,
    pipelines: new Set([...(isAppendOnly ? families.map(({ pipeline }) => pipeline) : []), family.pipeline]),
    loadKey: isAppendOnly ? undefined : loadKeyOf(family),
    hasNet: family.derived.length > 0,
  };
  return withWorkspace(defaultLimits, store, async (workspace) => {
    const { sound, doubtful, replaced } = await readFiles(recovered, paths, remains, { ...logs, workspace });
    const { chosen, refused } = isAppendOnly
      ? await disjointFiles(sound, store, workspace)
      : await chooseFiles(sound, comparisonOf(schema, store, workspace));
    const moved = [
      ...doubtful.map(({ path, reason }) => ({ path, reason })),
      ...replaced.map((path) => ({ path, reason: 'the log has removed it' })),
      ...[...refused].map(([{ path }, refusal]) => ({ path, reason: refusals[refusal] })),
    ];
    const loads = isAppendOnly
      ? { txns: [], lost: [] }
      : loadsOf(family, chosen, [...doubtful, ...refused.keys()], remains, clock.now());
    return { ...base, files: chosen, ...loads, moved, family };
  });
}

/** Reads every file of a table's folders, and sorts them by soundness. `replaced`: those that a commit has replaced. */
async function readFiles(
  table: RecoveredTable,
  paths: readonly string[],
  remains: LogRemains,
  { clock, workspace, ...logs }: DamagedLogs & { readonly clock: Clock; readonly workspace: Workspace },
) {
  const sound: RecoveredFile[] = [];
  const doubtful: DoubtfulFile[] = [];
  const replaced: string[] = [];
  for (const path of paths) {
    const file = await recoverFile(table, path, { store: logs.store, workspace, remains, now: clock.now() });
    if (isDoubtful(file)) doubtful.push(file);
    else if (remains.removed.has(file.add.path)) replaced.push(path);
    else if (table.schema.appendOnly === true && !mayCount(file, remains, logs)) {
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

/** The description of the table in the remains of its log, if it is valid. */
function fittingMetaData({ metaData }: LogRemains, { name }: Table): MetaData | undefined {
  if (metaData === undefined || (metaData.name ?? name) !== name) return undefined;
  try {
    logColumns(metaData.schemaString);
    return metaData;
  } catch {
    return undefined;
  }
}

/** Whether a file of an append-only table may have counted: a main table's log has pinned it, or is damaged. */
function mayCount(
  { path, add }: RecoveredFile,
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
  const using = async <T>(files: readonly RecoveredFile[], use: (...rows: string[]) => Promise<T>): Promise<T> => {
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

/** Chooses files of an append-only table without common rows: a file that repeats another is refused, and so are two that overlap. */
async function disjointFiles(
  files: readonly RecoveredFile[],
  store: Store,
  workspace: Workspace,
): Promise<ChosenFiles> {
  const { database } = workspace;
  const refused = new Map<RecoveredFile, keyof typeof refusals>();
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

/** A load key of an account. */
interface AccountLoad {
  readonly account: string;
  readonly loadKey: string;
}

function idOf({ account, loadKey }: AccountLoad): string {
  return `${account} ${loadKey}`;
}

type AccountWindow = Window & { readonly account: string };

function windowsOf({ account, loadKey }: AccountLoad): AccountWindow[] {
  const window = loadKeyWindow(loadKey);
  return window === undefined ? [] : [{ account, ...window }];
}

/**
 * The loaded and the lost load keys. Loaded are the load keys of the files, and those without rows that the log had as loaded, unless
 * a file that was left out may have rows of them. All others that are known are lost.
 */
function loadsOf(
  { pipeline, main }: Family,
  files: readonly RecoveredFile[],
  leftOut: readonly (DoubtfulFile | RecoveredFile)[],
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
  const { lost, doubted } = lostLoads(main, leftOut, remains, loaded);
  addEmptyLoads(before, doubted, loaded, lost);
  const read = [...loaded].map(([id, { account, loadKey }]): Txn => {
    const version = Math.max(1, Math.abs(before.get(id)?.version ?? 0));
    const lastUpdated = before.get(id)?.lastUpdated ?? now;
    return { appId: loadKeyAppId(pipeline, account, loadKey), version, lastUpdated };
  });
  // Keeps the number of reads of load keys that aren't loaded any more.
  const unread = [...before].flatMap(([id, txn]) =>
    loaded.has(id) ? [] : [{ ...txn, version: -Math.abs(txn.version) }],
  );
  return { txns: [...others, ...read, ...unread], lost: [...lost.values()] };
}

/** The load keys of files that were left out or are missing, and the windows that these may have rows of. */
function lostLoads(
  { name }: Table,
  leftOut: readonly (DoubtfulFile | RecoveredFile)[],
  remains: LogRemains,
  loaded: ReadonlyMap<string, AccountLoad>,
): { readonly lost: Map<string, LostLoad>; readonly doubted: readonly AccountWindow[] } {
  const lost = new Map<string, LostLoad>();
  const doubted: AccountWindow[] = [];
  const addLost = (load: AccountLoad): void => {
    const id = idOf(load);
    if (!loaded.has(id) && !lost.has(id)) lost.set(id, { account: load.account, text: load.loadKey });
  };
  for (const { path, loadKeys } of leftOut) {
    const [, account = '', month = ''] = /\/account=([^/]+)\/month=([^/]+)\//.exec(path) ?? [];
    for (const loadKey of loadKeys ?? []) {
      addLost({ account, loadKey });
      doubted.push(...windowsOf({ account, loadKey }));
    }
    if (loadKeys !== undefined) continue;
    const window = monthRange(month);
    if (window !== undefined) doubted.push({ account, ...window });
    lost.set(`${account} ${path}`, { account, text: `${month} of ${name}, in part` });
  }
  // Files of the log that are missing or damaged.
  for (const { add } of remains.files.values()) {
    const account = add.partitionValues['account'] ?? '';
    for (const loadKey of readableKeys(add)) addLost({ account, loadKey });
  }
  return { lost, doubted };
}

/** Adds load keys that the log had as loaded and no file has: to `lost` where a doubted window may have their rows, else to `loaded`. */
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
      other.account === account && windows.some((window) => overlap(other, window));
    if (claimed.some(isTouched)) continue;
    if (doubted.some(isTouched)) lost.set(id, { account, text: loadKey });
    else if (loadKey.startsWith('window/') === windows.length > 0) {
      loaded.set(id, { account, loadKey });
      claimed.push(...windows);
    }
  }
}

function readableKeys(add: Add): readonly string[] {
  try {
    return loadKeysOf(add);
  } catch {
    return [];
  }
}
