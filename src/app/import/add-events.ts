import { LedgerlakeError } from '../../core/errors.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import type { CheckedFiles } from '../../lake/files/month-files.js';
import { importSpansTag, type ImportSpan } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';
import type { NewFile } from '../../lake/transaction/transaction.js';
import { imported, newFile, metadataOf, type FileTarget, addNets, netSumsOfFile } from '../../lake/files/new-file.js';
import type { Family, Table } from '../../core/columns/table.js';
import { rowsIn, copyRows, type LocalParquet, mostGroupRows } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { commitDays, storedDays, type StoredDays, type ImportTarget } from './imported-day-files.js';
import type { DedupIndex } from './dedup-index.js';
import type { UndatedDedup } from './undated-events.js';
import type { StagedMonth } from './event-staging.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';
import { numberInId } from '../maintenance/undated-moves.js';

/** What became of a month's events. */
export interface AddedEvents {
  readonly events: number;
  readonly entries: number;
  readonly files: number;
  readonly bytes: number;
  /** Events that the lake held as often as the input has them. */
  readonly known: number;
  /** Events of days that a window came to be loaded for meanwhile. */
  readonly leftOut: number;
}

/** Where files are held while one input is imported. */
export interface InputFiles {
  readonly workspace: Workspace;
  /** Files of the lake. */
  readonly files: CheckedFiles;
  readonly dedupIndex: DedupIndex;
  readonly undated: UndatedDedup;
}

/** Attempts to commit before it gives up, where other runs change the days each time. */
const maxAttempts = 10;

/**
 * Adds the events of a staged month to the lake, as far as it doesn't hold them: of equal events of a day there are
 * afterwards as many as the input has that has the most of them.
 */
export async function addEvents(
  target: ImportTarget,
  input: InputFiles,
  family: Family,
  staged: StagedMonth,
): Promise<AddedEvents> {
  const { dedupIndex, undated } = input;
  const { fileIds } = staged;
  for (let attempt = 1; ; attempt++) {
    const stored = unchanged(storedDays(target, family, staged.days), staged, undated);
    const fileTarget: FileTarget = { family, account: target.account, month: staged.month, loadKeys: stored.loadKeys };
    // Else another run has changed these days since the events were deduplicated, and DuckDB chooses again from what the lake holds.
    const isCurrent = stored.open.length === staged.days.length && dedupIndex.isCurrent(fileIds, stored.files);
    let added: NewEvents;
    try {
      if (staged.undated > 0 && !undated.isCurrent()) await undated.compare();
      const isAll = isCurrent && undated.omittedOf(staged.number) === 0;
      added = isAll
        ? { ...staged, known: 0, leftOut: 0 }
        : await newEvents(fileTarget, input, target.lake, stored, staged);
    } catch (error) {
      // A file that another run has merged or replaced meanwhile.
      if (!(error instanceof LedgerlakeError) || !['LAKE_STORE', 'SQL'].includes(error.code)) throw error;
      await target.lake.refresh();
      const paths = ({ files }: StoredDays) => files.map(({ path }) => path).join();
      if (attempt === maxAttempts || paths(storedDays(target, family, staged.days)) === paths(stored)) throw error;
      continue;
    }
    const { known, leftOut } = added;
    if (added.events.rows === 0) return { events: 0, entries: 0, files: 0, bytes: 0, known, leftOut };
    const spans = staged.undated > undated.omittedOf(staged.number) ? [undated.span] : [];
    const files = await newFiles(fileTarget, added, spans, target.clock.now());
    if (isCurrent) for (const { table, add } of files) if (table === family.main) dedupIndex.setPath(fileIds, add.path);
    const { isCommitted, ...written } = await commitDays(target, family, stored, files);
    if (isCommitted) {
      if (isCurrent) fileIds.isCommitted = true;
      for (const { table, add } of files) if (table === family.main) undated.noteCommitted(add);
      return { events: added.events.rows, entries: added.entries?.rows ?? 0, ...written, known, leftOut };
    }
    if (attempt === maxAttempts) throw busy(staged.month);
  }
}

/** What the lake holds, which is another too where events without a date came in that may be ones of the input. */
function unchanged(stored: StoredDays, staged: StagedMonth, undated: UndatedDedup): StoredDays {
  return staged.undated === 0 ? stored : { ...stored, isCurrent: () => stored.isCurrent() && undated.isCurrent() };
}

interface NewEvents extends Pick<StagedMonth, 'events' | 'entries' | 'net'> {
  readonly known: number;
  readonly leftOut: number;
}

