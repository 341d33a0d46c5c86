import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type Access, answerHeaders } from './answer.js';
const codes = {
  400: 'InvalidInput',
  403: 'Unauthorized',
  404: 'ResourceNotFound',
  405: 'MethodNotAllowed',
  408: 'InvalidInput',
  413: 'InvalidInput',
  414: 'InvalidInput',
  421: 'InvalidInput',
  429: 'QuotaExceeded',
  431: 'InvalidInput',
  500: 'InternalFailure',
  503: 'ServiceUnavailable',
} as const;

type HttpRefusalStatus = keyof typeof codes;

/** Maximum characters of `details`. */
const mostDetails = 200;

/** A received text for an error message, cut to `most` characters. */
export function quoted(text: string, most = mostDetails): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text.toWellFormed();
}

/** A refused request: the status, the violated rule as the message, and in `details` what was received. */
export class HttpRefusal extends Error {
  readonly status: HttpRefusalStatus;
  /** At most 200 characters. */
  readonly details: string;

  constructor(status: HttpRefusalStatus, message: string, details = '') {
    super(message);
    this.name = 'HttpRefusal';
    this.status = status;
    this.details = quoted(details);
  }

  /** The answer's JSON: `{"errors":[{"code","message","details"}]}`. */
  get body(): string {
    return JSON.stringify({
      errors: [{ code: codes[this.status], message: this.message, details: this.details }],
    });
  }
}

/** The answer where the server fails; it has no reason. */
export function serverFailure(): HttpRefusal {
  return new HttpRefusal(500, 'The service failed; the same request may succeed later.');
}

type PlainRefusal = readonly [status: HttpRefusalStatus, reason: string, message: string];

const refusals: Readonly<Record<string, PlainRefusal>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The request line and its headers are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request took too long to arrive.'],
};
const notHttp: PlainRefusal = [400, 'Bad Request', 'This is not HTTP/1.1.'];

/** For CONNECT (RFC 9110, section 9.3.6). */
export const connectRefusal: PlainRefusal = [405, 'Method Not Allowed', 'This is not a proxy.'];

/** Milliseconds that a client has to receive such an answer. */
const lingerMs = 5000;

/**
 * Answers bytes that aren't HTTP or are incomplete after the timeout: Node has no response object for them, so the
 * answer is written to the socket. Undefined where the client has disconnected. `now`: milliseconds since 1970.
 */
export function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex, now: number): Access | undefined {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  return refuseSocket(refusals[error.code ?? ''] ?? notHttp, socket, now);
}

/** Writes a refusal and closes the connection. */
export function refuseSocket([status, reason, message]: PlainRefusal, socket: Duplex, now: number): Access {
  const { body } = new HttpRefusal(status, message);
  const requestId = randomUUID();
  const headers = Object.entries({
    ...answerHeaders(body, requestId, now),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
    Connection: 'close',
  });
  const head = [`HTTP/1.1 ${status} ${reason}`, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
  socket.on('error', () => undefined);
  const late = setTimeout(() => {
    socket.destroy();
  }, lingerMs).unref();
  socket.end(`${head}\r\n\r\n${body}`, () => {
    clearTimeout(late);
    socket.destroy();
  });
  return { method: '', target: '', status, ms: 0, bytes: Buffer.byteLength(body), requestId };
}
