import { usageError } from '../../core/errors.js';
import { demoAccount, defaultTokenEndpoint, nearestRegion, regionNames, regions, type Region } from './account.js';
import { Secret } from '../../engine/auth/secret.js';
import { isTokenAddress, tokenAddress, isBaseAddress } from '../../engine/http/address.js';
import type { Configuration, SecretSource } from './configuration.js';
import { variableOf, variableSuffix, type Environment } from '../../core/environment.js';

/** A configured secret that isn't read yet. */
export interface LocatedSecret {
  /** Its location for people: a variable, a file, or the configuration. */
  readonly location: string;
  /** False where its variable is not set; files are not read. */
  readonly isSet: boolean;
  readonly source: SecretSource;
}

/** The secrets with which an account signs in. */
export const secretKeys = ['clientId', 'clientSecret', 'refreshToken'] as const;

export type SecretKey = (typeof secretKeys)[number];

/** The settings of an account. */
export interface AccountSettings extends Readonly<Record<SecretKey, LocatedSecret | undefined>> {
  readonly account: string;
  /** Undefined where an endpoint is set instead, or neither. */
  readonly region: Region | undefined;
  /** Base address; it may contain a user and a password. */
  readonly endpoint: string | undefined;
  readonly tokenEndpoint: string;
  /** The addresses that the configuration file sets. */
  readonly setByFile: readonly ('endpoint' | 'tokenEndpoint')[];
}

/** The variable of each setting of an account. */
export const accountVariables = {
  region: 'LEDGERLAKE_REGION',
  endpoint: 'LEDGERLAKE_ENDPOINT',
  tokenEndpoint: 'LEDGERLAKE_TOKEN_ENDPOINT',
  clientId: 'LEDGERLAKE_CLIENT_ID',
  clientSecret: 'LEDGERLAKE_CLIENT_SECRET',
  refreshToken: 'LEDGERLAKE_REFRESH_TOKEN',
} as const;

/**
 * The settings of an account from the environment and the configuration. Each value is from the first of:
 *
 * 1. the variables with the account's suffix, such as `LEDGERLAKE_REFRESH_TOKEN_MY_SHOP`
 * 2. the variables without a suffix, such as `LEDGERLAKE_REFRESH_TOKEN`, if the account is the only one: no other is configured or
 *    named by `LEDGERLAKE_ACCOUNT`, and it isn't the synthetic seller's. One seller's token must never load another's events.
 * 3. the file
 *
 * Region and endpoint are one value: the first source with either decides, and the endpoint overrides the region there.
 *
 * @throws LedgerlakeError USAGE for a variable with an invalid value, and for variables that two accounts share
 */
export function accountSettings(config: Configuration, environment: Environment, account: string): AccountSettings {
  const file = config.accounts.get(account) ?? {};
  const suffixes = isOnlyAccount(config, environment, account)
    ? [variableSuffix(account), '']
    : [variableSuffix(account)];
  refuseSharedVariables(config, environment, account);
  const variable = (
    key: keyof typeof accountVariables,
  ): { readonly name: string; readonly text: string } | undefined => {
    const names = suffixes.map((suffix) => `${accountVariables[key]}${suffix}`);
    const set = names.map((name) => ({ name, text: variableOf(environment, name) ?? '' }));
    return set.find(({ text }) => text !== '');
  };
  const secret = (key: SecretKey): LocatedSecret | undefined => {
    const set = variable(key);
    if (set !== undefined) return { location: set.name, isSet: true, source: new Secret(set.text) };
    const source = file[key];
    if (source === undefined) return undefined;
    const isSet = source instanceof Secret || !('env' in source) || variableOf(environment, source.env) !== undefined;
    return { location: locationOf(source), isSet, source };
  };
  const upstream = upstreamOf(file, suffixes, environment);
  const token = variable('tokenEndpoint');
  if (token !== undefined) checkTokenEndpoint(token.name, token.text);
  return {
    account,
    ...upstream,
    setByFile: [
      ...(upstream.endpoint !== undefined && upstream.endpoint === file.endpoint ? ['endpoint' as const] : []),
      ...(token === undefined && file.tokenEndpoint !== undefined ? ['tokenEndpoint' as const] : []),
    ],
    tokenEndpoint: token?.text ?? file.tokenEndpoint ?? defaultTokenEndpoint,
    clientId: secret('clientId'),
    clientSecret: secret('clientSecret'),
    refreshToken: secret('refreshToken'),
  };
}

/** Credentials that a program passes instead of the settings. */
export interface SecretCredentials extends Readonly<Record<SecretKey, Secret>> {
  readonly tokenEndpoint?: string | undefined;
}

