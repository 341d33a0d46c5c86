import { usageError } from '../../../core/errors.js';
import { isSecure } from '../../../engine/http/address.js';

/** The upstream's base address, taken apart. */
export interface Endpoint {
  /** `https://host:port`, without user and password: fit for messages. */
  readonly origin: string;
  /** Path before that of the operations, without a slash at its end; often empty. */
  readonly prefix: string;
  /** Basic authorization for the user and password of the address, if it has any. Never for messages. */
  readonly authorization: string | undefined;
  /** What of it is secret, in all forms that it is sent in. */
  readonly login: readonly string[];
}

/**
 * Reads a base address: `http://` or `https://`, with a path before that of the operations if need be.
 *
 * @throws LedgerlakeError USAGE for anything else. The address itself isn't in the message: it may hold a password.
 */
export function readEndpoint(address: string | URL): Endpoint {
  const expected = 'Expected the endpoint to be a base address such as https://host or http://127.0.0.1:8080/prefix';
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (url === undefined) throw usageError(`${expected}, got text that is no URL: check --endpoint.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw usageError(`${expected}, got one that begins with \`${url.protocol}\`: check --endpoint.`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw usageError(`${expected}, got one with \`?\` or \`#\` behind it: leave that out.`);
  }
  const pair = loginOf(url);
  if (pair !== undefined && !isSecure(url)) {
    throw usageError(
      'Expected an endpoint with a user and a password to begin with https://, got one with http://: they would cross the ' +
        'network in the clear (http:// is for loopback).',
    );
  }
  const base64 = pair === undefined ? undefined : Buffer.from(pair).toString('base64');
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/+$/, ''),
    authorization: base64 === undefined ? undefined : `Basic ${base64}`,
    login: pair === undefined ? [] : [pair, pair.slice(pair.indexOf(':') + 1)],
  };
}

/** `user:password`. */
function loginOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    throw usageError('Expected the user and password of the endpoint to be percent-encoded, got a stray `%` in them.');
  }
}
