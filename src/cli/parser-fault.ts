import { existsSync } from 'node:fs';
import { commands } from './commands.js';
import { everyOption, type CommandDefinition } from './options/command-definition.js';
import { accountPattern, nearestRegion } from '../app/configuration/account.js';
import { program } from '../app/command-text.js';
import { shellWord } from '../core/text/shell-word.js';
import { nearestName } from '../core/text/fault-line.js';
import { isFormat } from '../core/text/formats.js';
import { isRemote } from '../lake/store/open-store.js';

/** The parser's message for a command line without a command. */
export const noCommand = 'expected a command, got none';

/** The parser's message for several commands. */
export const severalCommands = 'expected one command, got several';

/** The parser's message in the form of all other errors. */
export function parserFault(message: string, words: readonly string[]): string {
  const command = commands.find(({ name }) => words.includes(name));
  const help = `see ${program} ${command === undefined ? '' : `${command.name} `}--help`;
  const found = unknownWord(message, words, command === undefined)?.replaceAll('\0', '');
  // The parser reads a name after one dash as letters.
  const short = words.find((word) => found?.length === 1 && word.startsWith(`-${found}`) && /^-[a-z-]{2,}/.test(word));
  const unknown = short?.slice(1).split('=')[0] ?? found;
  if (unknown !== undefined) {
    const isOption = words.some((word) => word.startsWith('-') && word.includes(unknown));
    if (!isOption && command !== undefined) {
      const hint = argumentHint(command, unknown);
      return `expected no further argument, got ${unknown}; ${hint === '' ? '' : `${hint} `}${help}`;
    }
    const names = isOption ? [...Object.keys({ ...command?.options, ...everyOption }), 'version'] : commandNames;
    const dashes = isOption ? (unknown.length === 1 || short !== undefined ? '-' : '--') : '';
    // Commands with several formats take `--format json` instead of `--json`.
    const isFormatName = names.includes('format') && isFormat(unknown);
    const nearest = isFormatName ? `format ${unknown}` : nearestName(unknown, names);
    if (unknown === 'account' && command?.positional?.name === 'QUERY') {
      return `expected an option, got --account: a query reads all accounts; add WHERE account = 'NAME' to it`;
    }
    const instead = isOption ? accountHint(command, unknown, words) : undefined;
    const word = nearest && `${isOption ? '--' : ''}${nearest}`;
    const meant = instead === undefined ? word : `\`${instead}\``;
    const hint = meant === undefined ? '' : `did you mean ${meant}? `;
    return `expected ${isOption ? 'an option' : 'a command'}, got ${dashes}${unknown}; ${hint}${help}`;
  }
  const [, option = '', received = '', offered] =
    /^Invalid values: Argument: (\S+), Given: (.*?), Choices: ("[^"]*"(?:, "[^"]*")*)/.exec(message) ?? [];
  if (offered !== undefined) {
    const choices = offered.replaceAll('"', '').split(', ');
    const last = received.split(', ').at(-1) ?? '';
    const nearest = option === 'region' ? nearestRegion(last.replaceAll('"', '')) : nearestName(last, choices);
    const hint = nearest === undefined ? '' : `did you mean ${nearest}? `;
    return `expected --${option} to be one of ${choices.join(', ')}, got ${last}; ${hint}${help}`;
  }
  const [, valueless] = /^Not enough arguments following: (.*)$/.exec(message) ?? [];
  if (valueless === undefined) return `${message}; ${help}`;
  return `expected a value after ${valueless.length === 1 ? '-' : '--'}${valueless}, got none; ${help}`;
}

/** The command with the account as an argument, where accounts follow the action and `--account` doesn't exist. */
function accountHint(command: CommandDefinition | undefined, unknown: string, words: readonly string[]) {
  if (unknown !== 'account' || command?.positional?.name !== 'ACTION') return undefined;
  const { choices = [] } = command.positional;
  const action = choices.find((choice) => words.includes(choice)) ?? choices[0] ?? '';
  const at = words.findIndex((word) => word.startsWith('--account'));
  const account = words[at]?.split('=')[1] ?? words[at + 1] ?? 'ACCOUNT';
  return `${program} ${command.name} ${action} ${shellWord(account)}`;
}

/** The word to report: without a command, the word in its position precedes every option. */
function unknownWord(message: string, words: readonly string[], lacksCommand: boolean): string | undefined {
  const [first = ''] = words;
  if (message === noCommand) {
    const option = /^--?([^=]+)/.exec(first)?.[1];
    const isKnown = [everyOption, ...commands.map(({ options }) => options)].some(
      (known) => option !== undefined && option in known,
    );
    return isKnown ? undefined : option;
  }
  if (message === severalCommands) return lacksCommand && !first.startsWith('-') ? first : undefined;
  const unknown = /^Unknown arguments?: (.*)/.exec(message)?.[1]?.split(', ') ?? [];
  return (lacksCommand ? unknown.find((word) => words.includes(word)) : undefined) ?? unknown[0];
}

/** The probable meaning of an argument that a command doesn't take. */
function argumentHint({ options, positional }: CommandDefinition, word: string): string {
  if (positional?.name === 'QUERY') return 'put the query in quotes;';
  const isLocation = isRemote(word) || existsSync(word);
  const isAccount = !isLocation && options['account'] !== undefined && accountPattern.test(word);
  const meant = [...(isAccount ? ['account'] : []), ...(isLocation || isAccount ? ['lake'] : [])];
  const hints = meant
    .filter((option) => options[option] !== undefined)
    .map((option) => `--${option} ${shellWord(word)}`);
  return hints.length === 0 ? '' : `did you mean ${hints.join(' or ')}?`;
}

export const commandNames = [...commands.map(({ name }) => name), 'help', 'version'];
