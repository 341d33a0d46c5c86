import { isReferenced } from '../transaction/references.js';
import { isDerivedFile } from '../delta/file-tags.js';
import type { Lake } from '../lake.js';

/**
 * Lets those files of lasting tables count by themselves that a main table's log has named: then they can be merged or
 * made anew under other names, which no log of another table knows. Nothing ever takes such a name back, so this changes
 * what no reader sees.
 *
 * @throws LedgerlakeError as the store and the log do
 */
export async function unpinLasting(lake: Lake, now: number): Promise<void> {
  for (const table of lake.tables) {
    if (table.schema.lasting !== true) continue;
    await table.commit('UNPIN', ({ files }) => {
      const pinned = [...files.values()].filter(
        (add) => isDerivedFile(add) && isReferenced(lake.tables, table.pathOf(add)),
      );
      if (pinned.length === 0) return undefined;
      return pinned.map((add) => {
        const tags = Object.fromEntries(Object.entries(add.tags ?? {}).filter(([name]) => name !== 'main'));
        return { add: { ...add, modificationTime: now, dataChange: false, tags: { ...tags, derived: '[]' } } };
      });
    });
  }
}
