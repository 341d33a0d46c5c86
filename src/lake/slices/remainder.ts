import { spanIn } from '../catalog/load-key.js';
import { rowsOf, type DataFile } from '../delta/data-file.js';
import { literal, timestampLiteral } from '../../core/duckdb/literals.js';
import { groupBy } from '../../core/group-by.js';
import { hasEvents, type Table } from '../../core/columns/table.js';
import type { Window } from '../../core/windows.js';
import { countRows, columnList, checkRowCount, rowsIn } from '../files/local-parquet.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { NewFile } from '../commit-files.js';
import type { Lake } from '../lake.js';
import { noRemainder, type Remainder, type SliceReplacement } from './slice-replacement.js';
import { importedKey } from '../loads/imported-spans.js';
import { windowOf } from '../loads/load-keys.js';
import { bundleOf, fetchFiles, filesByTable, writeBundle, type Bundle, type Rewriting } from '../files/bundles.js';
import { sortedFile } from '../files/sorted-file.js';
import { canSelectRows, instantColumn, loadKeyCondition } from '../files/load-key-rows.js';
import { statementOver } from '../../core/duckdb/sql-statements.js';
import replacedEntries from './replaced-entries.sql';
import undatedContents from './undated-contents.sql';
import { replacedEvents } from '../loads/undated-events.js';

/**
 * Writes what stays of the files that a slice replaces in part: merged ones, and those of imported days that its window reaches in part. The
 * other rows of each become one file, which is committed with the slice; until then the workspace has it.
 *
 * A loaded window replaces imported rows with a date within it; of those without a date `replacedEvents` decides.
 *
 * @throws LedgerlakeError LAKE_CONFLICT for a file whose rows can't be told apart; DamagedFile for one that can't be read, maybe because another
 * run has replaced it
 */
export async function remainderOf(
  { lake, workspace }: Pick<Rewriting, 'lake' | 'workspace'>,
  replacement: SliceReplacement,
): Promise<Remainder> {
  const { slice, snapshot, rewritten } = replacement;
  const pipeline = { name: slice.pipeline, main: slice.main, derived: slice.derived };
  const rewriting = { lake, workspace, pipeline };
  const unselectable = rewritten.find((file) => !canSelectRows(pipeline.main, file.loadKeys));
  if (unselectable !== undefined) throw unselectableFailure(lake, unselectable);
  const bundles = rewritten.map((main) => bundleOf(snapshot, pipeline, main));
  const ofPartial = await replacedImports(rewriting, replacement, bundles);
  const files: NewFile[] = [];
  const mains: DataFile[] = [];
  let importedRows = 0;
  for (const bundle of bundles) {
    const kept = await remainderOfBundle(rewriting, replacement, ofPartial, bundle);
    files.push(...kept.files);
    mains.push(...kept.mains);
    importedRows += kept.importedRows;
  }
  return { files, mains, importedRows };
}

function unselectableFailure({ store }: Lake, file: DataFile): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to split ${store.address(file.lakePath)}, which contains more than what is read again, but its rows can't be told apart; ` +
      'run `ledgerlake verify`, nothing was replaced',
  );
}

/** In SQL: the imported rows that a slice replaces, of load keys of which some rows may stay. */
async function replacedImports(
  rewriting: Rewriting,
  replacement: SliceReplacement,
  bundles: readonly Bundle[],
): Promise<string> {
  const { main } = rewriting.pipeline;
  const { slice, partial } = replacement;
  const window = windowOf(slice);
  if (window === undefined || partial.length === 0) return 'false';
  const instant = instantColumn(main);
  const isInside = `${instant} >= ${timestampLiteral(window.start)} AND ${instant} < ${timestampLiteral(window.end)}`;
  if (!hasEvents(main)) return isInside;
  const reached = bundles.filter((bundle) => bundle.main.loadKeys.some((key) => partial.includes(key)));
  const ids = await replacedUndated(rewriting, replacement, window, reached);
  const undated = ids.length === 0 ? 'false' : `event_id IN (${ids.map(literal).join(', ')})`;
  return `(posted_at IS NOT NULL AND ${isInside}) OR ${undated}`;
}

