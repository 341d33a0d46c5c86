import { openDatabase } from '../duckdb/connection.js';
import { Session } from '../duckdb/session.js';
import { runShell } from '../duckdb/shell.js';
import { statementsOf } from '../duckdb/statements.js';
import { fileCount } from '../duckdb/views.js';
import { usageError } from '../errors.js';
import { writeText } from '../output/sink.js';
import type { Readable, Writable } from 'node:stream';
import type { Format } from '../output/formats.js';
import type { Output } from '../output/sink.js';
import type { LakeFiles, LakeTable } from '../duckdb/views.js';

export interface SqlOptions {
  /** One statement or more, of which the last one's result is printed; undefined: a shell over `input`. */
  readonly query?: string | undefined;
  readonly format: Format;
  /** The lake as the user wrote it. */
  readonly location: string;
  /** The committed files of each table as of now, as absolute addresses. Called again when one of them has gone. */
  readonly lakeFiles: () => Promise<LakeFiles>;
  /** What a file of the lake holds, by its address. */
  readonly sliceOf?: ((address: string) => string | undefined) | undefined;
  readonly tables: readonly LakeTable[];
  /** Statements that make macros over the views. */
  readonly macros?: readonly string[];
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Output;
  readonly errorOutput: Writable;
  readonly signal?: AbortSignal | undefined;
}

/**
 * `ledgerlake sql`: DuckDB over the committed files of a lake, one view a table. The exit code: 1 if a statement of the
 * shell failed. Throws a LedgerlakeError: SQL when a query fails (DuckDB's message), STOPPED when the signal aborts,
 * USAGE when the query holds no statement. When the output's reader leaves early (`| head`) the rest is dropped: 0.
 */
export async function runSql(options: SqlOptions): Promise<0 | 1> {
  const { query, location, errorOutput } = options;
  const statements = query === undefined ? undefined : statementsOf(query);
  const last = statements?.at(-1);
  if (statements !== undefined && last === undefined) {
    throw usageError('Expected a query such as "SELECT count(*) FROM events", got none: leave it out for a shell.');
  }

  const database = await openDatabase();
  try {
    const session = new Session({ ...options, database });
    if (fileCount(await session.refresh()) === 0) {
      await writeText(errorOutput, [`The lake ${location} is empty: run \`ledgerlake backfill\` to load it.\n`]);
    }
    if (statements === undefined || last === undefined) return await runShell({ ...options, session });
    for (const statement of statements.slice(0, -1)) await session.runSilently(statement);
    await session.run(last);
    return 0;
  } finally {
    database.close();
  }
}
