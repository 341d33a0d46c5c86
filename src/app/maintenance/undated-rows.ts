import type { Clock } from '../../core/clock.js';
import { literal } from '../../core/duckdb/literals.js';
import { LedgerlakeError } from '../../core/errors.js';
import { dayStart, monthOf } from '../../core/windows.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import type { Add } from '../../lake/delta/actions.js';
import { DamagedFile } from '../../lake/delta/file-tags.js';
import { importSpansTag, loadKeysOf } from '../../lake/delta/file-tags.js';
import type { Family } from '../../core/columns/table.js';
import { columnList, expectRows, rowsIn, writeRows, type LocalParquet } from '../../lake/files/local-parquet.js';
import { addNets, sharedTags, netSumsOfFile } from '../../lake/files/new-file.js';
import { metadataOf, newFile, type FileTarget } from '../../lake/files/new-file.js';
import { hasColumn, sortedFile } from '../../lake/files/sorted-file.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { Lake, SliceCommit } from '../../lake/lake.js';
import { importedKey, importedWindows } from '../../lake/loads/imported-days.js';
import { loadTxns } from '../../lake/loads/load-keys.js';
import { restoreSwapped } from '../../lake/transaction/references.js';
import { commitTransaction, type NewFile } from '../../lake/transaction/transaction.js';
import { bundlesOf, replacing, type Bundle } from './file-bundles.js';
import { fetchFiles } from './merge.js';
import { numberInId, planMoves, reachesInto, type Move } from './undated-moves.js';

/**
 * Moves imported events without a date before a slice takes the place of imported days: nothing but the page that it stood
 * on tells the day of such an event. The slice's window was read in full. So one that the answer has belongs into the window,
 * as many as it has, and goes with the days of it, unless it stands outside of a window that goes on beyond the days of its
 * import; one that it lacks belongs to a day of its import that no window was loaded
 * for, if one is left. It is a commit of its own, and the lake has as many events as before.
 *
 * @throws DamagedFile where a file with such events is damaged
 */
export async function moveUndated(
  lake: Lake,
  clock: Clock,
  workspace: Workspace,
  family: Family,
  slice: SliceCommit,
): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const { version } = lake.table(family.main.name).snapshot;
    try {
      return await isMoved(lake, clock, workspace, family, slice);
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
      // Another run may have replaced the file since its name was read.
      await lake.refresh();
      if (lake.table(family.main.name).snapshot.version === version) throw error;
      return false;
    }
  };
  for (let attempt = 1; !(await isDone()); attempt++) {
    if (attempt === mostAttempts) {
      const message = `expected to move imported events of ${slice.name}, other runs changed their files each time; run the same command again`;
      throw new LedgerlakeError('LAKE_CONFLICT', message);
    }
    await lake.refresh();
  }
}

/** Changes of other runs that it puts up with before it gives up. */
const mostAttempts = 5;

/** Whether all are where they belong now; else another run has changed their files meanwhile. */
async function isMoved(
  lake: Lake,
  clock: Clock,
  workspace: Workspace,
  family: Family,
  slice: SliceCommit,
): Promise<boolean> {
  const { main } = family;
  if (!['posted_at', 'content_hash', 'effective_at', 'event_list', 'raw'].every((column) => hasColumn(main, column)))
    return true;
  // What an answer without events says is refused, or that there are none at all.
  if (!slice.files.some(({ table }) => table === main)) return true;
  const touched = () => bundlesOf(lake, family, slice.account).filter(({ main: add }) => reachesInto(slice, add));
  if (!touched().every(({ isWhole }) => isWhole)) {
    // A run that died on the way left it so.
    await lake.refresh();
    await restoreSwapped(lake.tables, Infinity, clock.now());
  }
  const state = () => {
    const loaded = loadedWindows(lake, family.pipeline, main.name, slice.account);
    return JSON.stringify([loaded, touched().map(({ main: add }) => add.path)]);
  };
  const bundles = touched().filter(({ isWhole }) => isWhole);
  const before = state();
  if (bundles.length === 0) return true;
  const moves = await planMoves(lake, workspace, family, slice, bundles);
  if (moves.length === 0) return true;
  const moving = bundles.filter(({ main: add }) => moves.some(({ row }) => row.file === add.path));
  const files: NewFile[] = [];
  const now = clock.now();
  await putMoves(lake, workspace, family, slice.account, moves);
  for (const bundle of moving) files.push(...(await restOf(lake, workspace, family, bundle, now)));
  files.push(...(await movedFiles(lake, workspace, family, slice.account, moving, moves, now)));
  const unchanged = replacing(moving);
  const moved = await commitTransaction(lake, clock, {
    operation: 'SPLIT',
    main,
    files: files.map((file) => ({ ...file, add: { ...file.add, dataChange: true } })),
    swaps: true,
    decide: (snapshot) => {
      const decision = state() === before ? unchanged(snapshot) : undefined;
      const target = { pipeline: slice.pipeline, account: slice.account, loadKeys: keysOf(moves), refresh: true };
      return decision && { ...decision, actions: loadTxns(snapshot, target, clock.now()) };
    },
  });
  return moved.taken;
}

