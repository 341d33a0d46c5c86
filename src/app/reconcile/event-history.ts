import { readFile, rm } from 'node:fs/promises';
import { hasColumn, hasEvents, sqlType, type RowKind, type Table, type Column } from '../../core/columns/table.js';
import type { Database } from '../../core/duckdb/connection.js';
import { eventHistory, historyPipeline } from '../../sources/finances/lake-tables.js';
import type { NewFile } from '../../lake/commit-files.js';
import type { SliceCommit } from '../../lake/slices/slice-commit.js';
import { copyRows, mostGroupRows } from '../../lake/files/local-parquet.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { fileMetadata, newFile } from '../../lake/files/new-file.js';
import { contentOf } from '../../core/io/file-content.js';
import { timestampLiteral, identifier, literal } from '../../core/duckdb/literals.js';

/** In SQL: what rows have in the place of columns of the history. Transactions have one list. */
const otherValues: Readonly<Partial<Record<RowKind, Readonly<Record<string, string>>>>> = {
  transaction: { event_list: "'transactions'" },
  line: {
    event_list: "coalesce(rows.transaction_type, '')",
    effective_at: 'rows.ended_at',
    amazon_order_id: 'rows.order_id',
    position: 'rows.line',
  },
};

/** Whether the history keeps changes of a table's rows: events, transactions and lines of settlements. */
export function keepsHistory(main: Table): boolean {
  return hasEvents(main) || main.row === 'line';
}

/** In SQL: the value of a history column from a row of a table; null where the table lacks it. */
export function historyValue(main: Table, name: string): string {
  const other = main.row && otherValues[main.row]?.[name];
  return other ?? (hasColumn(main, name) ? `rows.${identifier(name)}` : 'NULL');
}

/**
 * Writes the rows of `vanished_` and `appeared_` (see `findDiffering`) as files of `event_history`, one for each month.
 *
 * @param entries the table of entries with a query of its stored rows; undefined where there is none
 * @param seenAt milliseconds since 1970
 */
export async function historyFiles(
  workspace: Workspace,
  main: Table,
  slice: SliceCommit,
  entries: EntriesQuery | undefined,
  seenAt: number,
): Promise<NewFile[]> {
  const { database } = workspace;
  await createEntriesTable(database, entries);
  const rows = (['vanished', 'appeared'] as const).map((change) => historyQuery(main, change, seenAt));
  await database.execute(`CREATE OR REPLACE TEMP TABLE history_ AS ${rows.join(' UNION ALL ')}`);
  const files: NewFile[] = [];
  for (const { month } of await database.rows('SELECT DISTINCT month_ AS month FROM history_ ORDER BY month')) {
    files.push(await historyFile(workspace, main, slice, String(month)));
  }
  return files;
}

/** A table of entries, and a query of its stored rows. */
interface EntriesQuery {
  readonly table: Table;
  readonly stored: string;
}

/** Creates the table `entries_` with the entries of vanished events as JSON. */
async function createEntriesTable(database: Database, entries: EntriesQuery | undefined): Promise<void> {
  await database.execute(
    entries === undefined
      ? 'CREATE OR REPLACE TEMP TABLE entries_ AS SELECT NULL::VARCHAR AS event_id, NULL::VARCHAR AS entries WHERE false'
      : `CREATE OR REPLACE TEMP TABLE entries_ AS ${entriesJson(entries.table, `SELECT * FROM (${entries.stored}) WHERE event_id IN (SELECT event_id FROM vanished_)`)}`,
  );
}

/** In SQL: the rows of `vanished_` or `appeared_` with the columns of the history, and `month_`. */
function historyQuery(main: Table, change: 'appeared' | 'vanished', seenAt: number): string {
  const isVanished = change === 'vanished';
  const attributes = extraColumns(main);
  const values: Readonly<Record<string, string>> = {
    change: literal(change),
    seen_at: timestampLiteral(seenAt),
    source: literal(main.name),
    attributes: isVanished && attributes.length > 0 ? `to_json(${packed(attributes)})` : 'NULL',
    entries: isVanished ? 'entries_.entries' : 'NULL',
    ...(isVanished ? {} : { raw: 'NULL' }),
  };
  const columns = eventHistory.columns.map((column) => {
    const { name } = column;
    const value = values[name] ?? historyValue(main, name);
    return `CAST(${value} AS ${sqlType(column)}) AS ${identifier(name)}`;
  });
  const join = isVanished ? ' LEFT JOIN entries_ USING (event_id)' : '';
  return `SELECT ${columns.join(', ')}, month_ FROM ${change}_ AS rows${join}`;
}

/** Writes the rows of `history_` of a month as a file. */
async function historyFile(
  { database, newPath }: Workspace,
  main: Table,
  { pipeline, account, name, loadKeys }: SliceCommit,
  month: string,
): Promise<NewFile> {
  const target = newPath();
  const local = await copyRows(database, eventHistory, {
    select:
      `SELECT * EXCLUDE (month_) FROM history_ WHERE month_ = ${literal(month)} ` +
      'ORDER BY effective_at NULLS LAST, event_id, change',
    target,
    metadata: fileMetadata(pipeline, account, loadKeysLabel(loadKeys)),
    groupRows: mostGroupRows,
  });
  const bytes = await readFile(target);
  await rm(target, { force: true });
  const { rows, stats } = local;
  return newFile(
    { bytes, content: contentOf(bytes), rows, stats },
    {
      table: eventHistory,
      account,
      month,
      // Several main tables add to it.
      name: `${main.name}-${name}`,
      loadKeys,
      shared: { pipeline: historyPipeline.name, account },
      dataChange: true,
    },
  );
}

/** The columns of a table that the history lacks: it keeps their values as JSON. */
export function extraColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ name }) => !hasColumn(eventHistory, name));
}

/** In SQL: `event_id` and the entries of each event as a JSON list, from a query of entries. */
function entriesJson(entries: Table, select: string): string {
  // An event that was received for two windows has the same entries in both.
  return (
    `SELECT event_id, to_json(list(${packed(extraColumns(entries))} ORDER BY entry))::VARCHAR AS entries FROM ` +
    `(SELECT DISTINCT ON (event_id, entry) * FROM (${select})) GROUP BY event_id`
  );
}

/** In SQL: columns as a struct, for a JSON object. Decimals are texts, because DuckDB converts JSON numbers to floating point. */
function packed(columns: readonly Column[]): string {
  const members = columns.map((column) => {
    const name = identifier(column.name);
    return `${name} := ${column.type === 'decimal' ? `CAST(${name} AS VARCHAR)` : name}`;
  });
  return `struct_pack(${members.join(', ')})`;
}

/** In SQL: the `attributes` of a history row as a struct with the main table's columns. */
export function attributesOf(main: Table): string {
  return `from_json(attributes, ${literal(JSON.stringify(packedType(main)))})`;
}

/** In SQL: the entries of a history row as a list of structs, decimals still as texts. */
export function historyEntries(entries: Table): string {
  return `from_json(entries, ${literal(JSON.stringify([packedType(entries)]))})`;
}

function packedType(table: Table): Readonly<Record<string, string>> {
  return Object.fromEntries(
    extraColumns(table).map((column) => [column.name, column.type === 'decimal' ? 'VARCHAR' : sqlType(column)]),
  );
}
