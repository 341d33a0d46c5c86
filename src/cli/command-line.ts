import { basename } from 'node:path';
import yargs, { type Argv } from 'yargs';
import { commands } from './commands.js';
import {
  commandShape,
  everyOption,
  CommandArguments,
  markedWords,
  printResult,
  refuseFlagValues,
  type CommandDefinition,
} from './options/command-definition.js';
import { commandNames, noCommand, parserFault, severalCommands } from './parser-fault.js';
import { accountPlaceholder, failureOf, fallbackListener, openListener } from './listener.js';
import { readRunAccounts } from './options/command-settings.js';
import { watchOutput } from './options/terminal.js';
import type { Stopping } from './options/stop-signals.js';
import { proseWidth, terminalWidth } from '../core/text/sink.js';
import { wrapForTerminal } from '../core/text/width.js';
import { systemClock } from '../core/clock.js';
import { program, withCommandsIn, type CommandScope } from '../app/command-text.js';
import type { CommandContext } from '../app/context.js';
import { variableOf } from '../core/environment.js';
import { LedgerlakeError, usageError } from '../core/errors.js';
import { version } from '../core/version.js';

type ProcessContext = Pick<CommandContext, 'clock' | 'signal'> & Pick<Stopping, 'allow'>;

/** The option by which the script of a shell asks for completions. */
const completionOption = '--get-yargs-completions';

/** Parses words, and runs the command that they name. */
async function parse(words: readonly string[], processContext: ProcessContext, offered?: Offered): Promise<void> {
  // A command that yargs waits for itself has its help formatted first, which takes longer than all of the parsing.
  let running: Promise<void> | undefined;
  const run = (values: Readonly<Record<string, unknown>>, command: CommandDefinition): void => {
    refuseFlagValues(words, command);
    running = runCommand(new CommandArguments(values), command, processContext);
  };
  await parserOf(words, run, offered).parseAsync();
  await running;
}

type Run = (values: Readonly<Record<string, unknown>>, command: CommandDefinition) => void;

function parserOf(words: readonly string[], run: Run, offered?: Offered): Argv {
  const parser = yargs(markedWords(words))
    .scriptName('ledgerlake')
    .parserConfiguration({ 'parse-positional-numbers': false })
    .option('verbose', { type: 'boolean', describe: everyOption.verbose.about })
    .option('quiet', { type: 'boolean', describe: everyOption.quiet.about })
    // Its value is checked with those of environment and configuration.
    .option('log-format', { type: 'string', requiresArg: true, describe: everyOption['log-format'].about })
    .version(version)
    .help(false)
    .strict()
    .demandCommand(1, 1, noCommand, severalCommands)
    .fail((message: string | null, error: Error | undefined) => {
      // The parser's own errors come as such too: an option without its value.
      if (error !== undefined && error.name !== 'YError') throw error;
      throw usageError(parserFault((message ?? 'the command line is wrong').replaceAll(/\s*\n\s*/g, ' '), words));
    });
  for (const command of commands) define(parser, command, run, offered);
  return parser;
}

function define(parser: Argv, command: CommandDefinition, run: Run, offered?: Offered): void {
  const { positional, about, options } = command;
  parser.command(
    commandShape(command),
    about,
    (builder) => {
      if (positional !== undefined) {
        const choices = offered?.[positional.name];
        builder.positional(positional.name, { type: 'string', array: positional.many, ...(choices && { choices }) });
      }
      for (const [option, { type, default: value, about, choices = offered?.[option], short }] of Object.entries(
        options,
      )) {
        const text = { type: 'string', requiresArg: true, default: value, ...(choices && { choices }) } as const;
        builder.option(option, { describe: about, ...(type === 'flag' ? ({ type: 'boolean' } as const) : text) });
        if (short !== undefined) builder.alias(option, short);
      }
      return builder;
    },
    (values) => {
      run(values, command);
    },
  );
}

