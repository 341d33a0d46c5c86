import { addNets, netSumsIn, metadataOf } from '../../lake/files/new-file.js';
import type { Database } from '../../core/duckdb/connection.js';
import { literal, readParquet, timestampLiteral } from '../../core/duckdb/literals.js';
import type { PipelineTables, Table } from '../../core/columns/table.js';
import { count } from '../../core/count.js';
import { dayMs, overlap, type Window } from '../../core/windows.js';
import { copyRows, mostGroupRows, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { lakePathOf } from '../../lake/catalog/change.js';
import type { StoredLoadKey } from '../../lake/catalog/load-key.js';
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
import type { EncodedStage, StagedMonth } from './staged-months.js';

/** A staged month of one input; inputs are numbered in their order. */
export interface InputMonth extends EncodedStage {
  readonly input: number;
}

/** What the lake lacks of a month. */
interface MonthUnion {
  readonly stored: StoredRows;
  readonly added: readonly StagedMonth[];
  /** How many events the lake has as often. */
  readonly known: number;
  /** Events of loaded windows that lack them, by the start of the day. */
  readonly leftOut: ReadonlyMap<number, number>;
  /** Inputs with an event that the lake, or an input before, has. */
  readonly shared: ReadonlySet<number>;
}

/** In SQL: the number of an event among equal ones, which is at the end of its id. */
export const numberInId = "coalesce(TRY_CAST(split_part(event_id, '-', 2) AS INTEGER), 1)";

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
  staged: readonly InputMonth[],
): Promise<MonthUnion> {
  const { workspace, positions } = resources;
  const days = new Set(staged.flatMap(({ spans }) => spans.map(({ start }) => start)));
  const stored = storedRows(target, pipeline, isOfDays(days));
  if (stored.keys.length === 0 && !haveRepeats(staged))
    return { stored, added: staged, known: 0, leftOut: new Map(), shared: new Set() };
  const { database } = workspace;
  await withStoredFiles(target, resources, stored.files, (paths) =>
    createTables(database, staged, paths, stored.loaded),
  );
  const lasts = await database.rows('SELECT epoch_ms(window_start) AS day, more FROM lasts_');
  for (const { day, more } of lasts) positions.skip(dayOf(Number(day)), Number(more));
  const moved = new Set(lasts.map(({ day }) => Number(day)));
  const counted = await database.rows(
    'SELECT file, count(*) FILTER (NOT is_kept) AS dropped, count(*) FILTER (is_kept AND number <> nth) AS renumbered, ' +
      'count(*) FILTER (NOT is_kept AND (nth <= times OR NOT is_loaded)) AS known FROM rows_ GROUP BY file',
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
    'SELECT epoch_ms(window_start) AS day, count(*) AS rows FROM rows_ WHERE is_loaded AND nth > times GROUP BY ALL',
  ))
    count(leftOut, Number(day), Number(rows));
  const shared = await database.rows('SELECT DISTINCT input FROM rows_ WHERE times > 0 OR is_double');
  return { stored, added, known, leftOut, shared: new Set(shared.map(({ input }) => Number(input))) };
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

/** The inputs with an event that another run has added since their months were compared, and what the lake has of their days. */
export async function sharedMeanwhile(
  target: ImportTarget,
  pipeline: PipelineTables,
  resources: StoredReading,
  months: readonly InputMonth[],
): Promise<{ readonly stored: StoredRows; readonly shared: ReadonlySet<number> }> {
  const { lake } = target;
  const days = new Set(months.flatMap(({ spans }) => spans.map(({ start }) => start)));
  const stored = storedRows(target, pipeline, isOfDays(days));
  const others = stored.files.filter((add) => runOfDataFile(lakePathOf(events.name, add)) !== lake.run);
  if (others.length === 0) return { stored, shared: new Set() };
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
  return { stored, shared: new Set(rows.map(({ input }) => Number(input))) };
}

/** Chooses imported days, and loaded windows that overlap them. */
function isOfDays(days: ReadonlySet<number>): (window: Window, key: StoredLoadKey) => boolean {
  const range = { start: Math.min(...days), end: Math.max(...days) + dayMs };
  return (window, { origin }) =>
    origin === 'import' ? window.end - window.start === dayMs && days.has(window.start) : overlap(window, range);
}

/** In SQL: the table `files` of the staged months' files, numbered as they are, with their inputs. */
function inputsOf(months: readonly InputMonth[]): string {
  const values = months.map(({ events: { path }, input }, file) => `(${literal(path)}, ${file}, ${input})`);
  return `(VALUES ${values.join(', ')}) AS files(path, file, input)`;
}

