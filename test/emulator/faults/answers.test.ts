import { describe, expect, test } from 'vitest';
import { accessTokenExpired } from '../../../src/serve/operation/outcome.js';
import { event, group } from '../../serve/http/array-backend.js';
import { firstToken, paths, start, startClient } from '../../serve/http/client.js';
import { handClock } from '../../serve/http/hand-clock.js';

const day = 86_400_000;
const items = [1, 2, 3].map((id) => event('2025-06-01', id, { group: 'G' }));
const quota = { rate: 0.5, burst: 3 };
const second = { when: ({ number }: { number: number }) => number === 2 };

const retention = 'Request was not valid or data requested exceeds data retention period.';
const internal = 'We encountered an internal error. Please try again.';
const denied = 'Access to requested resource is denied.';

describe('an answer in place of the right one, once; the same request then gets its page', () => {
  test.each([
    ['throttled', 429, 'QuotaExceeded', 'You exceeded your quota for the requested resource.', '', true],
    ['throttled-retry-after', 429, 'QuotaExceeded', 'You exceeded your quota for the requested resource.', '', true],
    ['invalid-input', 400, 'InvalidInput', retention, '', false],
    ['access-token-expired', 403, 'Unauthorized', denied, accessTokenExpired, false],
    ['access-denied', 403, 'Unauthorized', denied, '', false],
    ['server-error', 500, 'InternalFailure', internal, '', false],
    ['unavailable', 503, 'ServiceUnavailable', 'The service is temporarily unavailable. Please try again.', '', false],
  ] as const)('%s: %d', async (kind, status, code, message, details, isFree) => {
    const { get, server } = await startClient(items, { quota, faults: { [kind]: second } });
    const replies = [await get(paths.events), await get(paths.events), await get(paths.events)];
    expect(replies.map((reply) => reply.status)).toEqual([200, status, 200]);
    expect(replies[1]?.body).toEqual({ errors: [{ code, message, details }] });
    const { headers } = replies[1] ?? { headers: new Headers() };
    expect(headers.get('retry-after')).toBe(kind === 'throttled-retry-after' ? '2' : null);
    expect(headers.get('x-amzn-ratelimit-limit')).toBe(status === 400 ? '0.5' : null);
    expect(headers.get('x-amzn-requestid')).toMatch(/^[0-9a-f-]{36}$/);
    // A burst of three: what was throttled has left one token.
    expect((await get(paths.events)).status).toBe(isFree ? 200 : 429);
    expect(server.counts.faults(kind)).toBe(1);
    expect(server.counts.faults()).toBe(1);
  });

  test.each([
    ['unavailable-html', 503],
    ['html', 200],
  ] as const)('%s: a web page with status %d', async (kind, status) => {
    const { get, server } = await startClient(items, { faults: { [kind]: { times: 1 } } });
    const response = await fetch(server.url + paths.events);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(await response.text()).toMatch(/^<!DOCTYPE html>/);
    expect((await get(paths.events)).ids).toEqual([1, 2, 3]);
  });
});

test('Retry-After says as many seconds as the amount', async () => {
  const { get } = await startClient(items, { faults: { 'throttled-retry-after': { amount: 30 } } });
  expect((await get(paths.events)).headers.get('retry-after')).toBe('30');
});

describe('throttled-spell', () => {
  test('refuses one operation for minutes on end, without Retry-After, and costs nothing', async () => {
    const faults = { 'throttled-spell': { amount: 4, times: 1 } };
    const { get, clock } = await startClient(items, { quota: { rate: 0.001, burst: 1 }, faults });
    for (let minute = 0; minute < 4; minute++) {
      const reply = await get(paths.events);
      expect(reply.status).toBe(429);
      expect(reply.headers.has('retry-after')).toBe(false);
      clock.move(59_999);
    }
    expect((await get(paths.events)).status).toBe(429);
    expect((await get(paths.groups)).status).toBe(200);
    clock.move(4);
    expect((await get(paths.events)).status).toBe(200);
  });

  test('outlives a token', async () => {
    const faults = { 'throttled-spell': { times: 1, when: ({ hasToken }: { hasToken: boolean }) => hasToken } };
    const client = await startClient(items, { tokenLifeMs: 180_000, faults });
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    expect((await client.get(paths.events, { NextToken: token })).status).toBe(429);
    client.clock.move(300_000);
    expect((await client.get(paths.events, { NextToken: token })).message).toBe(
      'Token is not valid, token duration is 3 minutes.',
    );
  });
});

