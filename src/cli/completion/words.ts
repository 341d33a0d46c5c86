import { everyOption, type CommandDefinition, type OptionDefinition } from '../options/definition.js';

/** What a word of the command line can be: one of some, a file, a folder, a configured account; undefined: anything. */
export interface Choice {
  readonly words: readonly string[];
  readonly from: 'files' | 'folders' | 'accounts' | undefined;
}

export interface CompletedOption {
  readonly name: string;
  readonly short: string | undefined;
  readonly about: string;
  /** Undefined for a flag. */
  readonly value: Choice | undefined;
}

/** A command as the shell completes it. */
export interface CompletedCommand {
  readonly name: string;
  readonly about: string;
  readonly options: readonly CompletedOption[];
  readonly positional: Choice;
}

/** Options whose values name something, in whichever command. */
export const namingOptions: Readonly<Record<string, Choice['from']>> = {
  lake: 'folders',
  journal: 'folders',
  pipelines: 'folders',
  config: 'files',
  orders: 'files',
  output: 'files',
  'metrics-file': 'files',
  account: 'accounts',
};

const nothing: Choice = { words: [], from: undefined };

/** What the shells complete, from the definitions of the commands and the names of the pipelines. */
export function completedCommands(
  commands: readonly CommandDefinition[],
  pipelines: readonly string[],
): readonly CompletedCommand[] {
  const positionals: Readonly<Record<string, Choice>> = {
    PIPELINE: { words: pipelines, from: undefined },
    FILE: { words: [], from: 'files' },
    ACTION: { words: ['check'], from: 'accounts' },
  };
  return commands.map(({ name, about, options, positional }) => ({
    name,
    about,
    options: Object.entries({ ...everyOption, ...options }).map(([option, definition]) =>
      completed(option, definition),
    ),
    positional: {
      words: positional?.choices ?? positionals[positional?.name ?? '']?.words ?? [],
      from: positionals[positional?.name ?? '']?.from,
    },
  }));
}

function completed(name: string, { type, about, short, choices }: OptionDefinition): CompletedOption {
  const value = choices === undefined ? { ...nothing, from: namingOptions[name] } : { words: choices, from: undefined };
  // What stands in brackets would take the line's place.
  const line = about.replace(/ \[default: .*\]$/, '');
  return { name, short, about: line, value: type === 'flag' ? undefined : value };
}

/** A text as one word of a shell; in fish, too, as it holds no backslash. */
export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '').replaceAll("'", "'\\''")}'`;
}

/** `--name`, and `-n` where there is a short form. */
export function spellings({ name, short }: CompletedOption): readonly string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}
