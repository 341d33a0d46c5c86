import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiClient, type ApiClientOptions } from '../../../src/engine/paging/api-client.js';
import { createTransport } from '../../../src/engine/http/transport.js';
import { RequestQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { financesV0 } from '../../../src/sources/finances/api-v0/finances-api.js';
import type { CountedPage } from '../../../src/sources/finances/api-v0/finances-page.js';
import { eventOperations, type EventOperationName } from '../../../src/sources/finances/api-v0/operations.js';
import {
  requestPath,
  type EventQuery,
  type RequestParameters,
} from '../../../src/sources/finances/api-v0/request-path.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer, type RecordingServer } from '../http/recording-server.js';

const day = Date.parse('2025-03-04T00:00:00Z');
const noSignal = new AbortController().signal;

interface Place {
  readonly cursor?: string;
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
}

/** Sends one request for each call. */
function client(endpoint: string | URL, options: Partial<ApiClientOptions<EventQuery, CountedPage>> = {}) {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const api = financesV0.paged({ endpoint, quota: undefined, cursorLifeMs: 180_000 });
  const sender = new ApiClient({ api, transport, clock: new HandClock(day), ...options });
  return (operation: EventOperationName, parameters: RequestParameters = {}, place: Place = {}) => {
    const { cursor, pageSize = 100, signal = noSignal } = place;
    return sender.send({ operation, parameters }, { cursor, pageSize }, { signal, priority: 0 });
  };
}

function emptyPages(): Promise<RecordingServer> {
  return recordingServer((_, response) => response.end('{"payload":{}}'));
}

describe('requests', () => {
  test('the four operations ask for what the specification says', async () => {
    const server = await emptyPages();
    const send = client(server.origin);
    const range = { FinancialEventGroupStartedAfter: day, FinancialEventGroupStartedBefore: day + 1 };
    const dates = { PostedAfter: day, PostedBefore: day + 86_400_000 };
    await send('ListFinancialEventGroups', range);
    await send('ListFinancialEvents', dates);
    await send('ListFinancialEvents', dates, { cursor: 't', pageSize: 50 });
    await send('ListFinancialEventsByGroupId', { eventGroupId: 'abc' }, { pageSize: 10 });
    await send('ListFinancialEventsByOrderId', { orderId: '902-1845936-5435065' }, { cursor: 't' });
    await send('ListFinancialEvents', { PostedBefore: undefined });
    expect(server.requests.map(({ method, url }) => `${method ?? ''} ${url}`)).toEqual([
      'GET /finances/v0/financialEventGroups?FinancialEventGroupStartedAfter=2025-03-04T00%3A00%3A00.000Z&FinancialEventGroupStartedBefore=2025-03-04T00%3A00%3A00.001Z&MaxResultsPerPage=100',
      'GET /finances/v0/financialEvents?PostedAfter=2025-03-04T00%3A00%3A00.000Z&PostedBefore=2025-03-05T00%3A00%3A00.000Z&MaxResultsPerPage=100',
      'GET /finances/v0/financialEvents?MaxResultsPerPage=50&NextToken=t',
      'GET /finances/v0/financialEventGroups/abc/financialEvents?MaxResultsPerPage=10',
      'GET /finances/v0/orders/902-1845936-5435065/financialEvents?MaxResultsPerPage=100&NextToken=t',
      'GET /finances/v0/financialEvents?MaxResultsPerPage=100',
    ]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' });
      expect(headers).not.toHaveProperty('authorization');
    }
    expect(server.connections).toBe(1);
  });

  test.each(['', '/', '/gateway/spapi', '/gateway/spapi/'])('a base address may end in %j', async (prefix) => {
    const server = await emptyPages();
    await client(new URL(prefix, server.origin))('ListFinancialEvents');
    expect(server.requests[0]?.url).toBe(
      `${prefix.replace(/\/$/, '')}/finances/v0/financialEvents?MaxResultsPerPage=100`,
    );
  });

  test('user and password of the address are sent as basic authorization', async () => {
    const server = await emptyPages();
    await client(server.origin.replace('//', '//us%40er:pass%3Aword@'))('ListFinancialEvents');
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('us@er:pass:word')}`);
  });

  test('any id and any token arrive as they are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id !== '.' && id !== '..'),
        fc.string({ unit: 'binary', minLength: 1 }),
        (eventGroupId, NextToken) => {
          const path = requestPath('ListFinancialEventsByGroupId', { eventGroupId, NextToken });
          // The way of a server: routes are matched on the path as it came, its parts decoded afterwards.
          const url = new URL(path, 'http://host');
          const segments = url.pathname.split('/').map(decodeURIComponent);
          expect(segments).toEqual(['', 'finances', 'v0', 'financialEventGroups', eventGroupId, 'financialEvents']);
          expect([...url.searchParams]).toEqual([['NextToken', NextToken]]);
        },
      ),
    );
  });

  test('an odd id goes over the wire encoded', async () => {
    const server = await emptyPages();
    await client(server.origin)('ListFinancialEventsByGroupId', { eventGroupId: 'a/b?c#d e%2F+é$&{orderId}' });
    expect(server.requests[0]?.url).toBe(
      '/finances/v0/financialEventGroups/a%2Fb%3Fc%23d%20e%252F%2B%C3%A9%24%26%7BorderId%7D/financialEvents?MaxResultsPerPage=100',
    );
  });
});

describe('what can not be sent', () => {
  test.each<[EventOperationName, string, RequestParameters]>([
    ['ListFinancialEventsByGroupId', 'eventGroupId', {}],
    ['ListFinancialEventsByGroupId', 'eventGroupId', { eventGroupId: '' }],
    ['ListFinancialEventsByGroupId', 'eventGroupId', { eventGroupId: undefined }],
    ['ListFinancialEventsByOrderId', 'orderId', { eventGroupId: 'x' }],
    ['ListFinancialEventsByOrderId', 'orderId', { orderId: '' }],
  ])('%s without %s (%j) fails with status 400 before anything is sent', async (operation, name, parameters) => {
    const server = await emptyPages();
    const sent = client(server.origin)(operation, parameters);
    await expect(sent).rejects.toMatchObject({
      code: 'MISSING_PARAMETER',
      status: 400,
      exitCode: 2,
      message: expect.stringContaining(`the required parameter ${name} is missing`) as string,
    });
    expect([server.requests.length, server.connections]).toEqual([0, 0]);
  });

  test.each<[EventOperationName, RequestParameters, string]>([
    ['ListFinancialEventsByGroupId', { eventGroupId: '..' }, 'expected eventGroupId to be an event group id, got `..`'],
    [
      'ListFinancialEventsByGroupId',
      { eventGroupId: '\ud800' },
      'expected eventGroupId to be text that can be encoded',
    ],
  ])('%s refuses %j before anything is sent', async (name, parameters, message) => {
    const server = await emptyPages();
    await expect(client(server.origin)(name, parameters)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(message) as string,
    });
    expect(server.requests).toEqual([]);
  });

  test.each<[Place, string]>([[{ cursor: 'a\udfff' }, 'expected NextToken to be text that can be encoded']])(
    'a page at %j is refused before anything is sent',
    async (place, message) => {
      const server = await emptyPages();
      await expect(client(server.origin)('ListFinancialEvents', {}, place)).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining(message) as string,
      });
      expect(server.requests).toEqual([]);
    },
  );

  test.each([
    'not a url',
    'ftp://host',
    'http://host/?a=1',
    'http://host/#a',
    'http://us:secret@host/?a',
    'http://us:secret@ho st',
    'http://us:secret%zz@host',
  ])('the endpoint %j is refused, without its password', (endpoint) => {
    const refusal = (): unknown => client(endpoint);
    expect(refusal).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
    expect(refusal).not.toThrow(/secret/);
  });
});

describe('answers', () => {
  test('the body comes byte for byte, with the page that it is and the id of the request', async () => {
    const body = Buffer.from(' {"payload":{"a": 7E1, "é": "\\u00e9"}}\n');
    const server = await recordingServer((_, response) =>
      response.writeHead(200, { 'x-amzn-RequestId': 'id-1', 'x-amzn-RateLimit-Limit': '0.25' }).end(body),
    );
    const { body: received, page, requestId } = await client(server.origin)('ListFinancialEvents');
    expect([Buffer.from(received), requestId, page.results]).toEqual([body, 'id-1', 0]);
  });
});

describe('quota', () => {
  const clock = new HandClock(day);

  function quota(rate: number) {
    const buckets = new Map(
      Object.keys(eventOperations).map((name) => [name, new TokenBucket({ rate, burst: 3, clock })]),
    );
    const queues = new Map([...buckets].map(([name, bucket]) => [name, new RequestQueue({ bucket, concurrency: 2 })]));
    const queueOf = (name: string): RequestQueue => queues.get(name) ?? new RequestQueue({ concurrency: 1 });
    return { buckets, queueOf };
  }

  test.each(['', '0', '-1', 'NaN', 'Infinity', 'half'])('a rate of %j is no rate', async (value) => {
    const server = await recordingServer((_, response) =>
      response.writeHead(200, { 'x-amzn-RateLimit-Limit': value }).end('{"payload":{}}'),
    );
    const { buckets, queueOf } = quota(0.5);
    await client(server.origin, { queueOf })('ListFinancialEvents');
    expect(buckets.get('ListFinancialEvents')?.rate).toBe(0.5);
  });

  test('each request takes a token of its operation, a refused one too, and one that is never sent takes none', async () => {
    const server = await recordingServer((_, response, number) =>
      response.writeHead(number === 2 ? 500 : 200, { 'x-amzn-RateLimit-Limit': '2' }).end('{"payload":{}}'),
    );
    const { buckets, queueOf } = quota(0.5);
    const send = client(server.origin, { queueOf });
    await send('ListFinancialEvents');
    await expect(send('ListFinancialEvents')).rejects.toThrow('status 500');
    await expect(send('ListFinancialEventsByOrderId', { orderId: '' })).rejects.toThrow('orderId');
    expect(buckets.get('ListFinancialEvents')?.level()).toBe(1);
    expect(buckets.get('ListFinancialEventsByOrderId')?.level()).toBe(3);

    // The rate that the service named holds: half a second a token instead of two.
    await send('ListFinancialEvents');
    expect((buckets.get('ListFinancialEvents')?.nextTokenAt() ?? 0) - clock.now()).toBe(500);
  });

  test('a request that waits for its token can be aborted', async () => {
    const server = await emptyPages();
    const send = client(server.origin, { queueOf: quota(0.5).queueOf });
    for (let n = 0; n < 3; n++) await send('ListFinancialEvents');
    const stop = new AbortController();
    const waiting = send('ListFinancialEvents', {}, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(server.requests).toHaveLength(3);
  });
});

test('a token of the quota is taken once the client has signed in', async () => {
  const server = await emptyPages();
  const clock = new HandClock(day);
  const bucket = new TokenBucket({ rate: 0.5, burst: 10, clock });
  const queue = new RequestQueue({ bucket, concurrency: 1 });
  const levels: number[] = [];
  const current = () => {
    levels.push(bucket.level());
    return Promise.resolve('its token');
  };
  const send = client(server.origin, {
    queueOf: () => queue,
    accessTokens: { current, isCurrent: () => true, refused: () => undefined },
  });
  await send('ListFinancialEvents');
  expect(levels[0]).toBe(10);
});

test('requests whose token expires while they wait in the queue sign in first, and keep to the quota behind it', async () => {
  const server = await emptyPages();
  const clock = new HandClock(day);
  const bucket = new TokenBucket({ rate: 0.5, burst: 2, clock });
  const queue = new RequestQueue({ bucket, concurrency: 20 });
  let signedIn: (token: string) => void = () => undefined;
  const signIn = new Promise<string>((resolve) => {
    signedIn = resolve;
  });
  let isValid = true;
  const send = client(server.origin, {
    queueOf: () => queue,
    accessTokens: {
      current: () => (isValid ? Promise.resolve('its token') : signIn),
      isCurrent: () => isValid,
      refused: () => undefined,
    },
  });
  const all = Array.from({ length: 8 }, () => send('ListFinancialEvents'));
  await expect.poll(() => server.requests.length).toBe(2);
  isValid = false;
  // The sign-in takes a minute, in which thirty tokens come.
  await clock.advance(60_000);
  expect(server.requests.length).toBe(2);
  isValid = true;
  signedIn('its next token');
  await expect.poll(() => server.requests.length).toBe(4);
  await clock.advance(2000);
  await expect.poll(() => server.requests.length).toBe(5);
  await clock.advance(6000);
  await Promise.all(all);
});
