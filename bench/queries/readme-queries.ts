import { readFile } from 'node:fs/promises';

/** A query that the README shows, by the sentence above it. */
export interface ReadmeQuery {
  readonly name: string;
  readonly sql: string;
}

/** The README's five queries, and one that groups by the instant where they group by the partition `month`. */
export async function readmeQueries(): Promise<ReadmeQuery[]> {
  const [, section = ''] = (await readFile('README.md', 'utf8')).split('## Five queries\n');
  const found = [...section.matchAll(/\n([A-Z][^\n]*?)[:.][^\n]*(?:\n[^\n`]+)?\n\n```sql\n(.*?)```/gs)];
  const queries = found.map(([, name = '', sql = '']) => ({ name, sql }));
  if (queries.length !== 5) throw new Error(`expected five queries in README.md, found ${queries.length}`);
  const [first] = queries;
  if (first?.sql.includes('SELECT month,') !== true) throw new Error('the first one has no month');
  const sql = first.sql.replace('SELECT month,', "SELECT date_trunc('month', effective_at) AS month,");
  return [...queries, { name: `${first.name}, by date_trunc`, sql }];
}
