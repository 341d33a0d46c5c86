import type { Table } from '../core/columns/table.js';
import type { Lake } from './lake.js';
import type { Store } from './store/store.js';

/** The result of an export. */
export interface Exported {
  /** Tables with a log. */
  readonly tables: number;
  /** The tables among them that were exported again. */
  readonly changed: number;
  /** Bytes written. */
  readonly bytes: number;
}

/**
 * Exports every table with a log, one by one. `exportTable` resolves to the number of bytes written; undefined for a
 * table that is up to date.
 */
export async function exportTables(
  lake: Lake,
  exportTable: (table: Table) => Promise<number | undefined>,
): Promise<Exported> {
  const result = { tables: 0, changed: 0, bytes: 0 };
  for (const table of lake.tables) {
    if (!lake.snapshot.tables.has(table.name)) continue;
    result.tables++;
    const bytes = await exportTable(table);
    if (bytes === undefined) continue;
    result.changed++;
    result.bytes += bytes;
  }
  return result;
}

/** The URL of a path of the lake for other engines. */
export function locationOf(store: Store, path: string): string {
  return store.localPath(path) === undefined ? store.address(path) : `file://${store.address(path)}`;
}
