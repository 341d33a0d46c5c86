import { damagedCheckpointText } from '../core/events/damaged-checkpoint-text.js';
import type { Emit } from '../core/events/run-event.js';
import type { Lake } from '../lake/lake.js';

/** Reports the damaged checkpoints that were passed over when the lake was opened. */
export function emitDamagedCheckpoints(lake: Lake, emit: Emit): void {
  for (const { file, reason } of damagedCheckpoints(lake)) emit({ event: 'checkpoint-damaged', file, reason });
}

/** The same, for a command that isn't a run. */
export function logDamagedCheckpoints(lake: Lake, log: (line: string) => void): void {
  for (const { file, reason } of damagedCheckpoints(lake)) log(damagedCheckpointText(file, reason));
}

function damagedCheckpoints(lake: Lake): { file: string; reason: string }[] {
  return lake.tables.flatMap((table) =>
    table.damagedCheckpoints.map(({ path, fault }) => ({ file: path, reason: fault ?? '' })),
  );
}
