import type { ServerResponse } from 'node:http';
/** How an answer goes out: `whole`, or in one of the ways in which the live service's answers are known to fail. */
export type Delivery = 'whole' | 'reset' | 'never' | 'head-only' | 'cut' | 'too-long';

export interface HttpAnswer {
  /** 0 where none is sent. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, unless the headers say otherwise. */
  readonly body: string;
  readonly delivery: Delivery;
}

/** What a request brings besides its method and target. */
export interface Exchange {
  /** By name in small letters. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body, or undefined where it was too long to keep. Rejects when the client breaks off. */
  readonly body: () => Promise<Buffer | undefined>;
  /** Aborts when nobody waits for a late answer any more: the client left, or the server closes. */
  readonly signal: AbortSignal;
}

/** A request as it came. */
export interface HttpRequest extends Exchange {
  readonly method: string;
  readonly target: string;
}

/** A request that is over, for a log. */
export interface Access {
  /** '' where what came wasn't HTTP. */
  readonly method: string;
  /** As it came. */
  readonly target: string;
  /** 0 where no answer went out. */
  readonly status: number;
  /** From the request's headers to the answer's last byte, milliseconds. */
  readonly ms: number;
  /** Of the answer's body; undefined where not all of it went out. */
  readonly bytes: number | undefined;
  readonly requestId: string;
}

/** The headers that every answer carries. `now`: milliseconds since 1970. */
export function answerHeaders(body: string, requestId: string, now: number): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date(now).toUTCString(),
    'x-amzn-RequestId': requestId,
  };
}

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
  { status, headers, body, delivery }: HttpAnswer,
  response: ServerResponse,
  { signal, stallMs, onWhole }: DeliveryOptions,
): void {
  const { socket } = response;
  const bytes = Buffer.from(body);
  const holdOpen = () => {
    const end = () => response.destroy();
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  };
  switch (delivery) {
    case 'whole':
      response.setTimeout(stallMs, () => {
        response.destroy();
      });
      // Node calls one written and finished that was broken off: only its socket knows.
      response.writeHead(status, headers).write(bytes, () => {
        if (socket?.destroyed === false) onWhole();
      });
      response.end();
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'never':
      holdOpen();
      return;
    case 'head-only':
      response.writeHead(status, headers).flushHeaders();
      holdOpen();
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
