import type { Clock } from '../clock.js';
import { sqlType } from '../columns/table.js';
import { tables } from '../finances/tables.js';
import { existingLake } from '../lake/existing-lake.js';
import { unitsOf } from '../lake/file-tags.js';
import type { LakeFiles, LakeTable } from './views.js';

/** The tables as DuckDB sees them. */
export const lakeTables: readonly LakeTable[] = tables.map(({ name, columns }) => ({
  name,
  columns: columns.map((column) => ({ name: column.name, type: sqlType(column) })),
}));

/**
 * Opens a lake for reading; each call of what is returned gives its committed files as of then.
 *
 * @throws LedgerlakeError USAGE where there is none, or where it can't be read
 */
export async function openLakeFiles(location: string, clock: Clock): Promise<() => Promise<LakeFiles>> {
  return (await openLakeReader(location, clock)).lakeFiles;
}

/** A lake as queries need it. */
export interface LakeReader {
  /** Its committed files as of then. */
  readonly lakeFiles: () => Promise<LakeFiles>;
  /** What a file holds, by its address: `window/…`, of several the first and how many more; undefined for none of ours. */
  readonly sliceOf: (address: string) => string | undefined;
}

/** The same, with what can be told of its files. */
export async function openLakeReader(location: string, clock: Clock): Promise<LakeReader> {
  const lake = await existingLake(location, tables, clock);
  return {
    lakeFiles: async () => {
      await lake.refresh();
      return lake.committedFiles();
    },
    sliceOf: (address) => {
      const found = lake.committedAdds().find(({ table, add }) => lake.store.address(table.pathOf(add)) === address);
      if (found === undefined) return undefined;
      const [first = 'no slice', ...others] = unitsOf(found.add);
      return others.length === 0 ? first : `${first} and ${others.length} more`;
    },
  };
}
