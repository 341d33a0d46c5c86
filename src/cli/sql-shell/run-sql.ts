import { commandIn, type CommandScope } from '../../app/command-text.js';
import { readCatalog } from './tab-completion.js';
import { openDatabase } from '../../core/duckdb/connection.js';
import { Destination, Session, type SessionOptions } from './session.js';
import { runShell, type ShellOptions } from './shell.js';
import { statementsOf } from '../../core/duckdb/sql-statements.js';
import { fileCount } from '../../core/duckdb/views.js';
import { usageError } from '../../core/errors.js';
import { writeText } from '../../core/text/sink.js';
import { printable } from '../../core/printable.js';

export interface RunSqlOptions extends Omit<SessionOptions, 'database'> {
  /** One or more statements, of which the last one's result is printed; undefined: a shell over `input`. */
  readonly query?: string | undefined;
  /** The options that printed commands repeat; the lake as the user wrote it. */
  readonly scope: CommandScope & { readonly lake: string };
  readonly input: ShellOptions['input'];
  /** File for the results instead of the output, written completely or not at all. */
  readonly outputFile?: string | undefined;
  /** Whether the error output reports that file once it is complete. */
  readonly reportsFile?: boolean;
  /** History file of a shell on a terminal; undefined: none. */
  readonly historyFile?: string | undefined;
}

/**
 * `ledgerlake sql`: DuckDB over the committed files of a lake, one view for each table. Resolves to the exit code: 1 if a
 * statement of the shell failed; 0 also where the output's reader closes the pipe (`| head`). Throws a LedgerlakeError: SQL for
 * a query that fails, with DuckDB's message, STOPPED once the signal aborts, USAGE for a query without a statement and for a file
 * that can't be written.
 */
export async function runSql(options: RunSqlOptions): Promise<0 | 1> {
  const { query, scope, errorOutput, outputFile } = options;
  const statements = query === undefined ? undefined : statementsOf(query);
  const last = statements?.at(-1);
  if (statements !== undefined && last === undefined) {
    throw usageError(
      'expected a query such as "SELECT count(*) FROM events", got an empty one; leave it out for the shell',
    );
  }
  if (query?.startsWith('.')) {
    throw usageError(
      `expected SQL, got ${query}; commands that begin with a dot work only in the shell, which \`ledgerlake sql\` opens`,
    );
  }

  const database = await openDatabase();
  const session = new Session({ ...options, database });
  const destination = new Destination(session);
  try {
    if (outputFile !== undefined) await destination.to(outputFile);
    if (fileCount(await session.refresh()) === 0) {
      await writeText(errorOutput, [
        `The lake ${printable(scope.lake)} is empty: \`${printable(commandIn(scope, 'ledgerlake status'))}\` names the command that loads it.\n`,
      ]);
    }
    let code: 0 | 1 = 0;
    if (statements === undefined || last === undefined) {
      code = await runShell({ ...options, session, destination, catalog: () => readCatalog(database) });
    } else {
      for (const statement of statements.slice(0, -1)) await session.runSilently(statement);
      await session.run(last);
    }
    const written = await destination.to(undefined);
    if (written !== undefined && options.reportsFile === true) {
      await writeText(errorOutput, [`${printable(written)}\n`]);
    }
    return code;
  } finally {
    await destination.drop();
    database.close();
  }
}
