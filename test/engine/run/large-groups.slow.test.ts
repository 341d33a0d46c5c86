import { describe, expect, onTestFinished, test } from 'vitest';
import { status } from '../../../src/app/status/status.js';
import { contains } from '../../../src/core/windows.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { Kept } from '../../core/text/streams.js';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { verified } from '../../app/verify/verified.js';
import { settlement } from '../../app/load/backend-items.js';
import { hidingBackend, postedAt, setClock, synced } from '../../app/load/synced.js';
import { evenBackend } from './even-backend.js';
import { watchedServer } from './watched-server.js';

const clock = runningClock('2026-03-20T12:00:00Z', 100);
const range = { from: '2026-02-01', to: '2026-03-15' };
const days = 42;
const perDay = 30;

// The live service's limit is 15,300 events; this one gives up beyond 150.
test.each([
  { what: 'two of three are', settlementDays: 20, tooLarge: [0, 1], rate: 1000, fine: 2 * perDay },
  { what: 'two of three are, with requests worth saving', settlementDays: 20, tooLarge: [0, 1], rate: 100, fine: 60 },
  { what: 'each is', settlementDays: 7, tooLarge: [0, 1, 2, 3, 4, 5], rate: 1000, fine: 0 },
])(
  'settlements too large to be read are told and are holes, where $what: their events come by date',
  async ({ settlementDays, tooLarge, rate, fine }) => {
    let isLimited = true;
    const faults = { 'group-limit': { amount: 150, when: () => isLimited } };
    const backend = evenBackend(range.from, days, perDay, settlementDays);
    const server = await watchedServer(backend, clock, { faults });
    onTestFinished(() => server.close());
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop', ...range, rate };
    const count = async (table: string) => {
      const [row] = await (await database(lake, clock)).rows(`SELECT count(*) AS n FROM ${table}`);
      return Number(row?.['n']);
    };

    const emitted: RunEvent[] = [];
    const failure = await ran(given, { clock, emitted }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'HOLES', exitCode: 1 });
    const refused = /group GROUP-\d, too large for the service \(refused after \d+ events\)/;
    expect(String(failure)).toMatch(refused);
    const left = emitted.flatMap((event) => (event.event === 'hole-left' ? [event.place] : []));
    expect(left).toEqual(tooLarge.map(() => expect.stringMatching(refused) as string));
    expect(new Set(left).size).toBe(tooLarge.length);
    expect(await count('events')).toBe(days * perDay);
    expect(await count('group_events')).toBe(fine);

    // The next run requests nothing, and a refresh reads them.
    isLimited = false;
    const { summary } = await ran(given, { clock });
    expect(summary.pipelines['group-events']).toMatchObject({ slices: 0, requests: 0 });
    expect(await count('group_events')).toBe(fine);
    await ran({ ...given, pipelines: ['group-events'], refresh: true }, { clock });
    expect(await count('group_events')).toBe(days * perDay);
  },
);

describe('a settlement that is refused behind more than 10,000 events', () => {
  const limit = { 'group-limit': { amount: 10_100 } };
  const begins = '2026-02-01';

  /** A service whose one settlement of two weeks with 750 events a day is open until the clock is behind its end. */
  async function oneSettlement(start: string) {
    const clock = setClock(start);
    const pausing = { now: () => clock.now(), sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
    const even = evenBackend(begins, 14, 750, 14);
    const shown = hidingBackend(even, (item, asOf) => (postedAt(item) ?? 0) >= asOf);
    const end = Date.parse('2026-02-15');
    const groups: typeof even.groups = (range) => {
      const [first, last] = [begins, '2026-02-15'].map((day) => `${day}T00:00:00.000Z`);
      const group = settlement('GROUP-0', first ?? '', clock.now() < end ? undefined : last);
      return Promise.resolve({ items: contains(range, group.at) ? [group] : [], next: undefined });
    };
    const server = await watchedServer({ ...shown, groups }, pausing, { faults: limit });
    onTestFinished(() => server.close());
    const lake = await temporaryFolder();
    const given = { lake, endpoint: server.url, account: 'shop' };
    const asked = () => server.asked.splice(0).filter((one) => one.startsWith('group-events')).length;
    const rows = async () => {
      const [row] = await (await database(lake, pausing)).rows('SELECT count(*) AS n FROM group_events');
      return Number(row?.['n']);
    };
    return { clock, pausing, given, asked, rows };
  }

  const place =
    /could not read group-events group GROUP-0, too large for the service \(refused after 10,100 events\); financial-events has its events/;

  test('is a hole: it fails the run that finds it, and no later one, until it is refreshed', async () => {
    const { clock, pausing, given, asked, rows } = await oneSettlement('2026-03-20T12:00:00Z');
    const options = { ...given, from: begins, to: '2026-02-10', pipelines: ['group-events'] };
    const failure: unknown = await ran(options, { clock: pausing }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'HOLES', exitCode: 1 });
    expect(String(failure)).toMatch(place);
    expect(String(failure).length).toBeLessThan(300);
    expect(asked()).toBeGreaterThan(100);
    expect(await rows()).toBe(0);

    clock.set('2026-04-20T12:00:00Z');
    await ran(options, { clock: pausing });
    const { failure: none } = await synced({ ...given, maxLag: '2d' }, { clock: pausing });
    expect(none).toBeUndefined();
    expect(asked()).toBe(0);
    const output = new Kept();
    const context = { clock: pausing, signal: new AbortController().signal, output, emit: () => undefined };
    const scope = { account: undefined, from: undefined, to: undefined, maxLag: '2d' };
    await status({ lake: given.lake, ...scope, format: 'json', color: false }, context);
    const { accounts } = JSON.parse(output.text) as { accounts: unknown[] };
    expect(accounts[0]).toMatchObject({
      groups_to_load: [],
      holes: [{ pipeline: 'group-events', load_key: 'group/GROUP-0', refused_after: 10_100 }],
    });

    const { checks } = await verified({ root: given.lake, clock: pausing });
    expect(checks.filter(({ result }) => ['failed', 'finding', 'note'].includes(result))).toMatchObject([
      { check: 'unread-events', result: 'note', found: 1 },
    ]);

    const again: unknown = await ran({ ...options, refresh: true }, { clock: pausing }).catch(
      (error: unknown) => error,
    );
    expect(again).toMatchObject({ code: 'HOLES' });
    expect(asked()).toBeGreaterThan(100);
  });

  test('keeps the rows that it had while it was smaller, and is read once more after its end', async () => {
    const { clock, pausing, given, asked, rows } = await oneSettlement('2026-02-13T12:00:00Z');
    const night = async (iso: string) => {
      clock.set(iso);
      const { failure } = await synced(given, { clock: pausing });
      return { code: (failure as { code?: string } | undefined)?.code, asked: asked(), rows: await rows() };
    };
    await ran({ ...given, from: begins, to: '2026-02-13' }, { clock: pausing });
    const before = await rows();
    expect(before).toBeGreaterThan(9000);
    asked();
    expect(await night('2026-02-14T23:00:00Z')).toMatchObject({ code: 'HOLES', rows: before });
    expect(await night('2026-02-14T23:30:00Z')).toEqual({ code: undefined, asked: 0, rows: before });
    const closed = await night('2026-02-16T12:00:00Z');
    expect(closed).toMatchObject({ code: 'HOLES', rows: before });
    expect(closed.asked).toBeGreaterThan(100);
    expect(await night('2026-02-17T12:00:00Z')).toEqual({ code: undefined, asked: 0, rows: before });
  });
});
