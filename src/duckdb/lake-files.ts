import type { Clock } from '../clock.js';
import { sqlTypes } from '../columns/table.js';
import { tables } from '../finances/tables.js';
import { Lake } from '../lake/lake.js';
import { openStore } from '../lake/open-store.js';
import type { LakeFiles, LakeTable } from './views.js';

/** The tables as DuckDB sees them. */
export const lakeTables: readonly LakeTable[] = tables.map(({ name, columns }) => ({
  name,
  columns: columns.map((column) => ({ name: column.name, type: sqlTypes[column.type] })),
}));

/**
 * Opens a lake for reading; each call of what is returned gives its committed files as of then.
 *
 * @throws LedgerlakeError where the lake can't be read
 */
export async function openLakeFiles(location: string, clock: Clock): Promise<() => Promise<LakeFiles>> {
  const lake = await Lake.open(openStore(location), tables, clock);
  return async () => {
    await lake.refresh();
    return lake.committedFiles();
  };
}
