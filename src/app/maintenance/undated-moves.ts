import { contains, dayMs, dayStart, uncovered, type Window } from '../../core/windows.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import type { Add } from '../../lake/delta/actions.js';
import { importSpansOf, loadKeysOf, type ImportSpan } from '../../lake/delta/file-tags.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import type { SliceCommit } from '../../lake/lake.js';
import { dayOf, importedKey, importedWindows, parseImportedKey } from '../../lake/loads/imported-days.js';
import { replacedKeys, touchedFiles } from '../../lake/loads/load-keys.js';
import { fetchFiles, type Bundle, type Rewriting } from './file-bundles.js';
import { groupBy } from '../../core/group-by.js';
import { timestampLiteral } from '../../core/duckdb/literals.js';

/** An imported event without a date, and the days that it may be of. */
interface UndatedRow {
  readonly file: string;
  readonly eventId: string;
  readonly contentHash: string;
  /** Milliseconds since 1970. */
  readonly effective: number;
  readonly importSpan: ImportSpan;
  /** The days of `importSpan`. */
  readonly span: Window;
}

/** The move of an event to an instant, in a day that imports filled or may fill. */
export interface Move {
  readonly row: UndatedRow;
  readonly to: number;
  readonly loadKey: string;
}

/** Whether a file has imported events that may be of a slice's windows. */
export function reachesInto(slice: SliceCommit, add: Add): boolean {
  const days = loadKeysOf(add).flatMap((key) => parseImportedKey(key) ?? []);
  return [...days, ...importSpansOf(add).map(daysOf)].some((span) => isTouched(slice, span));
}

function isTouched({ splits }: SliceCommit, span: Window): boolean {
  return splits?.(importedKey(span)) !== undefined;
}

/**
 * Plans the moves of the imported events without a date in some bundles, before a slice that has read its window in full is
 * committed: see `moveUndated`.
 */
export async function planMoves(rewriting: Rewriting, slice: SliceCommit, bundles: readonly Bundle[]): Promise<Move[]> {
  const rows = (await undatedRows(rewriting, bundles)).filter(({ span }) => isTouched(slice, span));
  if (rows.length === 0) return [];
  const paths = await mainPaths(rewriting, slice);
  const answer = await addedCounts(rewriting, slice, paths);
  return movesOf(rewriting, slice, rows, answer, await undatedIds(rewriting, paths));
}

/**
 * The ids of a slice's events without a date. The start of the window is part of the hash: a window that starts with a day has the
 * ids of equal imported events of that day.
 */
async function undatedIds({ workspace }: Rewriting, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await workspace.database.rows(`SELECT event_id FROM ${rowsIn(paths)} WHERE posted_at IS NULL`);
  return new Set(rows.map(({ event_id: id }) => String(id)));
}

/** Writes a slice's files of the main table to the local disk, and returns their paths. */
export async function mainPaths({ workspace, family }: Rewriting, { files }: SliceCommit): Promise<string[]> {
  const paths: string[] = [];
  for (const { table, bytes } of files) if (table === family.main) paths.push(await workspace.writeLocal(bytes));
  return paths;
}

function daysOf({ first, last }: ImportSpan): Window {
  return { start: dayStart(first), end: dayOf(last).end };
}

/** The number of events that a slice adds to its windows in the lake, by content hash. */
async function addedCounts(
  rewriting: Rewriting,
  slice: SliceCommit,
  paths: readonly string[],
): Promise<Map<string, number>> {
  const { lake, workspace, family } = rewriting;
  const { main } = family;
  const stored = await fetchFiles(rewriting, main, touchedFiles(lake.table(main.name).snapshot, slice));
  const windows = replacedKeys(slice).flatMap((key) => {
    const [, start = '', end = ''] = key.split('/');
    return `(window_start = ${timestampLiteral(start)} AND window_end = ${timestampLiteral(end)})`;
  });
  const counts = (from: readonly string[], condition: string, sign: number) =>
    `SELECT content_hash, ${sign} AS number FROM ${rowsIn(from)} WHERE posted_at IS NULL AND (${condition})`;
  const all = [
    counts(paths, 'true', 1),
    ...(stored.length === 0 || windows.length === 0 ? [] : [counts(stored, windows.join(' OR '), -1)]),
  ];
  const rows = await workspace.database.rows(
    `SELECT content_hash, sum(number)::BIGINT AS number FROM (${all.join(' UNION ALL ')}) GROUP BY ALL HAVING sum(number) > 0`,
  );
  return new Map(rows.map(({ content_hash, number }) => [String(content_hash), Number(number)]));
}

