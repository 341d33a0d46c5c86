import type { EmulatorOptions } from '../../emulator/emulator.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { settlement, shipment } from '../../app/load/backend-items.js';
import { evenBackend } from './even-backend.js';
import { watchedServer, type WatchedServer } from './watched-server.js';
import type { Backend } from '../../../src/serve/served-apis.js';

const now = '2026-03-20T12:00:00Z';
const dayMs = 86_400_000;

async function serverOver(
  backend: Backend,
  clock = runningClock(now),
  more: Partial<EmulatorOptions> = {},
): Promise<WatchedServer> {
  const server = await watchedServer(backend, clock, more);
  onTestFinished(() => server.close());
  return server;
}

/** The first column of all rows, in order. */
async function column(lake: string, query: string): Promise<unknown[]> {
  const rows = await (await database(lake, runningClock(now))).rows(query);
  return rows.map((row) => Object.values(row)[0]);
}

/** Days that the windows asked for lasted. */
function daysAsked({ asked }: WatchedServer): number[] {
  return asked.flatMap((one) => {
    const [, start, end] = /window\/([^/]+)\/([^/#]+)#/.exec(one) ?? [];
    return start === undefined || end === undefined ? [] : [(Date.parse(end) - Date.parse(start)) / dayMs];
  });
}

describe('no rows', () => {
  test.each([
    ['where requests are worth saving', 100],
    ['where they are not', 1000],
  ])('from more than 180 days at once, which is never asked for, %s', async (_what, rate) => {
    const items = Array.from({ length: 21 }, (_, number) =>
      shipment(new Date(Date.parse(now) - (number + 1) * 10 * dayMs).toISOString(), `order-${number}`),
    );
    const server = await serverOver(arrayBackend(items));
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', rate, pipelines: ['financial-events'] };
    await ran({ ...given, from: '2025-08-20' }, { clock: runningClock(now) });
    expect(Math.max(...daysAsked(server))).toBeLessThanOrEqual(31);
    expect(await column(lake, 'SELECT count(*) FROM events')).toEqual([21n]);
    // As the service answers those who do ask.
    const all = '?PostedAfter=2025-08-20T00:00:00Z&PostedBefore=2026-03-20T00:00:00Z';
    const answer = await fetch(`${server.url}/finances/v0/financialEvents${all}`);
    expect([answer.status, (await answer.text()).includes('order-')]).toEqual([200, false]);
  });

  test('in a range that has nothing at all: it is said, with what to check, and not once the lake has it', async () => {
    const server = await serverOver(arrayBackend([]));
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', from: '2026-03-01', to: '2026-03-10' };
    const first = await ran(given, { clock: runningClock(now) });
    expect(first.summary.status).toBe('done');
    expect(first.printed).toMatch(
      /WARNING: no events between 2026-03-01\S* and 2026-03-10\S*: \d requests returned none\. .*region or endpoint/,
    );
    // DuckDB fails where there is no file to read.
    expect(first.printed).not.toContain('read_parquet');
    const second = await ran(given, { clock: runningClock(now) });
    expect(second.printed).toContain('Nothing to do');
    expect(second.printed).not.toContain('no events');
  });

  test('in a range before the first event: the account’s first one is named', async () => {
    const server = await serverOver(arrayBackend([shipment('2026-03-05T10:00:00Z', 'order-1')]));
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop' };
    const first = await ran({ ...given, from: '2026-03-01' }, { clock: runningClock(now) });
    expect(first.printed).not.toContain('no events');
    const before = await ran({ ...given, from: '2026-01-01', to: '2026-02-01' }, { clock: runningClock(now) });
    expect(before.printed).toMatch(
      /WARNING: no events between 2026-01-01\S* and 2026-02-01\S*; the first event of shop in the lake is of 2026-03-05/,
    );
  });

  test('of the synthetic seller before its history: it is said when that begins', async () => {
    const lake = await temporaryFolder();
    const given = { lake, from: '2025-01-01', to: '2025-02-01', pipelines: ['financial-events'] };
    const { printed } = await ran(given, { clock: runningClock(now) });
    expect(printed).toMatch(/WARNING: no events between 2025-01-01.*synthetic seller begins about 90 days ago/);
  });

  test('in the minutes since the last run: no warning, since the lake shows that the account has sales', async () => {
    const server = await serverOver(arrayBackend([shipment('2026-03-05T10:00:00Z', 'order-1')]));
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', from: '2026-03-01' };
    const first = await ran({ ...given, to: '2026-03-10' }, { clock: runningClock(now) });
    const second = await ran({ ...given, to: '2026-03-10T00:01:00Z' }, { clock: runningClock(now) });
    expect(second.printed).toContain('Loaded 2026-03-01T00:00:00Z to 2026-03-10T00:01:00Z');
    // What to try next is for who has a new lake.
    expect([first, second].map(({ printed }) => printed.includes('Next, what was earned'))).toEqual([true, false]);
    for (const { printed } of [first, second]) expect(printed).not.toContain('no events');
  });

  test.each([
    ['as ours', {}],
    ['two minutes slow', { 'clock-slow': { amount: 2 } }],
    ['five minutes fast', { 'clock-fast': { amount: 5 } }],
  ])('is not what bounds lead to by a clock that is %s: they stay behind', async (_what, faults) => {
    const clock = runningClock(now);
    const server = await serverOver(evenBackend('2026-03-14', 7, 24, 7), clock, { faults });
    const lake = await temporaryFolder();
    const { summary } = await ran({ lake, endpoint: server.url, account: 'shop', from: '2026-03-14' }, { clock });
    expect(summary.pipelines['financial-events']).toMatchObject({ retries: 0, events: 6 * 24 + 12 });
    expect(server.counts.requests(undefined, 400)).toBe(0);
  });

  test('is waited for where the service’s clock is further behind than the margin', async () => {
    const clock = runningClock(now, 600);
    const faults = { 'clock-slow': { amount: 6 } };
    const server = await serverOver(evenBackend('2026-03-14', 7, 24, 7), clock, { faults });
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', from: '2026-03-19' };
    const { summary } = await ran({ ...given, pipelines: ['financial-events'] }, { clock });
    expect(server.counts.requests(undefined, 400)).toBeGreaterThan(0);
    expect(summary.pipelines['financial-events']).toMatchObject({ events: 36 });
  });

  test('where there was something is told, with what and when, and empties no table', async () => {
    const items: DatedItem[] = [
      settlement('GROUP-1', '2026-02-01T00:00:00Z', '2026-02-15T00:00:00Z'),
      ...Array.from({ length: 20 }, (_, day) =>
        shipment(`2026-02-${String(day + 1).padStart(2, '0')}T08:00:00Z`, `order-${day}`, '1.10', 'GROUP-1'),
      ),
    ];
    let isEmpty = false;
    const full = arrayBackend(items);
    const server = await serverOver({
      groups: (...asked) => (isEmpty ? arrayBackend([]) : full).groups(...asked),
      events: (...asked) => (isEmpty ? arrayBackend([]) : full).events(...asked),
      eventsOfGroup: (...asked) =>
        isEmpty ? Promise.resolve({ items: [], next: undefined }) : full.eventsOfGroup(...asked),
      eventsOfOrder: (...asked) => full.eventsOfOrder(...asked),
    });
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', from: '2026-02-01', to: '2026-02-28' };
    const clock = runningClock(now);
    await ran(given, { clock });
    isEmpty = true;
    const refused = await ran({ ...given, refresh: true }, { clock }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'UPSTREAM_EMPTY', exitCode: 1 });
    expect(String(refused)).toMatch(/where the lake has \d+ rows?, got an empty answer/);
    for (const [table, rows] of [
      ['groups', 1n],
      ['events', 20n],
      ['group_events', 20n],
    ] as const) {
      expect(await column(lake, `SELECT count(*) FROM ${table}`), table).toEqual([rows]);
    }
    expect(await column(lake, 'SELECT * FROM event_history')).toEqual([]);

    const accepted = await ran({ ...given, refresh: true, acceptEmpty: true }, { clock });
    expect(accepted.printed).toMatch(
      /WARNING: financial-events: 2026-02-.* had .* and the answer is empty; the answer was accepted/,
    );
    expect(await column(lake, 'SELECT count(*) FROM events')).toEqual([0n]);
    const vanished = "SELECT count(*) FROM event_history WHERE change = 'vanished' AND source = 'events'";
    expect(await column(lake, vanished)).toEqual([20n]);
  });
});