/** The ids of the events without a date that a slice replaces, among those that are of other days, too. */
async function replacedUndated(
  rewriting: Rewriting,
  { slice, snapshot, whole, partial }: SliceReplacement,
  window: Window,
  reached: readonly Bundle[],
): Promise<string[]> {
  const { workspace, pipeline } = rewriting;
  const paths: string[] = [];
  for (const { table, read } of slice.files) {
    if (table === pipeline.main) paths.push(await workspace.writeLocal(await read()));
  }
  if (paths.length === 0) return [];
  const rows = await workspace.database.rows(
    'SELECT event_id, content_hash, epoch_ms(window_start) AS start, epoch_ms(window_end) AS "end" FROM ' +
      `${rowsIn(await mainPaths(rewriting, reached))} WHERE posted_at IS NULL ORDER BY event_id`,
  );
  const events = rows
    .map((row) => ({
      id: String(row['event_id']),
      content: String(row['content_hash']),
      start: Number(row['start']),
      end: Number(row['end']),
    }))
    .filter((event) => partial.includes(importedKey(event)));
  if (events.length === 0) return [];
  const incoming = `FROM ${rowsIn(paths)}`;
  // A refresh replaces only as many as it has more than before.
  const replaced = await fetchFiles(
    rewriting,
    snapshot.filesWith(slice.main.name, slice.account, slice.pipeline, whole),
  );
  const stored =
    replaced.length === 0 ? `${incoming} WHERE false` : `FROM ${rowsIn(replaced)} WHERE ${loadKeyCondition(whole)}`;
  const left = await workspace.database.rows(statementOver({ incoming_: incoming, stored_: stored }, undatedContents));
  const timesOf = new Map(left.map(({ content_hash, times }) => [String(content_hash), Number(times)]));
  return [...groupBy(events, ({ content }) => content)].flatMap(([content, equal]) =>
    replacedEvents(equal, timesOf.get(content) ?? 0, window).map(({ id }) => id),
  );
}

function mainPaths(rewriting: Rewriting, bundles: readonly Bundle[]): Promise<string[]> {
  return fetchFiles(
    rewriting,
    bundles.map(({ main }) => main),
  );
}

/** Writes the rows of a bundle that a slice doesn't replace, unless it replaces none. */
async function remainderOfBundle(
  rewriting: Rewriting,
  { whole, partial }: SliceReplacement,
  ofPartial: string,
  bundle: Bundle,
): Promise<Remainder> {
  const { workspace, pipeline } = rewriting;
  const { main } = pipeline;
  const local = new Map<Table, readonly string[]>();
  const tables = filesByTable(pipeline, [bundle]);
  const mains = await mainPaths(rewriting, [bundle]);
  const keys = bundle.main.loadKeys;
  const reached = keys.filter((key) => partial.includes(key));
  const gone = keys.filter((key) => whole.includes(key));
  const isGone = loadKeyCondition(gone);
  const condition = reached.length === 0 ? isGone : `(${isGone} OR (${loadKeyCondition(reached)} AND (${ofPartial})))`;
  const count = (rows: string) => countRows(workspace.database, mains[0] ?? '', rows);
  // A file may name a load key that has no row in it: of what was forgotten, or of a slice with rows in other files alone.
  if (gone.length === 0 && (await count(condition)) === 0) return noRemainder;
  const ofImports = loadKeyCondition(keys.filter((key) => spanIn('imported', key) !== undefined));
  const importedRows = await count(`${condition} AND ${ofImports}`);
  const kept: string[] = [];
  for (const key of keys) {
    if (gone.includes(key)) continue;
    if (!reached.includes(key) || (await count(`${loadKeyCondition([key])} AND NOT ${condition}`)) > 0) kept.push(key);
  }
  for (const { table, files } of tables) local.set(table, table === main ? mains : await fetchFiles(rewriting, files));
  /** In SQL: the rows of a table in a range, each with whether the slice replaces it. */
  const markedRows = (table: Table, range = 'true'): string => {
    const rows = `FROM ${rowsIn(local.get(table) ?? [], ', file_row_number = true')} WHERE ${range}`;
    const marked = (from: string) => `SELECT *, (${condition}) AS "is replaced" ${from}`;
    if (table.row !== 'entry') return marked(rows);
    return statementOver({ events_: marked(`FROM ${rowsIn(mains)}`), entries_: rows }, replacedEntries);
  };
  const written = tables.map(({ table, files }) => ({
    table,
    write: async (metadata: ReadonlyMap<string, string>) => {
      const paths = local.get(table) ?? [];
      const columns = await columnList(workspace.database, table, paths);
      const select = (range: string) =>
        `SELECT ${columns} FROM (${markedRows(table, range)}) WHERE NOT "is replaced" ORDER BY file_row_number`;
      const file = await sortedFile(workspace, table, { paths, metadata, select }, {});
      const [counted] = await workspace.database.rows(
        `SELECT count(*) AS rows FROM (${markedRows(table)}) WHERE "is replaced"`,
      );
      // No row is both, and none is neither.
      checkRowCount(table, rowsOf(files), file.rows + Number(counted?.['rows']));
      return file;
    },
  }));
  const { main: of } = bundle;
  const { account, month } = of;
  const about = { pipeline, account, month, loadKeys: kept, dataChange: false };
  const files = await writeBundle(workspace, { ...about, key: of.path, of, tables: written });
  return { files, mains: [bundle.main], importedRows };
}
