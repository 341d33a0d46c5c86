import { usageError } from '../../../core/errors.js';

/** The upstream's base address, taken apart. */
export interface Endpoint {
  /** `https://host:port`, without user and password: fit for messages. */
  readonly origin: string;
  /** Path before that of the operations, without a slash at its end; often empty. */
  readonly prefix: string;
  /** Basic authorization for the user and password of the address, if it has any. Never for messages. */
  readonly authorization: string | undefined;
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
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, ''), authorization: basicAuthorization(url) };
}

function basicAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    throw usageError('Expected the user and password of the endpoint to be percent-encoded, got a stray `%` in them.');
  }
}
