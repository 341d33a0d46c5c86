import { LedgerlakeError } from '../../core/errors.js';
import { printable, truncateText } from '../../core/printable.js';

/**
 * Why an attempt gave no page, as far as what to do about it differs. An API says most of it in words only: status 400 with
 * the code `InvalidInput` stands for at least six of these.
 */
export type Cause =
  /** The quota is used up, or the API says so. */
  | 'throttled'
  /** Transient: the API, or the way to it, failed; the same request may succeed later. */
  | 'fault'
  /** Something other than the API answered: a web page, a redirect. */
  | 'stranger'
  /** No connection that speaks HTTP was made. */
  | 'no-connection'
  /** The cursor is too old, or unknown by now. */
  | 'cursor-expired'
  /** The page is larger than the API can send. */
  | 'too-large'
  /** The dates are further apart than the API allows. */
  | 'window-too-long'
  /** A date bound isn't far enough in the past yet, by the API's clock. */
  | 'bound-too-late'
  /** A refusal without a reason that is known: sometimes it passes. */
  | 'invalid'
  /** The access token has expired, as the API says. */
  | 'access-expired'
  /** The API refused the access token. */
  | 'access-refused'
  /** Permanent: no access, and no access token that could be renewed. */
  | 'denied'
  /** There is no such group or order. */
  | 'unknown-subject'
  /** Permanent: the request breaks the rules. */
  | 'mistake'
  /** Not the API's: a signal's reason, a failed sign-in, an error of this program. */
  | 'other';

/** How an API reads a refusal. */
export interface RefusalMeaning {
  readonly refusalCause: Cause;
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
  /** Left out: GET. */
  readonly method?: 'GET' | 'POST';
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
  /** Why the request was refused: statuses and codes mean other things with every API. */
  readonly refusalCause: Cause;
  readonly requestId: string | undefined;
  /** The wait that the API asks for (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly leastPauseMs: number;
  readonly advice: string;
  /** Whether the body is a web page: a proxy in between answered, and not the API. */
  readonly isWebPage: boolean;

  constructor({ refusalCause, message, leastPauseMs = 0, advice = '' }: RefusalMeaning, answer: RefusedAnswer) {
    const { status, headers, body, path, method = 'GET', requestId, receivedAt } = answer;
    const start = new TextDecoder().decode(body.subarray(0, 2048));
    super('UPSTREAM_STATUS', message, {
      status,
      details: `${method} ${withCutToken(path)}\nrequest id: ${requestId ?? 'none'}\n${start}`,
    });
    this.refusalCause = refusalCause;
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
      `expected JSON from ${operation}, got a web page (HTML): ${found}; check ${addressOf}, and whether a proxy answers`,
      { status: 200 },
    );
  }
}

/** A text with each NextToken shortened: they are long, and mean nothing to people. */
export function withCutToken(text: string): string {
  return text.replace(/(NextToken=[^&\s]{12})[^&\s]+/gi, '$1…');
}

/** Whether a body is a web page instead of JSON, which can't begin like one. */
export function isHtml(body: Uint8Array): boolean {
  return new TextDecoder().decode(body.subarray(0, 64)).trimStart().startsWith('<');
}

/** The beginning of a text from outside, on one line. */
export function excerpt(text: string, length = 200): string {
  // Control characters too: what a server sends must not control a terminal.
  const line = printable(text.replaceAll(/[\s\p{Control}]+/gu, ' ').trim());
  return line.length > length ? `${truncateText(line, length)}…` : line;
}

/** `Retry-After` in milliseconds from `now` on, which is by the API's clock; undefined where it names neither seconds nor a date. */
function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.ceil(Number(trimmed) * 1000);
  // Date.parse reads a bare number as a year: a date has the letters of a weekday or month.
  const instant = /[a-z]{3}/i.test(trimmed) ? Date.parse(trimmed) : NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
