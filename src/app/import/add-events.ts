import type { Database } from '../../core/duckdb/connection.js';
import { LedgerlakeError } from '../../core/errors.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import type { CheckedFiles } from '../../lake/files/month-files.js';
import { importSpansTag, type ImportSpan } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import type { NewFile } from '../../lake/commit-files.js';
import { imported, newFile, metadataOf, type FileTarget, addNets, netSumsIn } from '../../lake/files/new-file.js';
import type { Family, Table } from '../../core/columns/table.js';
import { rowsIn, copyRows, type LocalParquet, mostGroupRows } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { commitDays, storedDays, type StoredDays, type ImportTarget } from './imported-day-files.js';
import type { DedupIndex } from './dedup-index.js';
import type { UndatedDedup } from './undated-events.js';
import type { StagedMonth } from './event-staging.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { numberInId } from '../maintenance/undated-moves.js';

/** The result of adding a month's events, or a day's groups. */
export interface AddedRows {
  /** New rows, by table; of groups also those in a later state than the stored ones. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** Events or groups that the lake had before, as often as the input has them. */
  readonly known: number;
  /** Those of days for which another run has loaded a window meanwhile. */
  readonly leftOut: number;
}

/** The files and indexes of one input's import. */
export interface InputFiles {
  readonly workspace: Workspace;
  /** Files of the lake. */
  readonly files: CheckedFiles;
  readonly dedupIndex: DedupIndex;
  readonly undated: UndatedDedup;
}

/** Attempts to commit days that other runs change each time. */
export const maxAttempts = 10;

/**
 * Adds the events of a staged month that the lake lacks. Of equal events of a day the lake has as many afterwards as the input
 * that has the most of them.
 */
export async function addEvents(
  target: ImportTarget,
  input: InputFiles,
  family: Family,
  staged: StagedMonth,
): Promise<AddedRows> {
  const { dedupIndex, undated } = input;
  const { fileIds } = staged;
  for (let attempt = 1; ; attempt++) {
    const stored = withUndated(storedDays(target, family, staged.days), staged, undated);
    const fileTarget: FileTarget = { family, account: target.account, month: staged.month, loadKeys: stored.loadKeys };
    // Where another run has changed these days since the events were deduplicated, DuckDB compares them with the lake again.
    const isCurrent = stored.open.length === staged.days.length && dedupIndex.isCurrent(fileIds, stored.files);
    let added: NewEvents;
    try {
      if (staged.undated > 0 && !undated.isCurrent()) await undated.compare();
      const isAll = isCurrent && undated.omittedOf(staged.number) === 0;
      added = isAll
        ? { ...staged, known: 0, leftOut: 0 }
        : await newEvents(fileTarget, input, target.lake, stored, staged);
    } catch (error) {
      // Another run may have merged or replaced a file meanwhile.
      if (!(error instanceof LedgerlakeError) || !['LAKE_STORE', 'SQL'].includes(error.code)) throw error;
      await target.lake.refresh();
      const paths = ({ files }: StoredDays) => files.map(({ path }) => path).join();
      if (attempt === maxAttempts || paths(storedDays(target, family, staged.days)) === paths(stored)) throw error;
      continue;
    }
    const { known, leftOut } = added;
    if (added.events.rows === 0) return { rows: { events: 0, entries: 0 }, files: 0, bytes: 0, known, leftOut };
    const spans = staged.undated > undated.omittedOf(staged.number) ? [undated.span] : [];
    const files = await newFiles(fileTarget, added, spans, target.clock.now());
    if (isCurrent) for (const { table, add } of files) if (table === family.main) dedupIndex.setPath(fileIds, add.path);
    const { isCommitted, ...written } = await commitDays(target, family, stored, files);
    if (isCommitted) {
      if (isCurrent) fileIds.isCommitted = true;
      for (const { table, add } of files) if (table === family.main) undated.noteCommitted(add);
      const rows = { events: added.events.rows, entries: added.entries?.rows ?? 0 };
      return { rows, ...written, known, leftOut };
    }
    if (attempt === maxAttempts) throw conflictFailure(staged.month);
  }
}

/** The stored days, which are also changed where events without a date were added that may equal the input's. */
function withUndated(stored: StoredDays, staged: StagedMonth, undated: UndatedDedup): StoredDays {
  return staged.undated === 0
    ? stored
    : { ...stored, isCurrent: (snapshot) => stored.isCurrent(snapshot) && undated.isCurrent() };
}

interface NewEvents extends Pick<StagedMonth, 'events' | 'entries' | 'net'> {
  readonly known: number;
  readonly leftOut: number;
}

/**
 * Writes a month's events that the lake lacks, with positions after the stored ones. An event whose id says that it is the n-th
 * of equal ones of its day is new where the lake has fewer than n.
 */
