import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { eventLists } from '../../../src/sources/finances/api-v0/event-records.js';
import { event, group } from './array-backend.js';
import { paths, startClient } from './client.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const order = '902-1845936-5435065';
const items = [
  group('2025-06-01T00:00:00Z', 'G1'),
  event('2025-06-02T00:00:00Z', 1, { group: 'G1', order }),
  event('2025-06-03T00:00:00Z', 2, { group: 'G1', order: '902-0000000-0000000' }),
  event('2025-06-04T00:00:00Z', 3, { group: 'a/b +ü', order }),
];

describe('the four operations', () => {
  test('groups', async () => {
    const { get } = await startClient(items);
    const reply = await get(paths.groups);
    expect(reply.status).toBe(200);
    expect(reply.text).toBe('{"payload":{"FinancialEventGroupList":[{"FinancialEventGroupId":"G1"}]}}');
  });

  test('events by date', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.events)).toMatchObject({ status: 200, ids: [1, 2, 3], token: undefined });
  });

  test('events of a group', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.ofGroup('G1'))).toMatchObject({ status: 200, ids: [1, 2] });
  });

  test('events of a group whose id needs encoding', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.ofGroup('a/b +ü'))).toMatchObject({ status: 200, ids: [3] });
  });

  test('events of an order', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.ofOrder(order))).toMatchObject({ status: 200, ids: [1, 3] });
  });

  test('a whole address as request target is the same resource', async () => {
    const { server } = await startClient(items);
    const status = await new Promise((resolve) => {
      request({ port: server.port, path: `http://example.com${paths.events}?MaxResultsPerPage=5` }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end();
    });
    expect(status).toBe(200);
  });
});

describe('the body of events', () => {
  test('has all 34 lists in the order of the model, most of them empty', async () => {
    const { get } = await startClient([event('2025-06-02T00:00:00Z', 1, { list: 'RefundEventList' })]);
    const { body } = await get(paths.events);
    const lists = body.payload?.FinancialEvents ?? {};
    expect(Object.keys(lists)).toEqual(Object.keys(eventLists));
    expect(Object.keys(lists)).toHaveLength(34);
    expect(Object.values(lists).filter((list) => list.length > 0)).toEqual([[{ id: 1 }]]);
  });

  test('appends lists that the model does not know', async () => {
    const unknown = ['PerformanceBondRefundEventList', '__proto__', 'Q"uoted'];
    const { get } = await startClient(unknown.map((list, index) => event('2025-06-02T00:00:00Z', index, { list })));
    const { text } = await get(paths.events);
    expect(text).toMatch(/"PerformanceBondRefundEventList":\[\{"id":0\}\],"__proto__":\[\{"id":1\}\],"Q\\"uoted":\[/);
  });

  test('keeps the backend order within a list, between others', async () => {
    const list = (index: number) => (index % 2 === 0 ? 'RefundEventList' : 'ShipmentEventList');
    const { get } = await startClient(
      [0, 1, 2, 3, 4, 5].map((index) => event(`2025-06-0${index + 1}`, index, { list: list(index) })),
    );
    expect((await get(paths.events)).ids).toEqual([1, 3, 5, 0, 2, 4]);
  });

  test('has the bytes of each item as the backend has them', async () => {
    const json = '{ "Amount" : 25.10,"b":7E1,\t"c":-0.00,"c":"\\u00e9é😀","d":12345678901234567890.000001}';
    const { get } = await startClient([
      event('2025-06-02T00:00:00Z', 1, { json }),
      group('2025-06-02T00:00:00Z', 'G'),
      { ...group('2025-06-02T00:00:00Z', 'H'), json },
    ]);
    expect((await get(paths.events)).text).toContain(`"ShipmentEventList":[${json}],`);
    expect((await get(paths.groups)).text).toContain(`,${json}]`);
  });
});

describe('headers', () => {
  test('type, length in bytes and a request id of its own on every answer', async () => {
    const { get, raw } = await startClient([event('2025-06-02T00:00:00Z', 'é😀')]);
    const replies = [
      await get(paths.events),
      await get(paths.events, { MaxResultsPerPage: 0 }),
      await get('/nowhere'),
      await raw(paths.events, { method: 'POST', body: '{}' }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 400, 404, 405]);
    for (const { headers, text } of replies) {
      expect(headers.get('content-type')).toBe('application/json');
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
      expect(headers.get('x-amzn-requestid')).toMatch(uuid);
    }
    expect(new Set(replies.map(({ headers }) => headers.get('x-amzn-requestid'))).size).toBe(4);
  });

  test('the rate on 200, 400 and 404 and on nothing else', async () => {
    const { get, raw } = await startClient(items, { quota: { rate: 0.5, burst: 3 } });
    const replies = [
      await get(paths.events),
      await get(paths.events, { MaxResultsPerPage: 0 }),
      await get(paths.ofGroup('none')),
      await get(paths.events),
      await get(paths.events),
      await raw(paths.events, { method: 'DELETE' }),
    ];
    expect(replies.map(({ status, headers }) => [status, headers.get('x-amzn-ratelimit-limit')])).toEqual([
      [200, '0.5'],
      [400, '0.5'],
      [404, '0.5'],
      [200, '0.5'],
      [429, null],
      [405, null],
    ]);
  });

  test('no rate where nothing is throttled', async () => {
    const { get } = await startClient(items);
    expect((await get(paths.events)).headers.has('x-amzn-ratelimit-limit')).toBe(false);
  });
});

describe('what is not there', () => {
  test.each([
    '/',
    '/finances/v0',
    '/finances/v0/financialEvents/',
    '/finances/v0/financialevents',
    '/Finances/v0/financialEvents',
    '/finances/v1/financialEvents',
    '//finances/v0/financialEvents',
    '/finances/v0/orders',
    `/finances/v0/orders/${order}`,
    `/finances/v0/orders/${order}/financialEvents/`,
    `/finances/v0/orders/${order}/financialevents`,
    '/finances/v0/financialEventGroups/',
    '/finances/v0/financialEventGroups/G1',
    '/finances/v0/financialEventGroups/a/b/financialEvents',
    '/finances/v0/financialEventGroups/{eventGroupId}/financialEvents/x',
    '/%66inances/v0/financialEvents',
  ])('%s: 404', async (path) => {
    const { raw } = await startClient(items);
    expect(await raw(path)).toMatchObject({ status: 404, code: 'ResourceNotFound' });
  });

  test('an unknown group: 404', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.ofGroup('g1'))).toMatchObject({ status: 404, code: 'ResourceNotFound' });
  });

  test('an unknown order of the right form: 404', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.ofOrder('111-1111111-1111111'))).toMatchObject({ status: 404, code: 'ResourceNotFound' });
  });
});

