import { describe, expect, test } from 'vitest';
import { withoutMember } from '../../../src/emulator/faults/faulty-events.js';
import { faultyBackend } from '../../../src/emulator/emulator.js';
import { FaultInjector } from '../../../src/emulator/faults/fault-injector.js';
import { arrayBackend, event, group } from '../../serve/http/array-backend.js';
import { type Client, firstToken, pages, paths, start, startClient } from '../../serve/http/client.js';
import { handClock } from '../../serve/http/hand-clock.js';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse(start);
const iso = (ms: number) => new Date(ms).toISOString();

/** An event that carries its date. */
function dated(at: number, id: number, name = 'PostedDate') {
  return event(at, id, { group: 'G', order: '902-1845936-5435065', json: `{"id":${id},"${name}":"${iso(at)}"}` });
}
const idsOf = async (client: Client, path: string = paths.events) =>
  (await pages(client, path, { MaxResultsPerPage: 7 })).flatMap(({ ids }) => ids);

describe('empty-page', () => {
  test('holds nothing and has a token that goes on where it stood', async () => {
    const items = [1, 2, 3].map((id) => event('2025-06-01', id));
    const client = await startClient(items, { faults: { 'empty-page': { times: 3 } } });
    const replies = await pages(client, paths.events, { MaxResultsPerPage: 2 });
    expect(replies.map(({ ids }) => ids)).toEqual([[], [], [], [1, 2], [3]]);
    const tokens = replies.map(({ token }) => token);
    expect(new Set(tokens).size).toBe(5);
  });
});

describe('token-loop', () => {
  test('gives the token that asked for the page; asked again, the chain goes on', async () => {
    const items = [1, 2, 3].map((id) => event('2025-06-01', id));
    const client = await startClient(items, { faults: { 'token-loop': { times: 2 } } });
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    for (let round = 0; round < 2; round++) {
      expect(await client.get(paths.events, { NextToken: token })).toMatchObject({ ids: [2], token });
    }
    const right = await client.get(paths.events, { NextToken: token });
    expect(right.ids).toEqual([2]);
    expect(right.token).not.toBe(token);
    expect(client.server.counts.faults('token-loop')).toBe(2);
  });
});

describe('deferred-events', () => {
  const items = Array.from({ length: 200 }, (_, id) => dated(now - 40 * day + id * 4 * hour, id));

  test('appear so many days after the date they carry, in every operation alike', async () => {
    const client = await startClient(items, { faults: { 'deferred-events': { share: 0.3, amount: 20 } } });
    const early = await idsOf(client);
    const fresh = items.slice(120).length;
    expect(early.length).toBeGreaterThan(200 - fresh * 0.5);
    expect(early.length).toBeLessThan(200 - fresh * 0.1);
    // What is older than that is all there.
    expect(early.filter((id) => Number(id) < 119)).toHaveLength(119);
    expect(await idsOf(client, paths.ofGroup('G'))).toEqual(early);
    expect(await idsOf(client, paths.ofOrder('902-1845936-5435065'))).toEqual(early);
    client.clock.move(20 * day);
    expect(await idsOf(client)).toEqual(items.map((_, id) => id));
  });

  test('are the same for the same seed, and others for another', async () => {
    const read = async (seed: number) => {
      const ids = await idsOf(await startClient(items, { seed, faults: { 'deferred-events': { share: 0.5 } } }));
      return ids.join(' ');
    };
    expect(await read(1)).toBe(await read(1));
    expect(await read(2)).not.toBe(await read(1));
  });

  test('a chain of pages stays of a piece', async () => {
    const client = await startClient(items, { faults: { 'deferred-events': { share: 1, amount: 10 } } });
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 100 });
    client.clock.move(30 * day);
    // Ten days before the chain began: number 180.
    expect((await client.get(paths.events, { NextToken: token })).ids).toHaveLength(81);
  });

  test('an event without a date is never late', async () => {
    const client = await startClient([event(now - hour, 1)], { faults: { 'deferred-events': { share: 1 } } });
    expect(await idsOf(client)).toEqual([1]);
  });

  test.each(['PostedDate', 'postedDate', 'TransactionPostedDate', 'TransactionCreationDate'])('%s', async (name) => {
    const client = await startClient([dated(now - hour, 1, name)], { faults: { 'deferred-events': { share: 1 } } });
    expect(await idsOf(client)).toEqual([]);
  });
});

