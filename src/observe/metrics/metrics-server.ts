import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { messageOf, usageError } from '../../core/errors.js';
import { type HttpAnswer, answerHeaders, type HttpRequest } from '../../core/http-server/answer.js';
import { isLoopbackHost, parseTarget } from '../../core/http-server/host-rule.js';
import { startHttpServer } from '../../core/http-server/http-server.js';
import type { RunMetrics } from './run-metrics.js';

interface MetricsServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: Clock;
  /** Receives the error of each request for which metrics couldn't be produced. */
  readonly onFault: (fault: unknown) => void;
}

/** A scraper that asks more than once a second sends all requests on one connection. */
const limits = { connections: 32, closeMs: 100 };

/**
 * Serves metrics at `/metrics`. The server doesn't keep the process alive.
 *
 * @throws LedgerlakeError USAGE where the server can't listen on the host and port
 */
export async function serveMetrics(
  metrics: Pick<RunMetrics, 'text' | 'contentType'>,
  { host, port, clock, onFault }: MetricsServerOptions,
): Promise<{
  /** `http://127.0.0.1:PORT/metrics` */
  readonly address: string;
  /** Stops accepting requests, and closes within `limits.closeMs`. */
  close(): void;
}> {
  const server = await startHttpServer({
    host,
    port,
    limits,
    onFault,
    clock,
    // On any other host the server can't know the names under which clients reach it.
    hosts: isLoopbackHost(host) ? { isAllowed: () => false, advice: 'ask for localhost' } : undefined,
    answer: (request) => answerTo(metrics, clock, request),
  }).catch((error: unknown) => {
    const taken = `port ${port} of ${host} is in use; choose another with --metrics-port, 0 for any`;
    const { code = messageOf(error) } = error as NodeJS.ErrnoException;
    const other = `${host} port ${port} fails with ${code}; check --metrics-host and --metrics-port`;
    const found = code === 'EADDRINUSE' ? taken : other;
    throw usageError(`expected an address to serve metrics on, but ${found}`);
  });
  server.unref();
  return {
    address: `${server.url}/metrics`,
    close: () => {
      void server.close();
    },
  };
}

async function answerTo(
  { text, contentType }: Pick<RunMetrics, 'text' | 'contentType'>,
  clock: Clock,
  { method, target }: HttpRequest,
): Promise<HttpAnswer> {
  if (parseTarget(target).path !== '/metrics') return plain(404, 'metrics are at /metrics\n', clock);
  if (method !== 'GET' && method !== 'HEAD')
    return plain(405, 'metrics take GET and HEAD\n', clock, { Allow: 'GET, HEAD' });
  return plain(200, await text(), clock, { 'Content-Type': contentType });
}

function plain(status: number, body: string, clock: Clock, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  const common = { ...answerHeaders(body, randomUUID(), clock.now()), 'Content-Type': 'text/plain; charset=utf-8' };
  return { status, body, headers: { ...common, ...headers }, delivery: 'whole' };
}
