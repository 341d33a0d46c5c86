import { accountSettings, checkVariables, type PlacedSecret } from '../config/account-settings.js';
import type { Configuration } from '../config/configuration.js';
import type { Environment } from '../config/environment.js';
import { listedAccounts } from '../config/listed-accounts.js';
import { configurationFile } from '../config/read-configuration.js';
import { readEndpoint } from '../finances/endpoint.js';
import { chunksOf, writeRows } from '../output/formats.js';
import type { Column } from '../output/rows.js';
import type { ReadingContext } from './context.js';

export interface AccountsOptions {
  readonly config: Configuration;
  readonly environment: Environment;
  readonly format: 'table' | 'json';
}

/** Of a secret the place is told: a variable, a file, or the configuration. */
const columns: readonly Column[] = [
  'account',
  'region',
  'endpoint',
  'token_endpoint',
  'client_id',
  'client_secret',
  'refresh_token',
].map((name) => ({ name, kind: 'text' }));

/**
 * `ledgerlake accounts`: which accounts are configured, where they are read, and from where each secret of their
 * sign-in comes: never its value. NULL is what isn't set.
 *
 * @throws LedgerlakeError USAGE for a variable with a value that isn't one
 */
export async function accounts(
  { config, environment, format }: AccountsOptions,
  { output, log }: ReadingContext,
): Promise<void> {
  checkVariables(environment);
  const rows = listedAccounts(config, environment).map((account) => {
    const settings = accountSettings(config, environment, account);
    const { region = null, endpoint, tokenEndpoint, clientId, clientSecret, refreshToken } = settings;
    const places = [clientId, clientSecret, refreshToken].map(placeOf);
    return [account, region, endpoint === undefined ? null : shownAddress(endpoint), tokenEndpoint, ...places];
  });
  await writeRows(output, format, columns, chunksOf(rows));
  if (rows.length === 0) {
    log(`No account is configured: name one in ${config.file ?? configurationFile}, or with LEDGERLAKE_ACCOUNT.`);
  }
}

/** Without the user and the password that an address may hold. */
export function shownAddress(endpoint: string): string {
  const { origin, prefix } = readEndpoint(endpoint);
  return `${origin}${prefix}`;
}

function placeOf(secret: PlacedSecret | undefined): string | null {
  return secret?.place ?? null;
}
