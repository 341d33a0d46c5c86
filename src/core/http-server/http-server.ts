import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { type Access, type Answer, answerHeaders, type HttpRequest, deliver } from './answer.js';
import { type AnsweredHosts, hostRefusal, targetOf } from './host-rule.js';
import { Pipelining, type PendingAnswer, Undelivered } from './pipelining.js';
import { failure, Refusal, noTunnel, refuseBytes, refuseSocket } from './refusal.js';

/** How long clients may take, milliseconds, and how much of the server they may hold. */
export interface ServerLimits {
  /** To send a request's line and headers; default 10 seconds. */
  readonly headersMs: number;
  /** To send all of a request; default 30 seconds. */
  readonly requestMs: number;
  /** To take more of an answer that is going out; default 30 seconds. */
  readonly stallMs: number;
  /** To take all of an answer; default 5 minutes. */
  readonly answerMs: number;
  /** To take the last answers, once the server closes; default 5 seconds. */
  readonly closeMs: number;
  /** Between two requests of a connection; default a minute. */
  readonly idleMs: number;
  /** Connections at once; default 512. Another one is closed at once. */
  readonly connections: number;
  /** Requests that wait behind another one of their connection, all connections together; default 10,000. */
  readonly pipelined: number;
  /** Bytes of answers that clients haven't taken yet, all connections together; default 64 MiB. */
  readonly undeliveredBytes: number;
}

/** What a server counts as requests come and go. */
export interface Watch {
  begin(): void;
  end(): void;
  /** A request that was refused before anybody was asked for an answer. */
  refused(status: number): void;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Milliseconds since 1970, for logs and the header `Date`. */
  readonly now: () => number;
  /** The names that are answered to; undefined: any. */
  readonly hosts: AnsweredHosts | undefined;
  /** What is answered to a request. Where it rejects, the answer is 500, and `onFault` has the reason. */
  readonly answer: (request: HttpRequest) => Promise<Answer>;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Told of each request once it is over. */
  readonly onAccess?: ((access: Access) => void) | undefined;
  readonly onFault?: ((fault: unknown, requestId: string) => void) | undefined;
  readonly watch?: Watch | undefined;
}

export interface RunningHttpServer {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** What clients hold of it now. */
  readonly load: { readonly waiting: number; readonly undeliveredBytes: number };
  /** Lets the process end although it listens. */
  unref(): void;
  /**
   * Takes no further requests, answers those that are running at once, latency or not, and resolves once every
   * connection is closed: soon, as who doesn't take the answer loses it.
   */
  close(): Promise<void>;
}

/** Bytes of a request's line and headers. */
const maxHeaderBytes = 32 * 1024;

/** Characters of a request's target; a NextToken has to fit in. */
const maxTarget = 16 * 1024;

const usualLimits: ServerLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  stallMs: 30_000,
  answerMs: 300_000,
  closeMs: 5_000,
  // Longer than the two seconds between requests at the usual rate, so that clients keep their connections.
  idleMs: 60_000,
  connections: 512,
  pipelined: 10_000,
  undeliveredBytes: 64 * 1024 * 1024,
};

/** How often Node looks for requests that take too long, milliseconds. */
const checkMs = 1000;

/** While others wait for room, a client has so long to take an answer. */
const graceMs = 5_000;

