import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { systemClock, type Clock } from '../../core/clock.js';
import { openConnectionPool, type ConnectionPool } from '../../core/connections/connector.js';
import type { Environment } from '../../core/environment.js';
import { LedgerlakeError, systemCode } from '../../core/errors.js';
import { answerTimeout, transportFailure } from './transport-failure.js';

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
  /** Has the variables of proxies; left out: the process's. */
  readonly environment?: Environment | undefined;
}

export interface TransportRequest {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** Path and query exactly as sent, beginning with `/`. */
  readonly path: string;
  /** Path for messages, where `path` has a secret. */
  readonly shownPath?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted exactly as it is; never part of an error. Left out: a GET. */
  readonly body?: string | undefined;
  /** For messages: the option or setting of the address; default the endpoint. */
  readonly addressOf?: string;
  readonly signal: AbortSignal;
  /** Bytes of the largest accepted body with status 200; default 64 MB. */
  readonly mostBytes?: number | undefined;
  /** Called while an answer takes long, at most twice a minute. */
  readonly onSlow?: ((slow: SlowAnswer) => void) | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** By lower-case name; repeated headers are joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  /** The complete body with status 200; at most its first megabyte with another status. */
  readonly body: Uint8Array;
}

/** Requests over persistent connections. */
export interface Transport {
  /**
   * Sends the request once and reads the complete answer, whatever its status; redirects aren't followed.
   *
   * @throws LedgerlakeError UPSTREAM_UNREACHABLE without a complete answer in time, UPSTREAM_BODY for a body that is encoded
   *   otherwise than with gzip, TOO_LARGE for one that is larger than `mostBytes` when decoded, or the signal's reason
   */
  send(request: TransportRequest): Promise<HttpResponse>;
  /** Waits for the pending requests, then closes every connection. Nothing can be sent afterwards. */
  close(): Promise<void>;
}

/**
 * A transport with a connection pool; the caller closes it.
 *
 * @throws LedgerlakeError USAGE for an environment with an invalid proxy
 */
export function createTransport({
  connectTimeoutMs = 10_000,
  headersTimeoutMs = 60_000,
  bodyTimeoutMs = 60_000,
  answerTimeoutMs = 300_000,
  clock = systemClock,
  environment,
}: TransportOptions = {}): Transport {
  const pool = openConnectionPool({ timeoutMs: connectTimeoutMs, headersTimeoutMs, bodyTimeoutMs, environment });
  return {
    send: async (request) => {
      const { origin, path, shownPath = path, body, signal, addressOf = 'the endpoint' } = request;
      const method = body === undefined ? 'GET' : 'POST';
      signal.throwIfAborted();
      try {
        return await exchange(pool, request, method, answerCheck(clock, answerTimeoutMs, request.onSlow));
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof LedgerlakeError
          ? error
          : transportFailure(error, { origin, path: shownPath, method, addressOf });
      }
    },
    close: () => pool.close(),
  };
}

/** Sends a request and reads its whole answer. */
async function exchange(
  pool: ConnectionPool,
  request: TransportRequest,
  method: 'GET' | 'POST',
  check: (bytes: number) => void,
): Promise<HttpResponse> {
  const { origin, path, signal, body: sent = null, mostBytes = pageBytes } = request;
  const { host } = new URL(origin);
  const answer = await pool.request({
    origin,
    path,
    method,
    body: sent,
    signal,
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    // A server can send interim answers for ever.
    onInfo: () => {
      check(0);
    },
  });
  const status = answer.statusCode;
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')]));
  const encoding = headers.get('content-encoding') ?? '';
  // None was accepted, but some proxies encode all the same.
  const decode = decoders.get(encoding.toLowerCase());
  const limit = { mostBytes: decode === undefined ? 0 : status === 200 ? mostBytes : errorBytes, host };
  const received = decode === undefined ? answer.body : decode(answer.body, check);
  const body = await bytesOf(received, { ...limit, isCut: decode === undefined || status !== 200, check }).catch(
    (error: unknown) => {
      throw systemCode(error)?.startsWith('Z_') === true ? encoded(`${encoding} that is broken`, host) : error;
    },
  );
  if (decode === undefined) throw encoded(encoding, host);
  // The pool reclaims the connection only after this; an earlier request would open another one.
  await setImmediate();
  return { status, headers, body };
}

type Decode = (body: Readable, check: (bytes: number) => void) => AsyncIterable<Buffer>;

/** By the name of the content coding (RFC 9110, section 8.4.1). */
const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['', (body) => body],
  ['identity', (body) => body],
  ['gzip', unzipped],
  ['x-gzip', unzipped],
]);

/** Decodes gzip. Bytes that expand to none, such as an endless header, are checked for their duration too. */
function unzipped(body: Readable, check: (bytes: number) => void): AsyncIterable<Buffer> {
  const checked = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      try {
        check(0);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const decoded = createGunzip();
  // The reader of the decoded bytes gets the error.
  pipeline(body, checked, decoded).catch(() => undefined);
  return decoded;
}

function encoded(encoding: string, host: string): LedgerlakeError {
  const found = /^[\w, -]{1,40}$/.test(encoding) ? encoding : 'another one';
  return new LedgerlakeError(
    'UPSTREAM_BODY',
    `expected an answer without content-encoding, or with gzip, from ${host}, got ${found}; check the proxy`,
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
function answerCheck(clock: Clock, timeoutMs: number, onSlow: TransportRequest['onSlow']): (bytes: number) => void {
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
