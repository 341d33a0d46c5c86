import type { Clock } from '../clock.js';
import { sqlTypes } from '../columns/table.js';
import { tables } from '../finances/tables.js';
import { existingLake } from '../lake/existing-lake.js';
import type { LakeFiles, LakeTable } from './views.js';

/** The tables as DuckDB sees them. */
export const lakeTables: readonly LakeTable[] = tables.map(({ name, columns }) => ({
  name,
  columns: columns.map((column) => ({ name: column.name, type: sqlTypes[column.type] })),
}));

/**
 * Opens a lake for reading; each call of what is returned gives its committed files as of then.
 *
 * @throws LedgerlakeError USAGE where there is none, or where it can't be read
 */
export async function openLakeFiles(location: string, clock: Clock): Promise<() => Promise<LakeFiles>> {
  const lake = await existingLake(location, tables, clock);
  return async () => {
    await lake.refresh();
    return lake.committedFiles();
  };
}
