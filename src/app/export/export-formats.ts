/** What `ledgerlake export` writes, and runs at their end where `export` says so. */
export const exportFormats = ['iceberg', 'symlinks'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What each is called in lines for people. */
export const exportTitles: Readonly<Record<ExportFormat, string>> = {
  iceberg: 'Iceberg metadata',
  symlinks: 'symlink manifests',
};
