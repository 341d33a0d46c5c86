import { formatSpan } from '../../../core/text/amounts.js';
import type { Cause, SliceVerdict } from '../../../engine/retry/causes.js';
import { readVerdict, ReadFailure } from '../../../engine/retry/read-failure.js';
import { ApiRefusal, type RefusedAnswer, excerpt } from '../../../engine/retry/api-refusal.js';

/** The first error of an error body. */
interface Reason {
  /** `InvalidInput`, `QuotaExceeded`, `Unauthorized` … */
  readonly code: string;
  readonly message: string;
  readonly details: string | undefined;
}

/** The refused request, as far as the cause of a refusal depends on it. */
export interface RefusedQuery {
  readonly operation: string;
  /** Names of the operation's parameters. */
  readonly parameters: readonly string[];
  /** Whether it was for a group or an order, which may not exist. */
  readonly hasSubject: boolean;
  /** Date bounds in milliseconds since 1970, and their minimal age at the request. */
  readonly bounds: readonly number[];
  readonly marginMs: number;
}

/** The refusal of an answer with a status other than 200, the same for both APIs. */
export function financesRefusal(query: RefusedQuery, answer: RefusedAnswer): ApiRefusal {
  const { status, body, receivedAt, skewMs } = answer;
  const text = new TextDecoder().decode(body);
  const reason = firstError(text);
  const refusalCause = causeOfRefusal(query, answer, reason, text);
  const leastPauseMs = refusalCause === 'bound-too-late' ? untilBoundsAreAccepted(query, receivedAt) : 0;
  const refused = `${query.operation} got status ${status}: ${reasonText(reason, text)}.`;
  const message =
    refusalCause === 'bound-too-late'
      ? `${tooLateText(leastPauseMs, skewMs)} ${refused}`
      : `${refused} ${remedy(status, reason)}`;
  return new ApiRefusal({ refusalCause, message, leastPauseMs, advice: adviceFor(refusalCause) }, answer);
}

function reasonText(reason: Reason | undefined, text: string): string {
  if (reason !== undefined) {
    const details = reason.details === undefined ? '' : ` (${reason.details})`;
    return excerpt(`${reason.code}: ${reason.message}${details}`, 500).replace(/\.$/, '');
  }
  const found = excerpt(text);
  if (found === '') return 'expected an error as JSON, got an empty body';
  if (found.startsWith('<')) return `expected an error as JSON, got a web page (HTML): ${found}`;
  return `expected an error as JSON, got: ${found}`;
}

function remedy(status: number, reason: Reason | undefined): string {
  if (status === 401) return "Check the account's credentials and their permissions.";
  if (status === 403) return isExpired(reason) ? "Check the account's credentials." : deniedText;
  if (status === 404) return 'Check the requested id, and the endpoint.';
  if (status === 429) return 'The quota is used up: try again later, or at a lower rate.';
  if (status >= 500) return 'The service has a fault: try again later.';
  if (status >= 400) return 'Check the request; the service also answers transient faults like this.';
  return 'This is not an answer of the service: check the endpoint.';
}

const deniedText =
  'Usual causes: the application lacks the role Finance and Accounting (or got it after it was authorised), this seller has not ' +
  "authorised it, or the account's region is not that of the seller's marketplaces (docs/credentials.md).";

/** The first error of `{"errors":[{"code","message","details"}]}`. */
function firstError(text: string): Reason | undefined {
  const errors = member(parsed(text), 'errors');
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const [code, message, details] = ['code', 'message', 'details'].map((name) => member(first, name));
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
    // Not JSON: the message quotes the text itself.
    return undefined;
  }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function causeOfRefusal(query: RefusedQuery, answer: RefusedAnswer, reason: Reason | undefined, text: string): Cause {
  const { status } = answer;
  // 503 and 400 report a limit too.
  if (status === 429 || /^(QuotaExceeded|RequestThrottled|Throttl\w*)$/.test(reason?.code ?? '')) return 'throttled';
  if (status >= 500 || status === 408) return 'fault';
  if (status < 400 || text.trimStart().startsWith('<')) return 'not-the-api';
  if (status === 401 || status === 403) return causeOfDenial(answer, reason);
  if (status === 404) return query.hasSubject ? 'unknown-subject' : 'mistake';
  if (status === 413) return 'too-large';
  return status === 400 ? causeOfInvalid(query, answer, reason) : 'mistake';
}

function causeOfDenial({ signedIn }: RefusedAnswer, reason: Reason | undefined): Cause {
  if (!signedIn) return 'denied';
  return isExpired(reason) ? 'access-expired' : 'access-refused';
}

