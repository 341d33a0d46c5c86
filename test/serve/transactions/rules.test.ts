import { describe, expect, test } from 'vitest';
import { type JsonObject, textOf } from '../../emulator/seller/reading.js';
import {
  day,
  identifier,
  idOf,
  iso,
  listIn,
  pages,
  paths,
  payloadOf,
  type Query,
  start,
  startSeller,
  statusOf,
  transactionsOf,
} from './seller-server.js';

const minute = 60_000;
const group = { relatedIdentifierName: 'FINANCIAL_EVENT_GROUP_ID', relatedIdentifierValue: 'no-such-group' };
const order = { relatedIdentifierName: 'ORDER_ID', relatedIdentifierValue: '111-1111111-1111111' };
const settlement = { relatedIdentifierName: 'SETTLEMENT_ID', relatedIdentifierValue: '12345678901' };
const month = { postedAfter: iso(start - 40 * day), postedBefore: iso(start - 10 * day) };

const postedAt = (one: JsonObject) => Date.parse(textOf(one['postedDate']));

describe('a request for transactions', () => {
  test.each<readonly [name: string, query: Query, message: string]>([
    ['without a date or an identifier', {}, 'Either postedAfter or relatedIdentifierName must be specified.'],
    ['with an upper bound alone', { postedBefore: '2025-01-01' }, 'Either postedAfter or'],
    ['with v0’s spelling', { PostedAfter: '2025-01-01' }, 'PostedAfter must be written postedAfter'],
    ['for a page’s size', { postedAfter: '2025-01-01', MaxResultsPerPage: '10' }, 'has no parameter'],
    ['for a page’s size of its own', { postedAfter: '2025-01-01', pageSize: '10' }, 'has no parameter'],
    ['without a value', { postedAfter: '' }, 'has no value'],
    ['for no date', { postedAfter: 'yesterday' }, 'must be an ISO 8601 date-time'],
    [
      'up to two minutes ago',
      { postedAfter: '2025-01-01', postedBefore: iso(start - 2 * minute) },
      'more than 2 minutes',
    ],
    ['from now on', { postedAfter: iso(start) }, 'postedAfter must be more than 2 minutes before now.'],
    ['that ends before it begins', { postedAfter: '2025-02-01', postedBefore: '2025-02-01' }, 'must be later than'],
    ['for an unknown status', { postedAfter: '2025-01-01', transactionStatus: 'Released' }, 'must be one of DEFERRED,'],
    ['for two statuses', { postedAfter: '2025-01-01', transactionStatus: 'RELEASED,DEFERRED' }, 'must be one of'],
    ['for another identifier', settlement, 'must be FINANCIAL_EVENT_GROUP_ID or ORDER_ID.'],
    ['with an identifier’s name alone', { relatedIdentifierName: 'ORDER_ID' }, 'go together'],
    ['with an identifier’s value alone', { postedAfter: '2025-01-01', relatedIdentifierValue: '1' }, 'go together'],
    ['with another token', { postedAfter: '2025-01-01', nextToken: 'abcd' }, 'nextToken is not valid'],
  ])('%s is refused', async (_name, query, message) => {
    const answer = await (await startSeller({ events: 100 })).get(paths.transactions, query);
    expect(answer.status).toBe(400);
    expect(listIn(answer.body, 'errors')[0]?.['code']).toBe('InvalidInput');
    expect(answer.message).toContain(message);
  });

  test.each<readonly [name: string, query: Query]>([
    ['of more than 180 days', { postedAfter: iso(start - 200 * day), postedBefore: iso(start - 19.9 * day) }],
    ['of more than 180 days up to now', { postedAfter: iso(start - 181 * day) }],
    ['of an unknown group', group],
    ['of an unknown order', order],
    ['of another marketplace', { ...month, marketplaceId: 'A39IBJ37TRP1C6', transactionStatus: 'DEFERRED' }],
  ])('%s is answered with nothing', async (_name, query) => {
    const answer = await (await startSeller()).get(paths.transactions, query);
    expect([answer.status, answer.text]).toEqual([200, '{"payload":{"transactions":[]}}']);
  });

  test('has the envelope and the headers of v0, and a quota of its own with a burst of 10', async () => {
    const server = await startSeller({ events: 100, quota: { rate: 0.5 } });
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) statuses.push((await server.get(paths.payouts)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    const answer = await server.get(paths.transactions, month);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-amzn-RateLimit-Limit')).toBe('0.5');
    expect(answer.headers.get('x-amzn-RequestId')).toMatch(/^[0-9a-f-]{36}$/);
    for (let count = 0; count < 11; count++) await server.get('/finances/v0/financialEventGroups');
    expect((await server.get('/finances/v0/financialEventGroups')).status).toBe(200);
  });

  test('takes the burst that is set', async () => {
    const server = await startSeller({ events: 100, quota: { rate: 0.5, burst: 2 } });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count++)
      statuses.push((await server.get(paths.summary, { periodStart: '2025-05-01' })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test.each(['POST', 'PUT', 'DELETE'])('by %s is refused, to payouts too', async (method) => {
    const server = await startSeller({ events: 10 });
    for (const path of Object.values(paths)) expect((await server.raw(path, { method })).status).toBe(405);
  });

  test('asks for an access token where there is a sign-in', async () => {
    const signIn = { clientId: 'client', clientSecret: 'a-long-enough-secret' };
    const server = await startSeller({ events: 10, signIn });
    for (const path of Object.values(paths)) expect((await server.get(path)).status).toBe(403);
  });
});

describe('pages of transactions', () => {
  test('have up to 500 results, in no order of date, each once', async () => {
    const server = await startSeller({ events: 6000 });
    const answers = await pages(server, paths.transactions, month);
    const lists = answers.map((answer) => listIn(payloadOf(answer), 'transactions'));
    expect(lists.length).toBeGreaterThan(3);
    expect(lists.slice(0, -1).map((list) => list.length)).toEqual(lists.slice(1).map(() => 500));
    expect(payloadOf(answers.at(-1) ?? expect.fail())).not.toHaveProperty('nextToken');
    const all = lists.flat();
    expect(new Set(all.map(idOf)).size).toBe(all.length);
    const dates = all.map(postedAt);
    expect(dates).not.toEqual(dates.toSorted((a, b) => a - b));
    expect(Math.min(...dates)).toBeGreaterThanOrEqual(Date.parse(month.postedAfter));
    expect(Math.max(...dates)).toBeLessThan(Date.parse(month.postedBefore));
    // Days one by one have the same ones.
    const days: string[] = [];
    for (let at = start - 40 * day; at < start - 10 * day; at += day) {
      days.push(...(await transactionsOf(server, { postedAfter: iso(at), postedBefore: iso(at + day) })).map(idOf));
    }
    expect(days.toSorted()).toEqual(all.map(idOf).toSorted());
  });

  test('a bound is included below and not above', async () => {
    const server = await startSeller();
    const [one = {}] = await transactionsOf(server, month);
    const at = postedAt(one);
    const ids = async (query: Query) => (await transactionsOf(server, query)).map(idOf);
    expect(await ids({ postedAfter: iso(at), postedBefore: iso(at + 1000) })).toContain(idOf(one));
    expect(await ids({ postedAfter: iso(at - 1000), postedBefore: iso(at) })).not.toContain(idOf(one));
  });

  test('a token goes with all parameters of the first request, and no others', async () => {
    const server = await startSeller({ events: 4000 });
    const first = await server.get(paths.transactions, month);
    const nextToken = textOf(payloadOf(first)['nextToken']);
    const refused = async (query: Query) => {
      const answer = await server.get(paths.transactions, { ...query, nextToken });
      return [answer.status, answer.message];
    };
    expect(await refused({})).toEqual([400, expect.stringContaining('postedAfter is missing')]);
    expect(await refused({ postedAfter: month.postedAfter })).toEqual([
      400,
      expect.stringContaining('postedBefore is missing'),
    ]);
    const other = { ...month, postedBefore: iso(start - 11 * day) };
    expect(await refused(other)).toEqual([400, expect.stringContaining('the same postedBefore')]);
    const more = { ...month, transactionStatus: 'RELEASED' };
    expect(await refused(more)).toEqual([400, expect.stringContaining('the same transactionStatus')]);
    expect((await server.get(paths.summary, { periodStart: '2025-05-01', nextToken })).status).toBe(400);
    expect((await server.get(paths.transactions, { ...month, nextToken })).status).toBe(200);
  });

  test('a token that is encoded twice fails', async () => {
    const server = await startSeller({ events: 4000 });
    const first = await server.get(paths.transactions, month);
    const nextToken = textOf(payloadOf(first)['nextToken']);
    expect(encodeURIComponent(nextToken)).not.toBe(nextToken);
    const twice = await server.get(paths.transactions, { ...month, nextToken: encodeURIComponent(nextToken) });
    expect([twice.status, listIn(twice.body, 'errors')[0]?.['code']]).toEqual([500, 'InternalFailure']);
  });

  test('a token dies as v0’s do', async () => {
    const server = await startSeller({ events: 4000, tokenLifeMs: 3 * minute });
    const first = await server.get(paths.transactions, month);
    const query = { ...month, nextToken: textOf(payloadOf(first)['nextToken']) };
    server.clock.move(4 * minute);
    const late = await server.get(paths.transactions, query);
    expect([late.status, late.message]).toEqual([400, 'Token is not valid, token duration is 3 minutes.']);
  });

  test('are of one instant, whatever is released meanwhile', async () => {
    const server = await startSeller({ events: 6000 });
    const query = { postedAfter: iso(start - 20 * day) };
    const whole = await transactionsOf(server, query);
    const first = await server.get(paths.transactions, query);
    server.clock.move(2 * day);
    const rest: JsonObject[] = [];
    let token = payloadOf(first)['nextToken'];
    while (typeof token === 'string') {
      const answer = await server.get(paths.transactions, { ...query, nextToken: token });
      rest.push(...listIn(payloadOf(answer), 'transactions'));
      token = payloadOf(answer)['nextToken'];
    }
    expect([...listIn(payloadOf(first), 'transactions'), ...rest]).toEqual(whole);
  });
});

describe('a filter', () => {
  test('by status takes the transactions apart', async () => {
    const server = await startSeller();
    const query = { postedAfter: iso(start - 30 * day) };
    const all = await transactionsOf(server, query);
    for (const status of ['DEFERRED', 'RELEASED', 'DEFERRED_RELEASED']) {
      const some = await transactionsOf(server, { ...query, transactionStatus: status });
      expect(some.length).toBeGreaterThan(20);
      expect(some.map(idOf).toSorted()).toEqual(
        all
          .filter((one) => statusOf(one) === status)
          .map(idOf)
          .toSorted(),
      );
    }
  });

  test('by marketplace has those of the account every time', async () => {
    const server = await startSeller();
    const all = await transactionsOf(server, month);
    const of = (marketplaceId: string) => transactionsOf(server, { ...month, marketplaceId });
    const [american, german] = [await of('ATVPDKIKX0DER'), await of('A1PA6795UKMFR9')];
    const both = american.map(idOf).filter((id) => german.map(idOf).includes(id));
    const ofAccount = all.filter((one) => !('marketplaceDetails' in one)).map(idOf);
    expect(both.length).toBeGreaterThan(10);
    expect(both.toSorted()).toEqual(ofAccount.toSorted());
  });

  test('by order has all of its transactions', async () => {
    const server = await startSeller();
    const all = await transactionsOf(server, { postedAfter: iso(start - 170 * day) });
    const ids = all.map((one) => identifier(one, 'ORDER_ID')).filter((id) => id !== undefined);
    const relatedIdentifierValue = ids.find((id) => ids.filter((other) => other === id).length > 2) ?? expect.fail();
    const asked = await transactionsOf(server, { relatedIdentifierName: 'ORDER_ID', relatedIdentifierValue });
    const expected = all.filter((one) => identifier(one, 'ORDER_ID') === relatedIdentifierValue).map(idOf);
    expect(asked.map(idOf).toSorted()).toEqual(expected.toSorted());
  });
});

describe('a summary', () => {
  test.each<readonly [name: string, query: Query, message: string]>([
    ['of nothing', {}, 'Either periodStart or relatedIdentifierName must be specified.'],
    ['of an instant', { periodStart: '2025-05-01T12:00:00Z' }, 'must be an ISO 8601 date, such as'],
    [
      'of a period that ends before it begins',
      { periodStart: '2025-05-02', periodEnd: '2025-05-01' },
      'must not be earlier',
    ],
    ['of an order', order, 'relatedIdentifierName must be SETTLEMENT_ID.'],
  ])('%s is refused', async (_name, query, message) => {
    const answer = await (await startSeller({ events: 100 })).get(paths.summary, query);
    expect([answer.status, answer.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test('of an unknown settlement is none', async () => {
    const answer = await (await startSeller({ events: 100 })).get(paths.summary, settlement);
    expect([answer.status, answer.text]).toEqual([200, '{"summaries":[]}']);
  });
});

test('payouts are chosen by date, marketplace and type of account', async () => {
  const server = await startSeller({ events: 500 });
  const read = async (query: Query) => listIn(payloadOf(await server.get(paths.payouts, query)), 'payouts');
  const all = await read({});
  const created = (one: JsonObject) => Date.parse(textOf(one['creationDate']));
  const [third = {}] = all.slice(2);
  const at = created(third);
  expect(await read({ createdAfter: iso(at) })).toEqual(all.filter((one) => created(one) >= at));
  expect(await read({ createdBefore: iso(at) })).toEqual(all.filter((one) => created(one) < at));
  expect(await read({ accountType: 'Invoiced Orders' })).toEqual([]);
  const two = await read({ marketplaceIds: 'ATVPDKIKX0DER,A1PA6795UKMFR9' });
  expect(two.length).toBeGreaterThan(5);
  expect(two.length).toBeLessThan(all.length);
});
