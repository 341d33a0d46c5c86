import { startEmulator } from '../emulator.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { faultRequest } from '../../../src/serve/http/answers.js';
import { draw, type FaultRequest } from '../../../src/serve/http/fault-injection.js';
import {
  canHit,
  type Faults,
  type FaultKind,
  faultKinds,
  faultRules,
} from '../../../src/emulator/faults/fault-settings.js';
import { FaultInjector } from '../../../src/emulator/faults/fault-injector.js';
import { arrayBackend, event, group } from '../../serve/http/array-backend.js';
import { pages, paths, start, startClient } from '../../serve/http/client.js';
import { handClock } from '../../serve/http/hand-clock.js';

const ten = Array.from({ length: 10 }, (_, id) => event(Date.parse('2025-06-01') + id, id, { group: 'G' }));

function injectorOf(faults: Faults, more: { seed?: number; now?: () => number; signIn?: boolean } = {}) {
  const hits: FaultKind[] = [];
  const hit = (kind: string) => hits.push(kind as FaultKind);
  const { seed = 1, now = () => 0, signIn = false } = more;
  return { injector: new FaultInjector({ faults, seed, clock: { now }, hit, signIn }), hits };
}

/** So many first requests for events. */
function requests(
  count: number,
  operation: FaultRequest['operation'] = 'ListFinancialEvents',
  query = '',
): FaultRequest[] {
  return Array.from({ length: count }, (_, at) => faultRequest(operation, at + 1, query));
}

/** The numbers of the requests that a fault hit. */
function struck(kind: FaultKind, faults: Faults, count = 1_000, seed = 1): number[] {
  const { injector } = injectorOf(faults, { seed });
  return requests(count)
    .filter((request) => injector.hits(kind, request))
    .map(({ number }) => number);
}

describe('a share', () => {
  test('hits about as many requests as it says, the same ones for the same seed', () => {
    const faults = { reset: { share: 0.1 } };
    const numbers = struck('reset', faults, 10_000);
    expect(numbers.length).toBeGreaterThan(900);
    expect(numbers.length).toBeLessThan(1_100);
    expect(struck('reset', faults, 10_000)).toEqual(numbers);
    expect(struck('reset', faults, 10_000, 2)).not.toEqual(numbers);
  });

  test('of 0 hits none, of 1 and none given all', () => {
    expect(struck('reset', { reset: { share: 0 } })).toEqual([]);
    expect(struck('reset', { reset: { share: 1 } })).toHaveLength(1_000);
    expect(struck('reset', { reset: {} })).toHaveLength(1_000);
  });

  test("left out is the kind's own, so that a chain with page-twice ends", () => {
    const { injector } = injectorOf({ 'page-twice': {} });
    const hits = requests(1_000, 'listTransactions').filter((request) => injector.hits('page-twice', request));
    expect(hits.length).toBeGreaterThan(150);
    expect(hits.length).toBeLessThan(250);
  });

  test('of two kinds hits independently', () => {
    const faults = { reset: { share: 0.5 }, html: { share: 0.5 } };
    const [one, other] = [struck('reset', faults), struck('html', faults)];
    const both = one.filter((number) => other.includes(number)).length;
    expect(both).toBeGreaterThan(200);
    expect(both).toBeLessThan(300);
  });

  test('is a number from 0 up to 1 for whatever it is of', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.oneof(fc.string(), fc.integer())), (seed, words) => {
        const chance = draw(seed, ...words);
        expect(chance).toBeGreaterThanOrEqual(0);
        expect(chance).toBeLessThan(1);
        expect(draw(seed, ...words)).toBe(chance);
      }),
    );
  });
});

