import type { Clock } from '../../core/clock.js';
import type { Lake } from '../../lake/lake.js';
import type { Exported } from '../../lake/table-export.js';

/** What `ledgerlake export` writes, and runs at their end where `export` says so. */
export const exportFormats = ['iceberg', 'symlinks'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What each is called in lines for people. */
export const exportTitles: Readonly<Record<ExportFormat, string>> = {
  iceberg: 'Iceberg metadata',
  symlinks: 'symlink manifests',
};

type Exporter = (lake: Lake, clock: Clock) => Promise<Exported>;

const exporters: Readonly<Record<ExportFormat, () => Promise<Exporter>>> = {
  iceberg: async () => (await import('../../lake/iceberg/export-lake.js')).exportIceberg,
  symlinks: async () => (await import('../../lake/symlinks/export-symlinks.js')).exportSymlinks,
};

/** Loads what writes a format; a run that exports nothing does without. */
export function exporterOf(format: ExportFormat): Promise<Exporter> {
  return exporters[format]();
}