/** Runs a command, for one account after the other where it takes several, and leaves the exit code with the process. */
async function runCommand(
  args: CommandArguments,
  command: CommandDefinition,
  processContext: ProcessContext,
): Promise<void> {
  refuseAccounts(args, command);
  const accounts = command.takesAccounts === true ? await readRunAccounts(args) : [];
  process.exitCode =
    accounts.length < 2
      ? await runOnce(args, command, processContext)
      : await runInTurn(accounts, args, command, processContext);
}

/** Throws a USAGE error for several accounts where a command takes one: of other options the last one counts */
function refuseAccounts(args: CommandArguments, { name, takesAccounts }: CommandDefinition): void {
  const accounts = [...new Set(args.repeated('account'))];
  if (accounts.length < 2 || takesAccounts === true) return;
  const help = `see ${program} ${name} --help`;
  throw usageError(`expected --account once, got it with ${accounts.join(' and ')}; ${help}`);
}

/**
 * Throws a USAGE error for orders, which are of one account, for CSV, which would have its header again for each, and where each
 * would replace the metrics of the one before
 */
function refuseShared(args: CommandArguments, accounts: readonly string[], { options }: CommandDefinition): void {
  const format = args.text('format') ?? '';
  const singleAccountOption =
    args.text('orders') !== undefined ? '--orders' : format.startsWith('csv') ? `--format ${format}` : '';
  if (singleAccountOption !== '') {
    const alternative = singleAccountOption === '--orders' ? '' : ', or choose --format ndjson';
    throw usageError(
      `expected one account with ${singleAccountOption}, got ${accounts.join(', ')}; name it with --account${alternative}`,
    );
  }
  const file = args.text('metrics-file') ?? variableOf(process.env, 'LEDGERLAKE_METRICS_FILE');
  if (options['metrics-file'] === undefined || file === undefined || file.includes(accountPlaceholder)) return;
  throw usageError(
    `expected ${accountPlaceholder} in the name of the metrics file of ${accounts.length} accounts, got ${file}; write ` +
      `ledgerlake-${accountPlaceholder}.prom, for example`,
  );
}

/** Runs a command, and says why where it fails. Resolves to the exit code. */
async function runOnce(
  args: CommandArguments,
  command: CommandDefinition,
  processContext: ProcessContext,
  /** Of one account of several: failures that were reported, and are not reported again. */
  reported?: Set<string>,
): Promise<number> {
  const listener = await openListener(args, command, processContext);
  const { emit } = listener;
  const log = (message: string): void => {
    emit({ event: 'message', message });
  };
  const summary = summaryOf(args, reported !== undefined);
  const fail = (error: unknown): number => {
    const failure = failureIn(args.scope(), error);
    if (reported?.has(failure.message) !== true) emit(failure);
    reported?.add(failure.message);
    summary.fail(failure);
    return failure.exitCode;
  };
  const crash = (error: unknown): void => {
    process.exitCode = fail(faultOf(error));
    void listener.close().finally(() => process.exit());
  };
  process.once('uncaughtException', crash);
  try {
    const { print, printJson, setProvisionalSummary } = summary;
    const code = await command.run(args, {
      ...processContext,
      print,
      printJson,
      setProvisionalSummary,
      log,
      emit,
      printCompletion,
    });
    summary.end();
    return code;
  } catch (error) {
    return fail(error);
  } finally {
    await listener.close();
    process.off('uncaughtException', crash);
  }
}

/**
 * Runs a command for one account after the other: each has a quota of its own, and one that fails stops no other. Resolves to
 * the exit code of all: 2 only where nothing was touched.
 */
async function runInTurn(
  accounts: readonly string[],
  args: CommandArguments,
  command: CommandDefinition,
  processContext: ProcessContext,
): Promise<number> {
  refuseShared(args, accounts, command);
  const codes = new Map<string, number>();
  const reported = new Set<string>();
  const isText = !args.flag('json') && !args.flag('quiet') && (args.text('format') ?? 'table') === 'table';
  for (const account of accounts) {
    if (processContext.signal.aborted) break;
    if (isText) printResult(`${codes.size === 0 ? '' : '\n'}${account}`);
    codes.set(account, await runOnce(args.withAccount(account), command, processContext, reported));
  }
  const failed = accounts.filter((account) => codes.get(account) !== 0);
  if (isText) {
    const what = command.name === 'plan' || args.flag('dry-run') ? 'estimated' : 'loaded';
    const done = `${accounts.length - failed.length} of ${accounts.length} accounts ${what}`;
    printResult(`\n${done}${failed.length === 0 ? '' : `; not done: ${failed.join(', ')}`}`);
  }
  if (failed.length === 0) return 0;
  return failed.every((account) => codes.get(account) === 2) && failed.length === accounts.length ? 2 : 1;
}

