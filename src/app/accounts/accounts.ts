import {
  accountSettings,
  checkVariables,
  type AccountSettings,
  type PlacedSecret,
} from '../configuration/account-settings.js';
import type { Configuration } from '../configuration/configuration.js';
import type { Environment } from '../../core/environment.js';
import { listedAccounts } from '../configuration/listed-accounts.js';
import { configurationFile } from '../configuration/read-configuration.js';
import { readEndpoint } from '../../sources/finances/api-v0/endpoint.js';
import { chunksOf, writeRows } from '../../core/text/formats.js';
import type { Column } from '../../core/text/rows.js';
import { writeText } from '../../core/text/sink.js';
import type { ReadingContext } from '../context.js';
import { printable } from '../../core/printable.js';

export interface AccountsOptions {
  readonly config: Configuration;
  readonly environment: Environment;
  readonly format: 'table' | 'json';
}

/** What is told of an account; of a secret the place: a variable, a file, or the configuration. */
const names = ['account', 'region', 'endpoint', 'token_endpoint', 'client_id', 'client_secret', 'refresh_token'];

/**
 * `ledgerlake accounts`: which accounts are configured, where they are read, and from where each secret of their
 * sign-in comes: never its value. A line for each, or as JSON, where null is what isn't set.
 *
 * @throws LedgerlakeError USAGE for a variable with a value that isn't one
 */
export async function accounts(
  { config, environment, format }: AccountsOptions,
  { output, log }: ReadingContext,
): Promise<void> {
  checkVariables(environment);
  const all = listedAccounts(config, environment).map((account) => accountSettings(config, environment, account));
  if (format === 'json') {
    const columns = names.map((name): Column => ({ name, kind: 'text' }));
    await writeRows(output, format, columns, chunksOf(all.map((settings) => cellsOf(settings, ({ place }) => place))));
  } else {
    await writeText(
      output,
      all.map((settings) => accountText(cellsOf(settings, placeText))),
    );
  }
  if (all.length === 0) {
    log(`No account is configured: name one in ${config.file ?? configurationFile}, or with LEDGERLAKE_ACCOUNT.`);
  }
}

/** In the order of the names. */
function cellsOf(
  { account, region, endpoint, tokenEndpoint, clientId, clientSecret, refreshToken }: AccountSettings,
  textOf: (secret: PlacedSecret) => string,
): (string | null)[] {
  const secrets = [clientId, clientSecret, refreshToken].map((secret) =>
    secret === undefined ? null : textOf(secret),
  );
  return [account, region ?? null, endpoint === undefined ? null : shownAddress(endpoint), tokenEndpoint, ...secrets];
}

function placeText({ place, isSet }: PlacedSecret): string {
  return isSet ? place : `${place}, which is not set`;
}

function accountText([account, ...cells]: readonly (string | null)[]): string {
  const lines = cells.map(
    (cell, at) => `  ${(names[at + 1] ?? '').replaceAll('_', ' ').padEnd(16)}${printable(cell ?? '-')}`,
  );
  return `${[printable(account ?? '-'), ...lines].join('\n')}\n`;
}

/** Without the user and the password that an address may hold. */
export function shownAddress(endpoint: string): string {
  const { origin, prefix } = readEndpoint(endpoint);
  return `${origin}${prefix}`;
}
