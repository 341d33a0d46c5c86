import { readFile, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { messageOf, systemCode, usageError } from '../../core/errors.js';
import { readFoundFile } from '../../core/io/files.js';
import { demoAccount, knownHosts, readAccount, readAccountName } from './account.js';
import { Secret } from '../../engine/auth/secret.js';
import { isSecure } from '../../engine/http/address.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import {
  accountSettings,
  otherAccountOf,
  accountVariables,
  secretKeys,
  withCredentials,
  type AccountSettings,
  type LocatedSecret,
  type SecretCredentials,
  type SecretKey,
} from './account-settings.js';
import type { VariableOrigins } from '../../sources/custom/custom-address.js';
import { withoutFile } from './read-configuration.js';
import type { Configuration, SecretSource } from './configuration.js';
import { variableOf, variableSuffix, type Environment } from '../../core/environment.js';
import { nearestName } from '../../core/text/fault-line.js';

/** The account of a run, its endpoint and its credentials. */
export interface ResolvedAccount {
  readonly account: string;
  /** Base address; undefined: the embedded service. */
  readonly endpoint: string | undefined;
  /** Whether the configuration file has the endpoint, so that printed commands need not name it. */
  readonly isEndpointConfigured?: boolean;
  /** For `createAccessTokens`; undefined where the service needs no sign-in. */
  readonly signIn: SignIn | undefined;
  /** Files with secrets that every user of this machine can read; undefined: none. */
  readonly exposed?: readonly string[] | undefined;
}

/** The options `--account` and `--endpoint`, unparsed. */
export interface AccountChoice {
  readonly account: string | undefined;
  readonly endpoint: string | undefined;
  /** False for a command that sends no requests and needs no secrets; left out: true. */
  readonly sendsRequests?: boolean;
  /** False for a command without `--endpoint`, which messages then don't suggest; left out: true. */
  readonly takesEndpoint?: boolean;
  /** Credentials that a program passes; left out: those of the settings. */
  readonly credentials?: SecretCredentials | undefined;
}

/**
 * Resolves the account, its endpoint and its credentials. The account is `--account`, else `LEDGERLAKE_ACCOUNT`, else the setting
 * `account`, else the only configured one. The endpoint is `--endpoint`, else the account's, else the embedded service. It reads the
 * secrets, and sends no requests.
 *
 * @throws LedgerlakeError USAGE where account, endpoint or sign-in settings are invalid, missing or contradictory
 */
export async function resolveAccount(
  config: Configuration,
  environment: Environment,
  options: AccountChoice,
): Promise<ResolvedAccount> {
  const name = accountName(config, environment, options);
  const { credentials } = options;
  if (name === undefined && credentials !== undefined) {
    throw usageError('expected --account with credentials, got none; choose any name for the account');
  }
  const set = name === undefined ? undefined : accountSettings(config, environment, name);
  const settings = set && credentials ? withCredentials(set, credentials) : set;
  const endpoint = options.endpoint ?? settings?.endpoint;
  refuseLogin(options.endpoint);
  if (endpoint === undefined && settings !== undefined) refuseWithoutEndpoint(config, settings, options);
  const account = readAccount(name, endpoint);
  if (endpoint === undefined || settings === undefined || options.sendsRequests === false) {
    return { account, endpoint, signIn: undefined };
  }
  refuseForeignAddress(config, settings, options);
  const signIn = await readSignIn(config, environment, settings);
  if (signIn === undefined && settings.region !== undefined && options.endpoint === undefined) {
    throw incomplete(config, settings, secretKeys);
  }
  if (signIn !== undefined && URL.canParse(endpoint) && !isSecure(new URL(endpoint))) {
    throw usageError(
      `expected an endpoint for the account ${account} that begins with https://, got http://, which would send its access ` +
        `tokens in the clear; use https:// (http:// is for loopback only)`,
    );
  }
  const isRegions = settings.region !== undefined && settings.region === config.accounts.get(account)?.region;
  const isEndpointConfigured = options.endpoint === undefined && (settings.setByFile.includes('endpoint') || isRegions);
  const configured = isEndpointConfigured ? { isEndpointConfigured } : {};
  return { account, endpoint, ...configured, signIn, exposed: await exposedFiles(config, settings) };
}

/** @throws LedgerlakeError USAGE for an endpoint with a password, because other users can read the command line */
function refuseLogin(endpoint: string | undefined): void {
  if (endpoint === undefined || !URL.canParse(endpoint)) return;
  const { username, password } = new URL(endpoint);
  if (username === '' && password === '') return;
  throw usageError(
    'expected --endpoint without user and password, which others could read on the command line; put the address in ' +
      'LEDGERLAKE_ENDPOINT or the configuration',
  );
}

