import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { accountPattern } from './account.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { configurationFile } from './read-configuration.js';
import { withoutComments } from './without-comments.js';

/**
 * The names of the accounts in the configuration, for the shell's completion: without the schema, which takes longer to
 * load than somebody who presses Tab will wait. None where it can't be read; whatever else it says doesn't matter here.
 */
export async function configuredNames(
  named: string | undefined,
  environment: Environment,
  workingFolder: string,
): Promise<readonly string[]> {
  const file = named ?? variableOf(environment, 'LEDGERLAKE_CONFIG') ?? configurationFile;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(withoutComments(await readFile(resolve(workingFolder, file)))));
  } catch {
    // Nobody who presses Tab wants to be told.
    return [];
  }
  const accounts = typeof value === 'object' && value !== null && 'accounts' in value ? value.accounts : undefined;
  if (typeof accounts !== 'object' || accounts === null) return [];
  return Object.keys(accounts)
    .filter((name) => accountPattern.test(name))
    .toSorted();
}