describe('recent-incomplete', () => {
  test('lacks some events of the last 48 hours, which come one after the other', async () => {
    const items = Array.from({ length: 96 }, (_, id) => dated(now - 72 * hour + id * 0.75 * hour, id));
    const client = await startClient(items, { faults: { 'recent-incomplete': { share: 0.8 } } });
    const counts: number[] = [];
    for (let round = 0; round < 5; round++) {
      counts.push((await idsOf(client)).length);
      client.clock.move(12 * hour);
    }
    expect(counts[0]).toBeLessThan(85);
    expect(counts).toEqual([...counts].sort((one, other) => one - other));
    expect(new Set(counts).size).toBeGreaterThan(3);
    expect(counts[4]).toBe(96);
  });
});

describe('history-limit', () => {
  const items = [...[800, 731, 729, 10].map((days, id) => dated(now - days * day, id)), group(now - 740 * day, 'old')];

  test('shows nothing that is older than two years', async () => {
    const client = await startClient(items, { faults: { 'history-limit': {} } });
    expect(await idsOf(client, paths.ofGroup('G'))).toEqual([2, 3]);
    expect(await idsOf(client, paths.ofOrder('902-1845936-5435065'))).toEqual([2, 3]);
    expect(await idsOf(client, paths.groups)).toEqual([]);
    const ask = (from: number, to: number) =>
      client.get(paths.events, { PostedAfter: iso(now - from * day), PostedBefore: iso(now - to * day) });
    expect((await ask(810, 735)).ids).toEqual([]);
    expect((await ask(810, 700)).ids).toEqual([2]);
  });
});

describe('total-missing', () => {
  const json = (id: string, end: number) =>
    `{"FinancialEventGroupId":"${id}","ProcessingStatus":"Closed","OriginalTotal":{"CurrencyCode":"EUR","CurrencyAmount":25.10},` +
    `"BeginningBalance":{"CurrencyCode":"EUR","CurrencyAmount":-0.00},"FinancialEventGroupEnd":"${iso(end)}"}`;
  const items = [
    { ...group(now - 30 * day, 'A'), json: json('A', now - hour) },
    { ...group(now - 30 * day, 'B'), json: json('B', now - 30 * hour) },
  ];

  test('leaves OriginalTotal out for a while after the group has closed, and nothing else', async () => {
    const client = await startClient(items, { faults: { 'total-missing': {} } });
    const whole = await (await startClient(items)).get(paths.groups);
    const total = '"OriginalTotal":{"CurrencyCode":"EUR","CurrencyAmount":25.10},';
    expect((await client.get(paths.groups)).text).toBe(whole.text.replace(total, ''));
    client.clock.move(23 * hour);
    expect((await client.get(paths.groups)).text).toBe(whole.text);
    expect(client.server.counts.faults('total-missing')).toBe(1);
  });

  test.each([
    ['{"a":1,"b":{"a":2},"c":3}', 'a', '{"b":{"a":2},"c":3}'],
    ['{ "a" : 1.10 }', 'a', '{}'],
    ['{"b":-0.00}', 'a', '{"b":-0.00}'],
    ['{"\\u0061":1,"b":"é"}', 'a', '{"b":"é"}'],
  ])('%j without %s', (text, name, left) => {
    expect(withoutMember(text, name)).toBe(left);
  });
});

describe('unknown-list', () => {
  const items = Array.from({ length: 40 }, (_, id) => dated(now - 20 * day + id, id));
  const lists = async (client: Client, path: string) => (await client.get(path)).body.payload?.FinancialEvents ?? {};

  test('stands empty in every body of events', async () => {
    const client = await startClient(items, { faults: { 'unknown-list': {} } });
    for (const path of [paths.events, paths.ofGroup('G')]) {
      const { PerformanceBondRefundEventList: found, ShipmentEventList: known } = await lists(client, path);
      expect([found?.length, known?.length]).toEqual([0, 40]);
    }
    expect((await client.get(paths.groups)).text).not.toContain('PerformanceBond');
  });

  test('holds a share of the events, the same ones in every operation', async () => {
    const client = await startClient(items, { faults: { 'unknown-list': { share: 0.3 } } });
    const byDate = await lists(client, paths.events);
    const { PerformanceBondRefundEventList: moved = [], ShipmentEventList: left = [] } = byDate;
    expect(moved.length).toBeGreaterThan(3);
    expect(left.length).toBeGreaterThan(15);
    expect([...moved, ...left].map(({ id }) => Number(id)).sort((one, other) => one - other)).toEqual(
      items.map((_, id) => id),
    );
    expect(await lists(client, paths.ofGroup('G'))).toEqual(byDate);
  });
});

test('a backend without such faults is the backend itself', () => {
  const backend = arrayBackend([]);
  const injector = (faults: object) =>
    new FaultInjector({ faults, seed: 1, clock: handClock(start), hit: () => undefined, signIn: false });
  expect(faultyBackend(backend, injector({ throttled: {}, 'groups-missing': {} }))).toBe(backend);
  expect(faultyBackend(backend, injector({ 'unknown-list': {} }))).not.toBe(backend);
});
