import { usageError } from '../../core/errors.js';

/** Whether a connection to an address can't be read on the network: https, or loopback (`localhost` too). */
export function isSecure(address: URL): boolean {
  return address.protocol === 'https:' || (address.protocol === 'http:' && isLoopback(address));
}

/** Whether an address is a loopback address. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** The form of a token endpoint's address, for messages. */
export const tokenAddress =
  'an address that begins with https://, without user, password, `?` and `#` (http:// on loopback)';

/** Whether a text is the address of a token endpoint: secure, without parts that would be lost or logged. */
export function isTokenAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return false;
  return isSecure(url) && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

/** Whether paths can be appended to an address: http or https, without query and fragment. */
export function isBaseAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  return url.search === '' && url.hash === '';
}

/** The components of an upstream's base address. */
interface Endpoint {
  /** `https://host:port`, without user and password: may be shown. */
  readonly origin: string;
  /** Path before that of the operations, without a trailing slash; often empty. */
  readonly prefix: string;
  /** Basic authorization for the user and password of the address. Never shown. */
  readonly authorization: string | undefined;
  /** The secrets in it, in every form in which they are sent. */
  readonly login: readonly string[];
}

/**
 * Parses a base address: `http://` or `https://`, with an optional path before that of the operations.
 *
 * @throws LedgerlakeError USAGE for anything else. The message omits the address, which may contain a password.
 */
export function readEndpoint(address: string | URL): Endpoint {
  const refuse = (got: string) =>
    usageError(
      `expected the endpoint to be a base address such as https://host or http://127.0.0.1:8080/prefix, got ${got}`,
    );
  if (!URL.canParse(String(address))) throw refuse('text that is not a URL; check the endpoint');
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refuse(`one that begins with \`${url.protocol}\`; check the endpoint`);
  }
  if (url.search !== '' || url.hash !== '') throw refuse('one with `?` or `#`; remove that part');
  const { origin, username, password } = url;
  const prefix = url.pathname.replace(/\/+$/, '');
  if (username === '' && password === '') return { origin, prefix, authorization: undefined, login: [] };
  const [user = '', secret = ''] = [username, password].map(decoded);
  if (!isSecure(url)) {
    throw usageError(
      'expected an endpoint with a user and a password to begin with https://, got http://, which would send them in the ' +
        'clear; use https:// (http:// is for loopback only)',
    );
  }
  const login = `${user}:${secret}`;
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  return { origin, prefix, authorization, login: [login, secret] };
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw usageError('expected the user and password of the endpoint to be percent-encoded, got a stray `%` in them');
  }
}
