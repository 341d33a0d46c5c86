import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { describe, expect, test } from 'vitest';
import type { PipelineDefinition } from '../../../src/sources/custom/definition.js';
import { temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { loaded, rowOf, shipmentsFrom, ownClock } from './custom-run.js';
import { pageRequest } from '../../../src/sources/custom/custom-request.js';
import { parcelServer, shipmentsOf, type ParcelServer, type Struck } from './parcel-server.js';

/** Pauses of seconds go by in milliseconds. */
const clock = () => runningClock('2025-03-01T00:00:00Z', 200);
const week = { from: '2025-01-20', to: '2025-01-27' };
const perDay = 30;

function refusal(status: number, kind: string, text: string, headers = {}): Struck {
  return { status, headers, body: JSON.stringify({ error: { kind, text } }) };
}

/** A service that answers some requests, by their number, with something else. */
async function struck(answers: Readonly<Record<number, Struck>>): Promise<ParcelServer> {
  const server = await parcelServer(shipmentsOf('2025-01-15T00:00:00Z', 30, perDay));
  server.strike = (_request, number) => answers[number];
  return server;
}

async function countIn(lake: string): Promise<unknown> {
  // A table is described with its first commit.
  if ((await Lake.open(diskStore(lake), tables, ownClock())).described.length === 0) return 0n;
  return (await rowOf(lake, 'SELECT count(*) AS n, count(DISTINCT shipment_id) AS ids FROM shipments'))?.['n'];
}

describe('what passes is asked again, and nothing is lost or doubled', () => {
  test.each<[string, Struck, Readonly<Record<string, number>>]>([
    ['a fault', refusal(500, 'OOPS', 'the depot burns'), { retries: 1, throttled: 0 }],
    ['a throttle', refusal(429, 'SLOW', 'slow down', { 'retry-after': '3' }), { retries: 1, throttled: 1 }],
    ['a web page', { status: 200, body: '<html>maintenance</html>' }, { retries: 1, throttled: 0 }],
    ['a body that is cut off', { status: 200, body: '{"shipments":[{"id":' }, { retries: 1, throttled: 0 }],
    ['a body without records', { status: 200, body: '{"next_cursor":null}' }, { retries: 1, throttled: 0 }],
  ])('%s', async (_what, answer, counts) => {
    const lake = await temporaryFolder();
    const server = await struck({ 2: answer });
    const { summary } = await loaded(shipmentsFrom(server), { lake, ...week, clock: clock() });
    expect(summary.pipelines['shipments']).toMatchObject({ ...counts, requests: 6, pages: 5 });
    expect(await countIn(lake)).toBe(BigInt(7 * perDay));
  });

  test('a throttle, and a fault when it is asked whether that is over', async () => {
    const lake = await temporaryFolder();
    const server = await struck({ 2: refusal(429, 'SLOW', 'slow down'), 3: refusal(500, 'OOPS', 'the depot burns') });
    const { summary } = await loaded(shipmentsFrom(server), { lake, ...week, clock: clock() });
    expect(summary.pipelines['shipments']).toMatchObject({ retries: 2, throttled: 1, requests: 7, pages: 5 });
    expect(await countIn(lake)).toBe(BigInt(7 * perDay));
  });

  test('a cursor that isn’t taken any more: the window is read again, in parts', async () => {
    const lake = await temporaryFolder();
    const server = await struck({ 3: refusal(400, 'STALE_CURSOR', 'too old') });
    const logged: string[] = [];
    const { summary } = await loaded(shipmentsFrom(server), { lake, ...week, clock: clock(), logged });
    expect(summary.pipelines['shipments']?.['requests']).toBe(3 + 5);
    expect(logged.join('\n')).toContain('is read in parts: shipments got status 400: too old');
    expect(await countIn(lake)).toBe(BigInt(7 * perDay));
  });

  test('a window that is too large is read in parts', async () => {
    const lake = await temporaryFolder();
    const server = await struck({ 1: refusal(413, 'LARGE', 'too many shipments') });
    await loaded(shipmentsFrom(server), { lake, ...week, clock: clock() });
    const windows = await rowOf(lake, 'SELECT count(DISTINCT window_start) AS windows, count(*) AS n FROM shipments');
    expect(windows).toEqual({ windows: 2n, n: BigInt(7 * perDay) });
  });
});

describe('what doesn’t pass ends the run in one line, and nothing is committed', () => {
  test.each<[string, Struck, RegExp]>([
    [
      'no access',
      refusal(401, 'NO_ACCESS', 'the token is old'),
      /shipments got status 401: the token is old. Check the headers/,
    ],
    [
      'a mistake',
      refusal(404, 'NOT_FOUND', 'no such thing'),
      /status 404: no such thing.*GET \/api\/v2\/shipments\?shipped_from/,
    ],
  ])('%s', async (_what, answer, message) => {
    const lake = await temporaryFolder();
    const server = await struck({ 1: answer });
    await expect(loaded(shipmentsFrom(server), { lake, ...week, clock: clock() })).rejects.toThrow(message);
    expect(server.requests).toHaveLength(1);
    expect(await countIn(lake)).toBe(0n);
  });

  test.each<[string, Parameters<typeof shipmentsFrom>[1], RegExp]>([
    [
      'a function that throws',
      { rows: () => JSON.parse('{') as Record<string, string> },
      /^shipments\.js: rows: it threw/,
    ],
    [
      'a column that isn’t there',
      { rows: () => ({ colour: 'red' }) },
      /^shipments\.js: rows: shipments has no column "colour"/,
    ],
    ['records that are none', { records: () => [{} as never] }, /^shipments\.js: records: expected a list of values/],
    ['a path that is none', { first: () => ({ path: 'v2' }) }, /^shipments\.js: first or next: expected a path/],
    [
      'a link elsewhere',
      { next: () => 'https://example.com/2' },
      /^shipments\.js: next: expected a link to http:\/\/127/,
    ],
  ])('%s', async (_what, more, message) => {
    const lake = await temporaryFolder();
    const server = await struck({});
    await expect(loaded(shipmentsFrom(server, more), { lake, ...week, clock: clock() })).rejects.toThrow(message);
    expect(await countIn(lake)).toBe(0n);
  });
});

test('a list that no answer has is soon the fault of a definition that has loaded nothing, and else one of the API', async () => {
  const lake = await temporaryFolder();
  const server = await struck({});
  const lost = shipmentsFrom(server, { records: ({ body }) => body.list('parcelz') });
  const failed = loaded(lost, { lake, ...week, clock: clock() });
  await expect(failed).rejects.toMatchObject({ code: 'DEFINITION' });
  await expect(failed).rejects.toThrow(/^shipments\.js: records: .*parcelz/);
  expect(server.requests).toHaveLength(3);
  await loaded(shipmentsFrom(server), { lake, ...week, clock: clock() });
  server.requests.length = 0;
  const again = loaded(lost, { lake, ...week, refresh: true, clock: clock() });
  await expect(again).rejects.toMatchObject({ code: 'INCOMPLETE' });
  expect(server.requests.length).toBeGreaterThan(7);
});

test('pages that lead back to one that was read leave their window open', async () => {
  const lake = await temporaryFolder();
  const server = await struck({});
  const circle = shipmentsFrom(server, { next: ({ request }) => request });
  await expect(loaded(circle, { lake, ...week, clock: clock() })).rejects.toMatchObject({ code: 'INCOMPLETE' });
  expect(await countIn(lake)).toBe(0n);
});

test.each<[string, NonNullable<PipelineDefinition['next']>]>([
  ['in a header', (page) => /<([^>]*)>; rel="next"/.exec(page.header('link') ?? '')?.[1]],
  [
    'in the body',
    ({ body, request }) => {
      const cursor = body.at('next_cursor')?.text;
      return cursor === undefined ? undefined : `${request.slice(0, request.indexOf('?'))}?cursor=${cursor}`;
    },
  ],
])('a link %s leads on', async (_where, next) => {
  const lake = await temporaryFolder();
  const server = await struck({});
  const { summary } = await loaded(shipmentsFrom(server, { next }), { lake, ...week, clock: clock() });
  expect(summary.pipelines['shipments']).toMatchObject({ requests: 5, pages: 5 });
  expect(await countIn(lake)).toBe(BigInt(7 * perDay));
});

test('what doesn’t fit its column is null, whole in raw, and counted; without raw it fails the window', async () => {
  const lake = await temporaryFolder();
  const server = await parcelServer([
    { shippedAt: '2025-01-21', json: '{"id":"S-1","parcels":[],"shipped_at":"soon","cost":{"amount":1.005}}' },
    {
      shippedAt: '2025-01-22',
      json: '{"id":"S-2","parcels":[],"cost":{"amount":1e1},"tracking_number":9223372036854775808}',
    },
  ]);
  const { printed } = await loaded(shipmentsFrom(server), { lake, ...week });
  expect(printed).toContain(
    '1 value of an unexpected type (null in their column, complete in raw): shipments.shipped_at',
  );
  expect(printed).toContain('2 values without a column that holds them exactly');
  const query =
    'SELECT list(cost ORDER BY shipment_id)::VARCHAR AS cost, list(raw ORDER BY shipment_id) AS raw FROM shipments';
  expect(await rowOf(lake, query)).toMatchObject({ cost: '[NULL, 10.00]' });

  const { definition } = shipmentsFrom(server).loaded;
  const lean = shipmentsFrom(server, { table: { ...definition.table, raw: false } });
  const other = await temporaryFolder();
  await expect(loaded(lean, { lake: other, ...week })).rejects.toThrow(
    /^shipments\.js: rows: got a value of another type for shipments\.shipped_at/,
  );
});

describe('a link to the next page', () => {
  const base = { origin: 'https://shop.example', prefix: '/api/v2' };
  const from = '/api/v2/orders?page=1';

  test.each([
    ['/api/v2/orders?page=2', '/api/v2/orders?page=2'],
    ['?page=2', '/api/v2/orders?page=2'],
    ['refunds', '/api/v2/refunds'],
    ['https://shop.example/api/v2/orders/../refunds', '/api/v2/refunds'],
    ['/api/v2/a..b/c...', '/api/v2/a..b/c...'],
  ])('%s stays within the address', (link, path) => {
    expect(pageRequest('shop.js', base, link, from)).toEqual({ path });
  });

  test.each([
    '/admin',
    '/api/v20/orders',
    '/api/v2',
    '../../admin',
    'https://shop.example/api/v2/%2e%2e/admin',
    '/api/v2/..%2fadmin',
    '/api/v2/%2E%2E%5Cadmin',
    '/api/v2/a%2f..',
    'https://shop.example:444/api/v2/orders',
  ])('%s leaves the address, and is not asked for', (link) => {
    expect(() => pageRequest('shop.js', base, link, from)).toThrow(
      /^shop\.js: next: expected a link to https:\/\/shop\.example\/api\/v2\/, got /,
    );
  });

  test('that a definition builds has no .. either', () => {
    expect(() => pageRequest('shop.js', base, { path: '/../../admin' })).toThrow(/expected a path without \.\. in it/);
    expect(pageRequest('shop.js', base, { path: '/a..b' })).toEqual({ path: '/api/v2/a..b' });
  });
});
