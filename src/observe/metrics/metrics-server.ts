import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { messageOf, usageError } from '../../core/errors.js';
import { type Answer, answerHeaders, type HttpRequest } from '../../core/http-server/answer.js';
import { isLoopback, targetOf } from '../../core/http-server/host-rule.js';
import { startHttpServer } from '../../core/http-server/http-server.js';
import type { RunMetrics } from './run-metrics.js';

interface MetricsServer {
  /** `http://127.0.0.1:PORT/metrics` */
  readonly address: string;
  /** Takes no further requests, and ends soon. */
  close(): void;
}

interface MetricsServerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly clock: Clock;
  /** Told of each request that metrics couldn't be made for. */
  readonly onFault: (fault: unknown) => void;
}

/** A scraper that comes more than once a second has them all on one connection. */
const limits = { connections: 32, closeMs: 100 };

/**
 * Serves metrics at `/metrics`; keeps no process from ending. Throws a USAGE error where the port or the host can't be
 * listened on
 */
export async function serveMetrics(
  metrics: Pick<RunMetrics, 'text' | 'contentType'>,
  { host, port, clock, onFault }: MetricsServerOptions,
): Promise<MetricsServer> {
  const server = await startHttpServer({
    ...{ host, port, limits, onFault },
    now: () => clock.now(),
    // Whoever opens it up may have a name for it that nobody here knows.
    hosts: isLoopback(host) ? { isAllowed: () => false, advice: 'ask for localhost' } : undefined,
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
): Promise<Answer> {
  if (targetOf(target).path !== '/metrics') return plain(404, 'metrics are at /metrics\n', clock);
  if (method !== 'GET' && method !== 'HEAD')
    return plain(405, 'metrics take GET and HEAD\n', clock, { Allow: 'GET, HEAD' });
  return plain(200, await text(), clock, { 'Content-Type': contentType });
}

function plain(status: number, body: string, clock: Clock, headers: Readonly<Record<string, string>> = {}): Answer {
  const common = { ...answerHeaders(body, randomUUID(), clock.now()), 'Content-Type': 'text/plain; charset=utf-8' };
  return { status, body, headers: { ...common, ...headers }, delivery: 'whole' };
}
