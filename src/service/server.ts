import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf, usageError } from '../errors.js';
import { answerHeaders, type AnswerOptions, createAnswers } from './answers.js';
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
  /** Takes no further requests, answers those that are running, and resolves once every connection is closed. */
  close(): Promise<void>;
}

/** Bytes of a request's line and headers; a NextToken has to fit in. */
const maxHeaderBytes = 32 * 1024;
/** The operations have no request body: one is read past up to here, and beyond it the connection ends. */
const maxBodyBytes = 1024 * 1024;

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

function readPastBody(request: IncomingMessage): void {
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxBodyBytes) request.socket.destroy();
  });
  // A client that breaks off mid-body has nothing to be told.
  request.on('error', () => undefined);
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
  const answerTo = createAnswers(options);
  let running = 0;
  let closed: Promise<void> | undefined;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await answerTo(request.method ?? '', request.url ?? '');
    // After an upgrade that is passed over, Node's parser may leave what follows on the connection unread.
    const last = closed !== undefined || request.headers.upgrade !== undefined;
    if (last) response.shouldKeepAlive = false;
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    running += 1;
    response.once('close', () => {
      running -= 1;
      if (closed !== undefined && running === 0) server.closeAllConnections();
    });
    readPastBody(request);
    void respond(request, response);
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
    close: () =>
      (closed ??= new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        // Connections that hold no whole request, idle or half-sent, have nothing to wait for.
        if (running === 0) server.closeAllConnections();
        else server.closeIdleConnections();
      })),
  };
}
