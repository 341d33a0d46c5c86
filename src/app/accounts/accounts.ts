import {
  accountSettings,
  checkVariables,
  type AccountSettings,
  type LocatedSecret,
  listedAccounts,
} from '../configuration/account-settings.js';
import type { Configuration } from '../configuration/configuration.js';
import type { Environment } from '../../core/environment.js';
import { withoutFile } from '../configuration/read-configuration.js';
import { readEndpoint } from '../../engine/http/address.js';
import { chunksOf, writeRows } from '../../core/text/formats.js';
import type { ResultColumn } from '../../core/text/rows.js';
import { writeText } from '../../core/text/sink.js';
import type { ReadingContext } from '../context.js';
import { printable } from '../../core/printable.js';
import { unknownName } from '../../core/text/fault-line.js';
import { resolveAccount, type ResolvedAccount } from '../configuration/resolve-account.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { ApiClient } from '../../engine/paging/api-client.js';
import { financesApi } from '../../sources/finances/api-v0/finances-api.js';
import { createTransport, type Transport } from '../../engine/http/transport.js';
import { accountPattern } from '../configuration/account.js';
import { rangeMarginMs } from '../configuration/range.js';
import { exposedText } from '../../core/events/run-event.js';
import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import { dayMs } from '../../core/windows.js';

interface AccountsOptions {
  readonly config: Configuration;
  readonly environment: Environment;
  /** Which; empty: all. */
  readonly accounts: readonly string[];
  readonly format: 'table' | 'json';
}

/** The columns of an account; of a secret its location: a variable, a file, or the configuration. */
const names = ['account', 'region', 'endpoint', 'token_endpoint', 'client_id', 'client_secret', 'refresh_token'];

/**
 * `ledgerlake accounts`: which accounts are configured, where they are read, and from where each secret of their sign-in
 * comes: never its value. A line for each, or as JSON, where null is what isn't set. Throws a USAGE error for a variable
 * with a value that isn't one, and for an account that isn't configured
 */
export async function accounts(options: AccountsOptions, { output, log }: ReadingContext): Promise<void> {
  const { config, environment, accounts, format } = options;
  checkVariables(environment);
  const chosen = accounts.length === 0 ? listedAccounts(config, environment) : chosenAccounts(options);
  const all = chosen.map((account) => accountSettings(config, environment, account));
  if (format === 'json') {
    const columns = names.map((name): ResultColumn => ({ name, kind: 'text' }));
    await writeRows(
      output,
      format,
      columns,
      chunksOf(all.map((settings) => cellsOf(settings, ({ location }) => location))),
    );
  } else {
    await writeText(
      output,
      all.map((settings) => accountText(cellsOf(settings, locationText))),
    );
  }
  if (all.length === 0) {
    log(
      `No account is configured, because ${config.file === undefined ? withoutFile(config) : `${config.file} names none`}: ${howToName}.`,
    );
  }
}

/** In the order of the names. */
function cellsOf(
  { account, region, endpoint, tokenEndpoint, clientId, clientSecret, refreshToken }: AccountSettings,
  textOf: (secret: LocatedSecret) => string,
): (string | null)[] {
  const secrets = [clientId, clientSecret, refreshToken].map((secret) =>
    secret === undefined ? null : textOf(secret),
  );
  return [account, region ?? null, endpoint === undefined ? null : shownAddress(endpoint), tokenEndpoint, ...secrets];
}

function locationText({ location, isSet }: LocatedSecret): string {
  return isSet ? location : `${location}, which is not set`;
}

function accountText([account, ...cells]: readonly (string | null)[]): string {
  const lines = cells.map(
    (cell, at) => `  ${(names[at + 1] ?? '').replaceAll('_', ' ').padEnd(16)}${printable(cell ?? '-')}`,
  );
  return `${[printable(account ?? '-'), ...lines].join('\n')}\n`;
}

/** Without the user and the password that an address may hold. */
function shownAddress(endpoint: string): string {
  const { origin, prefix } = readEndpoint(endpoint);
  return `${origin}${prefix}`;
}

interface CheckOptions extends AccountsOptions {
  readonly verbose: boolean;
}

interface Checked {
  readonly account: string;
  readonly ok: boolean;
  /** Where it was tried; null where that isn't known. */
  readonly endpoint: string | null;
  /** The error's code, or null. */
  readonly code: string | null;
  /** What was tried with success, or what to check. */
  readonly message: string;
}

