import type { ResultCell, ResultRow } from '../../core/text/rows.js';
import { readParquet } from '../../core/duckdb/literals.js';

/** The sort key of a row. */
interface RowPosition {
  /** The instant by which it is sorted, microseconds since 1970. */
  readonly at: bigint;
  /** Orders the rows of one instant: an event's content hash, a group's id. */
  readonly key: string;
}

/** A row of the lake that is sent. */
export interface StoredRow extends RowPosition {
  /** The list of an event; '' for a group. */
  readonly list: string;
  /** Start of the window that loaded it, microseconds since 1970; -1 without a window. */
  readonly window: bigint;
  /** Order of receipt within the window. */
  readonly position: bigint;
  /** The JSON as received. */
  readonly raw: string;
}

/** A statement with the values of its parameters `$1`, `$2`, and so on. */
export interface SqlQuery {
  readonly sql: string;
  readonly parameters: readonly ResultCell[];
}

/** Microseconds since 1970; `from` is included, `to` isn't. */
export interface InstantBounds {
  readonly from: bigint;
  readonly to: bigint;
}

/** The cursor and the size of a page. */
export interface PageStart {
  readonly after: RowCursor | undefined;
  /** Largest number of rows. */
  readonly count: number;
}

/** The columns of a row of events or transactions. */
export function sentColumns(instant = 'epoch_us(effective_at)', list = 'event_list'): string {
  const window = 'coalesce(epoch_us(window_start), -1)';
  return `${instant} AS instant, content_hash AS key, ${list} AS list, ${window} AS "window", position, raw`;
}

export function inRange({ from, to }: InstantBounds): string {
  return `effective_at >= ${instant(from)} AND effective_at < ${instant(to)}`;
}

/** A condition with its parameters. */
export interface Selection {
  readonly where: string;
  readonly parameters: readonly ResultCell[];
}

/**
 * Events or transactions with an instant, from a cursor on. Bounds and order on the column itself let DuckDB skip row groups.
 *
 * @param list SQL for the name of the list; left out: the column `event_list`
 */
export function rowsInOrder(
  files: readonly string[],
  { where, parameters }: Selection,
  { after, count }: PageStart,
  list?: string,
): SqlQuery {
  const order = `ORDER BY effective_at, content_hash LIMIT ${count}`;
  const rows = `SELECT ${sentColumns(undefined, list)} FROM ${readParquet(files)} WHERE ${where}`;
  if (after === undefined) return { sql: `${rows} ${order}`, parameters };
  const at = instant(after.at);
  const isAfter = `effective_at >= ${at} AND (effective_at > ${at} OR content_hash >= $${parameters.length + 1})`;
  return { sql: `${rows} AND ${isAfter} ${order}`, parameters: [...parameters, after.key] };
}

/** The rows of a statement from a cursor on, in order. */
export function rowsAfter(sql: string, parameters: readonly ResultCell[], { after, count }: PageStart): SqlQuery {
  const key = `$${parameters.length + 1}`;
  const where = after === undefined ? '' : `WHERE instant > ${after.at} OR (instant = ${after.at} AND key >= ${key}) `;
  return {
    sql: `SELECT instant, key, list, "window", position, raw FROM (${sql}) ${where}ORDER BY instant, key, raw LIMIT ${count}`,
    parameters: after === undefined ? parameters : [...parameters, after.key],
  };
}

/** Reads a result row of any of these queries. */
export function storedRow(row: ResultRow): StoredRow {
  const text = (name: string) => String(row[name] ?? '');
  const whole = (name: string) => BigInt(text(name));
  return {
    at: whole('instant'),
    key: text('key'),
    list: text('list'),
    window: whole('window'),
    position: whole('position'),
    raw: text('raw'),
  };
}

/** A file as a table in SQL, with a column `file_row_number`, from 0. */
export function numberedRows(file: string): string {
  return readParquet([file], 'file_row_number = true');
}

function instant(micros: bigint): string {
  return `make_timestamptz(${micros}::BIGINT)`;
}

/**
 * The last delivered row, identified by its instant, its content and the number of equal rows, not by its position:
 * commits between two pages neither repeat nor lose a row that stays, even where it has moved.
 */
export interface RowCursor extends RowPosition {
  /** Number of delivered rows with the same instant and key, this one included. */
  readonly copies: number;
}

export function cursorText({ at, key, copies }: RowCursor): string {
  return JSON.stringify([String(at), key, copies]);
}

/** Reads the text of `cursorText`. It isn't validated: tokens are signed, so no other text arrives. */
export function readCursor(text: string): RowCursor {
  const [at, key, copies] = JSON.parse(text) as [string, string, number];
  return { at: BigInt(at), key, copies };
}

/** The cursor after `rows`, which follow the cursor `before`. */
export function cursorAfter(rows: readonly RowPosition[], before: RowCursor | undefined): RowCursor | undefined {
  const last = rows.at(-1);
  if (last === undefined) return before;
  const first = rows.findLastIndex((row) => !isEqual(row, last)) + 1;
  const carried = first === 0 && before !== undefined && isEqual(before, last) ? before.copies : 0;
  return { at: last.at, key: last.key, copies: rows.length - first + carried };
}

/** Of rows from a cursor's instant and key on, those that are not delivered. */
export function undeliveredRows(rows: readonly StoredRow[], cursor: RowCursor | undefined): readonly StoredRow[] {
  if (cursor === undefined) return rows;
  let delivered = 0;
  while (delivered < cursor.copies) {
    const row = rows[delivered];
    if (row === undefined || !isEqual(row, cursor)) break;
    delivered++;
  }
  return rows.slice(delivered);
}

function isEqual(a: RowPosition, b: RowPosition): boolean {
  return a.at === b.at && a.key === b.key;
}
