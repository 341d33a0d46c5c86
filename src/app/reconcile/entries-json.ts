import { sqlType, type Column, type Table } from '../../core/columns/table.js';
import { identifier, literal } from '../../core/duckdb/views.js';
import { entries, eventHistory } from '../../sources/finances/model/tables.js';

/** Columns of an entry that aren't its event's too. */
export const entryColumns: readonly Column[] = entries.columns.filter(
  ({ name }) => !eventHistory.columns.some((column) => column.name === name),
);

/** In SQL: `event_id` and the entries of each event as a JSON list, from a query of entries. Decimals are texts. */
export function entriesJson({ columns }: Table, select: string): string {
  const held = entryColumns.filter(({ name }) => columns.some((column) => column.name === name));
  const members = held.map(({ name, type }) => `${identifier(name)} := ${jsonValue(name, type)}`);
  // An event that upstream gave for two windows has the same entries in both.
  return (
    `SELECT event_id, to_json(list(struct_pack(${members.join(', ')}) ORDER BY entry))::VARCHAR AS entries FROM ` +
    `(SELECT DISTINCT ON (event_id, entry) * FROM (${select})) GROUP BY event_id`
  );
}

/** In SQL: the type of such a list, for `from_json`. */
export const entriesType = literal(
  JSON.stringify([Object.fromEntries(entryColumns.map((column) => [column.name, jsonType(column)]))]),
);

// DuckDB's JSON goes through floating point.
function jsonValue(name: string, type: Column['type']): string {
  return type === 'decimal' ? `CAST(${identifier(name)} AS VARCHAR)` : identifier(name);
}

function jsonType(column: Column): string {
  return column.type === 'decimal' ? 'VARCHAR' : sqlType(column);
}