async function newEvents(
  fileTarget: FileTarget,
  { workspace, files, undated }: InputFiles,
  lake: Lake,
  stored: StoredDays,
  staged: StagedMonth,
): Promise<NewEvents> {
  const { database } = workspace;
  const days = stored.open.map((day) => timestampLiteral(day)).join(', ');
  const isOpen = days === '' ? 'false' : `window_start IN (${days})`;
  const paths = (await files.of(lake, events, stored.files)).flatMap((month) => month.paths);
  await createStoredCounts(database, paths, isOpen);
  await createStagedTable(database, staged, isOpen, undated.omittedOf(staged.number) > 0);
  const [counts] = await database.rows(
    'SELECT count(*) FILTER (NOT is_open) AS left_out, count(*) FILTER (is_open AND is_new) AS chosen, ' +
      'count(*) FILTER (position <= last) AS misplaced FROM staged_',
  );
  const chosen = Number(counts?.['chosen']);
  const leftOut = Number(counts?.['left_out']);
  const known = staged.events.rows - leftOut - chosen;
  if (leftOut + known + Number(counts?.['misplaced']) === 0) return { ...staged, known, leftOut };
  if (chosen === 0) return { events: { ...staged.events, rows: 0 }, entries: undefined, net: '{}', known, leftOut };
  return { ...(await writeChosen(fileTarget, workspace, staged)), known, leftOut };
}

/** Creates the table `stored_`: how often the lake has each event of the open days, and its last position. */
async function createStoredCounts(database: Database, paths: readonly string[], isOpen: string): Promise<void> {
  const counts =
    paths.length === 0
      ? 'SELECT NULL::TIMESTAMPTZ AS window_start, NULL::VARCHAR AS content_hash, 0 AS times, 0 AS last WHERE false'
      : `SELECT window_start, content_hash, count(*) AS times, max(position) AS last FROM ${rowsIn(paths)} WHERE ${isOpen} GROUP BY ALL`;
  await database.execute(`CREATE OR REPLACE TEMP TABLE stored_ AS ${counts}`);
}

/**
 * Creates the table `staged_` of a month's events: whether each is new, whether its day is open, and the last stored position of
 * the day. Events without a date are new where the table `undated_` has them, which `isUndatedCompared` says is there.
 */
async function createStagedTable(
  database: Database,
  { events: { path } }: StagedMonth,
  isOpen: string,
  isUndatedCompared: boolean,
): Promise<void> {
  const isNewUndated = isUndatedCompared ? 'rows.event_id IN (SELECT event_id FROM undated_)' : 'true';
  await database.execute(
    'CREATE OR REPLACE TEMP TABLE staged_ AS SELECT rows.event_id, rows.position, rows.window_start, ' +
      `CASE WHEN rows.posted_at IS NULL THEN ${isNewUndated} ELSE ${numberInId} > coalesce(stored_.times, 0) END AS is_new, ` +
      `${isOpen} AS is_open, positions.last FROM ${rowsIn([path])} AS rows ` +
      'LEFT JOIN stored_ USING (window_start, content_hash) ' +
      'LEFT JOIN (SELECT window_start, max(last) AS last FROM stored_ GROUP BY ALL) AS positions USING (window_start)',
  );
}

/** Writes the new events of open days in `staged_`, with their entries. */
async function writeChosen(
  fileTarget: FileTarget,
  { database, newPath }: Workspace,
  staged: StagedMonth,
): Promise<Pick<NewEvents, 'events' | 'entries' | 'net'>> {
  await database.execute(
    'CREATE OR REPLACE TEMP TABLE chosen_ AS SELECT event_id, ' +
      'coalesce(last, -1) + row_number() OVER (PARTITION BY window_start ORDER BY position) AS position_ ' +
      'FROM staged_ WHERE is_open AND is_new',
  );
  const metadata = metadataOf(fileTarget);
  const write = (table: typeof events, path: string, replaced: string): Promise<LocalParquet> =>
    copyRows(database, table, {
      select:
        `SELECT staged.* EXCLUDE (file_row_number)${replaced} FROM ${rowsIn([path], ', file_row_number = true')} ` +
        'AS staged JOIN chosen_ ON staged.event_id = chosen_.event_id ORDER BY staged.file_row_number',
      target: newPath(),
      metadata,
      groupRows: mostGroupRows,
    });
  const main = await write(events, staged.events.path, ' REPLACE (chosen_.position_ AS position)');
  const derived = staged.entries && (await write(entries, staged.entries.path, ''));
  const net = derived === undefined ? {} : addNets([await netSumsIn(database, [derived.path])]);
  const filled = derived !== undefined && derived.rows > 0 ? derived : undefined;
  return { events: main, entries: filled, net: JSON.stringify(net) };
}

async function newFiles(
  fileTarget: FileTarget,
  { events: main, entries: derived, net }: NewEvents,
  spans: readonly ImportSpan[],
  now: number,
): Promise<NewFile[]> {
  const tags = { pipeline: fileTarget.family.pipeline, account: fileTarget.account, net, ...importSpansTag(spans) };
  const file = (table: Table, local: LocalParquet) => newFile(table, fileTarget, local, tags, now, imported);
  return [...(derived === undefined ? [] : [await file(entries, derived)]), await file(events, main)];
}

/** The LAKE_CONFLICT failure of days that other runs change each time. */
export function conflictFailure(what: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to add imported rows of ${what}, got conflicts with other runs each time; run the same command again`,
  );
}
