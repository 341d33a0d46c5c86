import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createFinancesClient,
  type FinancesClient,
  type FinancesClientOptions,
} from '../../../src/engine/paging/api-client.js';
import { operations, type OperationName } from '../../../src/sources/finances/api-v0/operations.js';
import { followUp, requestPath, type ParametersOf } from '../../../src/sources/finances/api-v0/request-path.js';
import { createTransport } from '../../../src/engine/http/transport.js';
import { TokenBucket } from '../../../src/engine/rate-limit/token-bucket.js';
import { RequestQueue } from '../../../src/engine/rate-limit/request-queue.js';
import { HandClock } from '../../core/clock.js';
import { recordingServer, type RecordingServer } from '../http/recording-server.js';

const day = Date.parse('2025-03-04T00:00:00Z');

function client(endpoint: string | URL, options: Partial<FinancesClientOptions> = {}): FinancesClient {
  const transport = createTransport();
  onTestFinished(() => transport.close());
  return createFinancesClient({ endpoint, transport, ...options });
}

function emptyPages(): Promise<RecordingServer> {
  return recordingServer((_, response) => response.end('{"payload":{}}'));
}

describe('requests', () => {
  test('the four operations ask for what the specification says', async () => {
    const server = await emptyPages();
    const service = client(server.origin);
    await service.listFinancialEventGroups({
      MaxResultsPerPage: 100,
      FinancialEventGroupStartedBefore: day + 1,
      FinancialEventGroupStartedAfter: day,
    });
    await service.listFinancialEvents({ PostedAfter: day, PostedBefore: day + 86_400_000, NextToken: undefined });
    await service.listFinancialEventsByGroupId({ eventGroupId: 'abc', MaxResultsPerPage: 10 });
    await service.listFinancialEventsByOrderId({ orderId: '902-1845936-5435065', NextToken: 't' });
    await service.listFinancialEvents({});
    expect(server.requests.map(({ method, url }) => `${method ?? ''} ${url}`)).toEqual([
      'GET /finances/v0/financialEventGroups?MaxResultsPerPage=100&FinancialEventGroupStartedBefore=2025-03-04T00%3A00%3A00.001Z&FinancialEventGroupStartedAfter=2025-03-04T00%3A00%3A00.000Z',
      'GET /finances/v0/financialEvents?PostedAfter=2025-03-04T00%3A00%3A00.000Z&PostedBefore=2025-03-05T00%3A00%3A00.000Z',
      'GET /finances/v0/financialEventGroups/abc/financialEvents?MaxResultsPerPage=10',
      'GET /finances/v0/orders/902-1845936-5435065/financialEvents?NextToken=t',
      'GET /finances/v0/financialEvents',
    ]);
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' });
      expect(headers).not.toHaveProperty('authorization');
    }
    expect(server.connections).toBe(1);
  });

  test.each(['', '/', '/gateway/spapi', '/gateway/spapi/'])('a base address may end in %j', async (prefix) => {
    const server = await emptyPages();
    await client(new URL(prefix, server.origin)).listFinancialEvents({});
    expect(server.requests[0]?.url).toBe(`${prefix.replace(/\/$/, '')}/finances/v0/financialEvents`);
  });

  test('user and password of the address are sent as basic authorization', async () => {
    const server = await emptyPages();
    await client(server.origin.replace('//', '//us%40er:pass%3Aword@')).listFinancialEvents({});
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
    await client(server.origin).listFinancialEventsByGroupId({ eventGroupId: 'a/b?c#d e%2F+é$&{orderId}' });
    expect(server.requests[0]?.url).toBe(
      '/finances/v0/financialEventGroups/a%2Fb%3Fc%23d%20e%252F%2B%C3%A9%24%26%7BorderId%7D/financialEvents',
    );
  });
});

