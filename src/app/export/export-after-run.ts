import { LedgerlakeError, messageOf } from '../../core/errors.js';
import type { Lake } from '../../lake/lake.js';
import { programCommand } from '../command-text.js';
import type { RunContext } from '../context.js';
import { exporters, exportTitles, type ExportFormat } from './export-formats.js';

export interface AfterRunExport {
  /** As the user wrote it. */
  readonly lake: string;
  /** Left out: none. */
  readonly export?: readonly ExportFormat[] | undefined;
}

/**
 * Exports a lake at the end of a run, also of a failed one, because files of the older metadata may be deleted. It does nothing in a
 * run that was stopped. The run keeps its lease meanwhile.
 *
 * @returns the EXPORT failure for the run to end with; its commits stay
 */
export async function exportAfterRun(
  lake: Lake,
  { lake: location, export: formats = [] }: AfterRunExport,
  { clock, emit, signal, closing }: RunContext,
): Promise<LedgerlakeError | undefined> {
  let failure: LedgerlakeError | undefined;
  for (const format of formats) {
    if (signal.aborted || closing?.aborted === true) break;
    try {
      const exporter = await exporters[format]();
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
