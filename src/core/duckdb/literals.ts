import { isoInstant } from '../numeric/instant.js';

/** A text as a SQL literal. */
export function literal(text: string): string {
  // A zero byte ends the statement for DuckDB's parser.
  const pieces = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`);
  return pieces.length === 1 ? pieces.join('') : `(${pieces.join(' || chr(0) || ')})`;
}

/** A file's or folder's name as a pattern that matches only this name: DuckDB interprets brackets, stars and question marks. */
export function filePattern(name: string): string {
  return name.replaceAll(/[[*?]/g, '[$&]');
}

/** An instant as a SQL literal, from milliseconds since 1970 or ISO 8601. */
export function timestampLiteral(instant: number | string): string {
  return `TIMESTAMPTZ ${literal(typeof instant === 'number' ? isoInstant(instant) : instant)}`;
}

/** A name as a quoted SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Parquet files as a table in SQL, without columns for their partition folders; `options` are further options of `read_parquet`. */
export function readParquet(addresses: readonly string[], ...options: readonly string[]): string {
  const settings = ['hive_partitioning = false', ...options];
  return `read_parquet([${addresses.map(fileLiteral).join(', ')}], ${settings.join(', ')})`;
}

/** A file's address in SQL. */
export function fileLiteral(address: string): string {
  return literal(filePattern(address));
}
