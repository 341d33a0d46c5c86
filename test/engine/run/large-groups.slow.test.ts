import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { checkedPath } from '../../../src/core/io/links.js';
import { largeGroupsFile } from '../../../src/app/load/state-folder.js';
import { openLargeGroups } from '../../../src/sources/finances/api-v0/large-groups.js';
import { database, ran, temporaryFolder } from '../../app/lake-run.js';
import { inItsFolder } from '../../core/io/path-below.js';
import { runningClock } from '../../running-clock.js';
import { setClock } from '../../app/load/synced.js';
import { evenLedger } from './even-ledger.js';
import { watchedService } from './watched-service.js';

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
  'settlements too large to be read are told and left open, where $what: their events come by date',
  async ({ settlementDays, tooLarge, rate, fine }) => {
    let isLimited = true;
    const faults = { 'group-limit': { amount: 150, when: () => isLimited } };
    const ledger = evenLedger(range.from, days, perDay, settlementDays);
    const service = await watchedService(ledger, clock, { faults });
    onTestFinished(() => service.close());
    const lake = await temporaryFolder();
    const given = { lake, endpoint: service.url, account: 'shop', ...range, rate };
    const count = async (table: string) => {
      const [row] = await (await database(lake, clock)).rows(`SELECT count(*) AS n FROM ${table}`);
      return Number(row?.['n']);
    };

    const logged: string[] = [];
    const emitted: RunEvent[] = [];
    const failure = await ran(given, { clock, logged, emitted }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
    expect(String(failure)).toMatch(/left open group-events group GROUP-\d, and \d more: .*InvalidInput/);
    // One line says why, and one how many more.
    const [told, ...others] = logged.filter((line) => line.includes('left open'));
    expect(told).toMatch(
      /^group-events: group GROUP-\d is left open: Most likely too large: the service refused to continue /,
    );
    expect(others).toEqual([expect.stringMatching(`^${tooLarge.length} slices are left open for this reason`)]);
    const open = emitted.flatMap((event) => (event.event === 'slice-failed' ? [event.slice] : []));
    expect(open.toSorted()).toEqual(tooLarge.map((number) => `group GROUP-${number}`));
    expect(await count('events')).toBe(days * perDay);
    expect(await count('group_events')).toBe(fine);

    // Left open is not loaded: the next run tries them again, and nothing else.
    isLimited = false;
    const { summary } = await ran(given, { clock });
    expect(summary.pipelines['group-events']).toMatchObject({ slices: tooLarge.length });
    expect(summary.pipelines['financial-events']).toMatchObject({ requests: 0 });
    expect(await count('group_events')).toBe(days * perDay);
  },
);

test('a settlement that is refused behind more than 10,000 events is told as too large, and not asked for each night', async () => {
  const clock = setClock('2026-03-20T12:00:00Z');
  const pausing = { now: () => clock.now(), sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  const faults = { 'group-limit': { amount: 10_100 } };
  const even = evenLedger('2026-02-01', 14, 750, 14);
  const service = await watchedService(even, pausing, { faults });
  onTestFinished(() => service.close());
  const lake = await temporaryFolder();
  const given = { lake, endpoint: service.url, account: 'shop', from: '2026-02-01', to: '2026-02-10' };
  const attempt = async (more = {}) => {
    service.asked.splice(0);
    const options = { ...given, pipelines: ['group-events'], ...more };
    const failure: unknown = await ran(options, { clock: pausing }).catch((error: unknown) => error);
    return {
      text: String(failure),
      failure,
      asked: service.asked.filter((one) => one.startsWith('group-events')).length,
    };
  };

  const first = await attempt();
  expect(first.failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(first.asked).toBeGreaterThan(100);
  expect(first.text).toMatch(
    /: Most likely too large: the service refused to continue after 10,100 events of the settlement. .*InvalidInput/,
  );
  expect(first.text).toContain('Its events are in the lake by date, if financial-events is loaded for its dates');

  clock.set('2026-03-22T12:00:00Z');
  const second = await attempt();
  expect(second.failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(second.asked).toBe(0);
  expect(second.text).toContain('on 2026-03-20 it was refused after 10,100 events');
  expect(second.text).toContain('from 2026-03-27 on, or with `backfill --refresh`');

  expect((await attempt({ refresh: true })).asked).toBeGreaterThan(100);
  clock.set('2026-03-29T13:00:00Z');
  expect((await attempt()).asked).toBeGreaterThan(100);
});

test('settlements that are known to be too large keep none of the others from being read', async () => {
  const path = join(await temporaryFolder(), 'large-groups.json');
  const at = Date.parse('2026-03-19T12:00:00Z');
  const keep = () => openLargeGroups({ file: inItsFolder(path), clock, isForgotten: false, warn: () => undefined });
  const span = (number: number, more = 0) => {
    const start = Date.parse(range.from) + number * 7 * 86_400_000;
    return { id: `GROUP-${number}`, start, end: start + 7 * 86_400_000 + more };
  };
  const before = await keep();
  for (let number = 0; number < 5; number++) await before.add(span(number), 12_000);
  const known = await keep();
  expect(known.find(span(4))).toMatchObject({ events: 12_000 });
  expect(known.find(span(4))?.at).toBeGreaterThan(at);
  // Another end, another settlement.
  expect(known.find(span(4, 1000))).toBeUndefined();
  expect(known.find(span(5))).toBeUndefined();

  const service = await watchedService(evenLedger(range.from, days, perDay, 7), clock);
  onTestFinished(() => service.close());
  const lake = await temporaryFolder();
  const given = { lake, endpoint: service.url, account: 'shop', ...range, pipelines: ['group-events'] };
  await mkdir(join(lake, '_journal', 'shop'), { recursive: true });
  await copyFile(path, checkedPath(largeGroupsFile({ lake }, 'shop', service.url)));
  const logged: string[] = [];
  const failure: unknown = await ran(given, { clock, logged }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'INCOMPLETE' });
  expect(logged.filter((line) => line.includes('Not requested again'))).toHaveLength(1);
  expect(logged).toContainEqual(expect.stringMatching(/^5 slices are left open for this reason \(known\)/));
  const [row] = await (await database(lake, clock)).rows('SELECT count(DISTINCT group_id) AS n FROM group_events');
  expect(row).toEqual({ n: 1n });
});
