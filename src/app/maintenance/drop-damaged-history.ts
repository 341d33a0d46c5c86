import type { Add } from '../../lake/delta/actions.js';
import { accountOf, removal, loadKeysOf } from '../../lake/delta/file-tags.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { damageOf } from '../../lake/files/checked-file.js';
import type { MaintenanceRun } from './command.js';

/**
 * Removes the files of the history that are missing or aren't what the log says, in one commit, and reports the rows that are
 * lost with each: nothing can make them again, as the service no longer has what has vanished.
 *
 * @throws LedgerlakeError as the store and the log do, STOPPED
 */
export async function dropDamagedHistory({ lake, account, clock, signal, emit }: MaintenanceRun): Promise<void> {
  for (const table of lake.tables) {
    if (table.schema.lasting !== true) continue;
    const damaged = new Map<string, { readonly add: Add; readonly reason: string }>();
    for (const add of [...table.snapshot.files.values()]) {
      signal.throwIfAborted();
      if (account !== undefined && accountOf(add) !== account) continue;
      const reason = await damageOf(lake.store, table, add);
      if (reason !== undefined) damaged.set(add.path, { add, reason });
    }
    if (damaged.size === 0) continue;
    let gone: Add[] = [];
    await table.commit('DELETE', ({ files }) => {
      // Another run may have merged one meanwhile, or written it again.
      gone = [...damaged.values()].flatMap(({ add }) => {
        const found = files.get(add.path);
        return found !== undefined && found.tags?.['sha256'] === add.tags?.['sha256'] ? [found] : [];
      });
      return gone.length === 0 ? undefined : gone.map((add) => removal(add, clock.now()));
    });
    for (const add of gone) {
      const rows = Number(add.tags?.['rows'] ?? 0);
      const slice = loadKeysText(loadKeysOf(add)) || 'no slice';
      emit({
        event: 'history-dropped',
        file: table.pathOf(add),
        slice,
        rows,
        reason: damaged.get(add.path)?.reason ?? '',
      });
    }
    await lake.drop(gone.map((add) => table.pathOf(add)));
  }
}
