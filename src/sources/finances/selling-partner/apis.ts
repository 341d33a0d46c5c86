/** What `--api` names: a version of the finances, or both. */
export const apis = ['v0', '2024-06-19', 'both'] as const;
export type Api = (typeof apis)[number];

/** The API whose pipelines run where neither a pipeline nor an API is named. */
export const defaultApi: Api = 'v0';
