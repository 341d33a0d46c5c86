/** Values of `--api`: a version of the Finances API, or both. */
export const apis = ['v0', '2024-06-19', 'both'] as const;
export type Api = (typeof apis)[number];

/** The API whose pipelines run by default. */
export const defaultApi: Api = 'v0';
