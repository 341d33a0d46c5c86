import type { Clock } from '../../core/clock.js';
import type { Lake } from '../../lake/lake.js';
import type { Exported } from '../../lake/table-export.js';

/** The formats of `ledgerlake export`, and of the setting `export`. */
export const exportFormats = ['iceberg', 'symlinks'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The names of the formats for people. */
export const exportTitles: Readonly<Record<ExportFormat, string>> = {
  iceberg: 'Iceberg metadata',
  symlinks: 'symlink manifests',
};

type Exporter = (lake: Lake, clock: Clock) => Promise<Exported>;

/** Each imports the exporter of a format. */
export const exporters: Readonly<Record<ExportFormat, () => Promise<Exporter>>> = {
  iceberg: async () => (await import('../../lake/iceberg/export-lake.js')).exportIceberg,
  symlinks: async () => (await import('../../lake/symlinks/export-symlinks.js')).exportSymlinks,
};
