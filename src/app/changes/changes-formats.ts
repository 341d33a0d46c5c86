/** The formats of changes. */
export const changesFormats = ['ndjson', 'parquet'] as const;
