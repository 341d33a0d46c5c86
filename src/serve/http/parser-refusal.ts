import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Access } from './access.js';
import { answerHeaders } from './answer.js';
import { Refusal, type RefusalStatus } from './refusal.js';

const refusals: Readonly<Record<string, readonly [RefusalStatus, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The request line and its headers are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request took too long to arrive.'],
};

/**
 * Answers what isn't HTTP, or isn't all there in time: there is no response object then, so the bytes are written by hand.
 * Undefined where nobody is there to be answered.
 */
export function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): Access | undefined {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const [status, reason, message] = refusals[error.code ?? ''] ?? [400, 'Bad Request', 'This is not HTTP/1.1.'];
  const { body } = new Refusal(status, message);
  const requestId = randomUUID();
  const headers = Object.entries({ ...answerHeaders(body, requestId), Connection: 'close' });
  const head = [`HTTP/1.1 ${status} ${reason}`, ...headers.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
  socket.end(`${head}\r\n\r\n${body}`, () => {
    socket.destroy();
  });
  return { method: '', target: '', status, ms: 0, bytes: Buffer.byteLength(body), requestId };
}
