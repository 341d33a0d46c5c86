/** How an answer goes out: `whole`, or in one of the ways in which the live service's answers are known to fail. */
export type Delivery = 'whole' | 'reset' | 'never' | 'head-only' | 'cut' | 'too-long';

export interface Answer {
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
