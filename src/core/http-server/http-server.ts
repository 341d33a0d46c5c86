import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { type Access, type HttpAnswer, answerHeaders, type HttpRequest, deliver } from './answer.js';
import { type AnsweredHosts, hostRefusal, parseTarget } from './host-rule.js';
import { Pipelining, Undelivered } from './pipelining.js';
import { failure, HttpRefusal, noTunnel, refuseBytes, refuseSocket } from './refusal.js';

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
  readonly answer: (request: HttpRequest) => Promise<HttpAnswer>;
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
  const { host, now } = options;
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
      // Node's own refusal has no body.
      requireHostHeader: false,
    },
    serve,
  );
  server.maxConnections = limits.connections;
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    const access = refuseBytes(error, socket, now());
    if (access !== undefined) requests.log(access);
  });
  server.on('connect', ({ method = '', url: target = '' }, socket) => {
    requests.log({ ...refuseSocket(noTunnel, socket, now()), method, target });
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

/** Takes no further requests, and resolves once every connection is closed, after `closeMs` at the latest. */
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
      // What is left holds no whole request: it has nothing to wait for.
      server.closeAllConnections();
    });
  });
}

/** The requests that clients have sent, up to the end of their answers. */
class Requests {
  readonly #options: HttpServerOptions;
  readonly #limits: ServerLimits;
  readonly #pipelining: Pipelining;
  readonly #undelivered: Undelivered;
  /** One for each request under way: aborts when nobody waits for a late answer any more. */
  readonly #underWay = new Set<AbortController>();
  /** Called once no request is under way; undefined while the server takes some. */
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
    // A client has broken off: whoever reads the body gets the error.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    this.#pipelining.enter(request.socket, () => {
      this.#begin(request, response);
    });
  }

  log(access: Access): void {
    attempt(() => this.#options.onAccess?.(access));
  }

  /** Answers what is under way at once, latency or not. `whenOver` is called each time that nothing is under way. */
  end(whenOver: () => void): void {
    this.#whenOver = whenOver;
    if (this.#underWay.size === 0) whenOver();
    for (const waiting of this.#underWay) waiting.abort();
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const left = new AbortController();
    const { socket } = request;
    this.#underWay.add(left);
    this.#options.watch?.begin();
    response.once('close', () => {
      this.#underWay.delete(left);
      this.#options.watch?.end();
      left.abort();
      if (this.#underWay.size === 0) this.#whenOver?.();
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
    const began = this.#options.now();
    const room = await this.#undelivered.enter(() => response.destroy());
    const answer = response.closed || response.destroyed ? undefined : await this.#answer(request, signal);
    let isWhole = false;
    const over = () => {
      this.#undelivered.leave(room);
      this.log({
        method,
        target,
        status: answer !== undefined && response.headersSent ? answer.status : 0,
        ms: this.#options.now() - began,
        bytes: isWhole && answer !== undefined ? Buffer.byteLength(answer.body) : undefined,
        requestId: answer?.headers['x-amzn-RequestId'] ?? randomUUID(),
      });
    };
    // The client may have left before there was an answer.
    if (response.closed) over();
    else response.once('close', over);
    if (answer === undefined) return;
    // After an upgrade that is passed over, Node's parser may leave what follows on the connection unread.
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

  async #answer(request: IncomingMessage, signal: AbortSignal): Promise<HttpAnswer> {
    try {
      const refusal = this.#refusal(request);
      if (refusal === undefined) {
        const { method = '', url: target = '', headers } = request;
        const body = bodyOf(request);
        return await this.#options.answer({ method, target, headers, body: () => body, signal });
      }
      this.#options.watch?.refused(refusal.status);
      return this.#whole(refusal, randomUUID());
    } catch (fault) {
      const requestId = randomUUID();
      this.#report(fault, requestId);
      return this.#whole(failure(), requestId);
    }
  }

  #refusal({ url: target = '', httpVersion, headersDistinct }: IncomingMessage): HttpRefusal | undefined {
    if (target.length > maxTarget) return new HttpRefusal(414, 'The address is too long.', target);
    const hosts = headersDistinct['host'] ?? [];
    return hostRefusal({ httpVersion, hosts, authority: parseTarget(target).authority }, this.#options.hosts);
  }

  #whole({ status, body }: HttpRefusal, requestId: string): HttpAnswer {
    return { status, body, headers: answerHeaders(body, requestId, this.#options.now()), delivery: 'whole' };
  }

  #report(fault: unknown, requestId: string): void {
    attempt(() => this.#options.onFault?.(fault, requestId));
  }
}

/** Calls a log, which may fail as well, as where nobody reads standard error any more: it has nobody to throw to. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Nobody is there to be told.
  }
}

/** The operations have no request body: one is read past up to here, and beyond it the connection ends. */
const maxBodyBytes = 1024 * 1024;
/** Of a sign-in's body. */
const keptBodyBytes = 64 * 1024;

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
  // Most requests are answered without it, and a client that breaks off mid-body gets no answer.
  body.catch(() => undefined);
  return body;
}
