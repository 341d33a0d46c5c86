import { LedgerlakeError } from '../../core/errors.js';
import { retryAfterMs } from './backoff.js';
import type { Cause } from './cause.js';
import { excerpt, isHtml, withCutToken } from './excerpt.js';

/** What an API's own reading of a refusal comes to. */
export interface RefusalMeaning {
  readonly stands: Cause;
  /** For people, in a line. */
  readonly message: string;
  /** No attempt is made before so many milliseconds have passed: then what was refused may be accepted. */
  readonly leastPauseMs?: number | undefined;
  /** A sentence that the message ends with once no more attempts are made. */
  readonly advice?: string | undefined;
}

/** The answer that refused a request, without any of our secrets. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  /** Path and query of the request. */
  readonly path: string;
  /** The id that the API gave to the request. */
  readonly requestId: string | undefined;
  /** Whether the request asked for a page behind the first. */
  readonly hadCursor: boolean;
  /** Whether the request carried an access token. */
  readonly signedIn: boolean;
  /** The API's clock less ours, in milliseconds and good to about a second; undefined where it gave no date. */
  readonly skewMs: number | undefined;
  /** When it came, by the API's clock: milliseconds since 1970. */
  readonly receivedAt: number;
}

/** UPSTREAM_STATUS: an answer whose status isn't 200, with what the retry policy has to know of it. */
export class ApiRefusal extends LedgerlakeError {
  /** What it stands for: statuses and codes mean other things with every API. */
  readonly stands: Cause;
  readonly requestId: string | undefined;
  /** The wait that the API asks for (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly leastPauseMs: number;
  readonly advice: string;
  /** Whether the body is a web page: a proxy in between answered, and not the API. */
  readonly isWebPage: boolean;

  constructor({ stands, message, leastPauseMs = 0, advice = '' }: RefusalMeaning, answer: RefusedAnswer) {
    const { status, headers, body, path, requestId, receivedAt } = answer;
    const start = new TextDecoder().decode(body.subarray(0, 2048));
    super('UPSTREAM_STATUS', message, {
      status,
      details: `GET ${withCutToken(path)}\nrequest id: ${requestId ?? 'none'}\n${start}`,
    });
    this.stands = stands;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs(headers.get('retry-after'), receivedAt);
    this.leastPauseMs = leastPauseMs;
    this.advice = advice;
    this.isWebPage = isHtml(body);
  }
}

/** UPSTREAM_BODY: a web page with status 200 where JSON was expected. */
export class WebPage extends LedgerlakeError {
  constructor(operation: string, body: Uint8Array, addressOf: string) {
    const found = excerpt(new TextDecoder().decode(body.subarray(0, 2048)));
    super(
      'UPSTREAM_BODY',
      `Expected JSON from ${operation}, got a web page (HTML): ${found}. Check ${addressOf}, and for a proxy in between.`,
      { status: 200 },
    );
  }
}
