import { createHash } from 'node:crypto';
import type { Table } from '../../core/columns/table.js';
import type { ComparedLake } from '../../lake/transaction/revisions.js';
import type { SliceCommit } from '../../lake/transaction/slice-commit.js';
import { faultOf } from '../../lake/files/checked-file.js';
import { replacedAdds } from '../../lake/files/stored-rows.js';

/**
 * Writes those files again that are missing or were changed behind the lake's back, where the slice came as the log has
 * it: the log stays as it is, and its files are what it says once more.
 *
 * @returns what was wrong, a file each
 * @throws LedgerlakeError LAKE_STORE
 */
export async function mendFiles(lake: ComparedLake, main: Table, slice: SliceCommit): Promise<string[]> {
  const incoming = new Map(slice.files.map(({ bytes }) => [createHash('sha256').update(bytes).digest('hex'), bytes]));
  const { mains, derived } = replacedAdds(lake, main, slice);
  const mended: string[] = [];
  for (const [table, adds] of [[main, mains] as const, ...derived]) {
    for (const add of adds) {
      const path = lake.table(table.name).pathOf(add);
      const fault = faultOf(add, await lake.store.read(path));
      const bytes = incoming.get(add.tags?.['sha256'] ?? '');
      if (fault === undefined || bytes === undefined) continue;
      await lake.store.write(path, bytes);
      mended.push(`expected ${lake.store.address(path)} as its commit has it, ${fault}; it was written again`);
    }
  }
  return mended;
}
