import type { Database } from '../../core/duckdb/connection.js';
import type { Catalog } from './suggestions.js';

/** The tables with their columns, views and what the user has made included, and DuckDB's keywords. */
export async function readCatalog(database: Database): Promise<Catalog> {
  const tables = new Map<string, string[]>();
  const columns = await database.rows(
    'SELECT table_name, column_name FROM information_schema.columns ORDER BY table_name, ordinal_position',
  );
  for (const row of columns) {
    const table = String(row['table_name']);
    tables.set(table, [...(tables.get(table) ?? []), String(row['column_name'])]);
  }
  const keywords = await database.rows('SELECT keyword_name FROM duckdb_keywords()');
  return { tables, keywords: keywords.map((row) => String(row['keyword_name'])) };
}
