import type { Emit } from '../core/events/run-event.js';
import type { DeltaTable } from '../lake/delta/delta-table.js';

/** Reports the damaged checkpoints that were passed over when tables of a lake were opened; every command that opens one does. */
export function emitDamagedCheckpoints(tables: readonly DeltaTable[], emit: Emit): void {
  for (const { damagedCheckpoints } of tables) {
    for (const { path, fault = '' } of damagedCheckpoints)
      emit({ event: 'checkpoint-damaged', file: path, reason: fault });
  }
}
