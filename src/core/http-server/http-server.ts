import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.js';
import { type Access, type HttpAnswer, answerHeaders, type HttpRequest, deliver } from './answer.js';
import { type AnsweredHosts, hostRefusal, parseTarget } from './host-rule.js';
import { Pipelining, Undelivered } from './pipelining.js';
import { serverFailure, HttpRefusal, connectRefusal, refuseBytes, refuseSocket } from './refusal.js';

/** The time that clients may take, in milliseconds, and the resources that they may use. */
export interface ServerLimits {
  /** To send a request's line and headers; default 10 seconds. */
  readonly headersMs: number;
  /** To send all of a request; default 30 seconds. */
  readonly requestMs: number;
  /** To make progress in receiving an answer; default 30 seconds. */
  readonly stallMs: number;
  /** To receive an answer completely; default 5 minutes. */
  readonly answerMs: number;
  /** To receive the last answers once the server closes, and the answer to a body that is too large; default 5 seconds. */
  readonly closeMs: number;
  /** Between two requests of a connection; default a minute. */
  readonly idleMs: number;
  /** Concurrent connections; default 512. A further one is closed at once. */
  readonly connections: number;
  /** Pipelined requests that wait for an earlier one of their connection, over all connections; default 10,000. */
  readonly pipelined: number;
  /** Bytes of answers that clients haven't received yet, over all connections; default 64 MiB. */
  readonly undeliveredBytes: number;
}

/** Counts requests. */
interface Watch {
  begin(): void;
  end(): void;
  /** A request was refused without calling `answer`. */
  refused(status: number): void;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** For logs and the header `Date`. */
  readonly clock: Pick<Clock, 'now'>;
  /** The host names that are answered; undefined: every name. */
  readonly hosts: AnsweredHosts | undefined;
  /** Returns the answer to a request. Where it rejects, the answer is 500, and `onFault` receives the reason. */
  readonly answer: (request: HttpRequest) => Promise<HttpAnswer>;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Called for each finished request. */
  readonly onAccess?: ((access: Access) => void) | undefined;
  readonly onFault?: ((fault: unknown, requestId: string) => void) | undefined;
  readonly watch?: Watch | undefined;
}

export interface RunningHttpServer {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** The resources that clients use now. */
  readonly load: { readonly waiting: number; readonly undeliveredBytes: number };
  /** Lets the process end although the server listens. */
  unref(): void;
  /**
   * Accepts no further requests, answers active ones without latency, and resolves once every connection is closed,
   * after `closeMs` at the latest.
   */
  close(): Promise<void>;
}

/** Maximum bytes of a request's line and headers. */
const maxHeaderBytes = 32 * 1024;

/** Maximum characters of a request's target, which may contain a NextToken. */
const maxTarget = 16 * 1024;

const usualLimits: ServerLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  stallMs: 30_000,
  answerMs: 300_000,
  closeMs: 5_000,
  // Longer than the two seconds between requests at the default rate, so that clients keep their connections.
  idleMs: 60_000,
  connections: 512,
  pipelined: 10_000,
  undeliveredBytes: 64 * 1024 * 1024,
};

/** Milliseconds between Node's checks for requests that take too long. */
const checkMs = 1000;

/** Milliseconds that a client has to receive an answer while others wait for memory. */
const graceMs = 5_000;

/** Resolves to the port. Rejects with the system's error where the server can't listen. */
function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      // A connection couldn't be accepted; later ones may be.
      server.on('error', () => undefined);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Serves answers over HTTP/1.1 to untrusted clients: no input makes a listener throw, and time and memory for each
 * client are limited.
 *
 * Rejects with the system's error where the server can't listen.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<RunningHttpServer> {
  const { host, clock } = options;
  const limits = { ...usualLimits, ...options.limits };
  const requests = new Requests(options, limits);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    requests.serve(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: limits.idleMs,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: Math.min(checkMs, limits.headersMs, limits.requestMs),
      // Node's refusal would have no body.
      requireHostHeader: false,
    },
    serve,
  );
  server.maxConnections = limits.connections;
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    requests.refuse(error, socket);
  });
  server.on('connect', ({ method = '', url: target = '' }, socket) => {
    requests.log({ ...refuseSocket(connectRefusal, socket, clock.now()), method, target });
  });
  const port = await listen(server, host, options.port);
  let closed: Promise<void> | undefined;

  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    port,
    load: requests,
    unref: () => {
      server.unref();
    },
    close: () => (closed ??= close(server, requests, limits.closeMs)),
  };
}

