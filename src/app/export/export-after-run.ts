import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { Lake } from '../../lake/lake.js';
import { programCommand } from '../command-text.js';
import type { RunContext } from '../context.js';
import { exporterOf, exportTitles, type ExportFormat } from './export-formats.js';

/** What a command exports at its end. */
export interface ExportOptions {
  /** As the user wrote it. */
  readonly lake: string;
  /** Left out: nothing. */
  readonly export?: readonly ExportFormat[] | undefined;
}

/**
 * Exports a lake at the end of a run, also of one that failed: files that the older metadata name may be gone. A run that
 * was stopped ends at once. The run holds its lease meanwhile.
 *
 * @returns EXPORT where it failed, for the run to end with: what it committed stays
 */
export async function exportAfterRun(
  lake: Lake,
  { lake: location, export: formats = [] }: ExportOptions,
  { clock, emit, signal, closing }: Pick<RunContext, 'clock' | 'emit' | 'signal' | 'closing'>,
): Promise<LedgerlakeError | undefined> {
  let failure: LedgerlakeError | undefined;
  for (const format of formats) {
    if (signal.aborted || closing?.aborted === true) break;
    try {
      const exporter = await exporterOf(format);
      emit({ event: 'lake-exported', format, ...(await exporter(lake, clock)) });
    } catch (error) {
      const reason = messageOf(error);
      emit({ event: 'export-failed', format, reason });
      failure ??= new LedgerlakeError(
        'EXPORT',
        `all rows are committed, but the ${exportTitles[format]} could not be written (${reason}); ` +
          `repeat the export with \`${programCommand(['export', format, '--lake', location])}\``,
        { cause: error },
      );
    }
  }
  return failure;
}