describe('settings', () => {
  test('when chooses, and times ends it', () => {
    const when = ({ number }: FaultRequest) => number % 3 === 0;
    expect(struck('html', { html: { when, times: 2 } })).toEqual([3, 6]);
    expect(struck('html', { html: { times: 0 } })).toEqual([]);
  });

  test('a spell hits every request of its operation, then chance decides again', () => {
    let now = 0;
    const { injector } = injectorOf({ html: { forMs: 100, times: 1 } }, { now: () => now });
    const [one, two, three] = requests(3);
    const [other] = requests(1, 'ListFinancialEventGroups');
    if (!one || !two || !three || !other) throw new Error('no requests');
    expect(injector.hits('html', one)).toBe(true);
    now = 99;
    expect(injector.hits('html', two)).toBe(true);
    expect(injector.hits('html', other)).toBe(false);
    now = 100;
    expect(injector.hits('html', three)).toBe(false);
  });

  test('a request is shown with all that chooses it', async () => {
    const seen: FaultRequest[] = [];
    const when = (request: FaultRequest) => {
      seen.push(request);
      return false;
    };
    const { get } = await startClient(ten, { faults: { reset: { when } } });
    await get('/nowhere');
    await get(paths.groups);
    await get(paths.events, { PostedAfter: '2025-01-01', MaxResultsPerPage: 7 });
    await get(paths.events, { NextToken: 'a+b=c' });
    expect(seen).toEqual([
      {
        operation: 'ListFinancialEventGroups',
        number: 1,
        hasToken: false,
        parameters: {},
      },
      {
        operation: 'ListFinancialEvents',
        number: 2,
        hasToken: false,
        parameters: { PostedAfter: '2025-01-01', MaxResultsPerPage: '7' },
      },
      {
        operation: 'ListFinancialEvents',
        number: 3,
        hasToken: true,
        parameters: { NextToken: 'a+b=c' },
      },
    ]);
  });

  test.each<[Faults, RegExp]>([
    [{ throttled: { share: 2 } }, /expected a share of throttled from 0 to 1, got 2/],
    [{ throttled: { share: NaN } }, /share of throttled/],
    [{ throttled: { times: 1.5 } }, /times of throttled/],
    [{ throttled: { forMs: 0 } }, /spell of throttled/],
    [{ throttled: { amount: 1 } }, /takes no amount/],
    [{ all: { amount: 1 } }, /takes no amount/],
    [{ 'chain-limit': { amount: 0.5 } }, /amount of chain-limit \(pages\)/],
    [{ 'clock-fast': { share: 1 } }, /takes no share/],
    [{ 'clock-fast': { times: 1 } }, /single requests/],
    [{ 'deferred-events': { when: () => true } }, /single requests/],
    [{ unheard: {} } as Faults, /expected a fault that exists, got "unheard"/],
  ])('%j can not be', async (faults, message) => {
    const starting = startEmulator({ backend: arrayBackend([]), clock: handClock(start), faults });
    await expect(starting).rejects.toMatchObject({ code: 'USAGE', message: expect.stringMatching(message) as string });
  });
});

describe('all', () => {
  const passing = faultKinds.filter((kind) => faultRules[kind].passing === true && canHit(kind, 'ListFinancialEvents'));
  const drawn = (faults: Faults, list: readonly FaultRequest[], signIn = false) => {
    const { injector, hits } = injectorOf(faults, { signIn });
    for (const request of list) {
      const before = hits.length;
      for (const kind of faultKinds) injector.hits(kind, request);
      expect(hits.length - before).toBeLessThanOrEqual(1);
    }
    return hits;
  };

  test('hits its share of the requests, with each of the passing faults alike', () => {
    const hits = drawn({ all: { share: 0.5 } }, requests(2_000, 'ListFinancialEvents', 'NextToken=x'), true);
    expect(hits.length).toBeGreaterThan(900);
    expect(hits.length).toBeLessThan(1_100);
    expect([...new Set(hits)].sort()).toEqual([...passing].sort());
    for (const kind of passing) {
      expect(hits.filter((hit) => hit === kind).length).toBeGreaterThan(hits.length / passing.length / 2);
    }
  });

  test('leaves out what has an entry of its own, and what can not be', () => {
    const hits = drawn({ all: { share: 1 }, reset: { share: 0 } }, requests(500));
    expect(hits).toHaveLength(500);
    for (const kind of ['reset', 'access-token-expired', 'token-loop'] as const) expect(hits).not.toContain(kind);
  });

  test('of the sign-in only what hits a sign-in', () => {
    const hits = new Set(drawn({ all: { share: 1 } }, requests(300, 'SignIn'), true));
    expect([...hits].sort()).toEqual(faultKinds.filter((kind) => faultRules[kind].anyRequest === true).sort());
  });
});

