import { setImmediate } from 'node:timers/promises';
import { Agent } from 'undici';
import { systemClock, type Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import { answerTimeout, failureOf } from './transport-failure.js';

const megabyte = 1024 * 1024;

/** Bytes of the largest page: the service's pages are below 10 MB. */
const pageBytes = 64 * megabyte;

/** Bytes that are read of a refusal: its message is at the beginning. */
export const errorBytes = megabyte;

export interface TransportOptions {
  /** Milliseconds until the connection is established. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds from the request to the end of the answer's headers. */
  readonly headersTimeoutMs?: number;
  /** Milliseconds between two chunks of the answer's body. */
  readonly bodyTimeoutMs?: number;
  /** Milliseconds from the request to the end of the answer, by `clock`. */
  readonly answerTimeoutMs?: number;
  readonly clock?: Clock;
}

export interface GetRequest {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** Path and query exactly as sent, beginning with `/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Bytes of the largest accepted body with status 200; default 64 MB. */
  readonly mostBytes?: number;
  /** Called while an answer takes long, at most twice a minute. */
  readonly onSlow?: ((slow: SlowAnswer) => void) | undefined;
}

export interface PostRequest extends GetRequest {
  /** Exactly as sent; never part of an error. */
  readonly body: string;
  /** For messages: the option or setting of the address. */
  readonly addressOf: string;
}

export interface HttpResponse {
  readonly status: number;
  /** By lower-case name; repeated headers are joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  /** The complete body with status 200; at most its first megabyte with another status. */
  readonly body: Uint8Array;
}

/** GET and POST over persistent connections. */
export interface Transport {
  /**
   * Sends the request once and reads the complete answer, whatever its status; redirects aren't followed.
   *
   * @throws LedgerlakeError UPSTREAM_UNREACHABLE without a complete answer in time, UPSTREAM_BODY for an encoded body,
   *   TOO_LARGE for one larger than `mostBytes`, or the signal's reason
   */
  get(request: GetRequest): Promise<HttpResponse>;
  /** The same with a body. */
  post(request: PostRequest): Promise<HttpResponse>;
  /** Waits for the pending requests, then closes every connection. Nothing can be sent afterwards. */
  close(): Promise<void>;
}

/** A transport with a connection pool; the caller closes it. */
export function createTransport({
  connectTimeoutMs = 10_000,
  headersTimeoutMs = 60_000,
  bodyTimeoutMs = 60_000,
  answerTimeoutMs = 300_000,
  clock = systemClock,
}: TransportOptions = {}): Transport {
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
    // Unless the server states another one.
    keepAliveTimeout: 30_000,
  });
  const send = async (request: GetRequest & Partial<PostRequest>, method: 'GET' | 'POST'): Promise<HttpResponse> => {
    const { origin, path, signal, addressOf = 'the endpoint' } = request;
    signal.throwIfAborted();
    try {
      return await exchange(agent, request, method, answerCheck(clock, answerTimeoutMs, request.onSlow));
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof LedgerlakeError ? error : failureOf(error, { origin, path, method, addressOf });
    }
  };
  return {
    get: (request) => send(request, 'GET'),
    post: (request) => send(request, 'POST'),
    close: () => agent.close(),
  };
}

/** Sends a request and reads its whole answer. */
async function exchange(
  agent: Agent,
  request: GetRequest & Partial<PostRequest>,
  method: 'GET' | 'POST',
  check: (bytes: number) => void,
): Promise<HttpResponse> {
  const { origin, path, signal, body: sent = null, mostBytes = pageBytes } = request;
  const { host } = new URL(origin);
  const answer = await agent.request({
    ...{ origin, path, method, body: sent, signal },
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    // A server can send interim answers for ever.
    onInfo: () => {
      check(0);
    },
  });
  const status = answer.statusCode;
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')]));
  const encoding = headers.get('content-encoding') ?? '';
  // Stored bytes are the service's own: nothing here decodes, and no encoding was accepted.
  const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity';
  const limit = { mostBytes: isEncoded ? 0 : status === 200 ? mostBytes : errorBytes, host };
  const body = await bytesOf(answer.body, { ...limit, isCut: isEncoded || status !== 200, check });
  if (isEncoded) throw encoded(encoding, host);
  // The pool reclaims the connection only after this; an earlier request would open another one.
  await setImmediate();
  return { status, headers, body };
}

function encoded(encoding: string, host: string): LedgerlakeError {
  const found = /^[\w, -]{1,40}$/.test(encoding) ? encoding : 'another one';
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected an answer without content-encoding from ${host}, got ${found}; check the proxy`,
  );
}

/** An answer that isn't complete yet. */
export interface SlowAnswer {
  /** Since the request was sent. */
  readonly seconds: number;
  /** Of the body so far. */
  readonly bytes: number;
}

/** Milliseconds from the request after which an answer counts as slow, and between two reports of it. */
const slowMs = 30_000;

/**
 * Checks the duration of an answer: called for each chunk with the bytes of the body so far. A silent server is subject to
 * the connection's timeouts. Throws an Error with the code `answerTimeout`.
 */
function answerCheck(clock: Clock, timeoutMs: number, onSlow: GetRequest['onSlow']): (bytes: number) => void {
  const since = clock.now();
  let reportAt = since + slowMs;
  return (bytes) => {
    const now = clock.now();
    if (now - since > timeoutMs) {
      const message = `no complete answer after ${Math.round(timeoutMs / 1000)} s, ${bytes} bytes so far`;
      throw Object.assign(new Error(message), { code: answerTimeout });
    }
    if (now < reportAt) return;
    reportAt = now + slowMs;
    onSlow?.({ seconds: (now - since) / 1000, bytes });
  };
}

interface BodyLimit {
  readonly mostBytes: number;
  /** Whether a longer body is truncated; otherwise it is an error. */
  readonly isCut: boolean;
  readonly host: string;
  readonly check: (bytes: number) => void;
}

/** Reads a body into memory. Beyond the limit the connection is closed. */
async function bytesOf(body: AsyncIterable<Buffer>, { mostBytes, isCut, host, check }: BodyLimit): Promise<Uint8Array> {
  // One buffer, as a body may arrive in as many chunks as it has bytes.
  let bytes = new Uint8Array(Math.min(64 * 1024, mostBytes));
  let length = 0;
  for await (const chunk of body) {
    const taken = isCut ? chunk.subarray(0, mostBytes - length) : chunk;
    const end = length + taken.length;
    if (end > mostBytes) {
      throw new LedgerlakeError(
        'TOO_LARGE',
        `expected an answer of at most ${mostBytes / megabyte} MB from ${host}, got a larger one; use smaller pages or shorter ranges`,
      );
    }
    if (end > bytes.length) {
      const larger = new Uint8Array(Math.min(mostBytes, Math.max(end, bytes.length * 2)));
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(taken, length);
    length = end;
    check(length);
    if (taken.length < chunk.length) break;
  }
  return bytes.slice(0, length);
}
