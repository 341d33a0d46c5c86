import { BlockList, isIP, isIPv6 } from 'node:net';
import { variableOf, type Environment } from '../environment.js';
import { usageError } from '../errors.js';

/** The proxy for a connection. */
export interface Proxy {
  /** `http:` or `https:`, with a port. */
  readonly address: URL;
  /** `Basic …` for the user and password of the address; undefined without. Never shown. */
  readonly authorization: string | undefined;
  /** For messages: the variable that names it. */
  readonly variable: string;
}

/** The host that a connection leads to. */
interface ProxiedTarget {
  readonly isSecure: boolean;
  /** Name or address; IPv6 with or without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY; the names in lower case come first. A connection to a loopback address has no
 * proxy. Without HTTPS_PROXY, HTTP_PROXY is used for `https://` too.
 *
 * @returns the proxy of a connection; undefined for a direct one
 * @throws LedgerlakeError USAGE for a variable that is no proxy's address; the message omits the address, which may contain a
 *   password
 */
export function readProxies(environment: Environment): (target: ProxiedTarget) => Proxy | undefined {
  const plain = readProxy(environment, 'HTTP_PROXY');
  const secure = readProxy(environment, 'HTTPS_PROXY') ?? plain;
  const { text: exceptions = '' } = read(environment, 'NO_PROXY') ?? {};
  const isExcepted = exceptionsOf(exceptions);
  return (target) => (isExcepted(target) ? undefined : target.isSecure ? secure : plain);
}

function read(
  environment: Environment,
  name: string,
): { readonly text: string; readonly variable: string } | undefined {
  for (const variable of [name.toLowerCase(), name]) {
    const text = variableOf(environment, variable);
    if (text !== undefined) return { text, variable };
  }
  return undefined;
}

function readProxy(environment: Environment, name: string): Proxy | undefined {
  const found = read(environment, name);
  if (found === undefined) return undefined;
  const { text, variable } = found;
  // As curl and others take it: a host and a port.
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usageError(
      `expected ${variable} to be the address of a proxy such as http://proxy.example:3128, got something else; correct or unset it`,
    );
  }
  return { address: url, authorization: authorizationOf(url, variable), variable };
}

function authorizationOf({ username, password }: URL, variable: string): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(login).toString('base64')}`;
  } catch {
    throw usageError(
      `expected user and password in ${variable} to be percent-encoded, got a stray \`%\` in them; correct it`,
    );
  }
}

/** Whether a target is among the entries of NO_PROXY: names with their subdomains, addresses, networks (`10.0.0.0/8`), `*`. */
function exceptionsOf(text: string): (target: ProxiedTarget) => boolean {
  const entries = `localhost,127.0.0.0/8,::1,${text}`.split(/[,\s]+/).filter((entry) => entry !== '');
  const networks = new BlockList();
  const names: { readonly name: string; readonly port: number | undefined }[] = [];
  for (const entry of entries) {
    const [address = '', prefix] = bare(entry).split('/');
    const family = isIP(address);
    const bits = family === 6 ? 128 : 32;
    if (family !== 0 && Number(prefix ?? bits) <= bits) {
      networks.addSubnet(address, Number(prefix ?? bits), family === 6 ? 'ipv6' : 'ipv4');
      continue;
    }
    const [, host = entry, port] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const name = bare(host)
      .replace(/^\*?\./, '')
      .toLowerCase();
    names.push({ name, port: port === undefined ? undefined : Number(port) });
  }
  return ({ hostname, port }) => {
    const host = bare(hostname).toLowerCase();
    if (isIP(host) !== 0 && networks.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')) return true;
    return names.some(
      (entry) =>
        (entry.port ?? port) === port && (entry.name === '*' || host === entry.name || host.endsWith(`.${entry.name}`)),
    );
  };
}

/** An IPv6 address without its brackets; any other text unchanged. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