/**
 * Creates the table `rows_` of the staged events that aren't the only ones of their content, or that are of loaded windows: the number
 * of each among equal ones of its input, how many equal ones the lake has, and whether it is kept. The table `lasts_` has the number
 * of the next position of each day that the lake has.
 */
async function createTables(
  database: Database,
  staged: readonly InputMonth[],
  stored: readonly string[],
  loaded: readonly Window[],
): Promise<void> {
  const paths = staged.map(({ events: { path } }) => path);
  const inWindows = loaded.map(
    ({ start, end }) => `(posted_at >= ${timestampLiteral(start)} AND posted_at < ${timestampLiteral(end)})`,
  );
  const isLoaded = inWindows.length === 0 ? 'false' : `(${inWindows.join(' OR ')})`;
  const ofStored = (select: string, none: string, rest: string) =>
    stored.length === 0 ? `SELECT ${none} WHERE false` : `SELECT ${select} FROM ${rowsIn(stored)} ${rest}`;
  const isDay = 'WHERE window_end - window_start = INTERVAL 24 HOUR GROUP BY ALL';
  const noDay = 'NULL::TIMESTAMPTZ AS window_start, 0 AS more';
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE lasts_ AS ${ofStored('window_start, max(position) + 1 AS more', noDay, isDay)}`,
  );
  await database.execute(
    'CREATE OR REPLACE TEMP TABLE rows_ AS WITH ' +
      `stored AS (${ofStored('content_hash, count(*) AS times', "'' AS content_hash, 0 AS times", 'WHERE posted_at IS NOT NULL GROUP BY ALL')}), ` +
      `repeated AS (SELECT content_hash FROM ${readParquet(paths)} GROUP BY ALL HAVING count(*) > 1 ` +
      'UNION ALL SELECT content_hash FROM stored), ' +
      `staged AS (SELECT file, input, file_row_number AS row, content_hash, window_start, ${numberInId} AS number, ${isLoaded} AS is_loaded ` +
      `FROM ${readParquet(paths, 'filename = true', 'file_row_number = true')} AS found JOIN ${inputsOf(staged)} ON found.filename = files.path ` +
      `WHERE ${isLoaded} OR content_hash IN (SELECT content_hash FROM repeated)), ` +
      'numbered AS (SELECT *, row_number() OVER (PARTITION BY input, content_hash ORDER BY file, row) AS nth FROM staged), ' +
      'compared AS (SELECT numbered.*, coalesce(times, 0) AS times, ' +
      'row_number() OVER (PARTITION BY content_hash, nth ORDER BY input) AS turn, ' +
      'coalesce(min(input) FILTER (NOT is_loaded) OVER (PARTITION BY content_hash) < input, false) AS is_double ' +
      'FROM numbered LEFT JOIN stored USING (content_hash)) ' +
      'SELECT file, input, row, number, nth, window_start, times, is_loaded, is_double, ' +
      'NOT is_loaded AND nth > times AND turn = 1 AS is_kept FROM compared',
  );
}

/** Writes the kept events of a staged month, with their numbers and positions. */
async function keptMonth(
  { account }: ImportTarget,
  pipeline: PipelineTables,
  { database, newPath }: Workspace,
  { file, month, ...staged }: StagedMonth & { readonly file: number },
): Promise<StagedMonth> {
  const rows = (path: string) => `${rowsIn([path], ', file_row_number = true')} AS staged`;
  const kept =
    `FROM ${rows(staged.events.path)} LEFT JOIN (SELECT * FROM rows_ WHERE file = ${file}) AS found ` +
    'ON found.row = staged.file_row_number LEFT JOIN lasts_ ON lasts_.window_start = staged.window_start ' +
    'WHERE found.is_kept IS DISTINCT FROM false';
  const days = await database.rows(`SELECT DISTINCT epoch_ms(staged.window_start) AS day ${kept} ORDER BY day`);
  const spans = days.map(({ day }) => dayOf(Number(day)));
  const metadata = metadataOf({ pipeline, account, month, loadKeys: spans.map(importedKey) });
  const write = (table: Table, select: string): Promise<LocalParquet> =>
    copyRows(database, table, { select, target: newPath(), metadata, groupRows: mostGroupRows });
  const id =
    'CASE WHEN found.nth IS NULL THEN staged.event_id WHEN found.nth = 1 THEN staged.content_hash ' +
    "ELSE staged.content_hash || '-' || found.nth END";
  const position = 'staged.position + coalesce(lasts_.more, 0)';
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
  return { month, spans, events: main, entries: filled, net };
}
