import { addNets, netSumsIn, metadataOf } from '../../lake/files/new-file.js';
import type { Database } from '../../core/duckdb/connection.js';
import { literal, readParquet } from '../../core/duckdb/literals.js';
import { statementsOf } from '../../core/duckdb/sql-statements.js';
import type { PipelineTables, Table } from '../../core/columns/table.js';
import { count } from '../../core/count.js';
import { dayMs, overlap, type Window } from '../../core/windows.js';
import { copyRows, mostGroupRows, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { runOfDataFile } from '../../lake/data-files.js';
import { dayOf, importedKey } from '../../lake/loads/imported-spans.js';
import { entries, events } from '../../sources/finances/api-v0/event-tables.js';
import {
  storedRows,
  withStoredFiles,
  type ImportOptions,
  type ImportTarget,
  type StoredReading,
  type StoredRows,
} from './stored-imports.js';
import type { ImportResources } from './event-staging.js';
import type { StagedMonth } from './staged-months.js';
import unionTables from './month-union.sql';

/** A staged month of one input; inputs are numbered in their order. */
export interface InputMonth extends StagedMonth {
  readonly input: number;
}

/** What the lake lacks of a month. */
interface MonthUnion {
  readonly added: readonly StagedMonth[];
  /** How many events the lake has as often. */
  readonly known: number;
  /** Events of loaded windows that lack them, by the start of the day. */
  readonly leftOut: ReadonlyMap<number, number>;
  /** Inputs with an event that the lake, or an input before, has. */
  readonly shared: ReadonlySet<number>;
}

/** In SQL: which one an event is of equal ones, by the end of its id. */
export const nthInId = "coalesce(TRY_CAST(split_part(event_id, '-', 2) AS INTEGER), 1)";

/**
 * Compares the staged events of a month, which all have dates, with each other and with the lake. Afterwards the lake has as many equal
 * events as the source that has most, and none within loaded windows. What a single input has is added as it is.
 *
 * @throws LedgerlakeError LAKE_STORE, SQL where a stored file is missing or damaged; the signal's reason
 */
export async function uniteMonth(
  target: ImportOptions,
  pipeline: PipelineTables,
  resources: ImportResources & StoredReading,
  stored: StoredRows,
  staged: readonly InputMonth[],
): Promise<MonthUnion> {
  const { workspace, positions } = resources;
  if (stored.keys.length === 0 && !haveRepeats(staged))
    return { added: staged, known: 0, leftOut: new Map(), shared: new Set() };
  const { database } = workspace;
  await withStoredFiles(target, resources, stored.files, (paths) =>
    createTables(database, staged, paths, stored.loaded),
  );
  const lasts = await database.rows('SELECT epoch_ms(window_start) AS day, next_position FROM next_positions');
  for (const { day, next_position: next } of lasts) positions.skip(dayOf(Number(day)), Number(next));
  const moved = new Set(lasts.map(({ day }) => Number(day)));
  const counted = await database.rows(
    'SELECT file, count(*) FILTER (NOT is_kept) AS dropped, count(*) FILTER (is_kept AND nth_in_id <> nth) AS renumbered, ' +
      'count(*) FILTER (NOT is_kept AND (nth <= times OR NOT is_loaded)) AS known FROM compared_events GROUP BY file',
  );
  const added: StagedMonth[] = [];
  const byFile = new Map(counted.map((row) => [Number(row['file']), row]));
  let known = 0;
  for (const [file, month] of staged.entries()) {
    target.signal.throwIfAborted();
    const found = byFile.get(file);
    const dropped = Number(found?.['dropped'] ?? 0);
    known += Number(found?.['known'] ?? 0);
    if (dropped === month.events.rows) continue;
    const isWhole = dropped + Number(found?.['renumbered'] ?? 0) === 0;
    const isInPlace = month.spans.every(({ start }) => !moved.has(start));
    added.push(isWhole && isInPlace ? month : await keptMonth(target, pipeline, workspace, { ...month, file }));
  }
  const leftOut = new Map<number, number>();
  for (const { day, rows } of await database.rows(
    'SELECT epoch_ms(window_start) AS day, count(*) AS rows FROM compared_events WHERE is_loaded AND nth > times GROUP BY ALL',
  ))
    count(leftOut, Number(day), Number(rows));
  const shared = await database.rows('SELECT DISTINCT input FROM compared_events WHERE times > 0 OR is_double');
  return { added, known, leftOut, shared: new Set(shared.map(({ input }) => Number(input))) };
}

/** Whether two files may have the same event: some fingerprint is in both. */
function haveRepeats(staged: readonly InputMonth[]): boolean {
  if (staged.length === 1) return false;
  const all = new BigUint64Array(staged.reduce((sum, { fingerprints }) => sum + fingerprints.length, 0));
  let at = 0;
  for (const { fingerprints } of staged) {
    all.set(fingerprints, at);
    at += fingerprints.length;
  }
  all.sort();
  return all.some((fingerprint, index) => index > 0 && fingerprint === all[index - 1]);
}

/** The inputs with an event that another run has added since their months were compared: `stored` is what the lake has of their days. */
export async function sharedMeanwhile(
  target: ImportTarget,
  resources: StoredReading,
  stored: StoredRows,
  months: readonly InputMonth[],
): Promise<ReadonlySet<number>> {
  const others = stored.files.filter((file) => runOfDataFile(file.lakePath) !== target.lake.run);
  if (others.length === 0) return new Set();
  const staged = readParquet(
    months.map((month) => month.events.path),
    'filename = true',
  );
  const rows = await withStoredFiles(target, resources, others, (paths) =>
    resources.workspace.database.rows(
      `SELECT DISTINCT input FROM ${staged} AS found JOIN ${inputsOf(months)} ON found.filename = files.path ` +
        `WHERE content_hash IN (SELECT content_hash FROM ${rowsIn(paths)} WHERE posted_at IS NOT NULL)`,
    ),
  );
  return new Set(rows.map(({ input }) => Number(input)));
}

/** What a snapshot has of the days of staged months, as imported, and by loaded windows. */
export function storedOfMonths(
  snapshot: Snapshot,
  account: string,
  pipeline: PipelineTables,
  months: readonly InputMonth[],
): StoredRows {
  const days = new Set(months.flatMap(({ spans }) => spans.map(({ start }) => start)));
  const range = { start: Math.min(...days), end: Math.max(...days) + dayMs };
  return storedRows(snapshot, account, pipeline, (window, { origin }) =>
    origin === 'import' ? window.end - window.start === dayMs && days.has(window.start) : overlap(window, range),
  );
}

/** In SQL: the table `files` of the staged months' files, numbered as they are, with their inputs. */
function inputsOf(months: readonly InputMonth[]): string {
  const values = months.map(({ events: { path }, input }, file) => `(${literal(path)}, ${file}, ${input})`);
  return `(VALUES ${values.join(', ')}) AS files(path, file, input)`;
}

/** Creates the tables of `month-union.sql`. `stored`: paths of files. */
async function createTables(
  database: Database,
  staged: readonly InputMonth[],
  stored: readonly string[],
  loaded: readonly Window[],
): Promise<void> {
  const files = readParquet(
    staged.map(({ events: { path } }) => path),
    'filename = true',
    'file_row_number = true',
  );
  const windows = JSON.stringify(loaded.map(({ start, end }) => ({ start, end })));
  const tables = [
    `VIEW staged_events AS SELECT found.*, file_row_number AS row, ${nthInId} AS nth_in_id, file, input FROM ${files} AS found ` +
      `JOIN ${inputsOf(staged)} ON found.filename = files.path`,
    `VIEW stored_events AS FROM ${stored.length === 0 ? 'staged_events LIMIT 0' : rowsIn(stored)}`,
    'TABLE loaded_windows AS SELECT make_timestamptz(start * 1000) AS window_starts, make_timestamptz("end" * 1000) AS window_ends ' +
      `FROM (SELECT unnest(from_json(${literal(windows)}, '[{"start": "BIGINT", "end": "BIGINT"}]'), recursive := true))`,
  ];
  for (const table of tables) await database.execute(`CREATE OR REPLACE TEMP ${table}`);
  for (const statement of statementsOf(unionTables)) await database.execute(statement);
}

/** Writes the kept events of a staged month, with the ends of their ids and their positions. */
async function keptMonth(
  { account }: ImportTarget,
  pipeline: PipelineTables,
  { database, newPath }: Workspace,
  { file, month, ...staged }: StagedMonth & { readonly file: number },
): Promise<StagedMonth> {
  const rows = (path: string) => `${rowsIn([path], ', file_row_number = true')} AS staged`;
  const kept =
    `FROM ${rows(staged.events.path)} LEFT JOIN (SELECT * FROM compared_events WHERE file = ${file}) AS found ` +
    'ON found.row = staged.file_row_number LEFT JOIN next_positions ON next_positions.window_start = staged.window_start ' +
    'WHERE found.is_kept IS DISTINCT FROM false';
  const days = await database.rows(`SELECT DISTINCT epoch_ms(staged.window_start) AS day ${kept} ORDER BY day`);
  const spans = days.map(({ day }) => dayOf(Number(day)));
  const metadata = metadataOf(pipeline.name, { account, loadKeys: spans.map(importedKey) });
  const write = (table: Table, select: string): Promise<LocalParquet> =>
    copyRows(database, table, { select, target: newPath(), metadata, groupRows: mostGroupRows });
  const id =
    'CASE WHEN found.nth IS NULL THEN staged.event_id WHEN found.nth = 1 THEN staged.content_hash ' +
    "ELSE staged.content_hash || '-' || found.nth END";
  const position = 'staged.position + coalesce(next_positions.next_position, 0)';
  const order = 'ORDER BY staged.file_row_number';
  const main = await write(
    events,
    `SELECT staged.* EXCLUDE (file_row_number) REPLACE (${id} AS event_id, ${position} AS position) ${kept} ${order}`,
  );
  const derived =
    staged.entries &&
    (await write(
      entries,
      `SELECT staged.* EXCLUDE (file_row_number) REPLACE (ids.new_id AS event_id) FROM ${rows(staged.entries.path)} ` +
        `JOIN (SELECT staged.event_id, ${id} AS new_id ${kept}) AS ids ON staged.event_id = ids.event_id ${order}`,
    ));
  const filled = derived !== undefined && derived.rows > 0 ? derived : undefined;
  const net = filled === undefined ? {} : addNets([await netSumsIn(database, [filled.path])]);
  return { month, spans, events: main, entries: filled, net, fingerprints: staged.fingerprints };
}
