import { PassThrough } from 'node:stream';
import { program, scopeOptions, type CommandScope } from '../../app/command-text.js';
import type { CommandResult } from '../../app/command-result.js';
import type { CommandContext, ReadingContext } from '../../app/context.js';
import { settingDefinitions, type SettingDefinition } from '../../app/configuration/setting-definitions.js';
import type { Stopping } from './stop-signals.js';
import { formats, isFormat, type Format } from '../../core/text/formats.js';
import { usageError } from '../../core/errors.js';
import { optionOf, type OptionOf } from '../../core/text/value-forms.js';
import { loadOptionsOf, type LoadCommand } from '../../engine/run/load-options.js';
import { printableLines } from '../../core/printable.js';

/** An option of the command line. All values are text: the command parses numbers and dates, and reports errors. */
export interface OptionDefinition {
  readonly about: string;
  /** Whether it takes no value. */
  readonly isFlag?: true;
  readonly default?: string;
  readonly choices?: readonly string[];
  /** The letter of the form with one dash. */
  readonly short?: string;
}

interface PositionalDefinition {
  readonly name: string;
  readonly about: string;
  /** Completions of the shell; the command validates its arguments itself. */
  readonly choices?: readonly string[];
  readonly many: boolean;
}

/** Marks a word that begins with a dash and is no option. No argument of a process can contain it. */
const mark = '\0';

/**
 * Marks the words that the parser would drop or parse as options: a lone `-`, a word with a blank in its name, such as a query
 * that begins with a comment, and every word after `--`, which is removed. `CommandArguments` restores them.
 */
export function markedWords(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const [options, operands] = end === -1 ? [words, []] : [words.slice(0, end), words.slice(end + 1)];
  return [
    ...options.map((word) => (/^-($|[^=]*\s)/.test(word) ? mark + word : word)),
    ...operands.map((word) => (word.startsWith('-') ? mark + word : word)),
  ];
}

/** The arguments of a command line, by name. */
export class CommandArguments {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  /** An option's text, the last one of several; undefined where it was left out and has no default. */
  text(name: string): string | undefined {
    return this.repeated(name).at(-1);
  }

  /** All texts of an option, in order. */
  repeated(name: string): readonly string[] {
    const value: unknown = this.#values[name];
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.flatMap((value) => (typeof value === 'string' ? [restoredWord(value)] : []));
  }

