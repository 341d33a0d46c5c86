import type { Table } from '../columns/table.js';
import { identifier } from '../duckdb/views.js';

/**
 * The columns that rows of a main table are sorted by, as far as the table has them: by time, then by what was read,
 * then by order of receipt. That is the order of a slice's own file too.
 */
const sortColumns = [
  'effective_at',
  'started_at',
  'group_id',
  'window_start',
  'requested_order_id',
  'position',
  'event_id',
] as const;

/** The column by which files of a table are laid side by side; undefined where it has none of them. */
export function leadingColumn(table: Table): string | undefined {
  return sortColumns.find((name) => has(table, name));
}

/** What stands behind ORDER BY for a main table. */
export function mainOrder(table: Table): string {
  return sortColumns
    .filter((name) => has(table, name))
    .map((name) => `${identifier(name)} NULLS LAST`)
    .join(', ');
}

export function has(table: Table, column: string): boolean {
  return table.columns.some(({ name }) => name === column);
}
