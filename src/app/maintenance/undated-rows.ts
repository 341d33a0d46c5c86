import { literal } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { dayStart, monthOf } from '../../core/windows.js';
import { loadedWindows, windowKey } from '../../engine/slicing/window-slices.js';
import type { Table } from '../../core/columns/table.js';
import { DamagedFile, importSpansTag, loadKeysOf, rowsInLog } from '../../lake/delta/file-tags.js';
import { columnList, checkRowCount, rowsIn, copyRows, mostGroupRows } from '../../lake/files/local-parquet.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import type { SliceCommit } from '../../lake/lake.js';
import { importedKey, importedWindows } from '../../lake/loads/imported-days.js';
import { keyChange } from '../../lake/loads/load-keys.js';
import type { NewFile } from '../../lake/commit-files.js';
import {
  bundlesOf,
  fetchFiles,
  replacing,
  tablesOf,
  fileTargetOf,
  writeBundle,
  writeFiltered,
  type Bundle,
  type Rewriting,
} from './file-bundles.js';
import { mainPaths, numberInId, planMoves, reachesInto, type Move } from './undated-moves.js';

/**
 * Moves imported events without a date before a slice replaces imported days. Only the page of such an event shows its day, and the
 * slice has read its window in full, so there are two cases:
 *
 * - An event in the answer belongs to the window, as often as the answer has it, and is replaced with its days. It stays where it is
 *   outside of a window that extends beyond the days of its import.
 * - An event that the answer lacks belongs to a day of its import without a loaded window, if there is one.
 *
 * The moves are a separate commit, which keeps the number of events.
 *
 * @throws DamagedFile where a file with such events is damaged
 */
export async function moveUndated(rewriting: Rewriting, slice: SliceCommit): Promise<void> {
  const { lake } = rewriting;
  const isDone = async (): Promise<boolean> => {
    const { version } = lake.snapshot;
    try {
      return await tryMove(rewriting, slice);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      // Another run may have replaced the file since its path was read.
      await lake.refresh();
      if (lake.snapshot.version === version) throw error;
      return false;
    }
  };
  for (let attempt = 1; !(await isDone()); attempt++) {
    if (attempt === mostAttempts) {
      const message = `expected to move imported events of ${slice.name}, got conflicts with other runs each time; run the same command again`;
      throw new LedgerlakeError('LAKE_CONFLICT', message);
    }
    await lake.refresh();
  }
}

/** Attempts to move events whose files other runs change each time. */
const mostAttempts = 5;

/** Moves the events of a slice; false where another run has changed their files meanwhile. */
async function tryMove(rewriting: Rewriting, slice: SliceCommit): Promise<boolean> {
  const { lake, clock, family } = rewriting;
  const { main } = family;
  if (!['posted_at', 'content_hash', 'effective_at', 'event_list', 'raw'].every((column) => hasColumn(main, column)))
    return true;
  // An answer without events is refused, or accepted as an empty window.
  if (!slice.files.some(({ table }) => table === main)) return true;
  const touched = (snapshot: Snapshot) =>
    bundlesOf({ snapshot }, family, slice.account).filter(({ main: add }) => reachesInto(slice, add));
  const state = (snapshot: Snapshot) => {
    const loaded = loadedWindows({ snapshot }, family.pipeline, slice.account);
    return JSON.stringify([loaded, touched(snapshot).map(({ main: add }) => add.path)]);
  };
  const bundles = touched(lake.snapshot);
  const before = state(lake.snapshot);
  if (bundles.length === 0) return true;
  const moves = await planMoves(rewriting, slice, bundles);
  if (moves.length === 0) return true;
  const moving = bundles.filter(({ main: add }) => moves.some(({ row }) => row.file === add.path));
  await createMovesTable(rewriting, slice, moves);
  const files: NewFile[] = [];
  for (const bundle of moving) files.push(...(await remainingFiles(rewriting, bundle)));
  files.push(...(await movedFiles(rewriting, slice.account, moving, moves)));
  const unchanged = replacing(family, moving);
  const moved = await lake.commitFiles({
    operation: 'SPLIT',
    main,
    files: files.map((file) => ({ ...file, add: { ...file.add, dataChange: true } })),
    decide: (snapshot) => {
      const decision = state(snapshot) === before ? unchanged(snapshot) : undefined;
      const target = { pipeline: slice.pipeline, account: slice.account, loadKeys: keysOf(moves), refresh: true };
      return decision && { ...decision, keys: keyChange(snapshot, target, clock.now(), { origin: 'import' }) };
    },
  });
  return moved.isCommitted;
}

