import { excerpt, isHtml, withCutToken } from '../../../engine/retry/excerpt.js';
import { LedgerlakeError } from '../../../core/errors.js';
import type { OperationName } from './operations.js';

/** The first error of an error body. */
export interface UpstreamReason {
  /** `InvalidInput`, `QuotaExceeded`, `Unauthorized` … */
  readonly code: string;
  readonly message: string;
  readonly details: string | undefined;
}

/** What came with a status that isn't 200. */
export interface Refusal {
  readonly operation: OperationName;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Requests a second that the service named. */
  readonly rateLimit: number | undefined;
  /** `retry-after` as it came. */
  readonly retryAfter: string | undefined;
  /** The service's clock less ours. */
  readonly skewMs: number | undefined;
  /** Whether the request carried an access token. */
  readonly signedIn: boolean;
  /** Path and query, with the prefix of the endpoint. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** UPSTREAM_STATUS with what tells one cause from another, for whoever decides what to do about it. */
export class UpstreamRefusal extends LedgerlakeError {
  /** Undefined where the body isn't one of the service's errors. */
  readonly reason: UpstreamReason | undefined;
  readonly operation: OperationName;
  readonly requestId: string | undefined;
  readonly rateLimit: number | undefined;
  readonly retryAfter: string | undefined;
  readonly skewMs: number | undefined;
  readonly signedIn: boolean;
  /** Whether the request went on with a chain of pages. */
  readonly hadNextToken: boolean;
  /** Whether the body is a web page: then it wasn't the service that answered, but something before it. */
  readonly isWebPage: boolean;

  constructor({ operation, status, requestId, rateLimit, retryAfter, skewMs, signedIn, path, body }: Refusal) {
    const text = textOf(body);
    const reason = reasonOf(text);
    super('UPSTREAM_STATUS', `${operation} got status ${status}: ${told(reason, text)}. ${todo(status)}`, {
      status,
      details: `GET ${withCutToken(path)}\nrequest id: ${requestId ?? 'none'}\n${textOf(body.subarray(0, 2048))}`,
    });
    this.reason = reason;
    this.operation = operation;
    this.requestId = requestId;
    this.rateLimit = rateLimit;
    this.retryAfter = retryAfter;
    this.skewMs = skewMs;
    this.signedIn = signedIn;
    this.hadNextToken = path.includes('NextToken=');
    this.isWebPage = isHtml(body);
  }
}

/** UPSTREAM_BODY: a web page with status 200 where JSON should be. */
export class WebPage extends LedgerlakeError {
  constructor(operation: OperationName, body: Uint8Array) {
    const found = excerpt(textOf(body.subarray(0, 2048)));
    super(
      'UPSTREAM_BODY',
      `Expected JSON from ${operation}, got a web page (HTML): ${found}. Please check --endpoint, and for a proxy in between.`,
      { status: 200 },
    );
  }
}

function told(reason: UpstreamReason | undefined, text: string): string {
  if (reason !== undefined) {
    const details = reason.details === undefined ? '' : ` (${reason.details})`;
    return excerpt(`${reason.code}: ${reason.message}${details}`, 500).replace(/\.$/, '');
  }
  const found = excerpt(text);
  if (found === '') return 'expected an error as JSON, got an empty body';
  if (found.startsWith('<')) return `expected an error as JSON, got a web page (HTML): ${found}`;
  return `expected an error as JSON, got: ${found}`;
}

function todo(status: number): string {
  if (status === 401 || status === 403) return "Please check the account's credentials and what they give access to.";
  if (status === 404) return 'Please check the id that was asked for, and --endpoint.';
  if (status === 429) return 'The quota is used up: please try again later, or with a lower --rate.';
  if (status >= 500) return 'The service has a fault: please try again later.';
  if (status >= 400) return 'Please check what was asked for; the service gives this for passing faults too.';
  return 'This is not how the service answers: please check --endpoint.';
}

/** `{"errors":[{"code","message","details"}]}`, of which the first counts. */
function reasonOf(text: string): UpstreamReason | undefined {
  const errors = member(parsed(text), 'errors');
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const code = member(first, 'code');
  const message = member(first, 'message');
  const details = member(first, 'details');
  if (typeof code !== 'string' && typeof message !== 'string') return undefined;
  return {
    code: typeof code === 'string' ? code : 'no code',
    message: typeof message === 'string' ? message : 'no message',
    details: typeof details === 'string' && details !== '' ? details : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the message then quotes the text itself.
    return undefined;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}