/**
 * Refuses an address in a file that was only found in the working folder and may be anybody's: it must not send the user's secrets to
 * another host, nor to this machine, on which another user may listen.
 *
 * @throws LedgerlakeError USAGE
 */
function refuseForeignAddress(config: Configuration, settings: AccountSettings, options: AccountChoice): void {
  if (config.isDiscovered !== true) return;
  const isTheUsers = secretKeys.some(
    (key) => settings[key] !== undefined && settings[key].location !== 'configuration',
  );
  if (!isTheUsers) return;
  for (const key of settings.setByFile) {
    const address = settings[key];
    if (address === undefined || (key === 'endpoint' && options.endpoint !== undefined)) continue;
    const url = new URL(address);
    if (knownHosts.has(url.host)) continue;
    throw usageError(
      `expected --config ${config.file ?? ''}, or ${accountVariables[key]}${variableSuffix(settings.account)}, to say that the ` +
        `secrets of ${settings.account} go to ${url.host}, got that address from a file that was only found in the working folder; ` +
        'say so, or correct the file',
    );
  }
}

/** Files with secrets of an account that every user can read; undefined where there is none. A client id is no secret. */
async function exposedFiles(
  { file, folder, accounts }: Configuration,
  settings: AccountSettings,
): Promise<readonly string[] | undefined> {
  const signIn = [settings.clientSecret, settings.refreshToken].flatMap((placed) =>
    // A secret from the environment is a `Secret` too.
    placed === undefined || (placed.source instanceof Secret && placed.location !== 'configuration')
      ? []
      : placed.source,
  );
  const custom = Object.values(accounts.get(settings.account)?.secrets ?? {});
  const files = [...signIn, ...custom].flatMap((source) => {
    if (source instanceof Secret) return file === undefined ? [] : [join(folder, basename(file))];
    return 'file' in source ? [resolve(folder, source.file)] : [];
  });
  const exposed: string[] = [];
  for (const path of new Set(files)) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && process.platform !== 'win32' && (found.mode & 0o004) !== 0) exposed.push(path);
  }
  return exposed.length === 0 ? undefined : exposed;
}

/**
 * The account that `resolveAccount` finds, without reading secrets; undefined where none is named.
 *
 * @throws LedgerlakeError USAGE where several accounts are configured, or sign-in settings have no account
 */
export function accountName(
  { file, settings, accounts }: Configuration,
  environment: Environment,
  { account, endpoint }: Partial<AccountChoice>,
): string | undefined {
  const named = account ?? variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? settings.account;
  if (named !== undefined || endpoint !== undefined) return named;
  const [only, ...others] = accounts.keys();
  if (others.length > 0) {
    const names = [...accounts.keys()].join(', ');
    throw usageError(`expected --account to name an account of ${file ?? 'the configuration'} (${names}), got none`);
  }
  if (only !== undefined) return only;
  const set = Object.values(accountVariables).find((variable) => variableOf(environment, variable) !== undefined);
  if (set === undefined) return undefined;
  throw usageError(`expected --account or LEDGERLAKE_ACCOUNT with ${set}, got none; choose any name for the account`);
}

/** @throws LedgerlakeError USAGE for an account with incomplete settings, or that isn't configured while others are */
function refuseWithoutEndpoint(
  config: Configuration,
  settings: AccountSettings,
  { takesEndpoint = true }: Pick<AccountChoice, 'takesEndpoint'>,
): void {
  const { file, accounts } = config;
  const { account } = settings;
  const orOption = takesEndpoint ? ', or give --endpoint' : '';
  if (accounts.has(account) || secretKeys.some((key) => settings[key] !== undefined)) {
    const variable = `${accountVariables.region}${variableSuffix(account)}`;
    throw usageError(
      `expected \`region\` or \`endpoint\` for the account ${account}, got neither; set it, or ${variable}${orOption}`,
    );
  }
  if (account === demoAccount) return;
  if (accounts.size === 0) {
    readAccountName(account);
    const location = file === undefined ? withoutFile(config) : `${file} configures none`;
    const written = `\`ledgerlake init --account ${account}\` writes one`;
    throw usageError(
      `expected an endpoint for the account ${account}, but ${location}; name its configuration with --config (${written})${orOption}; ` +
        `without ${takesEndpoint ? 'either' : 'it'} only the synthetic account ${demoAccount} can be loaded`,
    );
  }
  const nearest = nearestName(account, [...accounts.keys()]);
  const hint = nearest === undefined ? `configure it${orOption}` : `did you mean ${nearest}?`;
  const known = [...accounts.keys()].join(', ');
  throw usageError(
    `expected --account to be one of ${file ?? 'the configuration'} (${known}), got ${JSON.stringify(account)}; ${hint}`,
  );
}

