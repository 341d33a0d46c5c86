import { LedgerlakeError, type ErrorCode } from '../../core/errors.js';
import { printable, truncateText } from '../../core/printable.js';
import type { Cause } from './causes.js';

/** The interpretation of a refusal. */
interface RefusalMeaning {
  readonly refusalCause: Cause;
  /** For people, in a line. */
  readonly message: string;
  /** Milliseconds before which the request would be refused again. */
  readonly leastPauseMs?: number | undefined;
  /** The last sentence of the message after the last attempt. */
  readonly advice?: string | undefined;
}

/** The answer that refused a request; secrets are redacted. */
export interface RefusedAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  /** Path and query of the request. */
  readonly path: string;
  /** Left out: GET. */
  readonly method?: 'GET' | 'POST';
  /** The API's id of the request. */
  readonly requestId: string | undefined;
  /** Whether the request was for a page after the first. */
  readonly hadCursor: boolean;
  /** Whether the request carried an access token. */
  readonly signedIn: boolean;
  /** The API's clock minus ours, in milliseconds, exact to about a second; undefined without a date. */
  readonly skewMs: number | undefined;
  /** When it was received, by the API's clock: milliseconds since 1970. */
  readonly receivedAt: number;
}

/** A failed attempt, with the data that the retry policy uses. */
export class Refusal extends LedgerlakeError {
  readonly refusalCause: Cause;
  /** The `Retry-After` of the answer, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly leastPauseMs: number;
  readonly advice: string;
  /** Whether the body is a web page: a proxy answered instead of the API. */
  readonly isWebPage: boolean;

  constructor(
    code: ErrorCode,
    { refusalCause, message, leastPauseMs = 0, advice = '' }: RefusalMeaning,
    { retryAfterMs, isWebPage, ...about }: AttemptAnswer,
  ) {
    super(code, message, about);
    this.refusalCause = refusalCause;
    this.retryAfterMs = retryAfterMs;
    this.leastPauseMs = leastPauseMs;
    this.advice = advice;
    this.isWebPage = isWebPage ?? false;
  }
}

interface AttemptAnswer {
  readonly cause?: unknown;
  readonly status?: number;
  readonly details?: string;
  readonly retryAfterMs?: number | undefined;
  readonly isWebPage?: boolean;
}

/** UPSTREAM_STATUS: an answer with a status other than 200. Each API has its meanings of statuses and codes. */
export class ApiRefusal extends Refusal {
  readonly requestId: string | undefined;

  constructor(meaning: RefusalMeaning, answer: RefusedAnswer) {
    const { status, headers, body, path, method = 'GET', requestId, receivedAt } = answer;
    const start = new TextDecoder().decode(body.subarray(0, 2048));
    super('UPSTREAM_STATUS', meaning, {
      status,
      details: `${method} ${withCutToken(path)}\nrequest id: ${requestId ?? 'none'}\n${start}`,
      retryAfterMs: retryAfterMs(headers.get('retry-after'), receivedAt),
      isWebPage: isHtml(body),
    });
    this.requestId = requestId;
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

/** A text with each NextToken shortened. */
export function withCutToken(text: string): string {
  return text.replace(/(NextToken=[^&\s]{12})[^&\s]+/gi, '$1…');
}

/** Whether a body is a web page. JSON can't begin with `<`. */
export function isHtml(body: Uint8Array): boolean {
  return new TextDecoder().decode(body.subarray(0, 64)).trimStart().startsWith('<');
}

/** The beginning of a text from outside, on one line. */
export function excerpt(text: string, length = 200): string {
  // Control characters too: a server must not control a terminal.
  const line = printable(text.replaceAll(/[\s\p{Control}]+/gu, ' ').trim());
  return line.length > length ? `${truncateText(line, length)}…` : line;
}

/** `Retry-After` in milliseconds from `now`, by the API's clock; undefined unless it states seconds or a date. */
export function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.ceil(Number(trimmed) * 1000);
  // Date.parse reads a bare number as a year: a date has the letters of a weekday or month.
  const instant = /[a-z]{3}/i.test(trimmed) ? Date.parse(trimmed) : NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
