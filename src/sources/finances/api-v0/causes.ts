import type { Cause } from '../../../engine/retry/cause.js';
import { transportCause } from '../../../engine/retry/transport-cause.js';
import { operations, type Operation } from './operations.js';
import { UpstreamRefusal, WebPage } from './refusals.js';

/** The cause of anything that an attempt can throw. Never throws. */
export function causeOf(error: unknown): Cause {
  if (error instanceof UpstreamRefusal) return causeOfRefusal(error);
  if (error instanceof WebPage) return 'stranger';
  return transportCause(error);
}

function causeOfRefusal(refusal: UpstreamRefusal): Cause {
  const { isWebPage, reason, status = 0 } = refusal;
  // A limit is told with 503 and 400 too.
  if (status === 429 || /^(QuotaExceeded|RequestThrottled|Throttl\w*)$/.test(reason?.code ?? '')) return 'throttled';
  if (status >= 500 || status === 408) return 'fault';
  if (isWebPage || status < 400) return 'stranger';
  if (status === 401 || status === 403) return causeOfDenial(refusal);
  const operation: Operation = operations[refusal.operation];
  if (status === 404) return operation.pathParameter === undefined ? 'mistake' : 'unknown-subject';
  if (status === 413) return 'too-large';
  return status === 400 ? causeOfInvalid(refusal, operation) : 'mistake';
}

function causeOfDenial({ signedIn, reason }: UpstreamRefusal): Cause {
  if (!signedIn) return 'denied';
  return /\bexpired\b/i.test(`${reason?.message ?? ''} ${reason?.details ?? ''}`) ? 'access-expired' : 'access-refused';
}

const span = 'date range|time range|range|window|span|period|interval';
/** `data requested exceeds data retention period` is what the live service says whatever it means. */
const vague = /\bnot valid or data requested exceeds data retention period\b/;
const tooMuch = 'too (?:long|large|wide|big)|exceed|longer than|larger than|greater than|more than|at most|maximum';

/** What tells the meanings of `InvalidInput` apart: the first that fits counts, so their order does too. */
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

function causeOfInvalid({ hadNextToken, reason }: UpstreamRefusal, operation: Operation): Cause {
  if (reason === undefined) return 'invalid';
  const text = `${reason.message} ${reason.details ?? ''}`;
  const plain = text.toLowerCase();
  // A request without a NextToken can't be refused for one, and one with it has no dates to be refused for.
  if (hadNextToken && plain.includes('token')) return 'token-expired';
  if (vague.test(plain)) return 'invalid';
  const [meaning] = meanings.find(([, pattern]) => pattern.test(plain)) ?? [];
  if (meaning !== undefined && !(hadNextToken && meaning === 'bound-too-late')) return meaning;
  return namesBrokenRule(text, operation) ? 'mistake' : 'invalid';
}

/** Whether a text says of one of the operation's parameters what it must be, or that it isn't one. */
function namesBrokenRule(text: string, { name, pathParameter, range }: Operation): boolean {
  const parameters = ['MaxResultsPerPage', 'NextToken', pathParameter?.name, range?.after, range?.before];
  if (text.includes(name) && /\bhas no parameter\b/.test(text)) return true;
  if (!/\b(must|required|missing|malformed|more than once|has no value)\b/i.test(text)) return false;
  return parameters.some((parameter) => parameter !== undefined && text.includes(parameter));
}
