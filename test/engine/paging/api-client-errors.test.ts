import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiClient, type ApiClientOptions } from '../../../src/engine/paging/api-client.js';
import { createTransport } from '../../../src/engine/http/transport.js';
import { ApiRefusal } from '../../../src/engine/retry/api-refusal.js';
import { financesV0 } from '../../../src/sources/finances/api-v0/finances-api.js';
import type { CountedPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import type { EventQuery } from '../../../src/sources/finances/api-v0/request-path.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer } from '../http/recording-server.js';

/** Sends one request for each call. */
function sender(endpoint: string, options: Partial<ApiClientOptions<EventQuery, CountedPage>> = {}) {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const api = financesV0.paged({ endpoint, quota: undefined, cursorLifeMs: 180_000 });
  const client = new ApiClient({ api, transport, clock: new HandClock('2025-03-04T00:00:00Z'), ...options });
  const signal = new AbortController().signal;
  const group = { operation: 'ListFinancialEventsByGroupId', parameters: { eventGroupId: 'g 1' } } as const;
  return (query: EventQuery = group, cursor?: string) =>
    client.send(query, { cursor, pageSize: 100 }, { signal, priority: 0 });
}

const events = (before: number): EventQuery => ({
  operation: 'ListFinancialEvents',
  parameters: { PostedAfter: 0, PostedBefore: before },
});

/** What a call fails with when the service answers like this. */
async function failure(status: number, body: string, headers: Record<string, string> = {}): Promise<unknown> {
  const server = await recordingServer((_, response) => response.writeHead(status, headers).end(body));
  return sender(`${server.origin}/prefix`)(undefined, 't').then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

async function refusal(...answer: Parameters<typeof failure>): Promise<ApiRefusal> {
  const error = await failure(...answer);
  if (!(error instanceof ApiRefusal)) throw new Error(`expected an ApiRefusal, got ${String(error)}`);
  return error;
}

const errors = (...list: unknown[]): string => JSON.stringify({ errors: list });

describe('an error of the service', () => {
  test('is told with its code, message and details, the operation and what to do', async () => {
    const body = errors(
      { code: 'InvalidInput', message: 'Token is not valid.', details: 'token duration is 25 minutes' },
      { code: 'Other', message: 'second' },
    );
    const error = await refusal(400, body, { 'x-amzn-RequestId': 'id-7', 'x-amzn-RateLimit-Limit': '0.5' });
    expect(error.message).toBe(
      'ListFinancialEventsByGroupId got status 400: InvalidInput: Token is not valid. (token duration is 25 minutes). ' +
        'Check the request; the service also answers transient faults like this.',
    );
    expect(error).toMatchObject({
      code: 'UPSTREAM_STATUS',
      status: 400,
      retryable: true,
      refusalCause: 'cursor-expired',
      requestId: 'id-7',
      retryAfterMs: undefined,
    });
    expect(error.details).toBe(
      `GET /prefix/finances/v0/financialEventGroups/g%201/financialEvents?MaxResultsPerPage=100&NextToken=t\nrequest id: id-7\n${body}`,
    );
  });

  test.each([
    [401, "Check the account's credentials"],
    [403, 'the application lacks the role Finance and Accounting'],
    [404, 'Check the requested id'],
    [429, 'or at a lower rate'],
    [500, 'try again later'],
    [503, 'try again later'],
    [302, 'check the endpoint'],
    [201, 'check the endpoint'],
  ])('of status %d says: %s', async (status, todo) => {
    const error = await refusal(status, errors({ code: 'SomeCode', message: 'some message' }), { 'retry-after': '3' });
    expect(error.status).toBe(status);
    expect(error.message).toContain(`got status ${status}: SomeCode: some message. `);
    expect(error.message).toContain(todo);
    expect(error.retryAfterMs).toBe(3000);
  });

  test.each([
    ['{"errors":[{"code":"OnlyCode"}]}', 'OnlyCode: no message. '],
    ['{"errors":[{"message":"only message"}]}', 'no code: only message. '],
    ['{"errors":[{"code":"C","message":"m","details":""}]}', 'C: m. '],
    ['{"errors":[]}', 'expected an error as JSON, got: {"errors":[]}'],
    ['{"errors":{"code":"C"}}', 'got: {"errors":{"code":"C"}}'],
    ['{"message":"Forbidden"}', 'got: {"message":"Forbidden"}'],
    ['null', 'got: null'],
    ['', 'got an empty body'],
    ['upstream connect\n\terror\u001b[31m', 'got: upstream connect error [31m'],
  ])('with the body %j is still told', async (body, message) => {
    expect((await refusal(500, body)).message).toContain(
      `got status 500: ${message.startsWith('got') ? 'expected an error as JSON, ' : ''}${message}`,
    );
  });

  test('is one line, however long, and keeps the first 2 kB for those who look closer', async () => {
    const error = await refusal(500, errors({ code: 'C', message: 'line\n'.repeat(2000) }));
    expect(error.message).not.toContain('\n');
    expect(error.message.length).toBeLessThan(700);
    expect(error.details?.split('\n').slice(2).join('\n')).toHaveLength(2048);
  });
});

describe('a web page', () => {
  const page = '<!DOCTYPE html>\n<html><body>Please log in</body></html>';

  test('instead of an error is told as one', async () => {
    const error = await refusal(502, page, { 'content-type': 'text/html' });
    expect(error.message).toContain(
      'expected an error as JSON, got a web page (HTML): <!DOCTYPE html> <html><body>Please',
    );
    expect(error.isWebPage).toBe(true);
  });

  test('with status 200 is no answer', async () => {
    expect(await failure(200, `\n ${page}`)).toMatchObject({
      code: 'UPSTREAM_BODY',
      status: 200,
      message: expect.stringMatching(
        /^expected JSON from ListFinancialEventsByGroupId, got a web page.*check the endpoint/,
      ) as string,
    });
  });
});

test.each([
  ['Tue, 04 Mar 2025 00:05:00 GMT', 300_000],
  ['Mon, 03 Mar 2025 23:59:30 GMT', -30_000],
  ['yesterday', 0],
])('how far its clock is ahead is read off every refusal: %s', async (date, skewMs) => {
  const server = await recordingServer((_, response) => {
    const body = errors({ code: 'InvalidInput', message: 'PostedBefore should be no later than 2 minutes from now.' });
    response.writeHead(400, { date }).end(body);
  });
  const now = Date.parse('2025-03-04T00:00:00Z');
  // A bound that is fine in half an hour by our clock.
  const waitMs = 30 * 60_000;
  const sent = sender(server.origin)(events(now + waitMs - 122_000));
  await expect(sent).rejects.toMatchObject({ refusalCause: 'bound-too-late', leastPauseMs: waitMs - skewMs });
});

test('a service that is not there is named without user and password', async () => {
  // Port 1 is reserved and nobody listens there.
  const error = await sender('http://user:secret@127.0.0.1:1/base')().catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    message: expect.stringContaining('127.0.0.1:1') as string,
  });
  const { message, details } = error as ApiRefusal;
  expect(`${message} ${details ?? ''}`).not.toMatch(/secret|user:|c2VjcmV0/);
});

