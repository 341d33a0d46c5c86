import type { Table } from '../../core/columns/table.js';
import { unknownName } from '../../core/text/fault-line.js';
import { groupBy } from '../../core/group-by.js';
import type { Database } from '../../core/duckdb/connection.js';
import { identifier, literal, readParquet } from '../../core/duckdb/literals.js';
import { viewedColumns, partitions, selectRows, type ViewedTable } from '../../core/duckdb/views.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { zstd } from '../../core/parquet/encoder/zstd.js';
import { Snapshot } from '../../lake/catalog/snapshot.js';
import { DamagedFile, type DataFile } from '../../lake/delta/data-file.js';
import { existingLake, type LakeAddress } from '../../lake/existing-lake.js';
import { checkedFile } from '../../lake/files/local-file.js';
import { defaultLimits, subWorkspace, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import type { Lake } from '../../lake/lake.js';
import { tables as builtInTables } from '../../sources/finances/lake-tables.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import { emitDamage, type RunContext } from '../context.js';
import { sqlTables } from '../query/lake-files.js';
import type { OptionalSettings } from '../configuration/settings.js';
import type { ChangesSummary, TableChanges } from '../results.js';
import changedRows from './changed-rows.sql';
import { lostHistory, snapshotSince, type Since } from './since.js';

/** What is compared. */
export interface ChangesQuery extends LakeAddress, OptionalSettings<'retentionHours'> {
  /** Undefined: an empty lake, so that all rows are new. */
  readonly since: Since | undefined;
  /** Names; empty: all. */
  readonly tables: readonly string[];
  /** Undefined: every account of the lake. */
  readonly account: string | undefined;
  /** Columns that the compared rows lack, so that rows which differ in them alone are equal. */
  readonly exclude: readonly string[];
}

/** The changed rows of a table in a database: `_table`, `_change_type` and the columns of its view. Those that went come first. */
export interface ChangedRows {
  readonly query: string;
  readonly database: Database;
  readonly newPath: Workspace['newPath'];
}

/**
 * Compares a lake's newest version with an earlier one: the rows that came and went between them, table by table and in each month. A
 * row that changed went and came. What only moves rows from file to file is no change. A column that a version didn't have is NULL.
 * The tables are compared without the excluded columns. Without `since` a message says where the lake keeps no replaced files for the
 * next call.
 *
 * @param write receives the rows of each chosen table, also of one without changes
 * @throws LedgerlakeError USAGE for a table or account that the lake lacks, and for a column that can't be excluded; LAKE_HISTORY where
 * the earlier version, or files that were replaced since, are gone; LAKE_CONFLICT where a run deletes a file meanwhile; what `write` throws
 */
export async function readChanges(
  options: ChangesQuery,
  context: RunContext,
  write: (rows: ChangedRows, signal: AbortSignal) => Promise<void>,
): Promise<ChangesSummary> {
  const { signal, emit } = context;
  const lake = await existingLake(options, builtInTables, context);
  emitDamage(lake, emit);
  const { snapshot } = lake;
  if (options.since === undefined && lake.snapshot.config.retentionMs === 0 && (options.retentionHours ?? 0) === 0) {
    const message =
      'replaced files are deleted at once, and `changes --since` needs them: set retentionHours before the next run';
    emit({ event: 'message', message });
  }
  const before = options.since === undefined ? Snapshot.empty : await snapshotSince(lake, options.since, await zstd());
  refuseUnknownAccount(options.account, new Set([...before.accounts(), ...snapshot.accounts()]), options.lake);
  const chosen = chosenTables(lake, options.tables);
  refuseColumns(options.exclude, lake);
  const compared = chosen.map((table) => ({
    table,
    partitions: changedPartitions(table.name, before, snapshot, options.account),
  }));
  refuseDeleted(
    compared.flatMap(({ partitions }) => partitions.flatMap(({ removed }) => removed.map((file) => file.lakePath))),
    before,
    snapshot,
  );

  const tables: Record<string, TableChanges> = {};
  await withWorkspace(defaultLimits, lake.store, async (workspace) => {
    const { database, newPath } = workspace;
    for (const { table, partitions } of compared) {
      const columns = lake.snapshot.columnsOf(table).filter(({ name }) => !options.exclude.includes(name));
      const [view] = sqlTables([{ name: table.name, columns }]);
      if (view === undefined) continue;
      const parts = subWorkspace(workspace);
      const files: string[] = [];
      for (const partition of partitions) {
        signal.throwIfAborted();
        const part = parts.newPath();
        await comparePartition(lake, view, partition, part, workspace, signal);
        files.push(part);
      }
      const query = selectChanges(view, files);
      const counts = await database.rows(`SELECT _change_type AS change, count(*) AS n FROM (${query}) GROUP BY ALL`, {
        signal,
      });
      const countOf = (change: string) => Number(counts.find((row) => row['change'] === change)?.['n'] ?? 0);
      const changed = { inserted: countOf('insert'), deleted: countOf('delete') };
      if (changed.inserted + changed.deleted > 0) tables[view.name] = changed;
      await write({ query, database, newPath }, signal);
      await parts.clear();
    }
  });
  const { version, hash } = snapshot;
  return {
    status: 'done',
    lake: options.lake,
    since: before.version < 0 ? null : before.version,
    catalog: { version, hash },
    tables,
  };
}

/** The tables of a lake with the given names, or all that it has. */
function chosenTables(lake: Lake, names: readonly string[]): readonly Table[] {
  const known = lake.tables.filter(({ name }) => lake.snapshot.tables.has(name));
  const unknown = names.find((name) => !lake.tables.some((table) => table.name === name));
  if (unknown !== undefined) {
    throw unknownName('--table to be a table of the lake', unknown, known.map(({ name }) => name).toSorted());
  }
  return names.length === 0 ? known : lake.tables.filter(({ name }) => names.includes(name));
}

/** @throws LedgerlakeError USAGE for a column that no table of the lake has, and for one by which they are compared */
function refuseColumns(excluded: readonly string[], { tables, snapshot }: Lake): void {
  const partition = excluded.find((name) => partitions.includes(name));
  if (partition !== undefined) {
    throw usageError(
      `expected --exclude to be columns other than ${partitions.join(' and ')}, by which rows are compared, got ${partition}`,
    );
  }
  const known = new Set(tables.flatMap((table) => snapshot.columnsOf(table).map(({ name }) => name)));
  const unknown = excluded.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw unknownName('--exclude to be columns of tables of the lake', unknown, [...known].toSorted());
  }
}

