import type { Clock } from '../../core/clock.js';
import type { Configuration } from '../configuration/configuration.js';
import type { Environment } from '../../core/environment.js';
import { listedAccounts } from '../configuration/listed-accounts.js';
import { nearestName } from '../../core/text/nearest-name.js';
import { configurationFile } from '../configuration/read-configuration.js';
import { resolveAccount, type ResolvedAccount } from '../configuration/resolve-account.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { apiClient } from '../../engine/paging/paged-requests.js';
import { financesApi } from '../../sources/finances/api-v0/finances-api.js';
import { createTransport, type Transport } from '../../engine/http/transport.js';
import { accountPattern } from '../configuration/account.js';
import { rangeMarginMs } from '../configuration/range.js';
import { exposedText } from '../../core/events/exposed-text.js';
import { writeText } from '../../core/text/sink.js';
import { createAccessTokens } from '../../engine/auth/access-token-cache.js';
import { printable } from '../../core/printable.js';
import { shownAddress } from './accounts.js';
import type { ReadingContext } from '../context.js';
import { dayMs } from '../../core/windows.js';

export interface CheckOptions {
  readonly config: Configuration;
  readonly environment: Environment;
  /** Which; empty: all. */
  readonly accounts: readonly string[];
  readonly format: 'table' | 'json';
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
 * `ledgerlake accounts check`: signs each account in and sends one request, the cheapest that there is. True when all
 * of them went well. `table` is a line for each account, `json` an array of `account`, `ok`, `endpoint`, `code`, `message`.
 *
 * @throws LedgerlakeError USAGE for an account that isn't configured, or the signal's reason
 */
export async function checkAccounts(options: CheckOptions, context: ReadingContext): Promise<boolean> {
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
  return results.every(({ ok }) => ok);
}

/** An account that is set up by its own variables alone isn't listed, but can be named. */
function chosenAccounts({ config, environment, accounts }: CheckOptions): readonly string[] {
  const listed = listedAccounts(config, environment);
  if (accounts.length === 0 && listed.length === 0) {
    const place = config.file ?? configurationFile;
    throw usageError(`expected an account to check, got none: name it, or configure one in ${place}`);
  }
  for (const name of accounts) {
    if (listed.includes(name) || (config.accounts.size === 0 && accountPattern.test(name))) continue;
    const nearest = nearestName(name, listed);
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    throw usageError(
      `expected an account that is configured (${listed.join(', ')}), got ${JSON.stringify(name)}${hint}`,
    );
  }
  return accounts.length === 0 ? listed : [...new Set(accounts)];
}

interface Means {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

async function check(account: string, options: CheckOptions, means: Means): Promise<Checked> {
  const { config, environment } = options;
  let shown: string | null = null;
  try {
    const resolved = await resolveAccount(config, environment, { account, endpoint: undefined });
    if (resolved.endpoint === undefined) {
      return { account, ok: true, endpoint: null, code: null, message: 'served by the embedded service' };
    }
    for (const file of resolved.exposed ?? []) means.log(exposedText(file));
    shown = shownAddress(resolved.endpoint);
    await askOnce({ ...resolved, endpoint: resolved.endpoint }, means);
    const how = resolved.signIn === undefined ? 'without sign-in' : 'signed in';
    return { account, ok: true, endpoint: shown, code: null, message: `${how}, answered by ${shown}` };
  } catch (error) {
    means.signal.throwIfAborted();
    // A fault of the program's is no finding about the account.
    if (!(error instanceof LedgerlakeError)) throw error;
    if (options.verbose && error.details !== undefined) for (const line of error.details.split('\n')) means.log(line);
    return { account, ok: false, endpoint: shown, code: error.code, message: messageOf(error) };
  }
}

/**
 * The cheapest request: one settlement of the last day, which ends behind the service's margin.
 *
 * @throws LedgerlakeError when there is no access token, or the answer isn't a page
 */
async function askOnce(
  { endpoint, signIn }: ResolvedAccount & { readonly endpoint: string },
  { transport, clock, signal }: Means,
): Promise<void> {
  const accessTokens = signIn && createAccessTokens({ ...signIn, transport, clock });
  const api = financesApi({ endpoint, quota: undefined, cursorLifeMs: 0 });
  const end = clock.now() - rangeMarginMs;
  const parameters = { FinancialEventGroupStartedAfter: end - dayMs, FinancialEventGroupStartedBefore: end };
  const query = { operation: 'ListFinancialEventGroups', parameters } as const;
  await apiClient({ api, transport, accessTokens, clock })(query, { pageSize: 1 }, { signal, priority: 0 });
}