/** yargs chooses the script and the form of what is offered by SHELL alone. */
function printCompletion(shell: string): void {
  if (shell === 'fish') {
    // The package's own script leaves out the word that is being typed where it is empty.
    const words = '(commandline -opc)[2..-1] (commandline -ct)';
    process.stdout.write(`complete -f -c ledgerlake -a '(ledgerlake ${completionOption} ${words})'\n`);
    return;
  }
  process.env['SHELL'] = shell;
  yargs().scriptName('ledgerlake').completion(`completion ${shell}`, false).showCompletionScript();
}

/** Values that a completion offers and no definition knows, by the name of option or positional. */
type Offered = Readonly<Record<string, readonly string[]>>;

/** Prints what completes the last of these words, as a completion script asks for. Nothing: the shell completes files. */
async function complete(typedWords: readonly string[], processContext: ProcessContext): Promise<void> {
  // Bash breaks `--format=json` into three words.
  const words = typedWords.filter((word) => word !== '=');
  // The login shell need not be the one that asks: zsh's script passes COMP_LINE, fish's leaves out the program's name.
  const isBash = basename(words[0] ?? '') === 'ledgerlake';
  process.env['SHELL'] = process.env['COMP_LINE'] !== undefined ? 'zsh' : isBash ? 'bash' : 'fish';
  const [previous = '', current = ''] = words.slice(-2);
  const command = commands.find(({ name }) => words.includes(name));
  const option = command?.options[previous.replace(/^--?/, '')];
  const named = words.indexOf('--config') + 1;
  const completesAccount = previous === '--account' || command?.positional?.name === 'ACTION';
  const accounts = completesAccount ? await accountNames(named === 0 ? undefined : words[named]) : [];
  const isFile = option?.type === 'text' && option.choices === undefined && previous !== '--account';
  if (isFile || (command?.positional?.name === 'FILE' && !current.startsWith('-'))) return;
  const { name: argument = '', choices = [] } = command?.positional ?? {};
  const others = argument === 'PIPELINE' ? await pipelineNames() : argument === 'ACTION' ? accounts : [];
  // Yargs completes the first argument alone: those that are there already are left out.
  const isTyped = (word: string, at: number): boolean =>
    at < words.length - 1 &&
    [...choices, ...others].includes(word) &&
    command?.options[words[at - 1]?.replace(/^--?/, '') ?? '']?.type !== 'text';
  const typed = words.filter(isTyped);
  const remaining = [...(typed.length === 0 ? choices : []), ...others.filter((name) => !typed.includes(name))];
  const first = words.filter((word, at) => !isTyped(word, at));
  const offered = { [argument]: current.startsWith('-') ? [] : remaining, account: accounts };
  await parse([completionOption, ...first], processContext, offered);
}

async function accountNames(configuration: string | undefined): Promise<readonly string[]> {
  const { configuredNames } = await import('../app/configuration/read-configuration.js');
  return configuredNames(configuration, process.env, process.cwd());
}

async function pipelineNames(): Promise<readonly string[]> {
  const { pipelines } = await import('../../pipelines/all-pipelines.js');
  return pipelines.map(({ name }) => name);
}

/**
 * The help, of the first command that is named or of all, or the version that is asked for; undefined where neither is. Throws
 * a USAGE error where help is asked for what is no command
 */
