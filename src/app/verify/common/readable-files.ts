import type { ResultCell } from '../../../core/text/rows.js';
import type { LogFile } from './log-files.js';

/** A file of the log, and the path at which DuckDB reads it. */
export interface ReadableFile {
  readonly file: LogFile;
  readonly path: string;
}

export function pathsOf(files: readonly ReadableFile[]): string[] {
  return files.map(({ path }) => path);
}

/**
 * A statement of a `.sql` file over the rows of files: `relations` has queries of them by the names that the statement reads them by.
 *
 * @param text begins with SELECT
 */
export function statementOver(relations: Readonly<Record<string, string>>, text: string): string {
  const queries = Object.entries(relations).map(([name, query]) => `${name} AS NOT MATERIALIZED (${query})`);
  return `WITH ${queries.join(', ')}\n${text}`;
}

/** The file of a row of `rowsWithSource`. */
export function fileOf(files: readonly ReadableFile[], source: ResultCell | undefined): LogFile {
  const found = files[Number(source)];
  if (found === undefined) throw new Error(`expected a file ${String(source)}`);
  return found.file;
}
