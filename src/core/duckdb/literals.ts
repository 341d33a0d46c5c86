/** A text in SQL, whatever it holds. */
export function literal(text: string): string {
  // DuckDB's parser takes a zero byte for the end of the statement.
  const parts = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`;
}
