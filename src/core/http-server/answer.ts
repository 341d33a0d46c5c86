import type { ServerResponse } from 'node:http';
/** How an answer is sent: `whole`, or with one of the faults that are known of the live service. */
export type Delivery = 'whole' | 'reset' | 'never' | 'head-only' | 'cut' | 'too-long';

export interface HttpAnswer {
  /** 0 where none is sent. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, unless the headers say otherwise. */
  readonly body: string | Uint8Array;
  readonly delivery: Delivery;
}

/** A request as it was received. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body; undefined where it is too long. Rejects when the client disconnects. */
  readonly body: () => Promise<Buffer | undefined>;
  /** Aborts when the client disconnects or the server closes, so that nobody waits for a late answer. */
  readonly signal: AbortSignal;
}

/** A finished request, for an access log. */
export interface Access {
  /** '' where the bytes weren't HTTP. */
  readonly method: string;
  /** The target as received. */
  readonly target: string;
  /** 0 where no answer was sent. */
  readonly status: number;
  /** From the request's headers to the answer's last byte, milliseconds. */
  readonly ms: number;
  /** Bytes of the answer's body; undefined where it was not sent completely. */
  readonly bytes: number | undefined;
  readonly requestId: string;
}

/** The headers of every answer. `now`: milliseconds since 1970. */
export function answerHeaders(body: string | Uint8Array, requestId: string, now: number): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date(now).toUTCString(),
    'x-amzn-RequestId': requestId,
  };
}

interface DeliveryOptions {
  /** Aborts when nobody waits any more for an answer that never ends. */
  readonly signal: AbortSignal;
  /** Milliseconds without progress after which a client loses the rest of a whole answer. */
  readonly stallMs: number;
  /** Called once a whole answer is sent completely. */
  readonly onWhole: () => void;
}

/** Sends an answer by its `delivery`. One that never ends keeps its connection open until the client disconnects or the signal aborts. */
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
      // Node reports a write as finished even where the client disconnected; only the socket shows it.
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
        response.socket?.destroySoon();
      });
      return;
    case 'too-long':
      // The surplus bytes would look like the next answer, so the connection must not have one.
      response.shouldKeepAlive = false;
      response.writeHead(status, { ...headers, 'Content-Length': String(Math.floor(bytes.length / 2)) }).end(bytes);
      return;
  }
}
