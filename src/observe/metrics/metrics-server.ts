import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { usageError } from '../../core/errors.js';
import type { RunMetrics } from './run-metrics.js';

export interface MetricsServer {
  /** `http://127.0.0.1:PORT/metrics` */
  readonly address: string;
  /** Ends at once, whoever is being answered. */
  close(): void;
}

/**
 * Serves metrics at `/metrics`; keeps no process from ending.
 *
 * @param port 0: any that is free
 * @throws LedgerlakeError USAGE where the port or the host can't be listened on
 */
export async function serveMetrics(
  { text, contentType }: Pick<RunMetrics, 'text' | 'contentType'>,
  host: string,
  port: number,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (new URL(request.url ?? '', 'http://metrics').pathname !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n');
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else {
      void text().then((metrics) => response.writeHead(200, { 'content-type': contentType }).end(metrics));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = `port ${port} of ${host} is taken: choose another one with --metrics-port, 0 for any`;
      const other = `${host} port ${port} gives ${error.code ?? error.message}: check --metrics-host and --metrics-port`;
      const found = error.code === 'EADDRINUSE' ? taken : other;
      reject(usageError(`expected an address on which metrics can be served, ${found}`));
    });
    server.listen(port, host, resolve);
  });
  server.unref();
  // Of a scraper that broke off.
  server.on('error', () => undefined);
  const listening = server.address();
  const chosen = typeof listening === 'object' && listening !== null ? listening.port : port;
  return {
    address: `http://${isIPv6(host) ? `[${host}]` : host}:${chosen}/metrics`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
