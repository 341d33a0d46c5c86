import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { existingLake } from '../../lake/existing-lake.js';
import type { S3Encryption } from '../../lake/store/store.js';
import { acquireLease } from '../../lake/leases.js';
import { usageError } from '../../core/errors.js';
import { underLease, type CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import { exporters, exportTitles, type ExportFormat } from './export-formats.js';

/**
 * `ledgerlake export symlinks --ddl`: the statements by which Redshift Spectrum reads the manifests.
 *
 * @throws LedgerlakeError USAGE where there is no lake, or one that isn't on S3, as Redshift reads nothing else
 */
export async function redshiftTables(
  { lake: location }: { readonly lake: string },
  { clock }: Pick<RunContext, 'clock'>,
): Promise<string> {
  const lake = await existingLake({ lake: location }, tables, { clock });
  if (!lake.store.address('').startsWith('s3://')) {
    throw usageError(
      `expected --lake s3://BUCKET/PREFIX with --ddl, because Redshift reads nothing else, got ${printable(location)}`,
    );
  }
  const { redshiftStatements } = await import('../../lake/symlinks/redshift-tables.js');
  return redshiftStatements(lake, 'ledgerlake').join('\n\n');
}

interface ExportRequest {
  readonly lake: string;
  readonly format: ExportFormat;
  /** Of new objects of a lake on S3; undefined: as the bucket has it. */
  readonly encryption?: S3Encryption | undefined;
}

/**
 * `ledgerlake export FORMAT`: writes metadata for other engines over the same data files.
 *
 * @throws LedgerlakeError USAGE where there is no lake, LAKE_CONFLICT while a run with an exclusive lease is active
 */
export async function runExport(
  { lake: location, format, encryption }: ExportRequest,
  { clock, emit }: RunContext,
): Promise<CommandResult> {
  const lake = await existingLake({ lake: location, encryption }, tables, { clock, emit });
  if (!lake.tables.some(({ name }) => lake.snapshot.tables.has(name))) {
    return {
      text: `\nNothing to do: ${printable(location)} holds nothing yet.\n`,
      summary: { status: 'done', lake: location, tables: 0, changed: 0, bytes: 0 },
    };
  }
  const exporter = await exporters[format]();
  const lease = await acquireLease(lake, clock, { command: 'export', pipelines: [] });
  return underLease(lease, async () => {
    const { tables: count, changed, bytes } = await exporter(lake, clock);
    lease.cleared();
    const what = exportTitles[format];
    const text =
      changed === 0
        ? `\nNothing to do: the ${what} of ${printable(location)} are up to date.\n`
        : `\n${what[0]?.toUpperCase() ?? ''}${what.slice(1)} of ${formatCount(changed, 'table')} of ${formatCount(count)} in ${printable(location)}: ${formatBytes(bytes)}\n`;
    return { text, summary: { status: 'done', lake: location, tables: count, changed, bytes } };
  });
}
