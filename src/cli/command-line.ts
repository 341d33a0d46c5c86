import { basename } from 'node:path';
import yargs, { type Argv } from 'yargs';
import { commands } from './commands.js';
import {
  commandShape,
  everyOption,
  CommandArguments,
  markedWords,
  refuseFlagValues,
  type CommandDefinition,
  type OptionDefinition,
} from './options/command-definition.js';
import { commandNames, noCommand, parserFault, severalCommands } from './parser-fault.js';
import { failedEvent, failureIn, fallbackListener, openListener, type OneOfSeveral } from './listener.js';
import { runAccounts, type AccountRun } from './account-runs.js';
import { RunOutput } from './run-output.js';
import { readRunAccounts } from './options/command-settings.js';
import { confirmOnTerminal, watchOutput } from './options/terminal.js';
import type { Stopping } from './options/stop-signals.js';
import { proseWidth } from '../core/text/sink.js';
import { systemClock } from '../core/clock.js';
import { program } from '../app/command-text.js';
import type { CommandContext } from '../app/context.js';
import { configuredNames } from '../app/configuration/read-configuration.js';
import { LedgerlakeError, usageError } from '../core/errors.js';
import { version } from '../core/version.js';

type ProcessContext = Pick<CommandContext, 'clock' | 'signal'> & Pick<Stopping, 'extendGrace'>;

/** What runs of a command hand over for its notification. */
interface RunsContext extends ProcessContext {
  /** Receives the object of each run, whether it is printed or not, and its account. */
  readonly onSummary: (account: string | undefined, summary: object) => void;
  /** Posts how the command has ended; `error`: of a failure before the first run. Never throws. */
  readonly notifyEnd: (exitCode: number, error?: unknown) => Promise<void>;
}

/** The option by which the script of a shell asks for completions. */
const completionOption = '--get-yargs-completions';

/** Parses a command line and runs its command. */
async function parse(
  words: readonly string[],
  processContext: ProcessContext,
  completions?: CompletionChoices,
): Promise<void> {
  // yargs formats the help before it awaits a command, which takes longer than parsing.
  let running: Promise<void> | undefined;
  const run = (values: Readonly<Record<string, unknown>>, command: CommandDefinition): void => {
    refuseFlagValues(words, command);
    running = runCommand(new CommandArguments(values), command, processContext);
  };
  await parserOf(words, run, completions).parseAsync();
  await running;
}

type Run = (values: Readonly<Record<string, unknown>>, command: CommandDefinition) => void;

function parserOf(words: readonly string[], run: Run, completions?: CompletionChoices): Argv {
  const parser = yargs(markedWords(words))
    .scriptName('ledgerlake')
    .parserConfiguration({ 'parse-positional-numbers': false })
    .options(Object.fromEntries(Object.entries(everyOption).map(([name, option]) => [name, parsedOption(option)])))
    .version(version)
    .help(false)
    .strict()
    .demandCommand(1, 1, noCommand, severalCommands)
    .fail((message: string | null, error: Error | undefined) => {
      // A YError is the parser's too, such as that of an option without a value.
      if (error !== undefined && error.name !== 'YError') throw error;
      throw usageError(parserFault((message ?? 'the command line is wrong').replaceAll(/\s*\n\s*/g, ' '), words));
    });
  for (const command of commands) define(parser, command, run, completions);
  return parser;
}

/** An option as the parser takes it. Without `choices` its value is checked with those of the environment and the configuration. */
function parsedOption({ isFlag, default: value, about }: OptionDefinition, choices?: readonly string[]) {
  return isFlag === true
    ? ({ describe: about, type: 'boolean' } as const)
    : ({ describe: about, type: 'string', requiresArg: true, default: value, ...(choices && { choices }) } as const);
}

function define(parser: Argv, command: CommandDefinition, run: Run, completions?: CompletionChoices): void {
  const { positional, about, options } = command;
  parser.command(
    commandShape(command),
    about,
    (builder) => {
      if (positional !== undefined) {
        const choices = completions?.[positional.name];
        builder.positional(positional.name, { type: 'string', array: positional.many, ...(choices && { choices }) });
      }
      for (const [name, option] of Object.entries(options)) {
        builder.option(name, parsedOption(option, option.choices ?? completions?.[name]));
        if (option.short !== undefined) builder.alias(name, option.short);
      }
      return builder;
    },
    (values) => {
      run(values, command);
    },
  );
}