function isExpired(reason: Reason | undefined): boolean {
  return /\bexpired\b/i.test(`${reason?.message ?? ''} ${reason?.details ?? ''}`);
}

const span = 'date range|time range|range|window|span|period|interval';
/** The live service answers `data requested exceeds data retention period` for several causes. */
const vague = /\bnot valid or data requested exceeds data retention period\b/;
const tooMuch = 'too (?:long|large|wide|big)|exceed|longer than|larger than|greater than|more than|at most|maximum';

/** Patterns for the meanings of `InvalidInput`: the first match counts. */
const meanings: readonly (readonly [Cause, RegExp])[] = [
  ['bound-too-late', /\bno later than\b.*\bminutes?\b|\bminutes? (?:from|before) now\b|\bin the future\b/],
  [
    'window-too-long',
    new RegExp(`\\b(?:${span}|apart)\\b.*\\b(?:${tooMuch})|\\b(?:${tooMuch})\\w*\\b.*\\b(?:${span})\\b`),
  ],
  ['too-large', /\b(?:pages?|response|results?|payload|body|output)\b.*\b(?:too (?:large|big)|exceed|\d+ ?mb)/],
  ['too-large', /\btoo (?:large|big)\b.*\b(?:pages?|response|results?|payload|body|output)\b/],
  ['too-large', /\b(?:reduce|lower|smaller|decrease)\b.*\b(?:page size|maxresultsperpage)\b/],
];

function causeOfInvalid(query: RefusedQuery, { hadCursor }: RefusedAnswer, reason: Reason | undefined): Cause {
  if (reason === undefined) return 'invalid';
  const text = `${reason.message} ${reason.details ?? ''}`;
  const plain = text.toLowerCase();
  // Only a request with a NextToken can be refused for it, and such a request has no dates.
  if (hadCursor && plain.includes('token')) return 'cursor-expired';
  if (vague.test(plain)) return 'invalid';
  const [meaning] = meanings.find(([, pattern]) => pattern.test(plain)) ?? [];
  if (meaning !== undefined && !(hadCursor && meaning === 'bound-too-late')) return meaning;
  return namesBrokenRule(text, query) ? 'mistake' : 'invalid';
}

/** Whether a text states the rule for a parameter of the operation, or that there is no such parameter. */
function namesBrokenRule(text: string, { operation, parameters }: RefusedQuery): boolean {
  if (text.includes(operation) && /\bhas no parameter\b/.test(text)) return true;
  if (!/\b(must|required|missing|malformed|more than once|has no value)\b/i.test(text)) return false;
  return parameters.some((parameter) => text.includes(parameter));
}

/** The service's `Date` is truncated to the second, and is read a little before our clock. */
const clockGrainMs = 2000;

/** Milliseconds until the date bounds are old enough (section 4, limits); `now` is by the service's clock. */
function untilBoundsAreAccepted({ bounds, marginMs }: RefusedQuery, now: number): number {
  return Math.max(0, Math.max(...bounds) + marginMs + clockGrainMs - now);
}

function adviceFor(refusalCause: Cause): string {
  if (refusalCause === 'access-expired') {
    return (
      'The service also refuses access tokens that were issued just now: check that the sign-in and the endpoint belong ' +
      "together (region, sandbox), and that the seller's authorization is still valid."
    );
  }
  return '';
}

/** The explanation of a bound that the service refuses as too recent: the clocks differ. */
function tooLateText(leastPauseMs: number, skewMs: number | undefined): string {
  const accepted = `accepts these dates in ${formatSpan(leastPauseMs)} at the earliest`;
  if (skewMs === undefined)
    return `The service ${accepted}: check the clock of this machine, and the end of the range.`;
  const skew = `${formatSpan(Math.abs(skewMs))} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  return `The service's clock is ${skew}, and it ${accepted}: check the clock of this machine, and the end of the range.`;
}

/**
 * The verdict on a slice that is one settlement: after an answer that isn't a page, other settlements can still be read. A web
 * page, or an answer that contains our secrets, isn't from the service.
 */
export function settlementVerdict(error: unknown): SliceVerdict {
  const isBroken =
    error instanceof ReadFailure &&
    (error.kind === 'fault' || error.kind === 'unreadable') &&
    error.status === undefined;
  return isBroken && ['UPSTREAM_BODY', 'JSON_SYNTAX'].includes(error.code) ? 'skip-alone' : readVerdict(error);
}
