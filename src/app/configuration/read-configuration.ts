import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemCode, usageError } from '../../core/errors.js';
import type { Configuration } from './configuration.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { shellWord } from '../command-text.js';
import { accountPattern } from './account.js';

/** The file that is looked for where none is named. */
export const configurationFile = 'ledgerlake.config.json';

/**
 * The configuration: the file of `--config`, else of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` in the working
 * folder, which need not be there. Throws a USAGE error for a file that was named and can't be read, and for one that is no
 * configuration
 */
export async function readConfiguration(
  named: string | undefined,
  environment: Environment,
  workingFolder: string,
): Promise<Configuration> {
  const specified = named ?? variableOf(environment, 'LEDGERLAKE_CONFIG');
  const file = specified ?? configurationFile;
  const path = resolve(workingFolder, file);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const code = systemCode(error) ?? 'unknown';
    if (code === 'ENOENT' && specified === undefined) {
      return { file: undefined, folder: workingFolder, settings: {}, accounts: new Map() };
    }
    const namedBy = named === undefined && specified !== undefined ? 'LEDGERLAKE_CONFIG' : '--config';
    const description = specified === undefined ? file : `${file}, which ${namedBy} names`;
    if (code === 'EACCES' || code === 'EPERM') {
      throw usageError(
        `expected a readable configuration in ${description}, got no permission to read ${path} (${code}); run as its owner, ` +
          'or let this user read it and enter its folders',
      );
    }
    if (code !== 'ENOENT') throw usageError(`expected a readable configuration in ${description}, got ${code}`);
    const written = `\`ledgerlake init --config ${shellWord(file)}\` writes one`;
    throw usageError(
      `expected the configuration ${description}, got no such file in ${dirname(path)}; check the path, or ${written}`,
    );
  }
  // Only now: most runs have no such file, and the schema takes longer to load than all else that reads settings.
  const { parseConfiguration } = await import('./configuration.js');
  return { ...parseConfiguration(bytes, file, dirname(path)), isDiscovered: specified === undefined };
}

/** That no file configures an account, in words. */
export function withoutFile({ folder }: Configuration): string {
  return `there is no ${configurationFile} in ${folder}`;
}

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
    const { withoutComments } = await import('./without-comments.js');
    value = JSON.parse(new TextDecoder().decode(withoutComments(await readFile(resolve(workingFolder, file)))));
  } catch {
    // A completion reports no error.
    return [];
  }
  const accounts = typeof value === 'object' && value !== null && 'accounts' in value ? value.accounts : undefined;
  if (typeof accounts !== 'object' || accounts === null) return [];
  return Object.keys(accounts)
    .filter((name) => accountPattern.test(name))
    .toSorted();
}
