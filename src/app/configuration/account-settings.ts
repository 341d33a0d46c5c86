import { usageError } from '../../core/errors.js';
import { demoAccount, defaultTokenEndpoint, nearestRegion, regionNames, regions, type Region } from './account.js';
import { Secret } from '../../engine/auth/secret.js';
import { isTokenAddress, tokenAddress, isBaseAddress } from '../../engine/http/address.js';
import type { Configuration, SecretSource } from './configuration.js';
import { variableOf, variableSuffix, type Environment } from '../../core/environment.js';

/** A secret that is set, not read yet. */
export interface LocatedSecret {
  /** Where, for people: a variable, a file, the configuration. */
  readonly location: string;
  /** Whether it has a value, as far as that shows without reading it: a variable may not be set. */
  readonly isSet: boolean;
  readonly source: SecretSource;
}

/** What is set for an account. */
export interface AccountSettings {
  readonly account: string;
  /** Undefined where an endpoint is set instead, or nothing. */
  readonly region: Region | undefined;
  /** Base address; it may hold a user and a password. */
  readonly endpoint: string | undefined;
  readonly tokenEndpoint: string;
  /** Which of the two addresses the configuration file decides. */
  readonly setByFile: readonly ('endpoint' | 'tokenEndpoint')[];
  readonly clientId: LocatedSecret | undefined;
  readonly clientSecret: LocatedSecret | undefined;
  readonly refreshToken: LocatedSecret | undefined;
}

/** The variables of an account, each with what it sets. */
export const accountVariables = {
  region: 'LEDGERLAKE_REGION',
  endpoint: 'LEDGERLAKE_ENDPOINT',
  tokenEndpoint: 'LEDGERLAKE_TOKEN_ENDPOINT',
  clientId: 'LEDGERLAKE_CLIENT_ID',
  clientSecret: 'LEDGERLAKE_CLIENT_SECRET',
  refreshToken: 'LEDGERLAKE_REFRESH_TOKEN',
} as const;

type Key = keyof typeof accountVariables;

/**
 * What the environment and the configuration set for an account; each value from the first that has it:
 *
 * 1. the account's own variables, such as `LEDGERLAKE_REFRESH_TOKEN_MY_SHOP`
 * 2. the bare ones, such as `LEDGERLAKE_REFRESH_TOKEN`, if the account is the only one: no other is configured or named
 *    by `LEDGERLAKE_ACCOUNT`, and it isn't the synthetic seller's. One seller's token must never load another's events.
 * 3. the file
 *
 * Region and endpoint are one value: the first that has either decides, and there the endpoint goes before the region.
 *
 * @throws LedgerlakeError USAGE for a variable with a value that isn't one, and for variables that two accounts share
 */
export function accountSettings(config: Configuration, environment: Environment, account: string): AccountSettings {
  const file = config.accounts.get(account) ?? {};
  const suffixes = isOnlyAccount(config, environment, account)
    ? [variableSuffix(account), '']
    : [variableSuffix(account)];
  refuseSharedVariables(config, environment, account);
  const variable = (key: Key): { readonly name: string; readonly text: string } | undefined => {
    const names = suffixes.map((suffix) => `${accountVariables[key]}${suffix}`);
    const set = names.map((name) => ({ name, text: variableOf(environment, name) ?? '' }));
    return set.find(({ text }) => text !== '');
  };
  const secret = (key: 'clientId' | 'clientSecret' | 'refreshToken'): LocatedSecret | undefined => {
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

/** What a program signs in with, instead of what is set. */
export interface SecretCredentials {
  readonly clientId: Secret;
  readonly clientSecret: Secret;
  readonly refreshToken: Secret;
  readonly tokenEndpoint?: string | undefined;
}

/** @throws LedgerlakeError USAGE for an address that is no token endpoint */
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
 * Checks every variable whose value can be checked, whichever account it is for: a wrong one that nobody reads yet would be
 * found out only when it is needed. Throws a USAGE error naming the first one with a value that isn't one
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

// The value of a variable may be a secret that belongs in another: no value is shown.

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

/** Whether the bare variables can mean no other account. */
function isOnlyAccount({ accounts }: Configuration, environment: Environment, account: string): boolean {
  const named = variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? account;
  const others = [...accounts.keys(), named].filter((name) => name !== account);
  return others.length === 0 && account !== demoAccount;
}

/** `my-shop` and `my.shop` would both read `LEDGERLAKE_REFRESH_TOKEN_MY_SHOP`: which seller's is it? */
function refuseSharedVariables({ accounts }: Configuration, environment: Environment, account: string): void {
  const suffix = variableSuffix(account);
  const other = [...accounts.keys()].find((name) => name !== account && variableSuffix(name) === suffix);
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

/** The accounts that the file configures, and the one that is named as the default, in the order of their names. */
export function listedAccounts({ accounts, settings }: Configuration, environment: Environment): readonly string[] {
  const named = variableOf(environment, 'LEDGERLAKE_ACCOUNT') ?? settings.account;
  return [...new Set([...accounts.keys(), ...(named === undefined ? [] : [named])])].toSorted();
}