describe('the rate', () => {
  test('rate-missing: no header on an answer that had one', async () => {
    const { get, server } = await startClient(items, { quota, faults: { 'rate-missing': second } });
    const rates = [await get(paths.events), await get(paths.events), await get(paths.events)];
    expect(rates.map(({ headers }) => headers.get('x-amzn-ratelimit-limit'))).toEqual(['0.5', null, '0.5']);
    expect((await get(paths.events)).status).toBe(429);
    expect(server.counts.faults('rate-missing')).toBe(1);
  });

  test('rate-changed: announced from the first hit on', async () => {
    const { get } = await startClient(items, { quota, faults: { 'rate-changed': second } });
    // Beyond `when` the quota's own rate is back.
    const rates = [await get(paths.events), await get(paths.events), await get(paths.events)];
    expect(rates.map(({ headers }) => headers.get('x-amzn-ratelimit-limit'))).toEqual(['0.5', '0.25', '0.5']);
    const one = await startClient(items, { quota, faults: { 'rate-changed': { share: 0.4 } }, seed: 1 });
    const later = [await one.get(paths.events), await one.get(paths.events), await one.get(paths.events)];
    const said = later.map(({ headers }) => headers.get('x-amzn-ratelimit-limit'));
    expect(said).toEqual([...said].sort().reverse());
    expect(said).toContain('0.25');
  });

  test('rate-changed: the bucket fills at that rate', async () => {
    const { get, clock } = await startClient(items, { quota, faults: { 'rate-changed': { amount: 0.1 } } });
    const status = async () => (await get(paths.events)).status;
    expect([await status(), await status(), await status(), await status()]).toEqual([200, 200, 200, 429]);
    clock.move(9_999);
    expect(await status()).toBe(429);
    clock.move(1);
    expect([await status(), await status()]).toEqual([200, 429]);
  });

  test('rate-changed: after its spell the old rate is back', async () => {
    const faults = { 'rate-changed': { amount: 2, forMs: 60_000, times: 1 } };
    const { get, clock } = await startClient(items, { quota: { rate: 1, burst: 30 }, faults });
    const rate = async () => (await get(paths.events)).headers.get('x-amzn-ratelimit-limit');
    expect(await rate()).toBe('2');
    clock.move(59_999);
    expect(await rate()).toBe('2');
    clock.move(1);
    expect(await rate()).toBe('1');
  });

  test('rate-changed: brings a quota where there was none', async () => {
    const { get } = await startClient(items, { faults: { 'rate-changed': {} } });
    for (let count = 0; count < 30; count++) expect((await get(paths.events)).status).toBe(200);
    expect((await get(paths.events)).status).toBe(429);
  });
});

describe('invalid-input', () => {
  test('refuses each request once, and the identical one then succeeds', async () => {
    const { get } = await startClient(items, { faults: { 'invalid-input': {} } });
    const statuses: number[] = [];
    for (const size of [1, 1, 2, 1, 2, 1]) statuses.push((await get(paths.events, { MaxResultsPerPage: size })).status);
    expect(statuses).toEqual([400, 200, 400, 400, 200, 200]);
  });
});

describe('access-token-expired', () => {
  test('of a service with sign-in stays: only a new access token helps', async () => {
    const signIn = { clientId: 'id', clientSecret: 'secret' };
    const { raw } = await startClient(items, { signIn, faults: { 'access-token-expired': { times: 1 } } });
    const token = async () => {
      const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'r', client_id: 'id' });
      form.set('client_secret', 'secret');
      const reply = await raw('/auth/o2/token', { method: 'POST', body: form });
      return (JSON.parse(reply.text) as { access_token: string }).access_token;
    };
    const get = (accessToken: string) => raw(paths.events, { headers: { 'x-amz-access-token': accessToken } });
    const first = await token();
    for (let tries = 0; tries < 3; tries++) {
      expect((await get(first)).body.errors?.[0]?.details).toBe(accessTokenExpired);
    }
    expect((await get(await token())).status).toBe(200);
  });
});

describe('the clock', () => {
  test.each([
    ['clock-fast', 5],
    ['clock-slow', -5],
  ] as const)('%s: bounds are checked by it, and Date tells it', async (kind, minutes) => {
    const { get } = await startClient(items, { faults: { [kind]: {} }, clock: handClock(start) });
    const now = Date.parse(start) + minutes * 60_000;
    const ask = (PostedAfter: number) => get(paths.events, { PostedAfter: new Date(PostedAfter).toISOString() });
    const taken = await ask(now - 120_000);
    expect(taken.status).toBe(200);
    expect(Date.parse(taken.headers.get('date') ?? '')).toBe(now);
    expect((await ask(now - 119_999)).message).toMatch(/no later than 2 minutes from now/);
  });

  test('is right without a fault', async () => {
    const { get } = await startClient(items, { clock: handClock(start) });
    expect(Date.parse((await get(paths.events)).headers.get('date') ?? '')).toBe(Date.parse(start));
  });
});

describe('a group listing', () => {
  test('groups-missing leaves out some groups, other ones each time', async () => {
    const groups = Array.from({ length: 20 }, (_, index) => group(Date.parse('2025-05-01') + index * day, `G${index}`));
    const { get } = await startClient(groups, { faults: { 'groups-missing': {} } });
    const listings = [await get(paths.groups), await get(paths.groups)].map(({ ids }) => ids.join(' '));
    expect(new Set(listings).size).toBe(2);
    for (const listing of listings) {
      expect(listing.split(' ').length).toBeGreaterThan(3);
      expect(listing.split(' ').length).toBeLessThan(17);
    }
  });

  test('groups-missing leaves out one at least', async () => {
    const faults = { 'groups-missing': { amount: 1e9 } };
    const { get } = await startClient([group('2025-05-01', 'A'), group('2025-05-02', 'B')], { faults });
    expect((await get(paths.groups)).ids).toEqual(['B']);
  });
});