test('what a service quotes of a sign-in, in whatever way, is in no error', async () => {
  const token = 'Atza|hidden/well+enough=0451';
  const writings = [
    token,
    encodeURIComponent(token),
    Buffer.from(`x-amz-access-token: ${token}`).toString('base64'),
    JSON.stringify(token).replaceAll('/', '\\/').slice(1, -1),
    token.replaceAll('|', '\\u007c'),
    Buffer.from(token).toString('hex'),
  ];
  const server = await recordingServer((_, response, number) => {
    const written = writings[(number - 1) % writings.length] ?? '';
    const body = `{"errors":[{"code":"InvalidInput","message":"No: ${written}.","details":"${written}"}]}`;
    response.writeHead(400, { 'x-amzn-RequestId': `id ${written}`, 'retry-after': written }).end(body);
  });
  const send = sender(server.origin, {
    accessTokens: { current: () => Promise.resolve(token), isCurrent: () => true, refused: () => undefined },
  });
  for (const written of writings) {
    const error = await send().catch((reason: unknown) => reason);
    if (!(error instanceof ApiRefusal)) throw new Error(`expected an ApiRefusal, got ${String(error)}`);
    const { message, details = '', requestId = '' } = error;
    const texts = [message, details, requestId, JSON.stringify(error)];
    for (const text of texts) {
      expect(text).not.toContain(written.slice(-20, -6));
      expect(text).not.toContain('hidden');
    }
    // Of base64, what stands before it stays.
    expect(message).toMatch(/No: \w*\[secret\]/);
  }
});

test.each(['http://user:secret@host.example', 'http://user:secret@10.0.0.1:8080/p'])(
  'a password is not sent in the clear: %s',
  (endpoint) => {
    const made = (): unknown => sender(endpoint);
    expect(made).toThrow(/^expected an endpoint with a user and a password to begin with https:/);
    expect(made).not.toThrow(/secret/);
  },
);
