import { LedgerlakeError } from '../../core/errors.js';
import { nearestName } from '../../core/text/fault-line.js';
import { formats, isFormat } from '../../core/text/formats.js';
import { proseWidth, writeText } from '../../core/text/sink.js';
import { textLines } from '../../core/text/width.js';
import { identifier } from '../../core/duckdb/literals.js';
import type { Writable } from 'node:stream';
import type { Session } from './session.js';
import { printable } from '../../core/printable.js';

/** The shell's own commands, without their dots. */
export const dotCommands = ['exit', 'format', 'help', 'output', 'quit', 'read', 'schema', 'tables'] as const;

/** Names of some of them in the shells of sqlite3, DuckDB and psql. */
const otherShells: ReadonlyMap<string, string> = new Map([
  ['mode', 'format'],
  ['once', 'output'],
  ['d', 'schema'],
  ['dt', 'tables'],
  ['i', 'read'],
]);

const help = `Statements end with a semicolon and may take several lines. Commands take one line:

.format [NAME]    format of the results: ${formats.join(', ')}
.help             this text
.output [FILE]    writes results to the file, which appears when the next .output or .quit closes it; without FILE, back to here. Without a .format, the extension of the file selects it: .parquet and .xlsx are for one result
.quit             leaves the shell, as Ctrl-D does
.read FILE        runs the statements and commands in the file
.schema [TABLE]   columns and their types; without TABLE, those of every table
.tables           the tables and views, and the macros with their parameters

On a terminal Tab completes names, and the arrow keys recall whole statements (except those that begin with a space, and
secrets). A table ends after 500 rows. Ctrl-C cancels the statement that is running or being typed; without one, pressing it twice leaves the shell.`;

interface DotCommandContext {
  readonly session: Session;
  /** Runs a statement for the command. */
  readonly run: (statement: string) => Promise<boolean>;
  readonly output: Writable;
  readonly errorOutput: Writable;
}

/**
 * Runs a command of the shell other than `quit`. Resolves to false once the output has no reader. Throws a LedgerlakeError SQL
 * or USAGE for an unknown command or an invalid argument.
 */
export async function dotCommand(context: DotCommandContext, name: string, argument: string): Promise<boolean> {
  const { session, run, output, errorOutput } = context;
  switch (name) {
    case 'help':
      return writeText(output, [`${textLines(help, proseWidth(output)).join('\n')}\n`]);
    case 'tables':
      return run(tablesQuery);
    case 'schema':
      return run(schemaQuery(argument));
    case 'output': {
      const written = await session.writeTo(argument === '' ? undefined : argument);
      return written === undefined || writeText(errorOutput, [`${printable(written)}\n`]);
    }
    case 'format':
      if (argument === '') return writeText(output, [`${session.format}\n`]);
      if (!isFormat(argument)) {
        throw new LedgerlakeError('SQL', `expected a format (${formats.join(', ')}), got "${argument}"`);
      }
      session.chosenFormat = argument;
      return true;
    default: {
      const nearest = otherShells.get(name) ?? nearestName(name, dotCommands);
      const hint = nearest === undefined ? '' : `did you mean .${nearest}? `;
      throw new LedgerlakeError('SQL', `expected a command, got ".${name}"; ${hint}.help lists them`);
    }
  }
}

const tablesQuery =
  'SELECT table_name AS "table" FROM information_schema.tables UNION ALL ' +
  "SELECT format('{}({})', function_name, array_to_string(parameters, ', ')) FROM duckdb_functions() WHERE NOT internal " +
  'ORDER BY ALL';

/** The columns of a table with their types, or the names of those of all tables; an unknown table is DuckDB's error. */
function schemaQuery(table: string): string {
  if (table === '') {
    return (
      `SELECT table_name AS "table", string_agg(column_name, ', ' ORDER BY ordinal_position) AS columns ` +
      'FROM information_schema.columns GROUP BY ALL ORDER BY ALL'
    );
  }
  const name = identifier(table.replace(/^"(.*)"$/, '$1'));
  return `SELECT column_name AS "column", column_type AS type FROM (DESCRIBE ${name})`;
}