/** Accepts no further requests, and resolves once every connection is closed, after `closeMs` at the latest. */
function close(server: Server, requests: Requests, closeMs: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      server.closeAllConnections();
    }, closeMs);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
    requests.end(() => {
      // The remaining connections have no complete request.
      server.closeAllConnections();
    });
  });
}

/** The active requests, from their arrival to the end of their answers. */
class Requests {
  readonly #options: HttpServerOptions;
  readonly #limits: ServerLimits;
  readonly #pipelining: Pipelining;
  readonly #undelivered: Undelivered;
  /** One for each active request: aborts when nobody waits for a late answer any more. */
  readonly #active = new Set<AbortController>();
  /** The newest request of each connection. */
  readonly #newest = new WeakMap<Duplex, IncomingMessage>();
  /** Called once no request is active; undefined while the server accepts requests. */
  #whenOver: (() => void) | undefined;

  constructor(options: HttpServerOptions, limits: ServerLimits) {
    this.#options = options;
    this.#limits = limits;
    this.#pipelining = new Pipelining(limits.pipelined);
    this.#undelivered = new Undelivered({ most: limits.undeliveredBytes, graceMs, now: () => performance.now() });
  }

  get waiting(): number {
    return this.#pipelining.waiting;
  }

  get undeliveredBytes(): number {
    return this.#undelivered.bytes;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    // The client disconnected: the reader of the body gets the error.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    this.#newest.set(request.socket, request);
    this.#pipelining.enter(request.socket, () => {
      this.#begin(request, response);
    });
  }

  /** Refuses bytes that are no request, once the requests before them are answered: a client takes answers in order (RFC 9112, section 9.3.2). */
  refuse(error: Error, socket: Duplex): void {
    const refuse = (): void => {
      const access = refuseBytes(error, socket, this.#options.clock.now());
      if (access !== undefined) this.log(access);
    };
    if (this.#newest.get(socket)?.complete === true) this.#pipelining.enter(socket, refuse);
    else refuse();
  }

  log(access: Access): void {
    attempt(() => this.#options.onAccess?.(access));
  }

  /** Answers active requests without latency. `whenOver` is called each time that none is active. */
  end(whenOver: () => void): void {
    this.#whenOver = whenOver;
    if (this.#active.size === 0) whenOver();
    for (const waiting of this.#active) waiting.abort();
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const left = new AbortController();
    const { socket } = request;
    this.#active.add(left);
    this.#options.watch?.begin();
    response.once('close', () => {
      this.#active.delete(left);
      this.#options.watch?.end();
      left.abort();
      if (this.#active.size === 0) this.#whenOver?.();
      this.#pipelining.over(socket);
    });
    if (this.#whenOver !== undefined) left.abort();
    this.#respond(request, response, left.signal).catch((fault: unknown) => {
      this.#report(fault, randomUUID());
      response.destroy();
    });
  }

  async #respond(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { method = '', url: target = '' } = request;
    const began = this.#options.clock.now();
    const room = await this.#undelivered.enter(() => response.destroy());
    const answer = response.closed || response.destroyed ? undefined : await this.#answer(request, response, signal);
    let isWhole = false;
    const over = () => {
      this.#undelivered.leave(room);
      this.log({
        method,
        target,
        status: answer !== undefined && response.headersSent ? answer.status : 0,
        ms: this.#options.clock.now() - began,
        bytes: isWhole && answer !== undefined ? Buffer.byteLength(answer.body) : undefined,
        requestId: answer?.headers['x-amzn-RequestId'] ?? randomUUID(),
      });
    };
    // The client may have disconnected before the answer.
    if (response.closed) over();
    else response.once('close', over);
    if (answer === undefined) return;
    // After an ignored upgrade Node's parser may not read what follows on the connection.
    if (this.#whenOver !== undefined || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    this.#undelivered.ready(room, Buffer.byteLength(answer.body));
    const { answerMs, stallMs } = this.#limits;
    const late = setTimeout(() => response.destroy(), answerMs).unref();
    response.once('close', () => {
      clearTimeout(late);
    });
    const onWhole = () => {
      isWhole = true;
    };
    deliver(answer, response, { signal, stallMs, onWhole });
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<HttpAnswer> {
    try {
      const refusal = this.#refusal(request);
      if (refusal === undefined) {
        const { method = '', url: target = '', headers } = request;
        const body = bodyOf(request, () => {
          endAfter(request, response, this.#limits.closeMs);
        });
        return await this.#options.answer({ method, target, headers, body: () => body, signal });
      }
      this.#options.watch?.refused(refusal.status);
      return this.#whole(refusal, randomUUID());
    } catch (fault) {
      const requestId = randomUUID();
      this.#report(fault, requestId);
      return this.#whole(serverFailure(), requestId);
    }
  }

  #refusal({ url: target = '', httpVersion, headersDistinct }: IncomingMessage): HttpRefusal | undefined {
    if (target.length > maxTarget) return new HttpRefusal(414, 'The address is too long.', target);
    const hosts = headersDistinct['host'] ?? [];
    return hostRefusal({ httpVersion, hosts, authority: parseTarget(target).authority }, this.#options.hosts);
  }

  #whole({ status, body }: HttpRefusal, requestId: string): HttpAnswer {
    return { status, body, headers: answerHeaders(body, requestId, this.#options.clock.now()), delivery: 'whole' };
  }

  #report(fault: unknown, requestId: string): void {
    attempt(() => this.#options.onFault?.(fault, requestId));
  }
}

/** Calls a listener. Its errors are ignored, as where nobody reads standard error: no caller could handle them. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Ignored.
  }
}

/** The operations have no request body: up to this size one is read and ignored; a larger one ends the connection after the answer. */
const maxBodyBytes = 1024 * 1024;
/** Bytes that are kept, enough for the body of a sign-in. */
const keptBodyBytes = 64 * 1024;

/** Reads a request's body as it arrives; undefined as soon as it exceeds `keptBodyBytes`. `onTooLarge`: it exceeds `maxBodyBytes`. */
function bodyOf(request: IncomingMessage, onTooLarge: () => void): Promise<Buffer | undefined> {
  let chunks: Buffer[] = [];
  let received = 0;
  let isTooLarge = false;
  const body = new Promise<Buffer | undefined>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received <= keptBodyBytes) chunks.push(chunk);
      else {
        chunks = [];
        resolve(undefined);
      }
      if (received <= maxBodyBytes || isTooLarge) return;
      isTooLarge = true;
      onTooLarge();
    });
    request.once('end', () => {
      resolve(Buffer.concat(chunks));
    });
    request.once('error', reject);
  });
  // Most requests are answered without the body, so its rejection may go unused.
  body.catch(() => undefined);
  return body;
}

/**
 * Closes the connection of a request, unless its body ends, `lingerMs` after the answer was sent. Until then the body is read
 * and dropped: an earlier end could take the answer from the client.
 */
function endAfter(request: IncomingMessage, response: ServerResponse, lingerMs: number): void {
  const linger = (): void => {
    const late = setTimeout(() => request.socket.destroy(), lingerMs).unref();
    request.once('close', () => {
      clearTimeout(late);
    });
  };
  if (response.writableFinished) linger();
  else response.once('finish', linger);
}