  /** The same command line with another account. */
  withAccount(account: string): CommandArguments {
    return new CommandArguments({ ...this.#values, account });
  }

  /** All options that have a text. */
  texts(): Readonly<Record<string, string | undefined>> {
    return Object.fromEntries(Object.keys(this.#values).map((name) => [name, this.text(name)]));
  }

  /** The text of an option that has a default. */
  required(name: string): string {
    return this.text(name) ?? '';
  }

  flag(name: string): boolean {
    const value: unknown = this.#values[name];
    return Array.isArray(value) ? value.includes(true) : value === true;
  }

  /** The options that printed commands repeat. */
  scope(): CommandScope {
    return Object.fromEntries(scopeOptions.map((name) => [name, this.text(name)]));
  }

  /** Whether a flag is set, or the text of another option. */
  value(name: string): string | boolean | undefined {
    return this.text(name) ?? (this.flag(name) || undefined);
  }

  /** All values of a positional. */
  positionals(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map((word) => restoredWord(String(word))) : [];
  }
}

function restoredWord(word: string): string {
  return word.startsWith(mark) ? word.slice(mark.length) : word;
}

/**
 * Throws a USAGE error for a flag with a value other than `true` and `false`, which the parser would read as `false`.
 *
 * @param words the words of the command line
 */
export function refuseFlagValues(words: readonly string[], { options, name }: CommandDefinition): void {
  const flags: CommandDefinition['options'] = { ...options, ...everyOption };
  for (const word of words.slice(0, words.includes('--') ? words.indexOf('--') : undefined)) {
    const [, option = '', value = ''] = /^--([^=]+)=(.*)$/s.exec(word) ?? [];
    if (flags[option]?.isFlag !== true || value === 'true' || value === 'false') continue;
    throw usageError(
      `expected --${option} without a value, got ${JSON.stringify(word)}; see ${program} ${name} --help`,
    );
  }
}

/** A command's name and positional: `backfill [PIPELINE..]`. */
export function commandShape({ name, positional }: Pick<CommandDefinition, 'name' | 'positional'>): string {
  return positional === undefined ? name : `${name} [${positional.name}${positional.many ? '..' : ''}]`;
}

/** Functions of the command line for its commands. */
interface CommandLine extends Pick<Stopping, 'extendGrace'> {
  /** Prints the completion script of a shell: `bash`, `zsh` or `fish`. */
  readonly printCompletion: (shell: string) => void;
  /** Posts how a job of a command that goes on has ended to the address of the setting `notify`. Never throws. */
  readonly notify: (exitCode: number, run: object) => Promise<void>;
}

/** A command, for the parser and the help. */
export interface CommandDefinition {
  readonly name: string;
  readonly positional?: PositionalDefinition;
  /** One line, for the list of commands. */
  readonly about: string;
  /** A few sentences for the command's help; a function where they need an import. */
  readonly description: string | (() => Promise<string>);
  readonly options: Readonly<Record<string, OptionDefinition>>;
  /** What it does with several accounts: it runs for one after the other, or reads all at once. Left out: it takes one. */
  readonly severalAccounts?: 'in turn' | 'at once';
  /** Whether its end is posted to the address of the setting `notify`. */
  readonly notifies?: boolean;
  /** Whether its log doesn't depend on the configuration although it has `--config`: it reads that itself, or not at all. */
  readonly ignoresConfiguration?: boolean;
  /** Command lines with their effects; `{30 days ago}` stands for a date. */
  readonly examples: readonly (readonly [string, string])[];
  /**
   * Runs the command. Resolves to its result, or of a command that writes its results itself to the exit code. It imports its
   * modules itself, so that `--help` doesn't load DuckDB.
   */
  run(args: CommandArguments, context: CommandContext & CommandLine): Promise<CommandResult | number>;
}

type NamedOption = Partial<SettingDefinition> & Pick<OptionDefinition, 'isFlag'>;

/** Options by their names on the command line. */
function optionsOf<Options extends Readonly<Record<string, NamedOption>>>(options: Options) {
  const definitions = Object.entries<NamedOption>(options).map(([name, definition]) => {
    const { isFlag, about = '', optionAbout = about, default: value, words: choices } = definition;
    const { defaultText = typeof value === 'object' ? undefined : value } = definition;
    const text = defaultText === undefined ? optionAbout : `${optionAbout} [default: ${defaultText}]`;
    return [optionOf(name), { about: text, ...(isFlag && { isFlag }), ...(choices && { choices }) }];
  });
  return Object.fromEntries(definitions) as Readonly<Record<OptionOf<keyof Options & string>, OptionDefinition>>;
}

/** Options that several commands share. */
const sharedOptions = {
  ...optionsOf(settingDefinitions),
  config: { about: 'Configuration file [default: LEDGERLAKE_CONFIG, or ledgerlake.config.json if it exists]' },
  endpoint: { about: "The service's base address [default: the account's, else the embedded service]" },
  redis: { about: 'Address of Redis or Valkey, without a password [default: REDIS_URL]' },
  fleet: { default: 'ledgerlake', about: 'Name of the fleet; several fleets can share one Redis' },
  threads: { about: 'Number of threads for a large input [default: one per core of the machine or its container]' },
  to: { about: 'End of the range, exclusive [default: five minutes ago]' },
  yes: { isFlag: true, about: 'Do not ask for confirmation; required without a terminal' },
  format: { default: 'table', choices: formats, about: 'Output format' },
  json: { isFlag: true, about: 'Print one JSON object to standard output instead of text' },
} as const satisfies Record<string, OptionDefinition>;

/** Shared options by their names. */
export function shared<Name extends keyof typeof sharedOptions>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, sharedOptions[name]])) as Pick<typeof sharedOptions, Name>;
}

/** Options of all loads, which are settings. */
export const loadSettings: CommandDefinition['options'] = optionsOf(
  Object.fromEntries(
    Object.entries<SettingDefinition>(settingDefinitions).filter(([, { isOfLoads = false }]) => isOfLoads),
  ),
);

/** Options of a load that no setting has, and that each of the commands takes. */
export function ofLoad<Command extends LoadCommand>(...commands: readonly Command[]) {
  return optionsOf(loadOptionsOf(...commands));
}

/** Options of every command. */
export const everyOption = {
  verbose: { isFlag: true, about: 'Log more, and every detail of an error' },
  quiet: { isFlag: true, about: 'Print only errors, and requested data: the results of sql, --json and --format json' },
  ...shared('log-format'),
  help: { isFlag: true, short: 'h', about: 'Show help' },
} as const satisfies Record<string, OptionDefinition>;

/** The format of results; the parser accepts the choices only. */
export function readFormat(args: CommandArguments): Format {
  const format = args.required('format');
  return isFormat(format) ? format : 'table';
}

/** Writes one or several lines to standard output. */
export function printResult(text: string): void {
  process.stdout.write(`${printableLines(text)}\n`);
}

/** The context of a command that streams its output; `--quiet` drops the output where it is text, by default a table. */
export function readingContext(
  args: CommandArguments,
  context: CommandContext,
  isText = !args.flag('json') && (args.text('format') ?? 'table') === 'table',
): ReadingContext {
  const output = args.flag('quiet') && isText ? new PassThrough().resume() : process.stdout;
  return { ...context, output };
}