/** The files of one account and month that only one of two versions has. */
interface ChangedPartition {
  readonly account: string;
  readonly month: string;
  readonly added: readonly DataFile[];
  readonly removed: readonly DataFile[];
}

function changedPartitions(
  table: string,
  before: Snapshot,
  after: Snapshot,
  account: string | undefined,
): ChangedPartition[] {
  const filesOf = (snapshot: Snapshot) =>
    account === undefined ? [...snapshot.files(table)] : snapshot.filesOf(table, account);
  const added = filesOf(after).filter(({ path }) => before.file(table, path) === undefined);
  const removed = filesOf(before).filter(({ path }) => after.file(table, path) === undefined);
  const folderOf = ({ path }: DataFile) => path.slice(0, path.lastIndexOf('/'));
  const [addedBy, removedBy] = [groupBy(added, folderOf), groupBy(removed, folderOf)];
  return [...new Set([...addedBy.keys(), ...removedBy.keys()])].toSorted().map((folder) => {
    const files = { added: addedBy.get(folder) ?? [], removed: removedBy.get(folder) ?? [] };
    const { account: owner = '', month = '' } = [...files.added, ...files.removed][0] ?? {};
    return { account: owner, month, ...files };
  });
}

/** @throws LedgerlakeError LAKE_HISTORY where replaced files that are to be read are deleted */
function refuseDeleted(paths: readonly string[], before: Snapshot, newest: Snapshot): void {
  const deleted = paths.filter((path) => !newest.isRetired(path)).length;
  if (deleted === 0) return;
  throw lostHistory(
    `expected the files of version ${before.version} that were replaced since, got ${deleted} of ${paths.length} deleted; set retentionHours, so ` +
      'that they stay for the next call',
  );
}

/** Writes the changed rows of a partition to a local file. */
async function comparePartition(
  lake: Lake,
  view: ViewedTable,
  { account, month, added, removed }: ChangedPartition,
  part: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<void> {
  const own = subWorkspace(workspace);
  const filesQuery = async (files: readonly DataFile[]) => {
    const paths: string[] = [];
    for (const file of files) paths.push(await readableFile(lake, file, own));
    return selectRows(view, paths, [literal(account), literal(month)]);
  };
  const { database } = workspace;
  const sides = { added, removed };
  for (const side of ['added', 'removed'] as const) {
    if (sides[side].length > 0)
      await database.execute(`CREATE OR REPLACE VIEW ${side} AS ${await filesQuery(sides[side])}`);
  }
  const only = (side: 'added' | 'removed', change: string) =>
    `SELECT ${literal(change)} AS _change_type, * FROM ${side}`;
  const query =
    added.length === 0 ? only('removed', 'delete') : removed.length === 0 ? only('added', 'insert') : changedRows;
  await database.execute(`COPY (${query}) TO ${literal(part)} (FORMAT parquet, COMPRESSION zstd)`, { signal });
  await own.clear();
}

/** A file of the lake as a local file, as its commit has it. */
async function readableFile(lake: Lake, file: DataFile, workspace: Workspace): Promise<string> {
  try {
    return await checkedFile(lake.store, file, workspace);
  } catch (error) {
    if (!(error instanceof DamagedFile)) throw error;
    await lake.refresh();
    const path = file.lakePath;
    if (lake.snapshot.keeps(path)) throw error;
    throw new LedgerlakeError(
      'LAKE_CONFLICT',
      `expected the file ${path} of ${lake.store.location}, but a run has replaced and deleted it meanwhile; run the same ` +
        'command again, and set retentionHours, so that replaced files stay',
    );
  }
}

/** The changes of a table from local files, the deleted rows first. */
function selectChanges(view: ViewedTable, files: readonly string[]): string {
  const columns = viewedColumns(view);
  const names = ['_change_type', ...columns.map(({ name }) => name)].map(identifier).join(', ');
  const typed = columns.map(({ name, type }) => `CAST(NULL AS ${type}) AS ${identifier(name)}`);
  const from =
    files.length === 0
      ? `(SELECT CAST(NULL AS VARCHAR) AS _change_type, ${typed.join(', ')} WHERE false)`
      : readParquet(files);
  const select = (change: string) =>
    `SELECT ${literal(view.name)} AS _table, ${names} FROM ${from} WHERE _change_type = ${literal(change)}`;
  return `${select('delete')} UNION ALL ${select('insert')}`;
}
