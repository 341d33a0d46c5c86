import { historyFamily } from '../reconcile/event-history.js';
import { unpinLasting } from '../../lake/transaction/references.js';
import { pipelines } from '../../../pipelines/all-pipelines.js';
import { compactLake, defaultTargetBytes } from './compaction.js';
import { maintain, type MaintenanceOptions } from './command.js';
import { defaultLimits } from '../../lake/files/workspace.js';
import { dropDamagedHistory } from './drop-damaged-history.js';
import type { RunContext } from '../context.js';

export interface CompactOptions extends MaintenanceOptions {
  /** What files are merged up to, in bytes; default 128 MB. */
  readonly targetBytes?: number;
  /** Removes damaged files of the history, whose rows are lost. */
  readonly dropDamagedHistory?: boolean;
}

/**
 * `ledgerlake compact`: merges the small files of each account and month, writes larger ones smaller, and prints a
 * summary. No upstream, no quota; other runs may be at work on the lake.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or a bad account, LAKE_STORE naming a file that is missing or was
 *   changed behind the lake's back, STOPPED; the summary is printed by then, and what was merged stays
 */
export async function compact(options: CompactOptions, context: RunContext): Promise<void> {
  const words = {
    done: 'Compacted',
    nothing: () => `\nNothing to do: ${options.lake} has no small files to merge, and none to write smaller.\n`,
    slices: 'merges',
  };
  const tabled = [...pipelines, historyFamily];
  await maintain(options, context, { command: 'compact', words, pipelines: tabled }, async (lake, families, work) => {
    if (options.dropDamagedHistory === true) await dropDamagedHistory({ ...context, lake, account: options.account });
    if (families.some(({ main }) => main.lasting)) await unpinLasting(lake, context.clock.now());
    await compactLake(
      {
        lake,
        families,
        clock: context.clock,
        signal: context.signal,
        account: options.account,
        limits: options.limits ?? defaultLimits,
        targetBytes: options.targetBytes ?? defaultTargetBytes,
        emit: context.emit,
      },
      work,
    );
  });
}
