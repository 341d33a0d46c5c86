import { readAccountName } from '../../app/configuration/account.js';
import { usageError } from '../../core/errors.js';
import { formats } from '../../core/text/formats.js';
import type { CommandArguments, OptionDefinition } from './command-definition.js';

/** The option of commands whose queries see all accounts, or those that it names. */
export const seenAccounts = {
  account: { about: 'Account to show, several times for several; no other is seen [default: all]' },
} as const satisfies Record<string, OptionDefinition>;

/** The accounts of `seenAccounts`; undefined: all. Throws a USAGE error for an invalid name. */
export function accountsSeen(args: CommandArguments): readonly string[] | undefined {
  const accounts = [...new Set(args.repeated('account').map(readAccountName))];
  return accounts.length === 0 ? undefined : accounts;
}

/**
 * The values of `--param NAME=VALUE` by their names.
 *
 * @throws LedgerlakeError USAGE for any other text, and for a name twice
 */
export function readParameters(args: CommandArguments): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const text of args.repeated('param')) {
    const [, name, value = ''] = /^([\p{L}\p{N}_]+)=(.*)$/su.exec(text) ?? [];
    if (name === undefined)
      throw usageError(`expected --param NAME=VALUE, such as month=2026-01, got ${JSON.stringify(text)}`);
    if (values.has(name)) throw usageError(`expected --param ${name} once, got it again: ${JSON.stringify(value)}`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

/** Where and how the results of statements are written. */
export const resultOptions = {
  format: { choices: formats, about: 'Format of the results [default: from the extension of --output, else table]' },
  output: {
    short: 'o',
    about: 'File for the results, .parquet and .xlsx too, written completely or not at all; - for standard output',
  },
} as const satisfies Record<string, OptionDefinition>;
