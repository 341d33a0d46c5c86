import { isoInstant } from '../numeric/instant.js';

/** A text in SQL, whatever it holds. */
export function literal(text: string): string {
  // DuckDB's parser takes a zero byte for the end of the statement.
  const parts = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`;
}

/** A file's or folder's name as a pattern that matches nothing else: DuckDB takes brackets and stars in a name for one. */
export function filePattern(name: string): string {
  return name.replaceAll(/[[*?]/g, '[$&]');
}

/** An instant in SQL, from milliseconds since 1970 or as ISO 8601. */
export function timestampLiteral(instant: number | string): string {
  return `TIMESTAMPTZ ${literal(typeof instant === 'number' ? isoInstant(instant) : instant)}`;
}

/** A name in SQL, whatever it holds. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Parquet files as a table in SQL, folders left aside; `options` are further ones of DuckDB's `read_parquet`. */
export function readParquet(addresses: readonly string[], ...options: readonly string[]): string {
  const settings = ['hive_partitioning = false', ...options];
  return `read_parquet([${addresses.map(fileLiteral).join(', ')}], ${settings.join(', ')})`;
}

/** A file's address in SQL. */
export function fileLiteral(address: string): string {
  return literal(filePattern(address));
}
