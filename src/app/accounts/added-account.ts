import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemCode, usageError } from '../../core/errors.js';
import { openFault, readFoundFile } from '../../core/io/files.js';
import { otherAccountOf } from '../configuration/account-settings.js';
import { withMember, withoutComments } from '../configuration/commented-json.js';
import type { Configuration } from '../configuration/configuration.js';

/** A configuration that has been written before. */
export interface ExistingFile {
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly configuration: Configuration;
}

/**
 * Reads a configuration to which an account is to be added; undefined where there is none.
 *
 * @throws LedgerlakeError USAGE for one that is invalid or can't be read
 */
export async function readExisting(file: string): Promise<ExistingFile | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await readFoundFile(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw usageError(
      `expected a configuration that can be read, got ${file} (${openFault(error)}); name another with --config`,
    );
  }
  const { parseConfiguration } = await import('../configuration/configuration.js');
  return { file, bytes, configuration: parseConfiguration(bytes, file, dirname(file)) };
}

/** @throws LedgerlakeError USAGE for an account that a file has, and for one whose variables are those of another */
export function refuseConfigured(account: string, { file, configuration }: ExistingFile): void {
  if (configuration.accounts.has(account)) {
    throw usageError(
      `expected an account that ${file} lacks, got ${account}, which it has; \`ledgerlake accounts\` lists what is set, edit it there, or choose another name`,
    );
  }
  const other = otherAccountOf(configuration, account);
  if (other === undefined) return;
  throw usageError(
    `expected a name whose variables are no other account's, got ${account}, which shares them with ${other} of ${file}; choose another name`,
  );
}

/**
 * The text of a configuration with an account more. All that it has stays as it is, byte for byte.
 *
 * @throws LedgerlakeError USAGE where its form allows no such edit
 */
export function withAccount(
  { file, bytes }: Pick<ExistingFile, 'file' | 'bytes'>,
  account: string,
  added: object,
): string {
  const edited = withMember(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), 'accounts', account, added);
  const before = valueOf(bytes);
  const intended = { ...before, accounts: { ...before.accounts, [account]: added } };
  if (edited !== undefined && isDeepStrictEqual(valueOf(Buffer.from(edited)), intended)) return edited;
  throw usageError(
    `expected ${file} in a form to which an account can be added, got another; add ${account} to its "accounts"`,
  );
}

/** The value of a configuration that was checked. */
function valueOf(bytes: Uint8Array): { readonly accounts?: object } {
  const value: unknown = JSON.parse(new TextDecoder().decode(withoutComments(bytes)));
  return value as { readonly accounts?: object };
}
