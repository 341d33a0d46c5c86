import yargs, { type Argv } from 'yargs';
import { commands } from './commands.js';
import { Given, keptWords, type CommandDefinition } from './definition.js';
import { failureOf } from './failure.js';
import { fallbackTelling, openTelling, type Telling } from './telling.js';
import { systemClock } from '../clock.js';
import type { CommandContext } from '../commands/context.js';
import { usageError } from '../errors.js';
import { version } from '../version.js';

type Surroundings = Pick<CommandContext, 'clock' | 'signal'>;

/** Wider lines are hard to read. */
const widest = 110;

function parserOf(words: readonly string[], surroundings: Surroundings): Argv {
  const parser = yargs(keptWords(words))
    .scriptName('ledgerlake')
    .usage("$0 COMMAND\n\nA seller's financial events as Parquet, exact to the cent.")
    .parserConfiguration({ 'parse-positional-numbers': false })
    .option('verbose', { type: 'boolean', default: false, describe: 'Tell more, and of an error everything' })
    .option('quiet', { type: 'boolean', default: false, describe: 'Tell nothing but errors' })
    .option('log-format', { type: 'string', requiresArg: true, describe: 'How progress is told: text, or json' })
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
  for (const command of commands) define(parser, command, surroundings);
  return parser;
}

function define(parser: Argv, command: CommandDefinition, surroundings: Surroundings): void {
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
      for (const [option, { type, about: describe, default: value, choices, short }] of Object.entries(options)) {
        const text = { type: 'string', requiresArg: true, default: value, ...(choices && { choices }) } as const;
        own.option(option, type === 'flag' ? { type: 'boolean', default: false, describe } : { ...text, describe });
        if (short !== undefined) own.alias(option, short);
      }
      for (const [line, does] of examples) own.example(`$0 ${line}`, does);
      return own;
    },
    async (values) => {
      const given = new Given(values);
      const telling = await openTelling(given, command, surroundings);
      const { tell } = telling;
      const log = (message: string): void => {
        tell({ event: 'message', message });
      };
      const print = (text: string) => process.stdout.write(`${text}\n`);
      try {
        process.exitCode = await command.run(given, { ...surroundings, print, log, tell });
      } catch (error) {
        process.exitCode = failed(error, telling);
      } finally {
        await telling.close();
      }
    },
  );
}

/** Tells what went wrong; the exit code. */
function failed(error: unknown, { tell }: Telling): number {
  const failure = failureOf(error);
  tell(failure);
  return failure.exitCode;
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
  try {
    // It may have come while this was loaded.
    signal.throwIfAborted();
    await parserOf(words, { clock: systemClock, signal }).parseAsync();
  } catch (error) {
    process.exitCode = failed(error, await fallbackTelling(words, systemClock));
  }
}