/** Nobody waits longer for an answer to a check. */
const timeouts = { connectTimeoutMs: 10_000, headersTimeoutMs: 20_000, bodyTimeoutMs: 20_000 };

/**
 * `ledgerlake accounts check`: signs each account in and sends one request, the cheapest that there is. Returns the exit code:
 * 0 when all of them went well, 2 where an account is configured wrong, as for every command, and else 1. `table` is a line for
 * each account, `json` an array of `Checked`. Throws a USAGE error for an account that isn't configured, or the signal's reason
 */
export async function checkAccounts(options: CheckOptions, context: ReadingContext): Promise<number> {
  const { clock, signal, output, log } = context;
  const names = chosenAccounts(options);
  const transport = createTransport({ ...timeouts, clock });
  const results: Checked[] = [];
  try {
    for (const account of names) {
      const checked = await check(account, options, { transport, clock, signal, log });
      results.push(checked);
      const line = printable(`${checked.account}: ${checked.ok ? 'ok' : 'failed'}, ${checked.message}`);
      if (options.format === 'table') await writeText(output, [`${line}\n`]);
    }
  } finally {
    await transport.close();
  }
  if (options.format === 'json') await writeText(output, [`${JSON.stringify(results, undefined, 2)}\n`]);
  if (results.every(({ ok }) => ok)) return 0;
  return results.some(({ code }) => code === 'USAGE') ? 2 : 1;
}

const howToName =
  'name its file with --config, write one with `ledgerlake init`, or name an account with LEDGERLAKE_ACCOUNT';

/** An account that is set up by its own variables alone isn't listed, but can be named. */
function chosenAccounts({ config, environment, accounts }: AccountsOptions): readonly string[] {
  const listed = listedAccounts(config, environment);
  if (accounts.length === 0 && listed.length === 0) {
    const location = config.file === undefined ? withoutFile(config) : `${config.file} configures none`;
    throw usageError(`expected an account to check, got none, and ${location}; ${howToName}`);
  }
  for (const name of accounts) {
    if (listed.includes(name) || (config.accounts.size === 0 && accountPattern.test(name))) continue;
    throw unknownName('an account that is configured', name, listed);
  }
  return accounts.length === 0 ? listed : [...new Set(accounts)];
}

interface CheckContext extends Pick<ReadingContext, 'clock' | 'signal' | 'log'> {
  readonly transport: Transport;
}

async function check(account: string, options: CheckOptions, context: CheckContext): Promise<Checked> {
  const { config, environment } = options;
  let shown: string | null = null;
  try {
    const resolved = await resolveAccount(config, environment, { account, endpoint: undefined, takesEndpoint: false });
    if (resolved.endpoint === undefined) {
      return { account, ok: true, endpoint: null, code: null, message: 'served by the embedded service' };
    }
    for (const file of resolved.exposed ?? []) context.log(exposedText(file));
    shown = shownAddress(resolved.endpoint);
    await sendCheapRequest({ ...resolved, endpoint: resolved.endpoint }, context);
    const how = resolved.signIn === undefined ? 'without sign-in' : 'signed in';
    return { account, ok: true, endpoint: shown, code: null, message: `${how}, answered by ${shown}` };
  } catch (error) {
    context.signal.throwIfAborted();
    // A fault of the program's is no finding about the account.
    if (!(error instanceof LedgerlakeError)) throw error;
    if (options.verbose && error.details !== undefined) for (const line of error.details.split('\n')) context.log(line);
    return { account, ok: false, endpoint: shown, code: error.code, message: messageOf(error) };
  }
}

/**
 * The cheapest request: one settlement of the last day, which ends behind the service's margin. Throws a LedgerlakeError
 * when there is no access token, or the answer isn't a page
 */
async function sendCheapRequest(
  { endpoint, signIn }: ResolvedAccount & { readonly endpoint: string },
  { transport, clock, signal }: CheckContext,
): Promise<void> {
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock });
  const api = financesApi({ endpoint, quota: undefined, cursorLifeMs: 0 });
  const end = clock.now() - rangeMarginMs;
  const parameters = { FinancialEventGroupStartedAfter: end - dayMs, FinancialEventGroupStartedBefore: end };
  const query = { operation: 'ListFinancialEventGroups', parameters } as const;
  await new ApiClient({ api, transport, accessTokens, clock }).send(query, { pageSize: 1 }, { signal, priority: 0 });
}
