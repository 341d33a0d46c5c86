import { variableOf, type Environment } from '../../core/environment.js';
import { isBaseAddress } from '../../engine/http/base-address.js';
import { usageError } from '../../core/errors.js';
import { isSecure } from '../../engine/auth/secure-address.js';
import { Secret } from '../../engine/auth/secret.js';
import type { Api } from './definition.js';

/** Where an API is, and what its requests carry. */
export interface ApiAddress {
  /** `https://host:port`. */
  readonly origin: string;
  /** Path before that of the requests, without a slash at its end; often empty. */
  readonly prefix: string;
  /** Headers of every request by name; those from the environment are secrets. */
  readonly headers: ReadonlyMap<string, string | Secret>;
  /** What of them comes from the environment, without what stands before it. */
  readonly secrets: readonly Secret[];
}

/**
 * Reads an API's address and headers, and what of them stands in the environment.
 *
 * @param file the definition's, for messages
 * @throws LedgerlakeError USAGE for a variable that isn't set, an address that is none, and where a secret would cross the
 * network in the clear
 */
export function readApiAddress({ address, headers = {} }: Api, file: string, environment: Environment): ApiAddress {
  const read = (place: string, name: string): string => {
    const text = variableOf(environment, name);
    if (text !== undefined) return text;
    throw usageError(`${file}: ${place}: expected the environment variable ${name}, which is not set: set it`);
  };
  const base = typeof address === 'string' ? address : read('api.address', address.env);
  if (!isBaseAddress(base)) {
    throw usageError(
      `${file}: api.address: expected a base address such as "https://host/prefix", got text that is none`,
    );
  }
  const url = new URL(base);
  if (url.username !== '' || url.password !== '') {
    throw usageError(
      `${file}: api.address: expected no user and password in it: put them into a header from the environment`,
    );
  }
  const secrets: Secret[] = [];
  const all = new Map<string, string | Secret>([['accept', 'application/json']]);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') {
      all.set(name.toLowerCase(), value);
      if (credentialHeaders.has(name.toLowerCase())) refuseInTheClear(url, file, `the header ${name}`);
      continue;
    }
    refuseInTheClear(url, file, value.env);
    const secret = read(`api.headers.${name}`, value.env);
    secrets.push(new Secret(secret));
    all.set(name.toLowerCase(), new Secret((value.before ?? '') + secret));
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, ''), headers: all, secrets };
}

/** Headers that sign in, wherever their text comes from. */
const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key']);

function refuseInTheClear(address: URL, file: string, what: string): void {
  if (isSecure(address)) return;
  throw usageError(
    `${file}: api.address: expected one that begins with https://, as ${what} would cross the network in the clear ` +
      '(http:// is for loopback)',
  );
}