/** Creates the table `moves_` with the new day, instant, number and position of each event. */
async function createMovesTable(rewriting: Rewriting, slice: SliceCommit, moves: readonly Move[]): Promise<void> {
  const { lake, workspace, family } = rewriting;
  const { account } = slice;
  const { pipeline, main } = family;
  const { database } = workspace;
  const { snapshot } = lake.table(main.name);
  const days = [...new Set(moves.map(({ to }) => dayStart(to)))];
  const ofDays = importedWindows(lake.snapshot, pipeline, account).filter(({ start }) =>
    days.includes(dayStart(start)),
  );
  const stored = await fetchFiles(rewriting, main, snapshot.filesWith(account, pipeline, ofDays.map(importedKey)));
  // A window that starts with a day has ids of that day too.
  const windows = loadedWindows(lake, pipeline, account).filter(({ start }) => days.includes(start));
  const loaded = await fetchFiles(rewriting, main, snapshot.filesWith(account, pipeline, windows.map(windowKey)));
  const columns = 'content_hash, posted_at, event_id, window_start';
  const present = [
    ...(stored.length === 0 ? [] : [`SELECT ${columns}, position, true AS is_imported FROM ${rowsIn(stored)}`]),
    ...[loaded, await mainPaths(rewriting, slice)]
      .filter((paths) => paths.length > 0)
      .map((paths) => `SELECT ${columns}, NULL AS position, false AS is_imported FROM ${rowsIn(paths)}`),
  ].join(' UNION ALL ');
  const values = moves.map(
    ({ row, to }) => `(${literal(row.eventId)}, ${literal(row.contentHash)}, ${to}, ${dayStart(to)})`,
  );
  await database.execute(`CREATE OR REPLACE TEMP TABLE present_ AS ${present}`);
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE moves_ AS WITH moved AS (SELECT * FROM (VALUES ${values.join(', ')}) AS t(event_id, content_hash, to_, day)), ` +
      `equal AS (SELECT content_hash, epoch_ms(window_start) AS day, max(${numberInId}) AS last FROM present_ ` +
      'WHERE posted_at IS NULL AND NOT (is_imported AND event_id IN (SELECT event_id FROM moved)) GROUP BY ALL), ' +
      'positions AS (SELECT epoch_ms(window_start) AS day, max(position) AS position FROM present_ GROUP BY ALL) ' +
      'SELECT event_id, make_timestamp(to_ * 1000)::TIMESTAMPTZ AS to_, make_timestamp(day * 1000)::TIMESTAMPTZ AS day, ' +
      'coalesce(last, 0) + row_number() OVER (PARTITION BY content_hash, day ORDER BY event_id) AS number, ' +
      'coalesce(position, -1) + row_number() OVER (PARTITION BY day ORDER BY to_, event_id) AS new_position ' +
      'FROM moved LEFT JOIN equal USING (content_hash, day) LEFT JOIN positions USING (day)',
  );
}

/** A bundle's files without the events that move. */
async function remainingFiles(rewriting: Rewriting, bundle: Bundle): Promise<NewFile[]> {
  const { workspace, family, clock } = rewriting;
  const tables = tablesOf(family, [bundle]).map(({ table, adds }) => ({
    table,
    write: async (metadata: ReadonlyMap<string, string>) => {
      const paths = await fetchFiles(rewriting, table, adds);
      return writeFiltered(workspace, table, paths, 'event_id NOT IN (SELECT event_id FROM moves_)', metadata);
    },
  }));
  const target = fileTargetOf(family, bundle.main, loadKeysOf(bundle.main));
  const tags = { net: '{}', ...bundle.main.tags };
  return writeBundle(workspace, { target, key: bundle.main.path, tags, tables }, clock.now());
}

/** The files of the moved events, by their new month and their import span (see `importSpansOf`). */
async function movedFiles(
  rewriting: Rewriting,
  account: string,
  bundles: readonly Bundle[],
  moves: readonly Move[],
): Promise<NewFile[]> {
  const { workspace, family, clock } = rewriting;
  const { main, pipeline } = family;
  const tables: { table: Table; paths: string[] }[] = [];
  for (const { table, adds } of tablesOf(family, bundles)) {
    tables.push({ table, paths: await fetchFiles(rewriting, table, adds) });
  }
  const mains = tables.find(({ table }) => table === main)?.paths ?? [];
  const groups = groupBy(
    moves,
    ({ to, row: { importSpan } }) => `${monthOf(to)} ${importSpan.first} ${importSpan.last}`,
  );
  const files: NewFile[] = [];
  for (const [key, group] of groups) {
    const ids = group.map(({ row }) => literal(row.eventId)).join(', ');
    await workspace.database.execute(
      'CREATE OR REPLACE TEMP TABLE moved_ids_ AS SELECT old.event_id AS old_, moves_.to_, moves_.day, moves_.new_position, ' +
        "left(sha256(old.event_list || chr(0) || old.raw || chr(0) || strftime(moves_.day AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.000Z')), 32) " +
        "|| CASE WHEN moves_.number = 1 THEN '' ELSE '-' || moves_.number END AS new_ " +
        `FROM ${rowsIn(mains)} AS old JOIN moves_ USING (event_id) WHERE event_id IN (${ids})`,
    );
    const spans = importSpansTag(group.map(({ row }) => row.importSpan));
    const bundle = {
      target: { family, account, month: monthOf(group[0]?.to ?? NaN), loadKeys: keysOf(group) },
      key: `moved ${key}`,
      tags: { pipeline, account, ...spans, net: '{}' },
      tables: tables.map(({ table, paths }) => ({
        table,
        write: (metadata: ReadonlyMap<string, string>) => writeMoved(rewriting, table, paths, metadata),
      })),
    };
    files.push(...(await writeBundle(workspace, bundle, clock.now())));
  }
  checkRowCount(main, moves.length, rowsInLog(files.filter(({ table }) => table === main).map(({ add }) => add)));
  return files;
}

/** In SQL: the new values of a moved event, by column, from the table `moved_ids_`. */
const changedColumns: Readonly<Record<string, string>> = {
  event_id: 'moved_ids_.new_',
  effective_at: 'moved_ids_.to_',
  window_start: 'moved_ids_.day',
  window_end: 'moved_ids_.day + INTERVAL 24 HOUR',
  position: 'moved_ids_.new_position',
};

async function writeMoved(
  { workspace, family }: Rewriting,
  table: Table,
  paths: readonly string[],
  metadata: ReadonlyMap<string, string>,
) {
  const { database } = workspace;
  const changed = Object.entries(changedColumns).filter(([column]) => hasColumn(table, column));
  const columns = await columnList(database, table, paths, 'old.');
  const order = table === family.main ? '' : ', entry';
  return copyRows(database, table, {
    select:
      `SELECT * EXCLUDE (new_position_, ${changed.map(([column]) => `moved_${column}`).join(', ')}) ` +
      `REPLACE (${changed.map(([column]) => `moved_${column} AS ${column}`).join(', ')}) FROM (SELECT ${columns}, ` +
      `${changed.map(([column, value]) => `${value} AS moved_${column}`).join(', ')}, moved_ids_.new_position AS new_position_ ` +
      `FROM ${rowsIn(paths)} AS old JOIN moved_ids_ ON old.event_id = moved_ids_.old_) ` +
      `ORDER BY moved_effective_at, new_position_${order}`,
    target: workspace.newPath(),
    metadata,
    groupRows: mostGroupRows,
  });
}

function keysOf(moves: readonly Move[]): string[] {
  return [...new Set(moves.map(({ loadKey }) => loadKey))].toSorted();
}
