import type { DeltaTable } from './delta/delta-table.js';
import type { Lake } from './lake.js';
import type { Store } from './store/store.js';

/** What an export came to. */
export interface Exported {
  /** Tables with a log. */
  readonly tables: number;
  /** Of these, those of which something was written. */
  readonly changed: number;
  /** Bytes written. */
  readonly bytes: number;
}

/** Exports every table with a log, one by one. `exportTable` resolves to the bytes written; undefined where none had to be. */
export async function exportTables(
  lake: Lake,
  exportTable: (table: DeltaTable) => Promise<number | undefined>,
): Promise<Exported> {
  const result = { tables: 0, changed: 0, bytes: 0 };
  for (const table of lake.tables) {
    if (table.snapshot.version < 0) continue;
    result.tables++;
    const bytes = await exportTable(table);
    if (bytes === undefined) continue;
    result.changed++;
    result.bytes += bytes;
  }
  return result;
}

/** How other engines find a path of the lake. */
export function locationOf(store: Store, path: string): string {
  return store.localPath(path) === undefined ? store.address(path) : `file://${store.address(path)}`;
}
