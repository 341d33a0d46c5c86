import { readFile } from 'node:fs/promises';

/** A query of `docs/queries.md`, by the sentence above it. */
export interface DocumentedQuery {
  readonly name: string;
  readonly sql: string;
}

/** The five queries of `docs/queries.md`, and one that groups by the instant where they group by the partition `month`. */
export async function documentedQueries(): Promise<DocumentedQuery[]> {
  const [, section = ''] = (await readFile('docs/queries.md', 'utf8')).split('## Five queries\n');
  const found = [...section.matchAll(/\n([A-Z][^\n]*?)[:.][^\n]*(?:\n[^\n`]+)?\n\n```sql\n(.*?)```/gs)];
  const queries = found.map(([, name = '', sql = '']) => ({ name, sql }));
  if (queries.length !== 5) throw new Error(`expected five queries in docs/queries.md, found ${queries.length}`);
  const [first] = queries;
  if (first?.sql.includes('SELECT month,') !== true) throw new Error('the first one has no month');
  const sql = first.sql.replace('SELECT month,', "SELECT date_trunc('month', effective_at) AS month,");
  return [...queries, { name: `${first.name}, by date_trunc`, sql }];
}