describe('path parameters', () => {
  test.each([
    '902-1845936-543506',
    '902-1845936-54350655',
    '90-1845936-5435065',
    '9021845936-5435065',
    '902-1845936-5435065 ',
    '902-1845936-5435065\n',
    '٩٠٢-1845936-5435065',
    'S01-1845936-5435065',
    '',
  ])('order %j: 400 that names the parameter and its form', async (id) => {
    const { get } = await startClient(items);
    const reply = await get(paths.ofOrder(id));
    expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
    expect(reply.message).toMatch(/orderId.*3-7-7/);
  });

  test('an empty group id: 400', async () => {
    const { raw } = await startClient(items);
    const reply = await raw('/finances/v0/financialEventGroups//financialEvents');
    expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
    expect(reply.message).toContain('eventGroupId');
  });

  test.each(['%', '%zz', '%C3', '%ff', '%E0%80'])('%s, which is not encoded UTF-8: 400', async (id) => {
    const { raw } = await startClient(items);
    for (const path of [
      `/finances/v0/financialEventGroups/${id}/financialEvents`,
      `/finances/v0/orders/${id}/financialEvents`,
      `/${id}`,
    ]) {
      expect(await raw(path), path).toMatchObject({ status: 400, code: 'InvalidInput' });
    }
  });
});

describe('methods', () => {
  const every = [paths.events, paths.groups, paths.ofGroup('G1'), paths.ofOrder(order)];

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])('%s: 405 with Allow', async (method) => {
    const { raw } = await startClient(items);
    for (const path of every) {
      const reply = await raw(path, { method });
      expect(reply).toMatchObject({ status: 405, code: 'MethodNotAllowed' });
      expect(reply.headers.get('allow')).toBe('GET');
    }
  });

  test('HEAD: 405 without a body', async () => {
    const { raw } = await startClient(items);
    const reply = await raw(paths.events, { method: 'HEAD' });
    expect(reply).toMatchObject({ status: 405, text: '' });
    expect(reply.headers.get('allow')).toBe('GET');
  });

  test('another method on an unknown path: 404', async () => {
    const { raw } = await startClient(items);
    expect((await raw('/nowhere', { method: 'POST' })).status).toBe(404);
  });
});

test('errors have a code, a message and details that are always text', async () => {
  const { get, raw } = await startClient(items, { quota: { rate: 0.5, burst: 2 } });
  const replies = [
    await get(paths.groups, { MaxResultsPerPage: 101 }),
    await raw(`${paths.groups}?NextToken=a&NextToken=b`),
    await get(paths.groups),
    await get('/nowhere'),
    await raw(paths.groups, { method: 'POST' }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([400, 400, 429, 404, 405]);
  for (const { body } of replies) {
    expect(Object.keys(body)).toEqual(['errors']);
    expect(body.errors).toHaveLength(1);
    for (const error of body.errors ?? []) {
      expect(Object.keys(error)).toEqual(['code', 'message', 'details']);
      expect(typeof error.details).toBe('string');
      expect(error.message).not.toBe('');
    }
  }
});
