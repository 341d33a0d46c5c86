import { isIP } from 'node:net';
import { Refusal } from './refusal.js';

/** Names under which a service on loopback may be asked for: its own, and those of the service that it stands in for. */
const ownNames = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|(?:[a-z0-9-]+\.)*amazon\.com)$/;

/** Whether an address is reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Why a request is refused for its `Host`: an HTTP/1.1 request has exactly one (RFC 9112, section 3.2), and one that comes
 * to loopback under a foreign name was sent by a web page whose name was bent to point here.
 *
 * @param hosts the request's `Host` headers
 * @param allowed names to answer to beside the service's own; undefined: any name
 */
export function hostRefusal(
  httpVersion: string,
  hosts: readonly string[],
  allowed: readonly string[] | undefined,
): Refusal | undefined {
  const [host] = hosts;
  if (hosts.length > 1) return new Refusal(400, 'The request has more than one Host header.');
  if (host === undefined) {
    return httpVersion === '1.1' ? new Refusal(400, 'An HTTP/1.1 request has a Host header.') : undefined;
  }
  if (allowed === undefined) return undefined;
  const name = host.toLowerCase().replace(/:\d*$/, '');
  if (ownNames.test(name) || allowed.includes(name)) return undefined;
  return new Refusal(421, 'This service does not answer to that name; serve --allow-host names others.', host);
}