/** Puts into the table `moves_` which event moves where: its ids, its instants and its place there. */
async function putMoves(
  lake: Lake,
  workspace: Workspace,
  { pipeline, main }: Family,
  account: string,
  moves: readonly Move[],
): Promise<void> {
  const { database } = workspace;
  const days = [...new Set(moves.map(({ to }) => dayStart(to)))];
  const ofDays = importedWindows(lake.table(main.name).snapshot, pipeline, account).filter(({ start }) =>
    days.includes(dayStart(start)),
  );
  const adds = lake.table(main.name).snapshot.filesWith(account, pipeline, ofDays.map(importedKey));
  const held = await fetchFiles(lake, workspace, main, adds);
  const columns = 'content_hash, posted_at, event_id, window_start, position';
  const present =
    held.length === 0
      ? "SELECT NULL::VARCHAR AS content_hash, NULL::TIMESTAMPTZ AS posted_at, '' AS event_id, NULL::TIMESTAMPTZ AS window_start, 0 AS position WHERE false"
      : `SELECT ${columns} FROM ${rowsIn(held)}`;
  const values = moves.map(
    ({ row, to }) => `(${literal(row.eventId)}, ${literal(row.contentHash)}, ${to}, ${dayStart(to)})`,
  );
  await database.execute(`CREATE OR REPLACE TEMP TABLE present_ AS ${present}`);
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE moves_ AS WITH moved AS (SELECT * FROM (VALUES ${values.join(', ')}) AS t(event_id, content_hash, to_, day)), ` +
      `equal AS (SELECT content_hash, epoch_ms(window_start) AS day, max(${numberInId}) AS last FROM present_ ` +
      'WHERE posted_at IS NULL AND event_id NOT IN (SELECT event_id FROM moved) GROUP BY ALL), ' +
      'places AS (SELECT epoch_ms(window_start) AS day, max(position) AS place FROM present_ GROUP BY ALL) ' +
      'SELECT event_id, make_timestamp(to_ * 1000)::TIMESTAMPTZ AS to_, make_timestamp(day * 1000)::TIMESTAMPTZ AS day, ' +
      'coalesce(last, 0) + row_number() OVER (PARTITION BY content_hash, day ORDER BY event_id) AS number, ' +
      'coalesce(place, -1) + row_number() OVER (PARTITION BY day ORDER BY to_, event_id) AS place ' +
      'FROM moved LEFT JOIN equal USING (content_hash, day) LEFT JOIN places USING (day)',
  );
}

/** A bundle's files without what moves. */
async function restOf(
  lake: Lake,
  workspace: Workspace,
  family: Family,
  bundle: Bundle,
  now: number,
): Promise<NewFile[]> {
  const { account = '', month = '' } = bundle.main.partitionValues;
  const place: FileTarget = { family, account: account ?? '', month: month ?? '', loadKeys: loadKeysOf(bundle.main) };
  const files: NewFile[] = [];
  const nets = [];
  for (const { table, adds } of tablesOf(family, bundle)) {
    const paths = await fetchFiles(lake, workspace, table, adds);
    const columns = await columnList(workspace.database, table, paths);
    const local = await sortedFile(
      workspace,
      table,
      {
        paths,
        metadata: metadataOf(place),
        select: (range) =>
          `SELECT ${columns} FROM ${rowsIn(paths, ', file_row_number = true')} ` +
          `WHERE event_id NOT IN (SELECT event_id FROM moves_) AND ${range} ORDER BY file_row_number`,
      },
      {},
    );
    if (local.rows === 0) continue;
    const net = await netSumsOfFile(workspace.database, table, local.path);
    if (table !== family.main) nets.push(net);
    const tags = {
      ...sharedTags([bundle.main.tags ?? {}]),
      net: JSON.stringify(addNets(table === family.main ? nets : [net])),
    };
    files.push({ ...(await newFile(table, place, local, tags, now)), bundle: bundle.main.path });
  }
  return files.some(({ table }) => table === family.main) ? files : [];
}

/** What moves, as files of the months that it moves to, for each span of imports by itself (see `importSpansOf`). */
async function movedFiles(
  lake: Lake,
  workspace: Workspace,
  family: Family,
  account: string,
  bundles: readonly Bundle[],
  moves: readonly Move[],
  now: number,
): Promise<NewFile[]> {
  const { database } = workspace;
  const files: NewFile[] = [];
  const counts = new Map<string, number>();
  const groups = new Map<string, Move[]>();
  for (const move of moves) {
    const { first, last } = move.row.importSpan;
    const key = `${monthOf(move.to)} ${first} ${last}`;
    groups.set(key, [...(groups.get(key) ?? []), move]);
  }
  for (const [key, own] of groups) {
    const month = monthOf(own[0]?.to ?? NaN);
    const ids = own.map(({ row }) => literal(row.eventId)).join(', ');
    const place: FileTarget = { family, account, month, loadKeys: keysOf(own) };
    const nets = [];
    const main = await fetchFiles(
      lake,
      workspace,
      family.main,
      bundles.map((bundle) => bundle.main),
    );
    await database.execute(
      'CREATE OR REPLACE TEMP TABLE moved_ids_ AS SELECT old.event_id AS old_, moves_.to_, moves_.day, moves_.place, ' +
        "left(sha256(old.event_list || chr(0) || old.raw || chr(0) || strftime(moves_.day AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.000Z')), 32) " +
        "|| CASE WHEN moves_.number = 1 THEN '' ELSE '-' || moves_.number END AS new_ " +
        `FROM ${rowsIn(main)} AS old JOIN moves_ USING (event_id) WHERE event_id IN (${ids})`,
    );
    for (const table of [...family.derived, family.main]) {
      const adds = bundles.flatMap((bundle) => tablesOf(family, bundle).find((of) => of.table === table)?.adds ?? []);
      if (adds.length === 0) continue;
      const paths = await fetchFiles(lake, workspace, table, adds);
      const changed: Readonly<Record<string, string>> = {
        event_id: 'moved_ids_.new_',
        effective_at: 'moved_ids_.to_',
        window_start: 'moved_ids_.day',
        window_end: 'moved_ids_.day + INTERVAL 24 HOUR',
        position: 'moved_ids_.place',
      };
      const replaced = Object.entries(changed).filter(([name]) => hasColumn(table, name));
      const columns = await columnList(database, table, paths, 'old.');
      const order = table === family.main ? '' : ', entry';
      const local: LocalParquet = await writeRows(database, table, {
        select:
          `SELECT * EXCLUDE (place_, ${replaced.map(([name]) => `moved_${name}`).join(', ')}) ` +
          `REPLACE (${replaced.map(([name]) => `moved_${name} AS ${name}`).join(', ')}) FROM (SELECT ${columns}, ` +
          `${replaced.map(([name, value]) => `${value} AS moved_${name}`).join(', ')}, moved_ids_.place AS place_ ` +
          `FROM ${rowsIn(paths)} AS old JOIN moved_ids_ ON old.event_id = moved_ids_.old_) ` +
          `ORDER BY moved_effective_at, place_${order}`,
        target: workspace.fresh(),
        metadata: metadataOf(place),
        groupRows: 128 * 1024,
      });
      if (local.rows === 0) continue;
      counts.set(table.name, (counts.get(table.name) ?? 0) + local.rows);
      const net = await netSumsOfFile(database, table, local.path);
      if (table !== family.main) nets.push(net);
      const tags = {
        pipeline: family.pipeline,
        account,
        ...importSpansTag(own.map(({ row }) => row.importSpan)),
        net: JSON.stringify(addNets(table === family.main ? nets : [net])),
      };
      files.push({ ...(await newFile(table, place, local, tags, now)), bundle: `moved ${key}` });
    }
  }
  expectRows(family.main, moves.length, counts.get(family.main.name) ?? 0);
  return files;
}

/** A bundle's tables, the main one last, with its files of each. */
function tablesOf({ main, derived }: Family, bundle: Bundle): { table: Family['main']; adds: readonly Add[] }[] {
  return [
    ...derived.map((table) => ({
      table,
      adds: bundle.derived.filter((of) => of.table === table).map(({ add }) => add),
    })),
    { table: main, adds: [bundle.main] },
  ].filter(({ adds }) => adds.length > 0);
}

/** The load keys that what moves has from then on. */
function keysOf(moves: readonly Move[]): string[] {
  return [...new Set(moves.map(({ loadKey }) => loadKey))].toSorted();
}
