import type { ServerResponse } from 'node:http';
import type { Answer } from './answer.js';

/** Ends the connection, cleanly as far as TCP goes, once what was written is out. */
function hangUp(response: ServerResponse): void {
  response.socket?.destroySoon();
}

export interface DeliveryOptions {
  /** Aborts when nobody waits for an answer that never ends any more. */
  readonly signal: AbortSignal;
  /** A client that takes nothing of a whole answer for so many milliseconds loses the rest. */
  readonly stallMs: number;
  /** Called once all of a whole answer has gone out. */
  readonly onWhole: () => void;
}

/**
 * Sends an answer the way it is to go out. One that never ends holds its connection until the client leaves or the
 * signal aborts.
 */
export function deliver(
  { status, headers, body, delivery }: Answer,
  response: ServerResponse,
  { signal, stallMs, onWhole }: DeliveryOptions,
): void {
  const { socket } = response;
  const bytes = Buffer.from(body);
  const hold = () => {
    const end = () => response.destroy();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  };
  switch (delivery) {
    case 'whole':
      response.setTimeout(stallMs, () => {
        response.destroy();
      });
      // Node calls one written and finished that was broken off: only its socket tells.
      response.writeHead(status, headers).write(bytes, () => {
        if (socket?.destroyed === false) onWhole();
      });
      response.end();
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'never':
      hold();
      return;
    case 'head-only':
      response.writeHead(status, headers).flushHeaders();
      hold();
      return;
    case 'cut':
      response.writeHead(status, headers).write(bytes.subarray(0, bytes.length / 2), () => {
        hangUp(response);
      });
      return;
    case 'too-long':
      // What is left over can't be told from the next answer, so there must not be one.
      response.shouldKeepAlive = false;
      response.writeHead(status, { ...headers, 'Content-Length': String(Math.floor(bytes.length / 2)) }).end(bytes);
      return;
  }
}
