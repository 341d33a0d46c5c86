import { readFile } from 'node:fs/promises';

/** A query of `docs/queries.md`, by the sentence above it. */
export interface DocumentedQuery {
  readonly name: string;
  readonly sql: string;
}

/** What `fees_by_type` comes to where there are no views over the tables. */
const fees = `SELECT currency, name AS fee, count(*) AS times, sum(amount) AS total
FROM entries
WHERE role = 'net' AND kind = 'fee'
GROUP BY ALL`;

/**
 * The five queries of `docs/queries.md`, one that groups by the instant where they group by the partition `month`, and one that
 * finds an order by its id.
 *
 * @param order an order of the files
 */
export async function documentedQueries(order: string): Promise<DocumentedQuery[]> {
  const [, behind = ''] = (await readFile('docs/queries.md', 'utf8')).split('## Five queries\n');
  const [section = ''] = behind.split('\n## ');
  const found = [...section.matchAll(/(?:^|\n)\n([A-Z][^:.]*)[^`]*?(?:`[^`]+`[^`]*?)*\n\n```sql\n(.*?)```/gs)];
  const queries = found.map(([, name = '', sql = '']) => ({ name, sql: sql.includes('fees_by_type') ? fees : sql }));
  if (queries.length !== 5) throw new Error(`expected five queries in docs/queries.md, found ${queries.length}`);
  const [first] = queries;
  if (first?.sql.includes('SELECT month,') !== true) throw new Error('the first one has no month');
  const sql = first.sql.replace('SELECT month,', "SELECT date_trunc('month', effective_at) AS month,");
  const byId = `SELECT kind, name, amount FROM entries WHERE amount_text IS NULL AND amazon_order_id = '${order}' ORDER BY ALL`;
  return [...queries, { name: `${first.name}, by date_trunc`, sql }, { name: 'an order by its id', sql: byId }];
}
