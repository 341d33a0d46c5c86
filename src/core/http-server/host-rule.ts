import { isIP } from 'node:net';
import { HttpRefusal } from './refusal.js';

/** Names of the local machine. */
const localNames = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host is reachable from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** The host that a request names. */
interface AskedHost {
  readonly httpVersion: string;
  /** Its `Host` headers. */
  readonly hosts: readonly string[];
  /** The host of an absolute-form target. */
  readonly authority: string | undefined;
}

/** The host names that are answered besides those of this machine, and advice for requests with another one. */
export interface AnsweredHosts {
  readonly isAllowed: (name: string) => boolean;
  /** The end of a sentence. */
  readonly advice: string;
}

/**
 * Why a request is refused for its host: an HTTP/1.1 request has exactly one `Host` (RFC 9112, section 3.2), and a
 * foreign host name on loopback is DNS rebinding by a web page. A host in the target is checked like one in the header.
 *
 * @param answered undefined: every name is answered
 */
export function hostRefusal(
  { httpVersion, hosts, authority }: AskedHost,
  answered: AnsweredHosts | undefined,
): HttpRefusal | undefined {
  if (hosts.length > 1) return new HttpRefusal(400, 'The request has more than one Host header.', hosts.join(', '));
  if (hosts.length === 0 && httpVersion === '1.1')
    return new HttpRefusal(400, 'An HTTP/1.1 request has a Host header.');
  if (answered === undefined) return undefined;
  const foreign = [...hosts, ...(authority === undefined ? [] : [authority])].find((host) => {
    const name = host.toLowerCase().replace(/:\d*$/, '');
    return !localNames.test(name) && !answered.isAllowed(name);
  });
  if (foreign === undefined) return undefined;
  return new HttpRefusal(421, `This service does not accept that host name; ${answered.advice}.`, foreign);
}

interface RequestTarget {
  /** The host that an absolute-form target names, with its port; undefined in origin form. */
  readonly authority: string | undefined;
  /** Percent-encoded, as in the address. */
  readonly path: string;
  /** The text after the first question mark, percent-encoded; '' where there is none. */
  readonly query: string;
}

/** A request line's target, in origin form or a whole address (RFC 9112, sections 3.2.1 and 3.2.2). Never throws. */
export function parseTarget(text: string): RequestTarget {
  const [start = '', host] = /^https?:\/\/([^/?#]*)/i.exec(text) ?? [];
  const local = text.slice(start.length);
  const mark = local.indexOf('?');
  const path = mark < 0 ? local : local.slice(0, mark);
  return {
    // User and password before the host aren't part of its name.
    authority: host?.slice(host.lastIndexOf('@') + 1),
    path: path === '' && host !== undefined ? '/' : path,
    query: mark < 0 ? '' : local.slice(mark + 1),
  };
}