/** The imported events without a date in some bundles; of equal ones of a day the last one first. */
async function undatedRows(rewriting: Rewriting, bundles: readonly Bundle[]): Promise<UndatedRow[]> {
  const found: UndatedRow[] = [];
  for (const { main: add } of bundles) {
    const [path = ''] = await fetchFiles(rewriting, rewriting.family.main, [add]);
    const rows = await rewriting.workspace.database.rows(
      'SELECT event_id, content_hash, epoch_ms(effective_at) AS effective, epoch_ms(window_start) AS day ' +
        `FROM ${rowsIn([path])} WHERE posted_at IS NULL AND epoch_ms(window_end) - epoch_ms(window_start) = ${dayMs} ` +
        `ORDER BY ${numberInId} DESC, event_id`,
    );
    const days = new Set(loadKeysOf(add).flatMap((key) => dayStart(parseImportedKey(key)?.start ?? NaN)));
    const spans = importSpansOf(add);
    for (const { event_id, content_hash, effective, day } of rows) {
      const start = Number(day);
      // Other rows are of a window that was loaded for the whole day.
      if (!days.has(start)) continue;
      const importSpan = spans.find(({ first, last }) => dayStart(first) <= start && start <= last) ?? {
        first: start,
        last: start + dayMs - 1,
      };
      const row = { file: add.path, eventId: String(event_id), contentHash: String(content_hash) };
      found.push({ ...row, effective: Number(effective), importSpan, span: daysOf(importSpan) });
    }
  }
  return found;
}

/** In SQL: the number of an event among equal ones, which is at the end of its id. */
export const numberInId = "coalesce(TRY_CAST(split_part(event_id, '-', 2) AS INTEGER), 1)";

function movesOf(
  { lake, family: { pipeline } }: Rewriting,
  slice: SliceCommit,
  rows: readonly UndatedRow[],
  answer: ReadonlyMap<string, number>,
  taken: ReadonlySet<string>,
): Move[] {
  const split = (window: Window) => slice.splits?.(importedKey(window));
  // A window that extends beyond the days of the import may have another equal event there, such as a monthly fee.
  const isCovered = ({ span: { start, end } }: UndatedRow) =>
    split({ start: start - dayMs, end: start }) === undefined && split({ start: end, end: end + dayMs }) === undefined;
  const isInside = ({ effective }: UndatedRow) => split({ start: effective, end: effective + 1 }) !== undefined;
  const loaded = loadedWindows(lake, pipeline, slice.account);
  const imported = importedWindows(lake.snapshot, pipeline, slice.account);
  const keyAt = (instant: number, open: Window): string => {
    const day = dayOf(instant);
    const existing = imported.find((window) => contains(window, instant));
    return importedKey(existing ?? { start: Math.max(day.start, open.start), end: Math.min(day.end, open.end) });
  };
  const moves: Move[] = [];
  for (const [hash, equal] of groupBy(rows, ({ contentHash }) => contentHash)) {
    const inside = equal.filter(isInside);
    const outside = equal.filter((row) => !isInside(row) && isCovered(row));
    const number = answer.get(hash) ?? 0;
    for (const row of inside.slice(0, Math.max(0, inside.length - number))) {
      const gaps = uncovered(row.span, loaded).flatMap((gap) => {
        const pieces = split(gap);
        return pieces === undefined ? [gap] : pieces.outside.flatMap((key) => parseImportedKey(key) ?? []);
      });
      const nearest = (gap: Window) => (gap.end <= row.effective ? gap.end - 1 : gap.start);
      const far = (gap: Window) => Math.abs(nearest(gap) - row.effective);
      const [gap] = gaps.toSorted((one, other) => far(one) - far(other));
      if (gap !== undefined) moves.push({ row, to: nearest(gap), loadKey: keyAt(nearest(gap), gap) });
    }
    for (const row of outside.slice(0, Math.max(0, number - inside.length))) {
      const window = parseImportedKey(split(row.span)?.inside ?? '');
      if (window !== undefined) moves.push({ row, to: window.start, loadKey: keyAt(window.start, window) });
    }
  }
  // An event that stays outside of the window gets another id where the slice has the same one.
  const moved = new Set(moves.map(({ row }) => row));
  for (const row of rows) {
    if (!taken.has(row.eventId) || moved.has(row) || isInside(row)) continue;
    moves.push({ row, to: row.effective, loadKey: keyAt(row.effective, dayOf(row.effective)) });
  }
  return moves;
}