/**
 * The variables that custom pipelines read for an account: those of the environment, and the configuration's secrets for the account's
 * variables that are not set there.
 *
 * @throws LedgerlakeError USAGE for a secret that can't be read
 */
export async function accountEnvironment(
  config: Configuration,
  environment: Environment,
  account: string,
): Promise<{
  readonly environment: Environment;
  readonly origins: VariableOrigins;
  readonly exposed: readonly string[] | undefined;
}> {
  const variables: Record<string, string | undefined> = { ...environment };
  const found = new Map<string, 'text' | 'reference'>();
  for (const [name, source] of Object.entries(config.accounts.get(account)?.secrets ?? {})) {
    const variable = `${name}${variableSuffix(account)}`;
    if (variableOf(environment, variable) !== undefined) continue;
    const expected = `expected \`secrets.${name}\` of the account ${account}`;
    if (config.isDiscovered === true) found.set(variable, source instanceof Secret ? 'text' : 'reference');
    variables[variable] = (await readSource(config, environment, source, expected)).reveal();
  }
  const settings = accountSettings(config, environment, account);
  const suffix = variableSuffix(account);
  const isShared = otherAccountOf(config, account) !== undefined;
  const shared = isShared ? Object.keys(environment).filter((name) => name.endsWith(suffix)) : [];
  return {
    environment: variables,
    origins: { found, shared: new Set(shared) },
    exposed: await exposedFiles(config, settings),
  };
}

/** The three secrets of an account; undefined where none is set. */
async function readSignIn(
  config: Configuration,
  environment: Environment,
  settings: AccountSettings,
): Promise<SignIn | undefined> {
  if (secretKeys.every((key) => settings[key] === undefined)) return undefined;
  const { account, tokenEndpoint, clientId, clientSecret, refreshToken } = settings;
  if (clientId === undefined || clientSecret === undefined || refreshToken === undefined) {
    const missing = secretKeys.filter((key) => settings[key] === undefined);
    throw incomplete(config, settings, missing);
  }
  const unset = secretKeys.filter((key) => settings[key]?.isSet === false);
  if (unset.length > 1) {
    throw usageError(
      `expected ${unset.map((key) => `\`${key}\``).join(', ')} of the account ${account} in the environment variables ` +
        `${unset.map((key) => settings[key]?.location ?? '').join(', ')}, which are not set; set them`,
    );
  }
  const read = (key: SecretKey, { source }: LocatedSecret) =>
    readSource(config, environment, source, `expected \`${key}\` of the account ${account}`);
  return {
    account,
    tokenEndpoint,
    clientId: await read('clientId', clientId),
    clientSecret: await read('clientSecret', clientSecret),
    refreshToken: await read('refreshToken', refreshToken),
  };
}

async function readSource(
  config: Configuration,
  environment: Environment,
  source: SecretSource,
  expected: string,
): Promise<Secret> {
  if (source instanceof Secret) return source;
  if ('env' in source) {
    const text = variableOf(environment, source.env);
    if (text === undefined) {
      throw usageError(`${expected} in the environment variable ${source.env}, which is not set; set it`);
    }
    return new Secret(text);
  }
  const path = resolve(config.folder, source.file);
  let text: string;
  try {
    text = String(await (config.isDiscovered === true ? readFoundFile(path) : readFile(path))).trim();
  } catch (error) {
    const code = systemCode(error) ?? messageOf(error);
    const folder = isAbsolute(source.file)
      ? ''
      : `, which is relative to the folder of ${config.file ?? 'the configuration'}`;
    throw usageError(`${expected} in the file ${path}, which can't be read (${code}); check the path${folder}`);
  }
  if (text === '') throw usageError(`${expected} in the file ${path}, which is empty; put it there`);
  return new Secret(text);
}

function incomplete(config: Configuration, { account }: AccountSettings, missing: readonly SecretKey[]): Error {
  const location = config.file ?? `a configuration (${withoutFile(config)})`;
  const variables = missing.map((key) => `${accountVariables[key]}${variableSuffix(account)}`);
  return usageError(
    `expected clientId, clientSecret and refreshToken for the account ${account}, ${missing.join(' and ')} ` +
      `${missing.length === 1 ? 'is' : 'are'} missing; set ${missing.length === 1 ? 'it' : 'them'} in ${location}, or ${variables.join(', ')}`,
  );
}