/**
 * Those of a month's events that aren't in the lake yet, numbered on from those that are. An event is the n-th of its kind
 * in its day of the input, as its id says, and comes in where the lake holds fewer than n.
 */
async function newEvents(
  fileTarget: FileTarget,
  { workspace, files, undated }: InputFiles,
  lake: Lake,
  stored: StoredDays,
  staged: StagedMonth,
): Promise<NewEvents> {
  const { database, newPath } = workspace;
  const inLake = (await files.of(lake, events, stored.files)).flatMap(({ paths }) => paths);
  const days = stored.open.map((day) => timestampLiteral(day)).join(', ');
  const isOpen = days === '' ? 'false' : `window_start IN (${days})`;
  const counted =
    inLake.length === 0
      ? 'SELECT NULL::TIMESTAMPTZ AS window_start, NULL::VARCHAR AS content_hash, 0 AS times, 0 AS last WHERE false'
      : `SELECT window_start, content_hash, count(*) AS times, max(position) AS last FROM ${rowsIn(inLake)} WHERE ${isOpen} GROUP BY ALL`;
  const isNew = undated.omittedOf(staged.number) === 0 ? 'true' : 'rows.event_id IN (SELECT event_id FROM undated_)';
  await database.execute(`CREATE OR REPLACE TEMP TABLE held_ AS ${counted}`);
  await database.execute(
    'CREATE OR REPLACE TEMP TABLE staged_ AS SELECT rows.event_id, rows.position, rows.window_start, ' +
      `CASE WHEN rows.posted_at IS NULL THEN ${isNew} ELSE ${numberInId} > coalesce(held_.times, 0) END AS is_new, ${isOpen} AS is_open, places.last FROM ${rowsIn([staged.events.path])} ` +
      'AS rows LEFT JOIN held_ USING (window_start, content_hash) ' +
      'LEFT JOIN (SELECT window_start, max(last) AS last FROM held_ GROUP BY ALL) AS places USING (window_start)',
  );
  const [found] = await database.rows(
    'SELECT count(*) FILTER (NOT is_open) AS left_out, count(*) FILTER (is_open AND is_new) AS chosen, ' +
      'count(*) FILTER (position <= last) AS misplaced FROM staged_',
  );
  const rows = Number(found?.['chosen']);
  const leftOut = Number(found?.['left_out']);
  const known = staged.events.rows - leftOut - rows;
  if (leftOut + known + Number(found?.['misplaced']) === 0) return { ...staged, known, leftOut };
  if (rows === 0) return { events: { ...staged.events, rows: 0 }, entries: undefined, net: '{}', known, leftOut };
  await database.execute(
    'CREATE OR REPLACE TEMP TABLE chosen_ AS SELECT event_id, ' +
      'coalesce(last, -1) + row_number() OVER (PARTITION BY window_start ORDER BY position) AS position_ ' +
      'FROM staged_ WHERE is_open AND is_new',
  );

  const metadata = metadataOf(fileTarget);
  const write = (table: typeof events, from: string, replaced: string): Promise<LocalParquet> =>
    copyRows(database, table, {
      select:
        `SELECT staged.* EXCLUDE (file_row_number)${replaced} FROM ${rowsIn([from], ', file_row_number = true')} ` +
        'AS staged JOIN chosen_ ON staged.event_id = chosen_.event_id ORDER BY staged.file_row_number',
      target: newPath(),
      metadata,
      groupRows: mostGroupRows,
    });
  const main = await write(events, staged.events.path, ' REPLACE (chosen_.position_ AS position)');
  const derived = staged.entries && (await write(entries, staged.entries.path, ''));
  const net = derived === undefined ? {} : addNets([await netSumsOfFile(database, entries, derived.path)]);
  const filled = derived !== undefined && derived.rows > 0 ? derived : undefined;
  return { events: main, entries: filled, net: JSON.stringify(net), known, leftOut };
}

async function newFiles(
  fileTarget: FileTarget,
  { events: main, entries: derived, net }: NewEvents,
  spans: readonly ImportSpan[],
  now: number,
): Promise<NewFile[]> {
  const tags = { pipeline: fileTarget.family.pipeline, account: fileTarget.account, net, ...importSpansTag(spans) };
  const landed = (table: Table, local: LocalParquet) => newFile(table, fileTarget, local, tags, now, imported);
  return [...(derived === undefined ? [] : [await landed(entries, derived)]), await landed(events, main)];
}

/** LAKE_CONFLICT: other runs change the same days all the time. */
export function busy(what: string): LedgerlakeError {
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    `expected to add imported rows of ${what}, got conflicts with other runs each time; run the same command again`,
  );
}
