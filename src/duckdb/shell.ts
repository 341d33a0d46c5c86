import { createInterface } from 'node:readline';
import { LedgerlakeError } from '../errors.js';
import { formats, isFormat } from '../output/formats.js';
import { writeText } from '../output/sink.js';
import { StatementReader } from './statements.js';
import { identifier } from './views.js';
import type { Readable, Writable } from 'node:stream';
import type { Output } from '../output/sink.js';
import type { Session } from './session.js';

export interface ShellOptions {
  readonly session: Session;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Output;
  readonly errorOutput: Writable;
  readonly signal?: AbortSignal | undefined;
}

const prompt = 'ledgerlake> ';
const help = `Statements end with a semicolon and may take several lines. Commands take one line:
.format [NAME]    how results are printed: ${formats.join(', ')}
.help             this text
.quit             leaves
.schema [TABLE]   columns and their types
.tables           the tables
`;

/**
 * Reads statements and commands from the input until its end or `.quit`, each printed as it comes. On a terminal it
 * prompts, and leaving it is no failure. A statement that fails is reported on the error output and the next one is read;
 * off a terminal the exit code is then 1, and a last statement without a semicolon is run at the end of the input.
 */
export async function runShell(options: ShellOptions): Promise<0 | 1> {
  const { session, input, output, errorOutput, signal } = options;
  const interactive = input.isTTY === true;
  // Prompts stay out of results that go to a file.
  const screen = output.isTTY === true ? output : errorOutput;
  const lines = createInterface({
    input,
    ...(interactive ? { output: screen, terminal: true, prompt } : { terminal: false, crlfDelay: Infinity }),
    ...(signal && { signal }),
  });
  // Lines that come before somebody asks for them would be lost.
  const asked = lines[Symbol.asyncIterator]();
  lines.on('SIGINT', () => {
    lines.close();
  });
  const reader = new StatementReader();
  const ask = (): void => {
    if (!interactive) return;
    lines.setPrompt(reader.pending ? '...> '.padStart(prompt.length) : prompt);
    lines.prompt();
  };

  let failures = 0;
  /** False where nobody reads the output any more. */
  const attempt = async (work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code === 'STOPPED') throw error;
      failures++;
      return writeText(errorOutput, [`${error.message}\n`]);
    }
  };

  try {
    if (interactive) await writeText(screen, ['DuckDB over the lake: .help for commands, .quit to leave.\n']);
    ask();
    for await (const line of asked) {
      const command = reader.pending ? undefined : /^\s*\.(.*)$/.exec(line)?.[1];
      if (command === undefined) {
        for (const statement of reader.push(line)) if (!(await attempt(() => session.run(statement)))) return 0;
      } else {
        const [name = '', argument = ''] = command.replace(/[\s;]+$/, '').split(/\s+/, 2);
        if (name === 'quit' || name === 'exit') return failures > 0 && !interactive ? 1 : 0;
        if (!(await attempt(() => dotCommand(options, name, argument)))) return 0;
      }
      ask();
    }
    if (signal?.aborted === true)
      throw new LedgerlakeError('STOPPED', 'The shell was stopped.', { cause: signal.reason });
    if (interactive) await writeText(screen, ['\n']);
    const rest = interactive ? undefined : reader.rest();
    if (rest !== undefined && !(await attempt(() => session.run(rest)))) return 0;
    return failures > 0 && !interactive ? 1 : 0;
  } finally {
    lines.close();
  }
}

async function dotCommand({ session, output }: ShellOptions, name: string, argument: string): Promise<boolean> {
  switch (name) {
    case 'help':
      return writeText(output, [help]);
    case 'tables':
      return session.run('SELECT table_name AS "table" FROM information_schema.tables ORDER BY ALL');
    case 'schema':
      return session.run(schemaQuery(argument));
    case 'format':
      if (argument === '') return writeText(output, [`${session.format}\n`]);
      if (!isFormat(argument)) {
        throw new LedgerlakeError('SQL', `Expected a format (${formats.join(', ')}), got "${argument}".`);
      }
      session.format = argument;
      return true;
    default:
      throw new LedgerlakeError('SQL', `There is no command ".${name}": .help lists those there are.`);
  }
}

/** The columns of a table, or of all; a table that isn't there is DuckDB's error. */
function schemaQuery(table: string): string {
  if (table === '') {
    return (
      'SELECT table_name AS "table", column_name AS "column", data_type AS type FROM information_schema.columns ' +
      'ORDER BY table_name, ordinal_position'
    );
  }
  const name = identifier(table.replace(/^"(.*)"$/, '$1'));
  return `SELECT column_name AS "column", column_type AS type FROM (DESCRIBE ${name})`;
}
