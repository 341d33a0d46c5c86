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
import { terminalWidth, writeText } from '../../core/text/sink.js';
import { wrapForTerminal } from '../../core/text/width.js';
import type { ReadingContext, RunContext } from '../context.js';
import { printable } from '../../core/printable.js';
import { unknownName } from '../../core/text/fault-line.js';
import { resolveAccount, type ResolvedAccount } from '../configuration/resolve-account.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { ApiClient } from '../../engine/paging/api-client.js';
import { financesV0 } from '../../sources/finances/api-v0/finances-api.js';
import { createTransport, type Transport } from '../../engine/http/transport.js';
import { accountPattern } from '../configuration/account.js';
import { rangeMarginMs } from '../configuration/range.js';
import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import { dayMs } from '../../core/windows.js';

interface AccountsOptions {
  readonly config: Configuration;
  readonly environment: Environment;
  /** Names; empty: all. */
  readonly accounts: readonly string[];
  readonly format: 'table' | 'json';
}

/** The columns. Those of secrets have the location of the secret: a variable, a file, or the configuration. */
const names = ['account', 'region', 'endpoint', 'token_endpoint', 'client_id', 'client_secret', 'refresh_token'];

/**
 * `ledgerlake accounts`: lists the configured accounts, with the location of each secret, never its value. In JSON null is a
 * setting that isn't set.
 *
 * @throws LedgerlakeError USAGE for a variable with an invalid value, and for an account that isn't configured
 */
export async function accounts(options: AccountsOptions, { output, emit }: ReadingContext): Promise<void> {
  const { config, environment, accounts, format } = options;
  checkVariables(environment);
  const chosen = accounts.length === 0 ? listedAccounts(config, environment) : chosenAccounts(options);
  const all = chosen.map((account) => accountSettings(config, environment, account));
  if (format === 'json') {
    const columns = names.map((name): ResultColumn => ({ name, kind: 'text' }));
    const rows = all.map((settings) => cellsOf(settings, ({ location }) => location));
    await writeRows(output, format, columns, chunksOf(rows));
  } else {
    const texts = all.map((settings) => accountText(cellsOf(settings, locationText)));
    await writeText(output, texts);
  }
  if (all.length === 0) {
    const reason = config.file === undefined ? withoutFile(config) : `${config.file} names none`;
    emit({ event: 'message', message: `No account is configured, because ${reason}: ${howToName}.` });
  }
}

/** The cells of an account, in the order of `names`. */
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

/** An address without its user and password. */
export function shownAddress(endpoint: string): string {
  const { origin, prefix } = readEndpoint(endpoint);
  return `${origin}${prefix}`;
}

interface CheckOptions extends AccountsOptions {
  readonly verbose: boolean;
}

/** The result of a check, as `--format json` prints it. */
interface Checked {
  readonly account: string;
  readonly ok: boolean;
  /** Null: unknown. */
  readonly endpoint: string | null;
  /** The code of the error; null: none. */
  readonly code: string | null;
  /** What succeeded, or what to check. */
  readonly message: string;
}

/** Shorter than those of a run: somebody waits for the result. */
const timeouts = { connectTimeoutMs: 10_000, headersTimeoutMs: 20_000, bodyTimeoutMs: 20_000 };

/**
 * `ledgerlake accounts check`: signs in each account and sends one request. Returns the exit code: 0 where all checks succeed, 2
 * where an account is misconfigured, else 1. `table` is a line for each account, `json` an array of `Checked`.
 *
 * @throws LedgerlakeError USAGE for an account that isn't configured; the signal's reason
 */
export async function checkAccounts(options: CheckOptions, context: ReadingContext): Promise<number> {
  const { clock, output } = context;
  const names = chosenAccounts(options);
  const transport = createTransport({ ...timeouts, clock });
  const results: Checked[] = [];
  try {
    for (const account of names) {
      const checked = await check(account, options, { ...context, transport });
      results.push(checked);
      const line = printable(`${checked.account}: ${checked.ok ? 'ok' : 'failed'}, ${checked.message}`);
      if (options.format === 'table') await writeText(output, [`${wrapForTerminal(line, terminalWidth(output))}\n`]);
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

/** The accounts to list or check. One that only variables with its suffix configure isn't listed, but can be named. */
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

interface AccountCheckContext extends RunContext {
  readonly transport: Transport;
}

async function check(account: string, options: CheckOptions, context: AccountCheckContext): Promise<Checked> {
  const { config, environment } = options;
  let shown: string | null = null;
  try {
    const resolved = await resolveAccount(config, environment, { account, endpoint: undefined, takesEndpoint: false });
    if (resolved.endpoint === undefined) {
      return { account, ok: true, endpoint: null, code: null, message: 'served by the embedded service' };
    }
    for (const file of resolved.exposed ?? []) context.emit({ event: 'secret-exposed', file });
    shown = shownAddress(resolved.endpoint);
    await sendCheapRequest({ ...resolved, endpoint: resolved.endpoint }, context);
    const how = resolved.signIn === undefined ? 'without sign-in' : 'signed in';
    return { account, ok: true, endpoint: shown, code: null, message: `${how}, answered by ${shown}` };
  } catch (error) {
    context.signal.throwIfAborted();
    // An error of the program isn't a result of the check.
    if (!(error instanceof LedgerlakeError)) throw error;
    if (options.verbose && error.details !== undefined)
      for (const message of error.details.split('\n')) context.emit({ event: 'message', message });
    return { account, ok: false, endpoint: shown, code: error.code, message: messageOf(error) };
  }
}

/** Requests one settlement of the last day. Throws a LedgerlakeError without an access token, and where the answer isn't a page. */
async function sendCheapRequest(
  { endpoint, signIn }: ResolvedAccount & { readonly endpoint: string },
  { transport, clock, signal }: AccountCheckContext,
): Promise<void> {
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock });
  const api = financesV0.paged({ endpoint, quota: undefined, cursorLifeMs: 0 });
  const end = clock.now() - rangeMarginMs;
  const parameters = { FinancialEventGroupStartedAfter: end - dayMs, FinancialEventGroupStartedBefore: end };
  const query = { operation: 'ListFinancialEventGroups', parameters } as const;
  await new ApiClient({ api, transport, accessTokens, clock }).send(query, { pageSize: 1 }, { signal, priority: 0 });
}
