import { usageError } from '../../core/errors.js';
import type { CommandArguments } from './command-definition.js';

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
