import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { messageOf, usageError } from '../../core/errors.js';
import type { Access } from './access.js';
import { type Answer, answerHeaders } from './answer.js';
import { type AnswerOptions, createAnswers } from './answers.js';
import { type Counts, Tally } from './counts.js';
import { deliver } from './delivery.js';
import { hostRefusal } from './host-rule.js';
import { refuseBytes } from './parser-refusal.js';
import { bodyOf } from './request-body.js';

/** How long clients may take, milliseconds. */
export interface ServerLimits {
  /** To send a request's line and headers; default 10 seconds. */
  readonly headersMs: number;
  /** To send all of a request; default 30 seconds. */
  readonly requestMs: number;
  /** To take more of an answer that is going out; default 30 seconds. */
  readonly stallMs: number;
  /** To take the last answers, once the service closes; default 5 seconds. */
  readonly closeMs: number;
}

export interface ServiceOptions extends AnswerOptions {
  /** Where to listen; default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: a free one. */
  readonly port?: number | undefined;
  /** Names to answer to beside those of this machine and of the service itself; undefined: any name. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Told of each request once it is over. */
  readonly onAccess?: ((access: Access) => void) | undefined;
}

export interface RunningService {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** What it has seen so far. */
  readonly counts: Counts;
  /**
   * Takes no further requests, answers those that are running at once, latency or not, and resolves once every
   * connection is closed: soon, as who doesn't take the answer loses it.
   */
  close(): Promise<void>;
}

/** Bytes of a request's line and headers; a NextToken has to fit in. */
const maxHeaderBytes = 32 * 1024;

const usualLimits: ServerLimits = { headersMs: 10_000, requestMs: 30_000, stallMs: 30_000, closeMs: 5_000 };

/** How often Node looks for requests that take too long, milliseconds. */
const checkMs = 1000;

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown) => {
      reject(usageError(`Can't listen on ${host}, port ${port}: ${messageOf(error)}; choose another host or port`));
    };
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Serves a ledger as the Financial Events Service over HTTP (specification, sections 4 and 8) until it is closed.
 * Throws a USAGE error when it can't listen there or for a quota that can't be.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { host = '127.0.0.1', port = 0, allowedHosts, onAccess, clock } = options;
  const { headersMs, requestMs, stallMs, closeMs } = { ...usualLimits, ...options.limits };
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw usageError(`The port must be a whole number from 0 (a free one) to 65535, not ${port}`);
  }
  const tally = new Tally();
  const answerTo = createAnswers(options, tally);
  /** One for each request under way: aborts when nobody waits for a late answer any more. */
  const underWay = new Set<AbortController>();
  let closed: Promise<void> | undefined;

  async function answerOf(request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    const { method = '', url: target = '', headers, httpVersion, headersDistinct } = request;
    const refusal = hostRefusal(httpVersion, headersDistinct['host'] ?? [], allowedHosts);
    if (refusal !== undefined) {
      const { status, body } = refusal;
      tally.answered('none', status);
      return { status, body, headers: answerHeaders(body, randomUUID()), delivery: 'whole' };
    }
    const body = bodyOf(request);
    return answerTo(method, target, { headers, body: () => body, signal });
  }

  async function respond(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const began = clock.now();
    const answer = await answerOf(request, signal);
    let isWhole = false;
    const over = () => {
      const { method = '', url: target = '' } = request;
      onAccess?.({
        method,
        target,
        status: response.headersSent ? answer.status : 0,
        ms: clock.now() - began,
        bytes: isWhole ? Buffer.byteLength(answer.body) : undefined,
        requestId: answer.headers['x-amzn-RequestId'] ?? '',
      });
    };
    // The client may have left before there was an answer.
    if (response.closed) over();
    else response.once('close', over);
    // After an upgrade that is passed over, Node's parser may leave what follows on the connection unread.
    if (closed !== undefined || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    deliver(answer, response, {
      signal,
      stallMs,
      onWhole: () => {
        isWhole = true;
      },
    });
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const left = new AbortController();
    underWay.add(left);
    tally.begin();
    response.once('close', () => {
      underWay.delete(left);
      tally.end();
      left.abort();
      if (closed !== undefined && underWay.size === 0) server.closeAllConnections();
    });
    if (closed !== undefined) left.abort();
    void respond(request, response, left.signal);
  };

  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      // Longer than the two seconds between requests at the usual rate, so that clients keep their connections.
      keepAliveTimeout: 60_000,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(checkMs, headersMs, requestMs),
      // Node's own refusal has no body.
      requireHostHeader: false,
    },
    serve,
  );
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    const access = refuseBytes(error, socket);
    if (access !== undefined) onAccess?.(access);
  });
  const boundPort = await listen(server, host, port);

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${boundPort}`,
    port: boundPort,
    counts: tally,
    close: () =>
      (closed ??= new Promise((resolve) => {
        const late = setTimeout(() => {
          server.closeAllConnections();
        }, closeMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        // Connections that hold no whole request, idle or half-sent, have nothing to wait for.
        if (underWay.size === 0) server.closeAllConnections();
        else server.closeIdleConnections();
        for (const waiting of underWay) waiting.abort();
      })),
  };
}
