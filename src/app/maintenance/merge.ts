import type { Table, Family } from '../../core/columns/table.js';
import type { Database, QueryOptions } from '../../core/duckdb/connection.js';
import { identifier } from '../../core/duckdb/literals.js';
import type { Add } from '../../lake/delta/actions.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import type { NewFile } from '../../lake/transaction/transaction.js';
import type { Bundle } from './file-bundles.js';
import { checkedFile } from '../../lake/files/checked-file.js';
import { columnList, expectRows, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { mergedTags, rowsInLog } from '../../lake/files/new-file.js';
import { metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import { hasColumn, mainOrder, sortedFile, type Sorting } from '../../lake/files/sorted-file.js';
import { keyColumn } from '../../lake/files/load-key-rows.js';
import type { Workspace } from '../../lake/files/workspace.js';

/** Of zstd: files come out an eighth smaller than at DuckDB's own level, for a twentieth more of the whole time. */
const compressionLevel = 6;

/** Brings committed files of a table into the workspace; their names there. Throws as `checkedFile` does: copies stay when another run replaces the files. */
export async function fetchFiles(
  lake: Lake,
  workspace: Workspace,
  table: Table,
  adds: readonly Add[],
): Promise<string[]> {
  const paths: string[] = [];
  for (const add of adds)
    paths.push(await checkedFile(lake.store, lake.table(table.name), add, workspace, { isCopied: true }));
  return paths;
}

/**
 * Merges bundles of one partition into one file per table, sorted: events by time, entries in the order of their events.
 *
 * @throws LedgerlakeError LAKE_STORE for a file that isn't what its commit says, PARQUET_MISMATCH where rows would get lost
 */
export async function mergedFiles(
  lake: Lake,
  workspace: Workspace,
  family: Family,
  bundles: readonly Bundle[],
  now: number,
  options: QueryOptions,
): Promise<NewFile[]> {
  const { database } = workspace;
  const { main } = family;
  const mains = bundles.map((bundle) => bundle.main);
  const paths = await fetchFiles(lake, workspace, main, mains);
  const place = await placeOf(database, family, mains, paths);
  const metadata = metadataOf(place);
  const write = async (table: Table, adds: readonly Add[], own: readonly string[], select: Sorting['select']) => {
    const local = await sortedFile(workspace, table, { paths: own, select, metadata, compressionLevel }, options);
    expectRows(table, rowsInLog(adds), local.rows);
    return { local, file: await newFile(table, place, local, mergedTags(adds), now) };
  };

  const columns = await columnList(database, main, paths);
  const merged = await write(
    main,
    mains,
    paths,
    (condition) => `SELECT ${columns} FROM ${rowsIn(paths)} WHERE ${condition} ORDER BY ${mainOrder(main)}`,
  );
  const files: NewFile[] = [];
  for (const table of family.derived) {
    const adds = bundles.flatMap(({ derived }) => derived.filter((of) => of.table === table).map(({ add }) => add));
    if (adds.length === 0) continue;
    const own = await fetchFiles(lake, workspace, table, adds);
    const ownColumns = await columnList(database, table, own, 'derived.');
    const select = (condition: string) => derivedQuery(table, ownColumns, own, merged.local, condition);
    files.push((await write(table, adds, own, select)).file);
  }
  return [...files, merged.file];
}

/** Those rows of a derived table that meet a condition, in the order of the events that they belong to. */
function derivedQuery(
  table: Table,
  columns: string,
  paths: readonly string[],
  main: LocalParquet,
  condition: string,
): string {
  // An event that two windows hold has the same id in both: its rows stand where its first one stands, and none comes twice.
  const places =
    'SELECT event_id, min(file_row_number) AS place_ ' +
    `FROM ${rowsIn([main.path], ', file_row_number = true')} WHERE ${condition} GROUP BY event_id`;
  const within = ['entry', 'effective_at'].filter((name) => hasColumn(table, name));
  const order = ['places.place_', ...within.map((name) => `derived.${identifier(name)}`)];
  return (
    `SELECT ${columns} FROM (SELECT * FROM ${rowsIn(paths)} WHERE ${condition}) AS derived ` +
    `LEFT JOIN (${places}) AS places USING (event_id) ORDER BY ${order.map((key) => `${key} NULLS LAST`).join(', ')}`
  );
}

/** Where the file belongs that takes the place of others, which `paths` are local copies of. */
async function placeOf(
  database: Database,
  family: Family,
  mains: readonly Add[],
  paths: readonly string[],
): Promise<FileTarget> {
  const { account, month } = mains[0]?.partitionValues ?? {};
  const loadKeys = [...new Set(mains.flatMap(loadKeysOf))].toSorted();
  const held = await heldUnits(database, loadKeys, paths);
  return { family, account: account ?? '', month: month ?? '', loadKeys: held };
}

/**
 * Which of the load keys have rows in these files. A slice of several orders tells all of them of each of its months' files,
 * and a file that named thousands which it doesn't hold would be written anew each time that one of them is read again.
 */
async function heldUnits(database: Database, loadKeys: readonly string[], paths: readonly string[]): Promise<string[]> {
  const referencePipeline = keyColumn(loadKeys);
  if (referencePipeline === undefined) return [...loadKeys];
  const rows = await database.rows(
    `SELECT DISTINCT ${identifier(referencePipeline.column)} AS name FROM ${rowsIn(paths)}`,
  );
  const held = new Set(rows.map(({ name }) => `${referencePipeline.prefix}${String(name)}`));
  return loadKeys.filter((loadKey) => held.has(loadKey));
}