/** Runs a command, once for each account where it takes several, and sets the exit code of the process. */
async function runCommand(
  args: CommandArguments,
  command: CommandDefinition,
  processContext: ProcessContext,
): Promise<void> {
  refuseAccounts(args, command);
  let accounts: readonly string[] = [];
  /** The object of each run, by its account. */
  const summaries = new Map<string | undefined, object>();
  let isNotified = false;
  const context: RunsContext = {
    ...processContext,
    onSummary: (account, summary) => summaries.set(account, summary),
    notifyEnd: async (exitCode, error) => {
      // A crash ends all runs that are side by side.
      if (command.notifies !== true || args.flag('dry-run') || isNotified) return;
      isNotified = true;
      const { notify } = await import('./notification.js');
      const { code, message } = failedEvent(error);
      // Runs side by side end in any order.
      const runs =
        accounts.length < 2 ? [...summaries.values()] : accounts.flatMap((name) => summaries.get(name) ?? []);
      const ended = { command: command.name, exitCode, runs, ...(error !== undefined && { error: { code, message } }) };
      await notify(args, ended, processContext);
    },
  };
  try {
    if (command.severalAccounts === 'in turn') accounts = await readRunAccounts(args);
    process.exitCode =
      accounts.length < 2
        ? (await runOnce(args, command, context)).exitCode
        : await runAccounts(accounts, {
            args,
            command,
            signal: processContext.signal,
            run: (accountArgs, oneOfSeveral) => runOnce(accountArgs, command, context, oneOfSeveral),
          });
  } catch (error) {
    await context.notifyEnd(failedEvent(error).exitCode, error);
    throw error;
  }
  await context.notifyEnd(process.exitCode);
}

/** Throws a USAGE error for several accounts where a command takes one. Of other options the last value counts. */
function refuseAccounts(args: CommandArguments, { name, severalAccounts }: CommandDefinition): void {
  const accounts = [...new Set(args.repeated('account'))];
  if (accounts.length < 2 || severalAccounts !== undefined) return;
  const help = `see ${program} ${name} --help`;
  throw usageError(`expected --account once, got it with ${accounts.join(' and ')}; ${help}`);
}

/** Runs a command, and prints its result or its failure. `oneOfSeveral`: left out, the only run. */
async function runOnce(
  args: CommandArguments,
  command: CommandDefinition,
  { onSummary, notifyEnd, ...processContext }: RunsContext,
  oneOfSeveral?: OneOfSeveral,
): Promise<AccountRun> {
  let unopened: unknown;
  const listener = await openListener(args, command, processContext, oneOfSeveral).catch((error: unknown) => {
    // The others run all the same.
    if (oneOfSeveral === undefined) throw error;
    unopened = error;
    return fallbackListener(process.argv.slice(2), processContext.clock);
  });
  const { emit } = listener;
  const output = new RunOutput(args, { emit, onSummary, oneOfSeveral });
  const crash = (error: unknown): void => {
    const { exitCode } = output.failed(readerFailure(error));
    process.exitCode = exitCode;
    void listener
      .close()
      .then(() => notifyEnd(exitCode))
      .finally(() => process.exit());
  };
  process.once('uncaughtException', crash);
  try {
    if (unopened !== undefined) return output.failed(unopened);
    const result = await command.run(args, {
      ...processContext,
      emit,
      print: (text) => {
        output.print(text);
      },
      confirm: confirmOnTerminal(processContext.signal),
      printCompletion,
      notify: async (exitCode, run) => {
        const { notify } = await import('./notification.js');
        await notify(args, { command: command.name, exitCode, runs: [run] }, processContext);
      },
    });
    return output.ended(result);
  } catch (error) {
    return output.failed(error);
  } finally {
    await listener.close();
    process.off('uncaughtException', crash);
  }
}

/** Prints a completion script. yargs chooses the script and the format of completions by the variable SHELL alone. */
function printCompletion(shell: string): void {
  if (shell === 'fish') {
    // The script of yargs omits the current word where it is empty.
    const words = '(commandline -opc)[2..-1] (commandline -ct)';
    process.stdout.write(`complete -f -c ledgerlake -a '(ledgerlake ${completionOption} ${words})'\n`);
    return;
  }
  process.env['SHELL'] = shell;
  yargs().scriptName('ledgerlake').completion(`completion ${shell}`, false).showCompletionScript();
}

/** Choices that no definition lists, such as accounts, by the name of the option or positional. */
type CompletionChoices = Readonly<Record<string, readonly string[]>>;

