import { rm } from 'node:fs/promises';
import { sqlType, type Table, type Column, type PipelineTables } from '../../core/columns/table.js';
import { eventHistory } from '../../sources/finances/model/tables.js';
import type { SliceCommit, SliceFile } from '../../lake/lake.js';
import { bytesOf, copyRows, mostGroupRows } from '../../lake/files/local-parquet.js';
import { hasColumn } from '../../lake/files/sorted-file.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { fileMetadata } from '../../lake/files/new-file.js';
import { timestampLiteral, identifier, literal } from '../../core/duckdb/literals.js';

/** What the history can't do without of a row. */
const neededColumns = ['event_id', 'content_hash', 'effective_at', 'position', 'raw'];

/** Whether rows of a main table have what the history keeps of them: those of events and of transactions. */
export function keepsHistory(main: Table): boolean {
  return neededColumns.every((name) => hasColumn(main, name));
}

/** In SQL: a column of the history, of a row of `main`; null where it has none. Transactions come in one list. */
function valueOf(main: Table, name: string): string {
  if (hasColumn(main, name)) return `rows.${identifier(name)}`;
  return name === 'event_list' ? "'transactions'" : 'NULL';
}

/**
 * The rows of `vanished_` and `appeared_` (see `findDiffering`) as files of `event_history`, one a month; none where
 * nothing differs.
 *
 * @param entries the table of entries, and in SQL what the lake holds of it; undefined where there is none
 * @param seenAt milliseconds since 1970
 */
export async function historyFiles(
  { database, newPath }: Workspace,
  main: Table,
  slice: SliceCommit,
  entries: { readonly table: Table; readonly stored: string } | undefined,
  seenAt: number,
): Promise<SliceFile[]> {
  await database.execute(
    entries === undefined
      ? 'CREATE OR REPLACE TEMP TABLE entries_ AS SELECT NULL::VARCHAR AS event_id, NULL::VARCHAR AS entries WHERE false'
      : `CREATE OR REPLACE TEMP TABLE entries_ AS ${entriesJson(entries.table, `SELECT * FROM (${entries.stored}) WHERE event_id IN (SELECT event_id FROM vanished_)`)}`,
  );
  const select = (change: 'appeared' | 'vanished') => {
    const isGone = change === 'vanished';
    const attributes = extraColumns(main);
    const values: Readonly<Record<string, string>> = {
      change: literal(change),
      seen_at: timestampLiteral(seenAt),
      source: literal(main.name),
      attributes: isGone && attributes.length > 0 ? `to_json(${packed(attributes)})` : 'NULL',
      entries: isGone ? 'entries_.entries' : 'NULL',
      ...(isGone ? {} : { raw: 'NULL' }),
    };
    const columns = eventHistory.columns.map((column) => {
      const { name } = column;
      const value = values[name] ?? valueOf(main, name);
      return `CAST(${value} AS ${sqlType(column)}) AS ${identifier(name)}`;
    });
    const join = isGone ? ' LEFT JOIN entries_ USING (event_id)' : '';
    return `SELECT ${columns.join(', ')}, month_ FROM ${change}_ AS rows${join}`;
  };
  await database.execute(
    `CREATE OR REPLACE TEMP TABLE history_ AS ${select('vanished')} UNION ALL ${select('appeared')}`,
  );

  const files: SliceFile[] = [];
  const metadata = fileMetadata(slice.pipeline, slice.account, loadKeysLabel(slice.loadKeys));
  for (const { month } of await database.rows('SELECT DISTINCT month_ AS month FROM history_ ORDER BY month')) {
    const target = newPath();
    const local = await copyRows(database, eventHistory, {
      select:
        `SELECT * EXCLUDE (month_) FROM history_ WHERE month_ = ${literal(String(month))} ` +
        'ORDER BY effective_at NULLS LAST, event_id, change',
      target,
      metadata,
      groupRows: mostGroupRows,
    });
    const bytes = await bytesOf(local);
    await rm(target, { force: true });
    const tags = { pipeline: historyFamily.name };
    files.push({ table: eventHistory, month: String(month), bytes, rows: local.rows, stats: local.stats, tags });
  }
  return files;
}

/** Columns that the history has no column for: it keeps those of a row, and of its entries, as JSON. */
export function extraColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ name }) => !hasColumn(eventHistory, name));
}

/** In SQL: `event_id` and the entries of each event as a JSON list, from a query of entries. */
function entriesJson(entries: Table, select: string): string {
  // An event that upstream gave for two windows has the same entries in both.
  return (
    `SELECT event_id, to_json(list(${packed(extraColumns(entries))} ORDER BY entry))::VARCHAR AS entries FROM ` +
    `(SELECT DISTINCT ON (event_id, entry) * FROM (${select})) GROUP BY event_id`
  );
}

/** In SQL: columns as one value that becomes a JSON object. Decimals are texts: DuckDB's JSON goes through floating point. */
function packed(columns: readonly Column[]): string {
  const members = columns.map((column) => {
    const name = identifier(column.name);
    return `${name} := ${column.type === 'decimal' ? `CAST(${name} AS VARCHAR)` : name}`;
  });
  return `struct_pack(${members.join(', ')})`;
}

/** In SQL: what the history keeps of a row beside its columns, as a struct with the table's own columns. */
export function attributesOf(main: Table): string {
  return `from_json(attributes, ${literal(JSON.stringify(packedType(main)))})`;
}

/** In SQL: the entries of a row of the history, as a list of such structs. Decimals are texts still. */
export function entriesOf(entries: Table): string {
  return `from_json(entries, ${literal(JSON.stringify([packedType(entries)]))})`;
}

function packedType(table: Table): Readonly<Record<string, string>> {
  return Object.fromEntries(
    extraColumns(table).map((column) => [column.name, column.type === 'decimal' ? 'VARCHAR' : sqlType(column)]),
  );
}

/** What `compact` calls the history: it belongs to no pipeline alone. */
export const historyFamily: PipelineTables = { name: 'event-history', tables: [eventHistory] };
