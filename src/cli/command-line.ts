import yargs, { type Argv } from 'yargs';
import { commands } from './commands.js';
import { Given, keptWords, type CommandDefinition } from './definition.js';
import { systemClock } from '../clock.js';
import type { CommandContext } from '../commands/context.js';
import { LedgerlakeError, messageOf, usageError } from '../errors.js';
import { version } from '../version.js';

/** Wider lines are hard to read. */
const widest = 110;

function parserOf(words: readonly string[], context: CommandContext): Argv {
  const parser = yargs(keptWords(words))
    .scriptName('ledgerlake')
    .usage("$0 COMMAND\n\nA seller's financial events as Parquet, exact to the cent.")
    .parserConfiguration({ 'parse-positional-numbers': false })
    .option('verbose', { type: 'boolean', default: false, describe: 'Tell more, and of an error everything' })
    .version(version)
    .help()
    .alias({ h: 'help' })
    .wrap(Math.min(widest, process.stdout.columns || widest))
    .strict()
    .demandCommand(1, 1, 'expected a command, got none', 'expected one command, got several')
    .fail((message: string | null, error: Error | undefined) => {
      const line = (message ?? 'the command line is wrong').replaceAll(/\s*\n\s*/g, ' ');
      throw error ?? usageError(`${line}; see ledgerlake --help`);
    });
  for (const command of commands) define(parser, command, context);
  return parser;
}

function define(parser: Argv, command: CommandDefinition, context: CommandContext): void {
  const { name, positional, about, more, options, examples } = command;
  const shape = positional === undefined ? name : `${name} [${positional.name}${positional.many ? '..' : ''}]`;
  parser.command(
    shape,
    about,
    async (own) => {
      own.usage(`$0 ${shape}\n\n${typeof more === 'string' ? more : await more()}`);
      if (positional !== undefined) {
        own.positional(positional.name, { type: 'string', array: positional.many, describe: positional.about });
      }
      for (const [option, { type, about: describe, default: value, choices }] of Object.entries(options)) {
        const text = { type: 'string', requiresArg: true, default: value, ...(choices && { choices }) } as const;
        own.option(option, type === 'flag' ? { type: 'boolean', default: false, describe } : { ...text, describe });
      }
      for (const [line, does] of examples) own.example(`$0 ${line}`, does);
      return own;
    },
    async (given) => {
      process.exitCode = await command.run(new Given(given), context);
    },
  );
}

/** Tells what went wrong in one line; with --verbose everything that is known of it. */
function report(error: unknown, verbose: boolean): 1 | 2 {
  const lines = [`ledgerlake: ${messageOf(error)}`];
  if (verbose) {
    if (error instanceof LedgerlakeError && error.details !== undefined) lines.push(error.details);
    for (let cause = error; cause instanceof Error; cause = cause.cause) lines.push(cause.stack ?? cause.message);
  }
  process.stderr.write(`${lines.join('\n')}\n`);
  return error instanceof LedgerlakeError ? error.exitCode : 1;
}

/**
 * Runs a command line to its end and leaves the exit code with the process.
 *
 * @param words what stands behind the program's name
 * @param signal aborts with what is to be told once the user or the system wants an end
 */
export async function runCommandLine(words: readonly string[], signal: AbortSignal): Promise<void> {
  // A reader such as `head` that has seen enough is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode);
    throw error;
  });
  const context: CommandContext = {
    clock: systemClock,
    signal,
    print: (text) => process.stdout.write(`${text}\n`),
    log: (line) => process.stderr.write(`${line}\n`),
  };
  try {
    // It may have come while this was loaded.
    signal.throwIfAborted();
    await parserOf(words, context).parseAsync();
  } catch (error) {
    process.exitCode = report(error, words.includes('--verbose'));
  }
}
