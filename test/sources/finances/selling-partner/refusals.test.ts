import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../../src/core/errors.js';
import { WebPage, type ApiRefusal } from '../../../../src/engine/retry/api-refusal.js';
import { causeRules, type Cause } from '../../../../src/engine/retry/causes.js';
import { ReadFailure } from '../../../../src/engine/retry/read-failure.js';
import { causeOf } from '../../../../src/engine/retry/retry-policy.js';
import { transportFailure } from '../../../../src/engine/http/transport-failure.js';
import { eventOperations, type EventOperationName } from '../../../../src/sources/finances/api-v0/operations.js';
import { financesV0 } from '../../../../src/sources/finances/api-v0/finances-api.js';

interface Told {
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
  readonly details?: string;
  readonly operation?: EventOperationName;
  readonly hadCursor?: boolean;
  readonly body?: string;
  readonly signedIn?: boolean;
}

const api = financesV0.paged({ endpoint: 'http://127.0.0.1', quota: undefined, cursorLifeMs: 180_000 });

function refusal({ status = 400, code = 'InvalidInput', message = '', details = '', ...more }: Told): ApiRefusal {
  const { operation = 'ListFinancialEvents', hadCursor = true, signedIn = false } = more;
  const body = Buffer.from(more.body ?? JSON.stringify({ errors: [{ code, message, details }] }));
  const rest = { headers: new Map<string, string>(), path: '/finances', requestId: undefined, skewMs: undefined };
  return api.refusal({ operation, parameters: {} }, { status, body, hadCursor, signedIn, receivedAt: 0, ...rest });
}

const first = { hadCursor: false };

describe('the cause of a refusal', () => {
  test.each<[Cause, Told]>([
    ['throttled', { status: 429, code: 'QuotaExceeded' }],
    ['throttled', { status: 429, body: '<html>' }],
    ['throttled', { status: 503, code: 'QuotaExceeded' }],
    ['throttled', { status: 400, code: 'RequestThrottled' }],
    ['fault', { status: 500, code: 'InternalFailure' }],
    ['fault', { status: 502, body: '<html>' }],
    ['fault', { status: 503, body: '' }],
    ['fault', { status: 504, body: 'upstream timed out' }],
    ['fault', { status: 408 }],
    ['not-the-api', { status: 404, body: '<!DOCTYPE html>' }],
    ['not-the-api', { status: 403, body: ' <html>' }],
    ['not-the-api', { status: 302, body: '' }],
    ['cursor-expired', { message: 'Token is not valid, token duration is 25 minutes.' }],
    ['cursor-expired', { message: 'Token is not valid, token duration is 3 minutes.' }],
    ['cursor-expired', { message: 'Invalid input', details: 'NextToken has expired' }],
    ['invalid', { message: 'Token is not valid, token duration is 25 minutes.', ...first }],
    ['bound-too-late', { message: 'PostedBefore should be no later than 2 minutes from now.', ...first }],
    ['bound-too-late', { message: 'Date range is invalid. PostedAfter is in the future', ...first }],
    ['too-large', { message: 'The response is too large.' }],
    ['too-large', { message: 'Response size exceeds 10 MB' }],
    ['too-large', { message: 'Invalid Input', details: 'Too large page, please reduce MaxResultsPerPage' }],
    ['too-large', { status: 413, body: '' }],
    ['window-too-long', { message: 'The date range is too large', ...first }],
    ['window-too-long', { message: 'The window between the dates must be at most 14 days', ...first }],
    ['window-too-long', { message: 'Request exceeds the maximum time range of 14 days', ...first }],
    ['invalid', { message: 'Invalid Input' }],
    ['invalid', { message: 'Request was not valid or data requested exceeds data retention period.' }],
    ['invalid', { body: '{"errors":[]}' }],
    ['invalid', { body: 'Bad Request' }],
    ['mistake', { message: 'MaxResultsPerPage must be a whole number from 1 to 100.' }],
    ['mistake', { message: 'PostedBefore must be later than PostedAfter.', ...first }],
    ['mistake', { message: 'ListFinancialEvents has no parameter postedAfter; it has …', ...first }],
    ['mistake', { status: 405, code: 'MethodNotAllowed' }],
    ['mistake', { status: 404, code: 'ResourceNotFound' }],
    ['unknown-subject', { status: 404, code: 'ResourceNotFound', operation: 'ListFinancialEventsByGroupId' }],
    ['access-expired', { status: 403, message: 'The access token you provided has expired.', signedIn: true }],
    ['access-refused', { status: 403, message: 'Access to requested resource is denied.', signedIn: true }],
    ['denied', { status: 403, message: 'The access token you provided has expired.' }],
    ['access-refused', { status: 401, signedIn: true }],
    ['denied', { status: 403, message: 'Access to requested resource is denied.' }],
  ])('%s: %j', (cause, told) => {
    expect(causeOf(refusal(told))).toBe(cause);
  });
});

test.each<[Cause, unknown]>([
  ['not-the-api', new WebPage('ListFinancialEvents', Buffer.from('<html>'), '--endpoint')],
  ['fault', new LedgerlakeError('JSON_SYNTAX', 'expected a value')],
  ['fault', new LedgerlakeError('UPSTREAM_BODY', 'expected a payload')],
  ...['ECONNRESET', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'].map(
    (code): [Cause, unknown] => ['fault', unreachable(code)],
  ),
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].map((code): [Cause, unknown] => [
    'no-connection',
    unreachable(code),
  ]),
  ...[
    'CERT_HAS_EXPIRED',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ].map((code): [Cause, unknown] => ['certificate', unreachable(code)]),
  ['other', new LedgerlakeError('STOPPED', 'enough')],
  ['other', new LedgerlakeError('USAGE', 'no such parameter')],
  ['other', new TypeError('a fault of ours')],
  ['other', undefined],
])('%s: %s', (cause, error) => {
  expect(causeOf(error)).toBe(cause);
});

function unreachable(code: string): LedgerlakeError {
  return transportFailure(Object.assign(new Error(code), { code }), {
    origin: 'http://127.0.0.1:1',
    path: '/',
    method: 'GET',
    addressOf: '--endpoint',
  });
}

test('every answer and everything that can be thrown has a cause, and every cause a rule', () => {
  const names = Object.keys(eventOperations) as EventOperationName[];
  const text = fc.oneof(fc.string(), fc.constantFrom('token', 'page too large', 'range', 'must', 'PostedAfter', '\n'));
  const told = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    code: fc.oneof(text, fc.constantFrom('InvalidInput', 'QuotaExceeded')),
    message: fc.array(text).map((words) => words.join(' ')),
    details: text,
    operation: fc.constantFrom(...names),
    hadCursor: fc.boolean(),
    signedIn: fc.boolean(),
  });
  const body = fc.oneof(fc.string(), fc.json());
  const error = fc.oneof(
    told.map(refusal),
    fc.tuple(told, body).map(([one, of]) => refusal({ ...one, body: of })),
    fc.string().map((code) => unreachable(code)),
    fc.anything(),
  );
  fc.assert(
    fc.property(error, (thrown) => {
      const cause = causeOf(thrown);
      if (cause === 'other') return;
      const { failure = cause, slice } = causeRules[cause];
      const { endsRun } = new ReadFailure(failure, 'UPSTREAM_STATUS', '');
      expect(endsRun).toBe(['denied', 'unreachable', 'mistake'].includes(failure));
      expect(causeRules[failure].slice).toBe(slice);
    }),
    { numRuns: 1000 },
  );
});
