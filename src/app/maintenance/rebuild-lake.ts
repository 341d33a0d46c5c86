import { maintain, type MaintenanceOptions } from './command.js';
import { rebuildLake, rebuildLimits } from './rebuild.js';
import { pipelines } from '../../../pipelines/all-pipelines.js';
import { formatCount } from '../../core/text/amounts.js';
import type { RunContext } from '../context.js';

export type RebuildOptions = MaintenanceOptions;

/**
 * `ledgerlake rebuild`: makes the entries again from the stored bytes of the events, and prints a summary. No upstream, no
 * quota; where this version makes what is there already, nothing is written.
 *
 * @throws LedgerlakeError USAGE for an unknown pipeline or account, LAKE_STORE naming a file of events that is missing or
 *   was changed behind the lake's back, STOPPED; the summary is printed by then, and what was committed stays
 */
export async function rebuild(options: RebuildOptions, context: RunContext): Promise<void> {
  const words = {
    done: 'Made again what has changed in',
    nothing: (works: readonly { slices: number }[]) => {
      const files = works.reduce((sum, { slices }) => sum + slices, 0);
      return `\nNothing to do: the entries of ${formatCount(files, 'file')} in ${options.lake} are what this version makes of them.\n`;
    },
    slices: 'files read',
  };
  await maintain(options, context, { command: 'rebuild', words, pipelines }, (lake, families, work) =>
    rebuildLake(
      {
        lake,
        families,
        clock: context.clock,
        signal: context.signal,
        account: options.account,
        limits: options.limits ?? rebuildLimits,
        emit: context.emit,
      },
      work,
    ),
  );
}
