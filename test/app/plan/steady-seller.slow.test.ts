import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../../src/core/clock.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { startApiServer, type RunningApiServer } from '../../../src/serve/http/server.js';
import { database, ran, type Ran } from '../lake-run.js';
import { everyHash } from '../maintenance/kept-lake.js';
import { of, planned, planText, type PlannedObject } from './plan-of.js';

/** Now, in June: the seller's history is long enough then. */
const ahead = Date.parse('2026-06-20T12:00:00Z') - Date.now();
const clock: Clock = { now: () => Date.now() + ahead, sleep: (ms, signal) => systemClock.sleep(ms, signal) };

const spring = { from: '2026-03-01', to: '2026-06-01' };
const fast = { rate: 50, burst: 30 };
const pipelines = ['financial-event-groups', 'financial-events', 'group-events'] as const;

let server: RunningApiServer;
let lake: string;
let common: { lake: string; endpoint: string; account: string };
let foretold: PlannedObject;
/** The same at the service's own quota. */
let paced: PlannedObject;
let happened: Ran['summary'];
let asked: number;
let hashes: readonly ReadonlyMap<string, string>[];

// A lake with February; a plan of the three months after it; and then the three months.
beforeAll(async () => {
  const backend = createSeller({ seed: 5, events: 24_000, days: 200, profile: 'edge-cases' }, clock);
  server = await startApiServer({ backend, clock });
  lake = await mkdtemp(join(tmpdir(), 'ledgerlake-plan-test-'));
  common = { lake, endpoint: server.url, account: 'shop' };
  await ran({ ...common, ...fast, from: '2026-02-01', to: '2026-03-01' }, { clock });
  const before = server.counts.requests();
  const hashesBefore = await everyHash(lake);
  foretold = await planned({ ...common, ...fast, ...spring }, clock);
  paced = await planned({ ...common, ...spring }, clock);
  asked = server.counts.requests() - before;
  hashes = [hashesBefore, await everyHash(lake)];
  happened = (await ran({ ...common, ...fast, ...spring }, { clock })).summary;
});

afterAll(async () => {
  await server.close();
  await rm(lake, { recursive: true, force: true });
});

test('asks nothing and changes no byte, not even of what is kept beside the lake', () => {
  expect(asked).toBe(0);
  expect(hashes[0]?.size).toBeGreaterThan(10);
  expect(hashes[1]).toEqual(hashes[0]);
});

test.each(pipelines)('%s: what was foretold comes within a tenth', (pipeline) => {
  const plan = of(foretold, pipeline);
  const done = happened.pipelines[pipeline] ?? {};
  expect(plan['known']).toBe(true);
  expectNear(plan['requests'], done['requests']);
  expectNear(plan['slices'], done['slices']);
  expectNear(plan['files'], done['files']);
  expectNear(plan['file_bytes'], done['bytes']);
  const rows = done['rows'] as unknown as Record<string, number>;
  expectNear(plan['events'], rows['groups'] ?? rows['events'] ?? rows['group_events']);
});

test('the bytes of the answers come within a tenth', async () => {
  const duckdb = await database(lake, clock);
  for (const [pipeline, table, since] of [
    ['financial-events', 'events', "window_start >= '2026-03-01'"],
    ['group-events', 'group_events', "window_start >= '2026-03-01'"],
    ['financial-event-groups', 'groups', "window_start >= '2026-03-01'"],
  ] as const) {
    const [row] = await duckdb.rows(`SELECT sum(strlen(raw))::BIGINT AS bytes FROM ${table} WHERE ${since}`);
    const { requests = 0 } = happened.pipelines[pipeline] ?? {};
    // Around the results a page has the names of lists and a token.
    expectNear(of(foretold, pipeline)['raw_bytes'], Number(row?.['bytes']) + requests * 1000);
  }
});

test('the time is the quota’s bound and an answer, and the longest pipeline’s is that of all', () => {
  for (const pipeline of pipelines) {
    const { requests, seconds } = of(paced, pipeline);
    const bound = Math.max(0, Number(requests) - 30) / 0.5;
    expect(Number(seconds)).toBeGreaterThanOrEqual(bound);
    expect(Number(seconds)).toBeLessThanOrEqual(bound * 1.02 + 4);
  }
  // Settlements are listed before they are read.
  const [listing, , byGroup] = pipelines.map((pipeline) => Number(of(paced, pipeline)['seconds']));
  expect(paced.seconds).toBeCloseTo((listing ?? 0) + (byGroup ?? 0), 0);
});

test('tells what of the range is held: days, windows, groups, events', async () => {
  const plan = await planned({ ...common, from: '2026-02-20', to: '2026-05-01' }, clock);
  expect(of(plan, 'financial-events')).toMatchObject({ held_days: 70, slices: 0, requests: 0 });
  const duckdb = await database(lake, clock);
  const [row] = await duckdb.rows(
    `SELECT
       (SELECT count(*) FROM events WHERE effective_at >= '2026-02-20' AND effective_at < '2026-05-01')::INTEGER AS events,
       (SELECT count(*) FROM groups WHERE started_at >= '2026-02-20' AND started_at < '2026-05-01')::INTEGER AS groups`,
  );
  expectNear(of(plan, 'financial-events')['held_events'], Number(row?.['events']));
  expect(of(plan, 'group-events')['held_slices']).toBe(row?.['groups']);
});

