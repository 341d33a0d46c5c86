import { variableOf, variableSuffix, type Environment } from '../../core/environment.js';
import { usageError } from '../../core/errors.js';
import { Secret } from '../../engine/auth/secret.js';
import type { SignIn } from '../../engine/auth/token-request.js';
import { isBaseAddress, isSecure, isTokenAddress, tokenAddress } from '../../engine/http/address.js';
import type { ApiAddress } from '../../engine/paging/paged-api.js';
import { credentialHeaders } from './custom-request.js';
import type { ApiDefinition, SignInDefinition, Variable } from './definition.js';

/** The address of a definition's API. */
export interface CustomAddress extends ApiAddress {
  /** Path before that of the requests, without a trailing slash; often empty. */
  readonly prefix: string;
  /** Undefined: an account signs in with headers, or not at all. */
  readonly signIn: SignIn | undefined;
}

/** The account, and the sources of its address and secrets. */
interface AddressOptions {
  /** The file of the definition, for messages. */
  readonly file: string;
  readonly account: string;
  readonly environment: Environment;
  /** Where variables come from; left out: from the user's environment. */
  readonly origins?: VariableOrigins | undefined;
}

/** What is known of variables that a run gives to definitions. */
export interface VariableOrigins {
  /**
   * Those set by a configuration that was only found in the working folder: with a text of its own, or by a reference to a
   * variable or a file of the user's.
   */
  readonly found: ReadonlyMap<string, 'text' | 'reference'>;
  /** Those of the environment that another account, whose name differs in punctuation alone, reads too. */
  readonly shared: ReadonlySet<string>;
}

/**
 * Reads an API's address, headers and sign-in, with their variables from the environment.
 *
 * @throws LedgerlakeError USAGE for a variable that isn't set, an invalid address, and a secret that would be sent in the clear
 */
export function readApiAddress(api: ApiDefinition, options: AddressOptions): CustomAddress {
  const { address, headers = {}, signIn } = api;
  const { file } = options;
  const read = (field: string, value: string | Variable) => variableText(field, value, options);
  const base = read('api.address', address);
  if (!isBaseAddress(base)) {
    throw usageError(`${file}: api.address: expected a base address such as "https://host/prefix", got something else`);
  }
  const url = new URL(base);
  if (url.username !== '' || url.password !== '') {
    throw usageError(
      `${file}: api.address: expected no user and password in it, got them; put them into a header from the environment`,
    );
  }
  refuseFoundAddress(api, options);
  const secrets: string[] = [];
  const sent: Record<string, string> = { accept: 'application/json' };
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') {
      sent[name.toLowerCase()] = value;
      if (credentialHeaders.has(name.toLowerCase())) refuseInTheClear(url, file, `the header ${name}`);
      continue;
    }
    refuseInTheClear(url, file, value.env);
    const secret = read(`api.headers.${name}`, value);
    secrets.push(secret);
    sent[name.toLowerCase()] = (value.before ?? '') + secret;
  }
  const { name: tokenHeader, before } = signIn?.header ?? { name: 'authorization', before: 'Bearer ' };
  for (const [name, text] of Object.entries({ ...sent, [`${tokenHeader}, before the token`]: before ?? '' })) {
    if (/^[\t\u0020-\u007e]*$/.test(text)) continue;
    // A variable that was read from a file may contain its line end.
    throw usageError(
      `${file}: expected the header ${name} to be visible ASCII on one line, got other characters (its text is not shown); ` +
        'correct it, or the variable that it comes from',
    );
  }
  const prefix = url.pathname.replace(/\/+$/, '');
  const common = { origin: url.origin, prefix, headers: sent, setting: 'api.address' };
  if (signIn === undefined) return { ...common, secrets, signIn };
  refuseInTheClear(url, file, 'the access token');
  const grant = readSignIn(signIn, options);
  return {
    ...common,
    secrets: [...secrets, grant.clientSecret.reveal(), ...(grant.refreshToken ? [grant.refreshToken.reveal()] : [])],
    signIn: grant,
    tokenHeader: { name: tokenHeader.toLowerCase(), before: before ?? '' },
  };
}

/**
 * A file in the working folder may be another user's: it must not direct secrets to a host of its choice. An address that it sets is
 * its choice, whether as text or through a file or a variable; a secret is its own only as text. On loopback other users
 * of this machine may listen.
 */
function refuseFoundAddress({ address, headers = {}, signIn }: ApiDefinition, options: AddressOptions): void {
  const { file, origins } = options;
  const variables = (all: readonly (string | Variable | undefined)[]) =>
    all.flatMap((value) =>
      value === undefined || typeof value === 'string' ? [] : variableName(value, options.account),
    );
  const secrets = variables([...Object.values(headers), signIn?.clientSecret, signIn?.refreshToken]);
  if (origins === undefined || secrets.every((name) => origins.found.get(name) === 'text')) return;
  for (const name of variables([address, signIn?.tokenEndpoint])) {
    const origin = origins.found.get(name);
    if (origin === undefined) continue;
    const text = options.environment[name] ?? '';
    // An address that is a secret of the user's is not shown.
    const host = origin === 'text' && URL.canParse(text) ? new URL(text).host : 'another address';
    throw usageError(
      `${file}: expected --config, or the variable ${name}, to permit that the secrets of ${options.account} go to ` +
        `${host}, got that address from a file that was only found in the working folder; set one of them, or correct the file`,
    );
  }
}

function variableName({ env, perAccount = false }: Variable, account: string): string {
  return perAccount ? `${env}${variableSuffix(account)}` : env;
}

function readSignIn(definition: SignInDefinition, options: AddressOptions): SignIn {
  const { clientId, clientSecret, refreshToken, scope, authentication = 'basic' } = definition;
  const read = (field: string, value: string | Variable) => variableText(`api.signIn.${field}`, value, options);
  const tokenEndpoint = read('tokenEndpoint', definition.tokenEndpoint);
  if (!isTokenAddress(tokenEndpoint)) {
    throw usageError(`${options.file}: api.signIn.tokenEndpoint: expected ${tokenAddress}, got something else`);
  }
  return {
    account: options.account,
    tokenEndpoint,
    clientId: new Secret(read('clientId', clientId)),
    clientSecret: new Secret(read('clientSecret', clientSecret)),
    ...(refreshToken && { refreshToken: new Secret(read('refreshToken', refreshToken)) }),
    scope,
    authentication,
  };
}

/** A text of the definition, or of an environment variable: the account's where each account has one. */
function variableText(
  field: string,
  value: string | Variable,
  { file, account, environment, origins }: AddressOptions,
): string {
  if (typeof value === 'string') return value;
  const { env, perAccount = false } = value;
  const name = variableName(value, account);
  if (perAccount && origins?.shared.has(name) === true) {
    throw usageError(
      `${file}: ${field}: expected a variable that only one account reads, got ${name}, which another one reads too; rename ` +
        `one account, or unset it and set \`secrets.${env}\` of both in the configuration`,
    );
  }
  const text = variableOf(environment, name);
  if (text !== undefined) return text;
  const todo = perAccount ? `, or \`secrets.${env}\` of the account ${account} in the configuration` : '';
  throw usageError(`${file}: ${field}: expected the environment variable ${name}, got none; set it${todo}`);
}

function refuseInTheClear(address: URL, file: string, what: string): void {
  if (isSecure(address)) return;
  throw usageError(
    `${file}: api.address: expected an address that begins with https://, got http://, which would send ${what} in the clear ` +
      '(http:// is for loopback only)',
  );
}