describe('what can not be sent', () => {
  test.each([
    ['listFinancialEventsByGroupId', 'eventGroupId', {}],
    ['listFinancialEventsByGroupId', 'eventGroupId', { eventGroupId: '' }],
    ['listFinancialEventsByGroupId', 'eventGroupId', { eventGroupId: undefined }],
    ['listFinancialEventsByGroupId', 'eventGroupId', { eventGroupId: null }],
    ['listFinancialEventsByGroupId', 'eventGroupId', undefined],
    ['listFinancialEventsByOrderId', 'orderId', { eventGroupId: 'x' }],
    ['listFinancialEventsByOrderId', 'orderId', { orderId: '' }],
  ] as const)('%s without %s (%j) fails with status 400 before anything is sent', async (method, name, parameters) => {
    const server = await emptyPages();
    const call = client(server.origin)[method] as (given: unknown) => Promise<unknown>;
    await expect(call(parameters)).rejects.toMatchObject({
      code: 'MISSING_PARAMETER',
      status: 400,
      exitCode: 2,
      message: expect.stringContaining(`the required parameter ${name} is missing`) as string,
    });
    expect([server.requests.length, server.connections]).toEqual([0, 0]);
  });

  test.each<[OperationName, ParametersOf<'ListFinancialEvents'> | Record<string, string | number>, string]>([
    ['ListFinancialEventsByGroupId', { eventGroupId: '..' }, 'Expected eventGroupId to be an event group id, got `..`'],
    [
      'ListFinancialEventsByGroupId',
      { eventGroupId: '\ud800' },
      'Expected eventGroupId to be text that can be encoded',
    ],
    ['ListFinancialEvents', { NextToken: 'a\udfff' }, 'Expected NextToken to be text that can be encoded'],
    ['ListFinancialEvents', { PostedAfter: NaN }, 'Expected PostedAfter to be an instant in whole milliseconds'],
    ['ListFinancialEvents', { PostedAfter: 1e17 }, 'Expected PostedAfter to be an instant in whole milliseconds'],
    ['ListFinancialEvents', { PostedAfter: '2025-01-01' }, 'got `2025-01-01` (string)'],
    ['ListFinancialEvents', { MaxResultsPerPage: 0 }, 'Expected MaxResultsPerPage to be a whole number from 1 and up'],
    ['ListFinancialEvents', { MaxResultsPerPage: 2.5 }, 'got `2.5` (number)'],
    ['ListFinancialEvents', { postedAfter: 1 }, 'Expected a parameter that ListFinancialEvents has, got `postedAfter`'],
    ['ListFinancialEventGroups', { PostedAfter: 1 }, 'has, got `PostedAfter`: names are case-sensitive'],
  ])('%s refuses %j before anything is sent', async (name, parameters, message) => {
    const server = await emptyPages();
    await expect(client(server.origin).request(name, { ...parameters })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(message) as string,
    });
    expect(server.requests).toEqual([]);
  });

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
  test('the body comes byte for byte, with the id of the request and the rate', async () => {
    const body = Buffer.from('\ufeff {"payload":{"a": 7E1, "é": "\\u00e9"}}\n');
    const server = await recordingServer((_, response) =>
      response.writeHead(200, { 'x-amzn-RequestId': 'id-1', 'x-amzn-RateLimit-Limit': '0.25' }).end(body),
    );
    const answer = await client(server.origin).listFinancialEvents({});
    expect({ ...answer, body: Buffer.from(answer.body) }).toEqual({
      status: 200,
      body,
      requestId: 'id-1',
      rateLimit: 0.25,
    });
  });

  test.each(['', '0', '-1', 'NaN', 'Infinity', 'half'])('a rate of %j is no rate', async (value) => {
    const server = await recordingServer((_, response) =>
      response.writeHead(200, { 'x-amzn-RateLimit-Limit': value }).end('{}'),
    );
    const { rateLimit, requestId } = await client(server.origin).listFinancialEvents({});
    expect([rateLimit, requestId]).toEqual([undefined, undefined]);
  });
});

describe('quota', () => {
  const clock = new HandClock(day);

  function quota(rate: number): {
    buckets: Record<OperationName, TokenBucket>;
    queues: Record<OperationName, RequestQueue>;
  } {
    const names = Object.keys(operations) as OperationName[];
    const buckets = Object.fromEntries(
      names.map((name) => [name, new TokenBucket({ rate, burst: 3, clock })]),
    ) as Record<OperationName, TokenBucket>;
    const queues = Object.fromEntries(
      names.map((name) => [name, new RequestQueue({ bucket: buckets[name], concurrency: 2 })]),
    ) as Record<OperationName, RequestQueue>;
    return { buckets, queues };
  }

  test('each request takes a token of its operation, a refused one too, and one that is never sent takes none', async () => {
    const server = await recordingServer((_, response, number) =>
      response.writeHead(number === 2 ? 500 : 200, { 'x-amzn-RateLimit-Limit': '2' }).end('{}'),
    );
    const { buckets, queues } = quota(0.5);
    const service = client(server.origin, { queues });
    await service.listFinancialEvents({});
    await expect(service.listFinancialEvents({})).rejects.toThrow('status 500');
    await expect(service.listFinancialEventsByOrderId({ orderId: '' })).rejects.toThrow('orderId');
    expect(buckets.ListFinancialEvents.level()).toBe(1);
    expect(buckets.ListFinancialEventsByOrderId.level()).toBe(3);

    // The rate that the service named holds: half a second a token instead of two.
    await service.listFinancialEvents({});
    expect(buckets.ListFinancialEvents.nextTokenAt() - clock.now()).toBe(500);
  });

  test('a request that waits for its token can be aborted', async () => {
    const server = await emptyPages();
    const service = client(server.origin, { queues: quota(0.5).queues });
    for (let n = 0; n < 3; n++) await service.listFinancialEvents({});
    const stop = new AbortController();
    const waiting = service.listFinancialEvents({}, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(server.requests).toHaveLength(3);
  });
});

test('the next page is asked for by its token, with the path and the size of page of the first request', () => {
  expect(
    followUp('ListFinancialEvents', { PostedAfter: day, PostedBefore: day + 1, MaxResultsPerPage: 50 }, 't'),
  ).toEqual({ MaxResultsPerPage: 50, NextToken: 't' });
  expect(followUp('ListFinancialEventsByGroupId', { eventGroupId: 'g', NextToken: 'before' }, 't')).toEqual({
    eventGroupId: 'g',
    NextToken: 't',
  });
});
