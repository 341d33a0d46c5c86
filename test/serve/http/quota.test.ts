import { expect, test } from 'vitest';
import { startApiServer } from '../../../src/serve/http/server.js';
import { arrayBackend, event, group } from './array-backend.js';
import { type Client, paths, start, startClient } from './client.js';
import { handClock } from './hand-clock.js';

const order = '902-1845936-5435065';
const items = [group('2025-06-01', 'G'), event('2025-06-02', 1, { group: 'G', order })];
const every = [paths.events, paths.groups, paths.ofGroup('G'), paths.ofOrder(order)];
const quota = { rate: 0.5, burst: 30 };

/** How many requests in a row are answered with 200 before the first 429, which ends the count. */
async function admitted({ get }: Client, path: string): Promise<number> {
  for (let count = 0; count < 1_000; count++) {
    const { status } = await get(path);
    if (status === 429) return count;
    expect(status).toBe(200);
  }
  throw new Error('Not throttled');
}

test('each operation has a burst of its own, and beyond it 429 QuotaExceeded', async () => {
  const client = await startClient(items, { quota });
  for (const path of every) {
    expect(await admitted(client, path)).toBe(30);
    expect(await client.get(path)).toMatchObject({ status: 429, code: 'QuotaExceeded' });
  }
});

test('a token is back every two seconds, on the very millisecond', async () => {
  const client = await startClient(items, { quota });
  await admitted(client, paths.events);
  client.clock.move(1_999);
  expect(await admitted(client, paths.events)).toBe(0);
  client.clock.move(1);
  expect(await admitted(client, paths.events)).toBe(1);
  client.clock.move(7_999);
  expect(await admitted(client, paths.events)).toBe(3);
  client.clock.move(1);
  expect(await admitted(client, paths.events)).toBe(1);
  client.clock.move(60_000);
  expect(await admitted(client, paths.events)).toBe(30);
  client.clock.move(86_400_000);
  expect(await admitted(client, paths.events)).toBe(30);
});

test('paths of one operation share its bucket', async () => {
  const client = await startClient(items, { quota: { rate: 1, burst: 4 } });
  await client.get(paths.ofGroup('G'));
  await client.get(paths.ofGroup('unknown'));
  await client.get(`${paths.ofGroup('G')}?MaxResultsPerPage=0`);
  expect(await admitted(client, paths.ofGroup('G'))).toBe(1);
});

test('requests that are wrong count, those to no operation do not', async () => {
  const client = await startClient(items, { quota: { rate: 1, burst: 3 } });
  for (let index = 0; index < 5; index++) {
    expect((await client.get('/nowhere')).status).toBe(404);
    expect((await client.raw(paths.events, { method: 'POST' })).status).toBe(405);
  }
  const tries = [
    await client.get(paths.events, { PostedAfter: 'never' }),
    await client.get(paths.events, { postedAfter: '2025-06-01' }),
    await client.get(paths.events, { NextToken: 'none' }),
    await client.get(paths.events, { NextToken: 'none' }),
  ];
  expect(tries.map(({ status }) => status)).toEqual([400, 400, 400, 429]);
});

test('another rate is counted and announced', async () => {
  const client = await startClient(items, { quota: { rate: 2, burst: 1 } });
  expect((await client.get(paths.events)).headers.get('x-amzn-ratelimit-limit')).toBe('2');
  client.clock.move(499);
  expect((await client.get(paths.events)).status).toBe(429);
  client.clock.move(1);
  expect((await client.get(paths.events)).status).toBe(200);
});

test('without a quota nothing is throttled', async () => {
  const client = await startClient(items);
  for (let count = 0; count < 100; count++) expect((await client.get(paths.events)).status).toBe(200);
});

test('a quota that can not be is refused before the service listens', async () => {
  const options = { backend: arrayBackend([]), clock: handClock(start) };
  await expect(startApiServer({ ...options, quota: { rate: 0, burst: 30 } })).rejects.toMatchObject({ code: 'USAGE' });
  await expect(startApiServer({ ...options, quota: { rate: 0.5, burst: 0 } })).rejects.toMatchObject({ code: 'USAGE' });
});
