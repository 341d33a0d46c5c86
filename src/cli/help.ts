import { program } from '../app/command-text.js';
import { isoDate } from '../core/numeric/instant.js';
import { dayMs } from '../core/windows.js';
import { indented, textLines, wrapWords } from '../core/text/width.js';
import {
  commandShape,
  everyOption,
  type CommandDefinition,
  type OptionDefinition,
} from './options/command-definition.js';

type HelpRow = readonly [left: string, right: string];

/** Largest width of the left column, characters. */
const widestLeft = 32;

/** `ledgerlake --help`: every command, on lines of up to `width` characters. */
export function overallHelp(commands: readonly CommandDefinition[], width: number): string {
  return [
    `${program} COMMAND`,
    '',
    "A seller's financial events as Parquet, exact to the cent.",
    '',
    'Commands:',
    ...columns(
      commands.map((command) => [`${program} ${commandShape(command)}`, command.about]),
      width,
    ),
    '',
    'Options:',
    ...columns([...optionRows(everyOption), ['-v, --version', 'Show the version']], width),
    '',
    ...wrapWords(`\`${program} help COMMAND\` describes a command. Start with \`${program} backfill\`.`, width),
  ].join('\n');
}

/** `ledgerlake COMMAND --help` at `now`, milliseconds since 1970, on lines of up to `width` characters. */
export async function commandHelp(command: CommandDefinition, width: number, now: number): Promise<string> {
  const { positional, description, options, examples } = command;
  const text = typeof description === 'string' ? description : await description();
  return [
    `${program} ${commandShape(command)}`,
    '',
    ...textLines(text, width),
    '',
    ...(positional === undefined ? [] : [...columns([[positional.name, positional.about]], width), '']),
    'Options:',
    ...columns([...optionRows(options), ...optionRows(everyOption)], width),
    '',
    'Examples:',
    ...examples.flatMap(([line, does]) => [
      `  ${program} ${exampleLine(line, (days) => isoDate(now - days * dayMs))}`,
      ...indented(does, 6, width),
    ]),
  ].join('\n');
}

/** The command line of an example, in which `{30 days ago}` is a date. */
export function exampleLine(line: string, dateBefore: (days: number) => string): string {
  return line.replaceAll(/\{(\d+) days ago\}/g, (_, days: string) => dateBefore(Number(days)));
}

/** An option as it is written: `-o, --output …`, `--format table|json`. */
export function optionWords(name: string, { isFlag, choices, short }: OptionDefinition): string {
  const argument = isFlag === true ? '' : ` ${choices?.join('|') ?? '…'}`;
  return `${short === undefined ? '' : `-${short}, `}--${name}${argument}`;
}

/** An option's description with its default. */
export function optionHelp({ about, default: value }: OptionDefinition): string {
  return value === undefined ? about : `${about} [default: ${value}]`;
}

function optionRows(options: CommandDefinition['options']): HelpRow[] {
  return Object.entries(options).map(([name, definition]) => [optionWords(name, definition), optionHelp(definition)]);
}

/** Two columns. The right one wraps within its column; after a left cell that is too wide it starts on the next line. */
function columns(rows: readonly HelpRow[], width: number): string[] {
  const left = Math.max(...rows.map(([words]) => words.length).filter((length) => length <= widestLeft), 0);
  return rows.flatMap(([words, text]) => {
    const lines = indented(text, left + 4, width);
    if (words.length > left) return [`  ${words}`, ...lines];
    const [first = '', ...others] = lines;
    return [`  ${words.padEnd(left)}  ${first.trimStart()}`, ...others];
  });
}