async function helpFor(words: readonly string[]): Promise<string | undefined> {
  const end = words.indexOf('--');
  const read = end === -1 ? words : words.slice(0, end);
  const [first, second] = read;
  const isHelp = first === 'help' || read.some((word) => word === '--help' || word === '-h');
  if (!isHelp) return first === 'version' || first === '-v' || read.includes('--version') ? version : undefined;
  if (first === 'help' && second !== undefined && !second.startsWith('-') && !commandNames.includes(second)) {
    throw usageError(parserFault(`Unknown argument: ${second}`, words));
  }
  const { commandHelp, overallHelp } = await import('./help.js');
  const width = proseWidth(process.stdout);
  const named = read.find((word) => commands.some(({ name }) => name === word));
  const command = commands.find(({ name }) => name === named);
  return command === undefined ? overallHelp(commands, width) : commandHelp(command, width);
}

/** For who names no command. */
async function showCommands(): Promise<void> {
  const { overallHelp } = await import('./help.js');
  process.stderr.write(`${overallHelp(commands, proseWidth(process.stderr))}\n`);
  process.exitCode = 2;
}

/**
 * What was thrown outside of every promise, as an error for the user: the Parquet reader does that where bytes are damaged and
 * their checksum says otherwise. The lake stays whole, as after every crash.
 */
function faultOf(error: unknown): unknown {
  if (!(error instanceof Error && error.name === 'RuntimeError')) return error;
  return new LedgerlakeError(
    'LAKE_STORE',
    `expected readable Parquet bytes, the reader failed (${error.message}), because a file of the lake is damaged or ` +
      'memory ran out; restore the file from a copy, what was committed stays',
    { cause: error },
  );
}

/** What went wrong, with whole commands for where it did. */
function failureIn(scope: CommandScope, error: unknown): Failure {
  const failure = failureOf(error);
  return { ...failure, message: withCommandsIn(scope, failure.message) };
}

type Failure = ReturnType<typeof failureOf>;

/** What a command prints of its end: text for people, or one JSON object, which has the failure too. */
interface Summary extends Required<Pick<CommandContext, 'print' | 'printJson' | 'setProvisionalSummary'>> {
  /** Prints the object, if there is one. */
  end(): void;
  /** The same for a command that failed; nothing for one that the command line stopped before it began, unless others go on. */
  fail(failure: Failure): void;
}

/** @param isOneOfSeveral whether the command runs for other accounts too */
function summaryOf(args: CommandArguments, isOneOfSeveral: boolean): Summary {
  const isJson = args.flag('json');
  let object: Readonly<Record<string, unknown>> | undefined;
  let provisional = (): Readonly<Record<string, unknown>> => ({
    ...{ account: args.text('account'), lake: args.text('lake') },
    pipelines: {},
  });
  const end = (): void => {
    if (isJson && object !== undefined) printResult(JSON.stringify(object));
  };
  const print = (text: string): void => {
    printResult(wrapForTerminal(text, terminalWidth(process.stdout)));
  };
  return {
    print: isJson || args.flag('quiet') ? () => undefined : print,
    printJson: (summary) => {
      object = summary;
    },
    setProvisionalSummary: (summary) => {
      provisional = summary;
    },
    end,
    fail: ({ code, message, exitCode }) => {
      if (exitCode !== 2 || isOneOfSeveral) {
        object = { ...(object ?? provisional()), status: 'failed', error: { code, message } };
      }
      end();
    },
  };
}

/**
 * Runs a command line to its end and leaves the exit code with the process.
 *
 * @param words the arguments behind the program's name
 * @param stopping how the user or the system stops the process
 */
export async function runCommandLine(words: readonly string[], { signal, allow }: Stopping): Promise<void> {
  const output = watchOutput(process.stdout);
  try {
    // It may have come while this was loaded.
    signal.throwIfAborted();
    if (words[0] === completionOption) {
      await complete(words.slice(1), { clock: systemClock, signal, allow });
      return;
    }
    const help = await helpFor(words);
    if (words.length === 0) await showCommands();
    else if (help !== undefined) process.stdout.write(`${help}\n`);
    else await parse(words, { clock: systemClock, signal, allow });
    const failure = await output.end();
    // A command that has failed has said why.
    if (failure !== undefined && (process.exitCode ?? 0) === 0) throw failure;
  } catch (error) {
    const failure = failureIn({}, error);
    (await fallbackListener(words, systemClock)).emit(failure);
    process.exitCode = failure.exitCode;
  }
}
