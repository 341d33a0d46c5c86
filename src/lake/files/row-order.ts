import type { Table } from '../../core/columns/table.js';
import { identifier } from '../../core/duckdb/views.js';

/**
 * The columns that rows of a main table are sorted by, behind those that it names itself, as far as it has them: by time, then by what was read,
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
  return orderOf(table)[0];
}

/** What stands behind ORDER BY for a main table. */
export function mainOrder(table: Table): string {
  return orderOf(table)
    .map((name) => `${identifier(name)} NULLS LAST`)
    .join(', ');
}

function orderOf(table: Table): readonly string[] {
  return [...new Set([...(table.sort ?? []), ...sortColumns.filter((name) => hasColumn(table, name))])];
}

export function hasColumn(table: Table, column: string): boolean {
  return table.columns.some(({ name }) => name === column);
}
