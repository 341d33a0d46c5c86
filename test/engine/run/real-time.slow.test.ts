import { noRevisions } from '../../lake/small-table.js';
import { expect, onTestFinished, test } from 'vitest';
import { connectFinances } from '../../../src/sources/finances/connect-finances.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { choosePipelines } from '../../../src/app/configuration/chosen-pipelines.js';
import { runPipelines } from '../../../src/engine/run/runner.js';
import { Secret } from '../../../src/engine/auth/secret.js';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { evenBackend } from './even-backend.js';
import { watchedServer } from './watched-server.js';

const now = '2026-03-20T12:00:00Z';
/** The service's own quota, fifty times as fast. */
const quota = { rate: 25, burst: 30 };
const perDay = 400;
const days = 28;

/** How often, of all items, a table has each. */
async function lostOrDoubled(
  lake: string,
  table: string,
  items: readonly { readonly json: string }[],
): Promise<{ rows: number; raws: number; missing: number }> {
  const duckdb = await database(lake, runningClock(now));
  const rows = await duckdb.rows(`SELECT raw FROM ${table}`);
  const raws = new Set(rows.map(({ raw }) => String(raw)));
  return { rows: rows.length, raws: raws.size, missing: items.filter(({ json }) => !raws.has(json)).length };
}

test('at fifty times the rate: full pages, no 429, pipelines side by side, and the next run knows what is spent', async () => {
  const clock = runningClock(now);
  const backend = evenBackend('2026-01-18T00:00:00Z', days + 14, perDay, 7);
  const server = await watchedServer(backend, clock, { quota, latencyMs: { least: 0, most: 20 } });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  const given = { lake, endpoint: server.url, account: 'shop', ...quota };
  const { summary } = await ran({ ...given, from: '2026-02-01', to: '2026-03-01' }, { clock });

  const least = (days * perDay) / 100;
  for (const pipeline of ['financial-events', 'group-events']) {
    expect(summary.pipelines[pipeline]).toMatchObject({ retries: 0, throttled: 0, events: days * perDay });
    expect(summary.pipelines[pipeline]?.['requests']).toBeLessThanOrEqual(least * 1.05);
  }
  expect(least).toBeGreaterThan(100);
  // While either has sent the middle half of its requests, so has the other some: each has tokens of its own.
  for (const [one, other] of [
    ['financial-events/', 'group-events/'],
    ['group-events/', 'financial-events/'],
  ] as const) {
    const places = server.asked.flatMap((asked, place) => (asked.startsWith(one) ? [place] : []));
    const middle = server.asked.slice(places[places.length >> 2], places[(places.length * 3) >> 2]);
    expect(middle.filter((asked) => asked.startsWith(other)).length).toBeGreaterThan(5);
  }

  const next = await ran(
    { ...given, pipelines: ['financial-events'], from: '2026-01-18', to: '2026-02-01' },
    { clock },
  );
  expect(next.summary.pipelines['financial-events']).toMatchObject({ throttled: 0, events: 14 * perDay });
  expect(server.counts.requests(undefined, 429)).toBe(0);
  const all = { rows: (days + 14) * perDay, raws: (days + 14) * perDay, missing: 0 };
  expect(await lostOrDoubled(lake, 'events', backend.items)).toEqual(all);
});

test('with a fault on every tenth request, the service itself fifty times as fast: all is read, nothing lost or doubled', async () => {
  const clock = runningClock(now, 50);
  const backend = evenBackend('2026-02-01T00:00:00Z', days, perDay / 2, 7);
  const faults = { all: { share: 0.1 } };
  const server = await watchedServer(backend, clock, { quota: { rate: 0.5, burst: 30 }, latencyMs: 400, faults });
  onTestFinished(() => server.close());
  const folder = await temporaryFolder();
  const lake = await Lake.open(openStore(folder, { clock }), tables, clock);
  const connection = connectFinances({
    endpoint: server.url,
    quota: { rate: 0.5, burst: 30 },
    clock,
    random: Math.random,
    cursorLifeMs: 180_000,
    // In real time, as the connections are.
    transport: { headersTimeoutMs: 1000, bodyTimeoutMs: 1000 },
  });
  onTestFinished(() => connection.close());
  const { failure, summaries } = await runPipelines(choosePipelines([], false), {
    job: {
      kind: 'backfill',
      account: 'shop',
      range: { start: Date.UTC(2026, 1, 1), end: Date.UTC(2026, 2, 1) },
      lake,
      refresh: false,
      orders: [],
    },
    upstream: connection.upstream,
    clock,
    signal: new AbortController().signal,
    emit: () => undefined,
    openSlices: 4,
    revisions: noRevisions,
  });
  expect(failure).toBeUndefined();
  expect(server.counts.faults()).toBeGreaterThan(5);
  expect(summaries.reduce((sum, { retries }) => sum + retries, 0)).toBeGreaterThan(0);
  const all = { rows: backend.items.length, raws: backend.items.length, missing: 0 };
  expect(await lostOrDoubled(folder, 'events', backend.items)).toEqual(all);
  expect(await lostOrDoubled(folder, 'group_events', backend.items)).toEqual(all);
});

test('two accounts side by side on one service: each has its own quota and its own journal, on one lake', async () => {
  const clock = runningClock(now);
  const backend = evenBackend('2026-02-01T00:00:00Z', 14, perDay, 7);
  const client = { clientId: 'a-client', clientSecret: 'a-secret' };
  const server = await watchedServer(backend, clock, { quota, signIn: client });
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  const runs = ['one', 'two'].map((account) => {
    const signIn = {
      account,
      tokenEndpoint: `${server.url}/auth/o2/token`,
      clientId: new Secret(client.clientId),
      clientSecret: new Secret(client.clientSecret),
      refreshToken: new Secret(`Atzr|${account}`),
    };
    const pipelines = ['financial-events'];
    return ran(
      { lake, endpoint: server.url, account, signIn, pipelines, ...quota, from: '2026-02-01', to: '2026-02-15' },
      { clock },
    );
  });
  const ended = await Promise.all(runs);
  for (const { summary } of ended) {
    expect(summary.pipelines['financial-events']).toMatchObject({ throttled: 0, events: backend.items.length });
  }
  expect(server.counts.requests(undefined, 429)).toBe(0);
  const rows = await (
    await database(lake, clock)
  ).rows('SELECT account, count(*) AS n, count(DISTINCT raw) AS raws FROM events GROUP BY account ORDER BY account');
  const n = BigInt(backend.items.length);
  expect(rows).toEqual([
    { account: 'one', n, raws: n },
    { account: 'two', n, raws: n },
  ]);
});