/** Prints the completions of the last word for a completion script; none where the shell completes file names. */
async function complete(typedWords: readonly string[], processContext: ProcessContext): Promise<void> {
  // Bash splits `--format=json` into three words.
  const words = typedWords.filter((word) => word !== '=');
  // SHELL is the login shell, which may be another one: zsh's script passes COMP_LINE, fish's omits the program's name.
  const isBash = basename(words[0] ?? '') === 'ledgerlake';
  process.env['SHELL'] = process.env['COMP_LINE'] !== undefined ? 'zsh' : isBash ? 'bash' : 'fish';
  const [previous = '', current = ''] = words.slice(-2);
  const command = commands.find(({ name }) => words.includes(name));
  const textOption = (word = '') => {
    const option = command?.options[word.replace(/^--?/, '')];
    return option?.isFlag === true ? undefined : option;
  };
  const option = textOption(previous);
  const configIndex = words.indexOf('--config') + 1;
  const completesAccount = previous === '--account' || command?.positional?.name === 'ACTION';
  const config = configIndex === 0 ? undefined : words[configIndex];
  const accounts = completesAccount ? await configuredNames(config, process.env, process.cwd()) : [];
  const isFile = option !== undefined && option.choices === undefined && previous !== '--account';
  if (isFile || (command?.positional?.name === 'FILE' && !current.startsWith('-'))) return;
  const { name: argument = '', choices = [] } = command?.positional ?? {};
  const others = argument === 'PIPELINE' ? await pipelineNames() : argument === 'ACTION' ? accounts : [];
  // yargs completes the first argument alone, so the earlier ones are removed.
  const isTyped = (word: string, at: number): boolean =>
    at < words.length - 1 && [...choices, ...others].includes(word) && textOption(words[at - 1]) === undefined;
  const typed = words.filter(isTyped);
  const remaining = [...(typed.length === 0 ? choices : []), ...others.filter((name) => !typed.includes(name))];
  const first = words.filter((word, at) => !isTyped(word, at));
  const completions = { [argument]: current.startsWith('-') ? [] : remaining, account: accounts };
  await parse([completionOption, ...first], processContext, completions);
}

async function pipelineNames(): Promise<readonly string[]> {
  const { pipelines } = await import('../../pipelines/all-pipelines.js');
  return pipelines.map(({ name }) => name);
}

/**
 * The requested help, of the first named command or of all, or the requested version; undefined: neither is requested. Throws a
 * USAGE error for the help of an unknown command.
 */
async function helpFor(words: readonly string[]): Promise<string | undefined> {
  const end = words.indexOf('--');
  const options = end === -1 ? words : words.slice(0, end);
  const [first, second] = options;
  const isHelp = first === 'help' || options.some((word) => word === '--help' || word === '-h');
  if (!isHelp) return first === 'version' || first === '-v' || options.includes('--version') ? version : undefined;
  if (first === 'help' && second !== undefined && !second.startsWith('-') && !commandNames.includes(second)) {
    throw usageError(parserFault(`Unknown argument: ${second}`, words));
  }
  const { commandHelp, overallHelp } = await import('./help.js');
  const width = proseWidth(process.stdout);
  const commandName = options.find((word) => commands.some(({ name }) => name === word));
  const command = commands.find(({ name }) => name === commandName);
  return command === undefined ? overallHelp(commands, width) : commandHelp(command, width, systemClock.now());
}

/** Prints the help where no command is named. */
async function showCommands(): Promise<void> {
  const { overallHelp } = await import('./help.js');
  process.stderr.write(`${overallHelp(commands, proseWidth(process.stderr))}\n`);
  process.exitCode = 2;
}

/**
 * The error to report for an uncaught exception. The Parquet reader throws outside of every promise where bytes are damaged.
 * The lake stays whole, as after every crash.
 */
function readerFailure(error: unknown): unknown {
  if (!(error instanceof Error && error.name === 'RuntimeError')) return error;
  return new LedgerlakeError(
    'LAKE_STORE',
    `expected readable Parquet bytes, the reader failed (${error.message}), because a file of the lake is damaged or ` +
      'memory ran out; restore the file from a copy, what was committed stays',
    { cause: error },
  );
}

/**
 * Runs a command line and sets the exit code of the process.
 *
 * @param words the arguments after the program's name
 */
export async function runCommandLine(words: readonly string[], { signal, extendGrace }: Stopping): Promise<void> {
  const output = watchOutput(process.stdout);
  try {
    // The signal may have aborted while this module was loaded.
    signal.throwIfAborted();
    if (words[0] === completionOption) {
      await complete(words.slice(1), { clock: systemClock, signal, extendGrace });
      return;
    }
    const help = await helpFor(words);
    if (words.length === 0) await showCommands();
    else if (help !== undefined) process.stdout.write(`${help}\n`);
    else await parse(words, { clock: systemClock, signal, extendGrace });
    const failure = await output.end();
    // A failed command has reported its error.
    if (failure !== undefined && (process.exitCode ?? 0) === 0) throw failure;
  } catch (error) {
    const failure = failureIn({}, error);
    (await fallbackListener(words, systemClock)).emit(failure);
    process.exitCode = failure.exitCode;
  }
}
