import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { existingLake } from '../../lake/existing-lake.js';
import { exportIceberg } from '../../lake/iceberg/export-lake.js';
import { icebergFolder } from '../../lake/upkeep/vacuum.js';
import { acquireLease } from '../../lake/upkeep/leases.js';
import type { RunContext } from '../context.js';

/**
 * `ledgerlake export iceberg`: writes Iceberg metadata of every table over the same data files, and prints how much.
 *
 * @throws LedgerlakeError USAGE where there is no lake, LAKE_CONFLICT while a run is at work that must be alone on it
 */
export async function exportCommand(
  { lake: location }: { readonly lake: string },
  { clock, print, printJson }: Pick<RunContext, 'clock' | 'print' | 'printJson'>,
): Promise<void> {
  const lake = await existingLake(location, tables, clock);
  if (lake.tables.every(({ snapshot }) => snapshot.version < 0)) {
    print(`\nNothing to do: ${printable(location)} holds nothing yet.\n`);
    printJson({ status: 'done', lake: location, tables: 0, changed: 0, bytes: 0 });
    return;
  }
  const lease = await acquireLease(lake.store, clock, { command: 'export', pipelines: [] });
  try {
    const { tables: count, changed, bytes } = await exportIceberg(lake, clock);
    lease.cleared();
    print(
      changed === 0
        ? `\nNothing to do: the Iceberg metadata of ${printable(location)} is that of its tables.\n`
        : `\nIceberg metadata of ${formatCount(changed, 'table')} of ${formatCount(count)} in ${printable(location)}/${icebergFolder}: ${formatBytes(bytes)}\n`,
    );
    printJson({ status: 'done', lake: location, tables: count, changed, bytes });
  } finally {
    await lease.release();
  }
}
