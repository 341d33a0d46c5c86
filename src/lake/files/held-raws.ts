import type { Table } from '../../core/columns/table.js';
import type { Add } from '../delta/actions.js';
import type { ComparedLake } from '../transaction/revisions.js';
import { loadKeyCondition } from './load-key-rows.js';
import { defaultLimits, withWorkspace } from './workspace.js';
import { HeldFiles, selectRows } from './stored-rows.js';

/**
 * The JSON of every row that a main table's files hold of some load keys, as it was received.
 *
 * @throws LedgerlakeError LAKE_STORE for a file that is missing or isn't what its commit says
 */
export function storedRaws(
  lake: ComparedLake,
  table: Table,
  adds: readonly Add[],
  loadKeys: readonly string[],
): Promise<string[]> {
  return withWorkspace(defaultLimits, lake.store, async (workspace) => {
    const files = await new HeldFiles(workspace).of(lake, table, adds);
    const select = await selectRows(workspace.database, table, files, loadKeyCondition(loadKeys));
    const rows = await workspace.database.rows(`SELECT raw FROM (${select})`);
    return rows.map(({ raw }) => String(raw));
  });
}