/** Resolves to the port. Rejects with the system's error where it can't listen there. */
function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      // Of a connection that couldn't be accepted: the next one may be.
      server.on('error', () => undefined);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Serves answers over HTTP/1.1 to clients that nobody knows: whatever they send, no exception leaves a listener, and what
 * they hold of time and memory has a limit.
 *
 * Rejects with the system's error where it can't listen there.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<RunningHttpServer> {
  const { host, port, now, watch } = options;
  const limits = { ...usualLimits, ...options.limits };
  const pipelining = new Pipelining(limits.pipelined);
  const undelivered = new Undelivered({ most: limits.undeliveredBytes, graceMs, now: () => performance.now() });
  /** One for each request under way: aborts when nobody waits for a late answer any more. */
  const underWay = new Set<AbortController>();
  let closed: Promise<void> | undefined;

  // Who logs may fail as well, as where nobody reads standard error any more.
  const onAccess = (access: Access): void => {
    attempt(() => options.onAccess?.(access));
  };
  const onFault = (fault: unknown, requestId: string): void => {
    attempt(() => options.onFault?.(fault, requestId));
  };

  function refusalOf(request: IncomingMessage): Refusal | undefined {
    const { url: target = '', httpVersion, headersDistinct } = request;
    if (target.length > maxTarget) return new Refusal(414, 'The address is too long.', target);
    return hostRefusal(
      { httpVersion, hosts: headersDistinct['host'] ?? [], authority: targetOf(target).authority },
      options.hosts,
    );
  }

  function whole({ status, body }: Refusal, requestId: string): Answer {
    return { status, body, headers: answerHeaders(body, requestId, now()), delivery: 'whole' };
  }

  async function answerOf(request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    const refusal = refusalOf(request);
    if (refusal !== undefined) {
      watch?.refused(refusal.status);
      return whole(refusal, randomUUID());
    }
    const { method = '', url: target = '', headers } = request;
    const body = bodyOf(request);
    return options.answer({ method, target, headers, body: () => body, signal });
  }

  async function answerSafely(request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    try {
      return await answerOf(request, signal);
    } catch (fault) {
      const requestId = randomUUID();
      onFault(fault, requestId);
      return whole(failure(), requestId);
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse, left: AbortController): Promise<void> {
    const began = now();
    const { signal } = left;
    const room = await undelivered.enter(() => response.destroy());
    const answer = response.closed || response.destroyed ? undefined : await answerSafely(request, signal);
    let isWhole = false;
    const over = () => {
      undelivered.leave(room);
      const { method = '', url: target = '' } = request;
      onAccess({
        method,
        target,
        status: answer !== undefined && response.headersSent ? answer.status : 0,
        ms: now() - began,
        bytes: isWhole && answer !== undefined ? Buffer.byteLength(answer.body) : undefined,
        requestId: answer?.headers['x-amzn-RequestId'] ?? randomUUID(),
      });
    };
    // The client may have left before there was an answer.
    if (response.closed) over();
    else response.once('close', over);
    if (answer === undefined) return;
    // After an upgrade that is passed over, Node's parser may leave what follows on the connection unread.
    if (closed !== undefined || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    send(answer, response, room, signal, () => {
      isWhole = true;
    });
  }

  function send(
    answer: Answer,
    response: ServerResponse,
    room: PendingAnswer,
    signal: AbortSignal,
    onWhole: () => void,
  ): void {
    undelivered.ready(room, Buffer.byteLength(answer.body));
    const late = setTimeout(() => response.destroy(), limits.answerMs).unref();
    response.once('close', () => {
      clearTimeout(late);
    });
    deliver(answer, response, { signal, stallMs: limits.stallMs, onWhole });
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const left = new AbortController();
    const { socket } = request;
    underWay.add(left);
    watch?.begin();
    response.once('close', () => {
      underWay.delete(left);
      watch?.end();
      left.abort();
      if (closed !== undefined && underWay.size === 0) server.closeAllConnections();
      pipelining.over(socket);
    });
    if (closed !== undefined) left.abort();
    respond(request, response, left).catch((fault: unknown) => {
      onFault(fault, randomUUID());
      response.destroy();
    });
  }

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    // A client has broken off: whoever reads the body gets the error.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    pipelining.enter(request.socket, () => {
      begin(request, response);
    });
  };

  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: limits.idleMs,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(checkMs, limits.headersMs, limits.requestMs),
      // Node's own refusal has no body.
      requireHostHeader: false,
    },
    serve,
  );
  server.maxConnections = limits.connections;
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    const access = refuseBytes(error, socket, now());
    if (access !== undefined) onAccess(access);
  });
  server.on('connect', ({ method = '', url: target = '' }, socket) => {
    onAccess({ ...refuseSocket(noTunnel, socket, now()), method, target });
  });
  const boundPort = await listen(server, host, port);

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${boundPort}`,
    port: boundPort,
    load: {
      get waiting() {
        return pipelining.waiting;
      },
      get undeliveredBytes() {
        return undelivered.bytes;
      },
    },
    unref: () => {
      server.unref();
    },
    close: () =>
      (closed ??= new Promise((resolve) => {
        const late = setTimeout(() => {
          server.closeAllConnections();
        }, limits.closeMs);
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

/** Whatever it throws is nobody's any more. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // A listener has nobody to throw to.
  }
}

/** The operations have no request body: one is read past up to here, and beyond it the connection ends. */
const maxBodyBytes = 1024 * 1024;
/** Of a sign-in's body. */
const keptBodyBytes = 64 * 1024;

/** Reads a request's body as it comes in, whoever wants it; undefined once it is too long to keep. */
export function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
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
  // Most requests are answered without it, and a client that breaks off mid-body gets no answer.
  body.catch(() => undefined);
  return body;
}
