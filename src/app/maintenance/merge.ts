import { identifier } from '../../core/duckdb/literals.js';
import { rowsOf } from '../../lake/delta/data-file.js';
import type { NewFile } from '../../lake/commit-files.js';
import { fetchFiles, filesByTable, type Bundle, type Rewriting } from '../../lake/files/bundles.js';
import { columnList, checkRowCount, rowsIn } from '../../lake/files/local-parquet.js';
import { mergedTags, metadataOf, nameOf, newFile } from '../../lake/files/new-file.js';
import { mainOrder, sortedFile } from '../../lake/files/sorted-file.js';
import { keyColumn } from '../../lake/files/load-key-rows.js';

/** The zstd level: files are an eighth smaller than at DuckDB's default level, and a merge takes a twentieth longer. */
const compressionLevel = 6;

/**
 * Merges bundles of one partition into one file for each table, sorted: events by time, entries in the order of their events.
 *
 * @throws LedgerlakeError LAKE_STORE for a file that differs from its commit, PARQUET_MISMATCH where rows would get lost
 */
export async function mergedFiles(
  rewriting: Rewriting,
  bundles: readonly Bundle[],
  signal: AbortSignal,
): Promise<NewFile[]> {
  const { workspace, pipeline } = rewriting;
  const { database } = workspace;
  const { account = '', month = '' } = bundles[0]?.main ?? {};
  const mains = bundles.map(({ main }) => main);
  const paths = await fetchFiles(rewriting, mains);
  const loadKeys = await loadKeysIn(
    rewriting,
    [...new Set(mains.flatMap(({ loadKeys }) => loadKeys))].toSorted(),
    paths,
  );
  const target = { account, month, loadKeys, name: nameOf('compact', { loadKeys, month }), dataChange: false };
  const metadata = metadataOf(pipeline.name, target);
  const merged: NewFile[] = [];
  let mainPath = '';
  // The main file is written first, because derived rows are sorted by it.
  for (const { table, files } of filesByTable(pipeline, bundles).toReversed()) {
    const isMain = table === pipeline.main;
    const isSortedAlone = table.row !== 'entry';
    const sources = isMain ? paths : await fetchFiles(rewriting, files);
    const columns = await columnList(database, table, sources, isSortedAlone ? '' : 'derived.');
    const select = (condition: string) =>
      isSortedAlone
        ? `SELECT ${columns} FROM ${rowsIn(sources)} WHERE ${condition} ORDER BY ${mainOrder(table)}`
        : derivedQuery(columns, sources, mainPath, condition);
    const sorting = { paths: sources, select, metadata, compressionLevel };
    const local = await sortedFile(workspace, table, sorting, { signal });
    checkRowCount(table, rowsOf(files), local.rows);
    if (isMain) mainPath = local.path;
    merged.unshift(await newFile(local, { table, ...target, ...mergedTags(files) }));
  }
  return merged;
}

/** In SQL: the entries that meet a condition, in the order of their events. */
function derivedQuery(columns: string, paths: readonly string[], mainPath: string, condition: string): string {
  // An event of two windows has the same id in both: its rows follow the first one, and none occurs twice.
  const positions =
    'SELECT event_id, min(file_row_number) AS position_ ' +
    `FROM ${rowsIn([mainPath], ', file_row_number = true')} WHERE ${condition} GROUP BY event_id`;
  const order = ['positions.position_', 'derived.entry', 'derived.effective_at'];
  return (
    `SELECT ${columns} FROM (SELECT * FROM ${rowsIn(paths)} WHERE ${condition}) AS derived ` +
    `LEFT JOIN (${positions}) AS positions USING (event_id) ORDER BY ${order.map((key) => `${key} NULLS LAST`).join(', ')}`
  );
}

/**
 * The load keys that have rows in these files. A slice of several orders names all of them in each month's file. A merged file that
 * named thousands of orders without rows would be rewritten each time that one of them is read again.
 */
async function loadKeysIn(
  { workspace: { database } }: Rewriting,
  loadKeys: readonly string[],
  paths: readonly string[],
): Promise<readonly string[]> {
  const found = keyColumn(loadKeys);
  if (found === undefined) return loadKeys;
  const rows = await database.rows(`SELECT DISTINCT ${identifier(found.column)} AS id FROM ${rowsIn(paths)}`);
  const stored = new Set(rows.map(({ id }) => `${found.prefix}${String(id)}`));
  return loadKeys.filter((loadKey) => stored.has(loadKey));
}
