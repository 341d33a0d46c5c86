import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf, usageError } from '../errors.js';
import { answerHeaders } from './answer.js';
import { type AnswerOptions, createAnswers } from './answers.js';
import { type Counts, Tally } from './counts.js';
import { deliver } from './delivery.js';
import { Refusal, type RefusalStatus } from './refusal.js';

export interface ServiceOptions extends AnswerOptions {
  /** Where to listen; default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: a free one. */
  readonly port?: number | undefined;
}

export interface RunningService {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** What it has seen so far. */
  readonly counts: Counts;
  /**
   * Takes no further requests, answers those that are running at once, latency or not, and resolves once every
   * connection is closed.
   */
  close(): Promise<void>;
}

/** Bytes of a request's line and headers; a NextToken has to fit in. */
const maxHeaderBytes = 32 * 1024;
/** The operations have no request body: one is read past up to here, and beyond it the connection ends. */
const maxBodyBytes = 1024 * 1024;
/** Of a sign-in's body. */
const keptBodyBytes = 64 * 1024;

const parserRefusals: Readonly<Record<string, readonly [RefusalStatus, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The request line and its headers are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request took too long to arrive.'],
};

/** Answers what isn't HTTP: there is no response object then, so the bytes are written by hand. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, message] = parserRefusals[error.code ?? ''] ?? [400, 'Bad Request', 'This is not HTTP/1.1.'];
  const { body } = new Refusal(status, message);
  const headers = Object.entries({ ...answerHeaders(body, randomUUID()), Connection: 'close' });
  const head = [`HTTP/1.1 ${status} ${reason}`, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`, () => {
    socket.destroy();
  });
}

/** Reads a request's body as it comes in, whoever wants it; undefined once it is too long to keep. */
function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received <= keptBodyBytes) chunks.push(chunk);
    if (received > maxBodyBytes) request.socket.destroy();
  });
  const body = new Promise<Buffer | undefined>((resolve, reject) => {
    request.once('end', () => {
      resolve(received > keptBodyBytes ? undefined : Buffer.concat(chunks));
    });
    request.once('error', reject);
  });
  // Most requests are answered without a look at it, and a client that breaks off mid-body has nothing to be told.
  body.catch(() => undefined);
  return body;
}

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
  const { host = '127.0.0.1', port = 0 } = options;
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw usageError(`The port must be a whole number from 0 (a free one) to 65535, not ${port}`);
  }
  const tally = new Tally();
  const answerTo = createAnswers(options, tally);
  /** One for each request under way: aborts when nobody waits for a late answer any more. */
  const underWay = new Set<AbortController>();
  let closed: Promise<void> | undefined;

  async function respond(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { method = '', url: target = '', headers } = request;
    const body = bodyOf(request);
    const answer = await answerTo(method, target, { headers, body: () => body, signal });
    // After an upgrade that is passed over, Node's parser may leave what follows on the connection unread.
    if (closed !== undefined || headers.upgrade !== undefined) response.shouldKeepAlive = false;
    deliver(answer, response, signal);
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

  // Longer than the two seconds between requests at the usual rate, so that clients keep their connections.
  const server = createServer(
    { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 60_000, requireHostHeader: false },
    serve,
  );
  server.on('checkExpectation', serve);
  server.on('clientError', refuseBytes);
  const boundPort = await listen(server, host, port);

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${boundPort}`,
    port: boundPort,
    counts: tally,
    close: () =>
      (closed ??= new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        // Connections that hold no whole request, idle or half-sent, have nothing to wait for.
        if (underWay.size === 0) server.closeAllConnections();
        else server.closeIdleConnections();
        for (const waiting of underWay) waiting.abort();
      })),
  };
}