test('a lake in a folder whose name is a pattern is read as it is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-plan-test-'));
  try {
    const named = join(folder, 'lake*[2025]?');
    await cp(lake, named, { recursive: true });
    const range = { ...fast, from: '2026-03-01', to: '2026-06-10' };
    const plan = await planned({ ...common, ...range, lake: named }, clock);
    expect(plan.pipelines).toEqual((await planned({ ...common, ...range }, clock)).pipelines);
    expect(of(plan, 'financial-events')['raw_bytes']).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('a range that is loaded already is nothing to do', async () => {
  const text = await planText({ ...common, ...spring, format: 'table' }, clock);
  expect(text).toBe(
    `Nothing to do: ${lake} already has 2026-03-01 to 2026-06-01 for shop. --refresh reads it again.\n`,
  );
  const plan = await planned({ ...common, ...spring }, clock);
  expect(plan).toMatchObject({ known: true, requests: 0, seconds: 0, probe_requests: 0 });
  for (const one of plan.pipelines) expect(one).toMatchObject({ slices: 0, files: 0, raw_bytes: 0, file_bytes: 0 });
});

test('to refresh takes what loading took', async () => {
  const plan = await planned({ ...common, ...fast, ...spring, refresh: true }, clock);
  for (const pipeline of pipelines) {
    const { requests, slices } = happened.pipelines[pipeline] ?? {};
    expectNear(of(plan, pipeline)['requests'], requests);
    expect(of(plan, pipeline)['slices']).toBe(slices);
  }
});

test('a probe asks nothing where the lake can tell', async () => {
  const before = server.counts.requests();
  const plan = await planned({ ...common, from: '2026-03-01', to: '2026-06-10', probe: true }, clock);
  expect(plan.probe_requests).toBe(0);
  expect(server.counts.requests()).toBe(before);
});

test('an empty lake: the least it can be, and with a probe what a page or two let expect, which leaves nothing behind', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'ledgerlake-plan-test-'));
  try {
    const before = server.counts.requests();
    const plan = await planned({ ...common, ...spring, lake: empty }, clock);
    expect(plan.known).toBe(false);
    for (const one of plan.pipelines) expect(one).toMatchObject({ known: false, events: null, files: null });
    expect(of(plan, 'financial-events')['requests']).toBeLessThanOrEqual(4);
    expect(of(plan, 'financial-events')['requests']).toBeGreaterThanOrEqual(3);
    const text = await planText({ ...common, ...spring, lake: empty, format: 'table' }, clock);
    expect(text).toMatch(/^requests +≥ \d +≥ \d +≥ 0$/m);
    expect(text.replaceAll('\n', ' ')).toContain(
      'load a week first, or request a few pages from the service.   ledgerlake plan --probe --lake ',
    );
    for (const line of text
      .split('\n')
      .slice(1)
      .filter((of) => !of.startsWith('  ledgerlake ')))
      expect(line.length).toBeLessThanOrEqual(80);
    // However many slices a run would open before its first answer: a month of nothing takes one request, and of the
    // first month a part is read first.
    const year = await planned({ ...common, ...fast, from: '2025-06-01', to: '2026-06-01', lake: empty }, clock);
    expect(of(year, 'financial-events')['requests']).toBe(13);
    expect(of(year, 'financial-event-groups')['requests']).toBe(12);
    expect(server.counts.requests()).toBe(before);
    expect(await readdir(empty)).toEqual([]);

    const probed = await planned({ ...common, ...spring, lake: empty, probe: true }, clock);
    expect(probed.probe_requests).toBe(2);
    expect(server.counts.requests()).toBe(before + 2);
    expect(probed.known).toBe(true);
    for (const pipeline of pipelines) {
      const { requests = 0 } = happened.pipelines[pipeline] ?? {};
      expect(Number(of(probed, pipeline)['requests'])).toBeGreaterThan(requests * 0.6);
      expect(Number(of(probed, pipeline)['requests'])).toBeLessThan(requests * 1.6 + 3);
    }
    expect(await readdir(empty)).toEqual([]);
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
});

test('what the last run spent of the quota is waited for', async () => {
  const range = { pipelines: ['financial-events'], from: '2026-01-01', to: '2026-06-01' };
  const full = await planned({ ...common, ...range, journal: join(lake, '_elsewhere') }, clock);
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-plan-test-'));
  try {
    // Paced, and slow enough that what is spent is not back before the plan is made.
    await ran({ ...common, lake: folder, rate: 0.5, burst: 30, ...range, to: '2026-01-20' }, { clock });
    const spent = server.counts.requests('ListFinancialEvents');
    expect(spent).toBeGreaterThan(0);
    const plan = await planned({ ...common, ...range, journal: join(folder, '_journal') }, clock);
    expect(Number(plan.seconds)).toBeGreaterThan(Number(full.seconds) + 5);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('rows for programs have the same fields, and the account', async () => {
  const range = { ...common, from: '2026-03-01', to: '2026-06-10' };
  const { pipelines: objects } = await planned(range, clock);
  const lines = (await planText({ ...range, format: 'ndjson' }, clock)).trimEnd().split('\n');
  expect(lines.map((line) => Object.keys(JSON.parse(line) as object))).toEqual(
    objects.map((one) => [...Object.keys(one), 'account']),
  );
  const csv = await planText({ ...range, format: 'csv' }, clock);
  expect(csv.split('\n')[0]?.trim()).toBe([...Object.keys(objects[0] ?? {}), 'account'].join(','));
});

function expectNear(value: unknown, happened: number | undefined): void {
  expect(happened).toBeGreaterThan(0);
  expect(Number(value) / (happened ?? 0)).toBeGreaterThan(0.9);
  expect(Number(value) / (happened ?? 0)).toBeLessThan(1.1);
}
