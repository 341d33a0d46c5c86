import type { Clock } from '../../core/clock.js';
import type { Lake } from '../../lake/lake.js';
import type { Exported } from '../../lake/table-export.js';
import type { ExportFormat } from './export-formats.js';

export type Exporter = (lake: Lake, clock: Clock) => Promise<Exported>;

const exporters: Readonly<Record<ExportFormat, () => Promise<Exporter>>> = {
  iceberg: async () => (await import('../../lake/iceberg/export-lake.js')).exportIceberg,
  symlinks: async () => (await import('../../lake/symlinks/export-symlinks.js')).exportSymlinks,
};

/** Loads what writes a format; a run that exports nothing does without. */
export function exporterOf(format: ExportFormat): Promise<Exporter> {
  return exporters[format]();
}
