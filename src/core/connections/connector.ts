import { request as httpRequest, Agent as HttpAgent, type ClientRequestArgs } from 'node:http';
import { request as httpsRequest, Agent as HttpsAgent } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { Environment } from '../environment.js';
import { messageOf } from '../errors.js';
import { proxyFault } from './connection-fault.js';
import { readProxies, type Proxy } from './proxies.js';

interface ConnectorOptions {
  /** Milliseconds until a connection is established. */
  readonly timeoutMs: number;
  /** Has the variables of proxies; left out: the process's. */
  readonly environment?: Environment | undefined;
  /** Finds the addresses of a host; left out: the system. */
  readonly lookup?: LookupFunction;
}

/**
 * A host may have several addresses. Node's 250 milliseconds for each are too few on slow links and through tunnels: all
 * attempts would fail.
 */
const families = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 3000 };

/**
 * Opens connections, directly or through the proxy of the environment.
 *
 * @throws LedgerlakeError USAGE for an invalid proxy
 */
function createConnector({
  timeoutMs,
  environment = process.env,
  ...lookup
}: ConnectorOptions): buildConnector.connector {
  const direct = buildConnector({ timeout: timeoutMs, ...families, ...lookup });
  const proxyOf = readProxies(environment);
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = Number(options.port) || (isSecure ? 443 : 80);
    const { hostname } = options;
    const proxy = proxyOf({ isSecure, hostname, port });
    if (proxy === undefined) {
      direct(options, callback);
      return;
    }
    const target = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
    openTunnel(proxy, target, timeoutMs).then(
      (socket) => {
        if (isSecure) direct({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: unknown) => {
        callback(error as Error, null);
      },
    );
  };
}

/** Asks a proxy for a connection to `target` (RFC 9110, section 9.3.6), for plain HTTP too. */
function openTunnel(proxy: Proxy, target: string, timeoutMs: number): Promise<Socket> {
  const { address, authorization } = proxy;
  const options: ClientRequestArgs = {
    host: address.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: address.port,
    method: 'CONNECT',
    path: target,
    agent: false,
    timeout: timeoutMs,
    ...families,
    headers: { host: target, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
  };
  return new Promise((resolve, reject) => {
    const request = address.protocol === 'https:' ? httpsRequest(options) : httpRequest(options);
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        socket.setTimeout(0);
        resolve(socket);
        return;
      }
      socket.destroy();
      const why = statusCode === 407 ? ', as it wants a user and a password' : '';
      reject(proxyFault(proxy, `answered status ${statusCode}${why}`));
    });
    request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    request.once('error', (error) => {
      reject(proxyFault(proxy, `can't be reached (${messageOf(error)})`, error));
    });
    request.end();
  });
}

/** Persistent connections of undici, by origin. */
export type ConnectionPool = Pick<Agent, 'request' | 'close'>;

/** @throws LedgerlakeError USAGE for an invalid proxy */
export function openConnectionPool({
  headersTimeoutMs,
  bodyTimeoutMs,
  ...options
}: ConnectorOptions & {
  /** Milliseconds from a request to the end of its answer's headers. */
  readonly headersTimeoutMs: number;
  /** Milliseconds between two chunks of a body. */
  readonly bodyTimeoutMs: number;
}): ConnectionPool {
  return new Agent({
    connect: createConnector(options),
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    // Unless the server states another one.
    keepAliveTimeout: 30_000,
  });
}

/**
 * The same connections for clients that use Node's own requests.
 *
 * @throws LedgerlakeError USAGE for an invalid proxy
 */
export function connectingAgents(options: ConnectorOptions): {
  readonly httpAgent: HttpAgent;
  readonly httpsAgent: HttpsAgent;
} {
  const connect = createConnector(options);
  const pool = { keepAlive: true, maxSockets: 50 };
  return {
    httpAgent: Object.assign(new HttpAgent(pool), { createConnection: connectionOf(connect, 'http:') }),
    httpsAgent: Object.assign(new HttpsAgent(pool), { createConnection: connectionOf(connect, 'https:') }),
  };
}

/** Node's agent takes the socket from the callback. */
function connectionOf(connect: buildConnector.connector, protocol: string) {
  return (
    { host, port, servername }: ClientRequestArgs & { readonly servername?: string },
    callback: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const hostname = host ?? 'localhost';
    const target = { protocol, hostname, host: hostname, port: String(port ?? ''), ...(servername && { servername }) };
    connect(target, (...[error, socket]) => {
      callback(error, socket ?? undefined);
    });
  };
}