/** @throws LedgerlakeError USAGE for an invalid token endpoint */
export function withCredentials(
  settings: AccountSettings,
  { tokenEndpoint, ...secrets }: SecretCredentials,
): AccountSettings {
  if (tokenEndpoint !== undefined) checkTokenEndpoint('credentials.tokenEndpoint', tokenEndpoint);
  const located = (source: Secret): LocatedSecret => ({ location: 'credentials', isSet: true, source });
  return {
    ...settings,
    ...(tokenEndpoint !== undefined && {
      tokenEndpoint,
      setByFile: settings.setByFile.filter((key) => key !== 'tokenEndpoint'),
    }),
    clientId: located(secrets.clientId),
    clientSecret: located(secrets.clientSecret),
    refreshToken: located(secrets.refreshToken),
  };
}

function upstreamOf(
  file: { readonly region?: Region | undefined; readonly endpoint?: string | undefined },
  suffixes: readonly string[],
  environment: Environment,
): Pick<AccountSettings, 'region' | 'endpoint'> {
  for (const suffix of suffixes) {
    const names = { endpoint: `${accountVariables.endpoint}${suffix}`, region: `${accountVariables.region}${suffix}` };
    const endpoint = variableOf(environment, names.endpoint);
    if (endpoint !== undefined) {
      checkEndpoint(names.endpoint, endpoint);
      return { region: undefined, endpoint };
    }
    const text = variableOf(environment, names.region);
    if (text === undefined) continue;
    const region = readRegion(names.region, text);
    return { region, endpoint: regions[region] };
  }
  if (file.endpoint !== undefined) return { region: undefined, endpoint: file.endpoint };
  return { region: file.region, endpoint: file.region && regions[file.region] };
}

/**
 * Checks the variables of all accounts, so that an invalid value is found before it is needed.
 *
 * @throws LedgerlakeError USAGE for the first variable with an invalid value
 */
export function checkVariables(environment: Environment): void {
  const checks = { region: readRegion, endpoint: checkEndpoint, tokenEndpoint: checkTokenEndpoint };
  for (const key of ['region', 'endpoint', 'tokenEndpoint'] as const) {
    const bare = accountVariables[key];
    for (const name of Object.keys(environment).toSorted()) {
      const text = name === bare || name.startsWith(`${bare}_`) ? variableOf(environment, name) : undefined;
      if (text !== undefined) checks[key](name, text);
    }
  }
}

// No message has the value of a variable, which may be a misplaced secret.

function readRegion(name: string, text: string): Region {
  const known = regionNames.find((region) => region === text);
  if (known !== undefined) return known;
  const nearest = nearestRegion(text);
  const hint = nearest === undefined ? 'correct it' : `did you mean ${nearest}?`;
  throw usageError(`expected ${name} to be one of ${regionNames.join(', ')}, got something else; ${hint}`);
}

function checkEndpoint(name: string, text: string): void {
  if (isBaseAddress(text)) return;
  throw usageError(`expected ${name} to be a base address such as https://host, got something else; correct it`);
}

function checkTokenEndpoint(name: string, text: string): void {
  if (isTokenAddress(text)) return;
  throw usageError(`expected ${name} to be ${tokenAddress}, got something else; correct it`);
}

/** Whether the variables without a suffix can only be the account's. */
function isOnlyAccount({ accounts }: Configuration, environment: Environment, account: string): boolean {
  const named = variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? account;
  const others = [...accounts.keys(), named].filter((name) => name !== account);
  return others.length === 0 && account !== demoAccount;
}

/** A configured account whose variables have the same names, as those of `my-shop` and `my.shop` have. */
export function otherAccountOf({ accounts }: Pick<Configuration, 'accounts'>, account: string): string | undefined {
  return [...accounts.keys()].find((name) => name !== account && variableSuffix(name) === variableSuffix(account));
}

/** @throws LedgerlakeError USAGE where two accounts have the same suffix, as `my-shop` and `my.shop` have, and a variable with it is set */
function refuseSharedVariables({ accounts }: Configuration, environment: Environment, account: string): void {
  const suffix = variableSuffix(account);
  const other = otherAccountOf({ accounts }, account);
  const set = Object.values(accountVariables).find((name) => variableOf(environment, `${name}${suffix}`) !== undefined);
  if (other === undefined || set === undefined) return;
  throw usageError(
    `expected variables that only one account reads, got ${set}${suffix} for ${account} and ${other}; rename one, or use the file`,
  );
}

function locationOf(source: SecretSource): string {
  if (source instanceof Secret) return 'configuration';
  return 'env' in source ? source.env : source.file;
}

/** The configured accounts and the default one, sorted by name. */
export function listedAccounts({ accounts, settings }: Configuration, environment: Environment): readonly string[] {
  const named = variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? settings.account;
  return [...new Set([...accounts.keys(), ...(named === undefined ? [] : [named])])].toSorted();
}
