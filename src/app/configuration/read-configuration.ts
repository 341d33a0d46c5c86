import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf, systemCode, usageError } from '../../core/errors.js';
import { readFoundFile } from '../../core/io/files.js';
import type { Configuration } from './configuration.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { shellWord } from '../../core/text/shell-word.js';
import { accountPattern } from './account.js';

/** The default name of the configuration file. */
export const configurationFile = 'ledgerlake.config.json';

/**
 * Reads the configuration: the file of `--config`, else of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` in the working folder,
 * if it exists.
 *
 * @throws LedgerlakeError USAGE for a named file that can't be read, and for an invalid configuration
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
    bytes = await (specified === undefined ? readFoundFile(path) : readFile(path));
  } catch (error) {
    const code = systemCode(error) ?? messageOf(error);
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
  // Imported here because most runs have no such file, and the schema loads slowly.
  const { parseConfiguration } = await import('./configuration.js');
  return { ...parseConfiguration(bytes, file, dirname(path)), isDiscovered: specified === undefined };
}

/** The text for a missing configuration file. */
export function withoutFile({ folder }: Configuration): string {
  return `there is no ${configurationFile} in ${folder}`;
}

/**
 * The names of the configured accounts for the shell's completion, without the schema, which loads too slowly for it. Empty where the
 * file can't be read; the rest of the file is not checked.
 */
export async function configuredNames(
  named: string | undefined,
  environment: Environment,
  workingFolder: string,
): Promise<readonly string[]> {
  const file = named ?? variableOf(environment, 'LEDGERLAKE_CONFIG') ?? configurationFile;
  let value: unknown;
  try {
    const { withoutComments } = await import('./commented-json.js');
    value = JSON.parse(new TextDecoder().decode(withoutComments(await readFoundFile(resolve(workingFolder, file)))));
  } catch {
    // Completion reports no errors.
    return [];
  }
  const accounts = typeof value === 'object' && value !== null && 'accounts' in value ? value.accounts : undefined;
  if (typeof accounts !== 'object' || accounts === null) return [];
  return Object.keys(accounts)
    .filter((name) => accountPattern.test(name))
    .toSorted();
}
