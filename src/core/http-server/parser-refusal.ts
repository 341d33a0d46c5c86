import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type Access, answerHeaders } from './answer.js';
import { Refusal, type RefusalStatus } from './refusal.js';

type PlainRefusal = readonly [status: RefusalStatus, reason: string, message: string];

const refusals: Readonly<Record<string, PlainRefusal>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The request line and its headers are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request took too long to arrive.'],
};
const notHttp: PlainRefusal = [400, 'Bad Request', 'This is not HTTP/1.1.'];

/** For CONNECT (RFC 9110, section 9.3.6). */
export const noTunnel: PlainRefusal = [405, 'Method Not Allowed', 'This is not a proxy.'];

/** Milliseconds that a client has to take such an answer. */
const lingerMs = 5000;

/**
 * Answers what isn't HTTP, or isn't all there in time: there is no response object then, so the bytes are written by hand.
 * Undefined where nobody is there to be answered. `now`: milliseconds since 1970.
 */
export function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex, now: number): Access | undefined {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  return refuseSocket(refusals[error.code ?? ''] ?? notHttp, socket, now);
}

/** Writes a refusal and ends the connection. */
export function refuseSocket([status, reason, message]: PlainRefusal, socket: Duplex, now: number): Access {
  const { body } = new Refusal(status, message);
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
