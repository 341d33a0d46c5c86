import type { Refusal } from './refusal.js';

/** How an answer goes out: `whole`, or in one of the ways in which the live service's answers are known to fail. */
export type Delivery = 'whole' | 'reset' | 'never' | 'head-only' | 'cut' | 'too-long';

/** What is answered, before the headers that every answer carries. */
export interface Outcome {
  readonly status: number;
  readonly body: string;
  /** Headers of its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: whole. */
  readonly delivery?: Delivery;
}

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
  /** Aborts when nobody waits for a late answer any more: the client left, or the service closes. */
  readonly signal: AbortSignal;
}

/** A request as it came. */
export interface HttpRequest extends Exchange {
  readonly method: string;
  readonly target: string;
}

/** A resource beside the operations and the sign-in, for GET and HEAD: it asks for no access token and uses no quota. */
export type SidePage = () => Promise<Outcome>;

/** The headers that every answer carries. */
export function answerHeaders(body: string, requestId: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'x-amzn-RequestId': requestId,
  };
}

/** `allow`: the methods that a resource takes, for a method that it doesn't. */
export function refused({ status, body }: Refusal, allow = 'GET'): Outcome {
  return { status, body, ...(status === 405 && { headers: { Allow: allow } }) };
}