describe('several faults at once', () => {
  test('one that comes in place of the answer goes first; others add up', async () => {
    const faults = { throttled: { times: 1 }, 'rate-missing': {}, 'unknown-list': {}, 'clock-fast': { amount: 1 } };
    const { get, server } = await startClient(ten, { quota: { rate: 1, burst: 9 }, faults });
    expect((await get(paths.events)).status).toBe(429);
    const reply = await get(paths.events);
    expect(reply.headers.has('x-amzn-ratelimit-limit')).toBe(false);
    expect(Date.parse(reply.headers.get('date') ?? '')).toBe(Date.parse(start) + 60_000);
    expect(reply.text).toContain('"PerformanceBondRefundEventList":[]');
    expect(server.counts.faults('rate-missing')).toBe(1);
  });

  test('a client that tries again reads everything exactly once', async () => {
    const kinds = ['throttled', 'invalid-input', 'server-error', 'unavailable'] as const;
    const faults = Object.fromEntries(kinds.map((kind) => [kind, { share: 0.2 }]));
    const client = await startClient(ten, { faults });
    const get = async (...asked: Parameters<typeof client.get>) => {
      let reply = await client.get(...asked);
      while (reply.status !== 200) reply = await client.get(...asked);
      return reply;
    };
    const replies = await pages({ ...client, get }, paths.events, { MaxResultsPerPage: 1 });
    expect(replies.flatMap(({ ids }) => ids)).toEqual(ten.map((_, id) => id));
    expect(client.server.counts.faults()).toBeGreaterThan(2);
    expect(client.server.counts.requests('ListFinancialEvents')).toBe(10 + client.server.counts.faults());
  });
});

describe('without faults', () => {
  test('5,000 requests see none', async () => {
    const items = [...ten, group('2025-05-31', 'G')];
    const { server, clock } = await startClient(items, { quota: { rate: 0.5, burst: 30 } });
    const targets = [paths.events, paths.groups, paths.ofGroup('G')];
    const bodies = new Map<string, string>();
    for (let number = 0; number < 5_000; number++) {
      const target = targets[number % targets.length] ?? '';
      const response = await fetch(server.url + target);
      const body = await response.text();
      expect(response.status).toBe(200);
      expect(response.headers.get('x-amzn-ratelimit-limit')).toBe('0.5');
      expect(Date.parse(response.headers.get('date') ?? '')).toBe(Math.floor(clock.now() / 1_000) * 1_000);
      expect(body).toBe(bodies.get(target) ?? body);
      bodies.set(target, body);
      clock.move(667);
    }
    expect(server.counts.requests()).toBe(5_000);
    expect(server.counts.requests(undefined, 200)).toBe(5_000);
    expect(server.counts.requests(undefined, 429)).toBe(0);
    expect(server.counts.faults()).toBe(0);
  });
});

describe('counts', () => {
  test('are by operation and status', async () => {
    const { get, server } = await startClient(ten, { quota: { rate: 1, burst: 2 } });
    for (let count = 0; count < 3; count++) await get(paths.events);
    await get(paths.groups, { MaxResultsPerPage: 0 });
    await get('/nowhere');
    const { counts } = server;
    expect(counts.requests()).toBe(5);
    expect(counts.requests('ListFinancialEvents')).toBe(3);
    expect(counts.requests('ListFinancialEvents', 429)).toBe(1);
    expect(counts.requests(undefined, 400)).toBe(1);
    expect(counts.requests('none', 404)).toBe(1);
    expect(counts.faults()).toBe(0);
    expect(counts.peak).toBe(1);
  });
});
