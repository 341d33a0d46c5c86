import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { event, group } from './array-backend.js';
import { firstToken, pages, paths, type Query, type Reply, start, startClient } from './client.js';

const now = Date.parse(start);
const order = '902-1845936-5435065';
const otherOrder = '902-0000000-0000000';
const day = Date.parse('2025-06-01T00:00:00Z');
const seven = Array.from({ length: 7 }, (_, index) => event(day + index, index, { group: 'G', order }));
const more = [
  ...seven,
  ...Array.from({ length: 5 }, (_, index) => group(day + index, `G${index}`)),
  ...[7, 8, 9].map((id) => event(day + id, id, { group: 'H', order: otherOrder })),
];
const bounds = { PostedAfter: '2025-06-01T00:00:00Z', PostedBefore: '2025-06-02T00:00:00Z' };

describe('pages', () => {
  test.each([
    ['events', paths.events],
    ['events of a group', paths.ofGroup('G')],
    ['events of an order', paths.ofOrder(order)],
  ])('of %s: each in order, no token with the last', async (_, path) => {
    const client = await startClient(seven);
    const replies = await pages(client, path, { MaxResultsPerPage: 3 });
    expect(replies.map(({ ids }) => ids)).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
    expect(replies.at(-1)?.body.payload).not.toHaveProperty('NextToken');
  });

  test('of groups', async () => {
    const client = await startClient(more);
    const replies = await pages(client, paths.groups, { MaxResultsPerPage: 2 });
    expect(replies.map(({ ids }) => ids)).toEqual([['G0', 'G1'], ['G2', 'G3'], ['G4']]);
  });

  test('a full last page has no token', async () => {
    const client = await startClient(seven);
    const replies = await pages(client, paths.events, { MaxResultsPerPage: 7 });
    expect(replies.map(({ ids, token }) => [ids.length, token])).toEqual([[7, undefined]]);
  });

  test('for random items, ranges and page sizes bring each item once and in order', async () => {
    const items: ReturnType<typeof event>[] = [];
    const client = await startClient(items);
    const offsets = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        offsets,
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (instants, from, length, sizes, repeat) => {
          items.splice(0, items.length, ...instants.map((at, index) => event(day + at, index)));
          const query = {
            PostedAfter: new Date(day + from).toISOString(),
            PostedBefore: new Date(day + from + length).toISOString(),
          };
          const got: (string | number | undefined)[] = [];
          let token: string | undefined;
          let turn = 0;
          do {
            const MaxResultsPerPage = sizes[turn++ % sizes.length] ?? 1;
            const reply: Reply = await client.get(paths.events, {
              ...(turn === 1 || repeat ? query : {}),
              MaxResultsPerPage,
              NextToken: token,
            });
            expect(reply.ids.length).toBeLessThanOrEqual(MaxResultsPerPage);
            got.push(...reply.ids);
            token = reply.token;
          } while (token !== undefined);
          const expected = instants
            .map((at, index) => ({ at, index }))
            .filter(({ at }) => at >= from && at < from + length)
            .sort((a, b) => a.at - b.at || a.index - b.index)
            .map(({ index }) => index);
          expect(got).toEqual(expected);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a token', () => {
  test('is one word that needs no encoding', async () => {
    const client = await startClient(seven);
    expect(await firstToken(client, paths.events, { MaxResultsPerPage: 1 })).toMatch(/^[\w-]+$/);
  });

  test('alone keeps the page size of its request', async () => {
    const client = await startClient(seven);
    expect((await pages(client, paths.events, { MaxResultsPerPage: 2 })).map(({ ids }) => ids.length)).toEqual([
      2, 2, 2, 1,
    ]);
  });

  test('takes another page size, which holds from then on', async () => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 1 });
    const replies = await pages(client, paths.events, { NextToken: token, MaxResultsPerPage: 4 });
    expect(replies.map(({ ids }) => ids)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ]);
  });

  test('goes with exactly the parameters of the first request, however they are written', async () => {
    const client = await startClient(seven);
    const replies = await pages(client, paths.events, { ...bounds, MaxResultsPerPage: 3 }, bounds);
    expect(replies.map(({ ids }) => ids.length)).toEqual([3, 3, 1]);
    const token = await firstToken(client, paths.events, { ...bounds, MaxResultsPerPage: 3 });
    const sameInstants = { PostedAfter: '2025-06-01', PostedBefore: '2025-06-02T02:00:00+02:00' };
    expect((await client.get(paths.events, { ...sameInstants, NextToken: token })).status).toBe(200);
  });

  test.each<[string, Query]>([
    ['another PostedAfter', { ...bounds, PostedAfter: '2025-06-01T00:00:00.001Z' }],
    ['another PostedBefore', { ...bounds, PostedBefore: '2025-06-02T00:00:00.001Z' }],
    ['PostedAfter only', { PostedAfter: bounds.PostedAfter }],
    ['PostedBefore only', { PostedBefore: bounds.PostedBefore }],
    ['a date that is none', { ...bounds, PostedBefore: '2025-02-30' }],
    ['a page size that is none', { MaxResultsPerPage: 101 }],
    ['an unknown parameter', { MarketplaceId: 'A1PA6795UKMFR9' }],
  ])('together with %s is refused', async (_, query) => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { ...bounds, MaxResultsPerPage: 3 });
    expect(await client.get(paths.events, { ...query, NextToken: token })).toMatchObject({
      status: 400,
      code: 'InvalidInput',
    });
  });

  test('of a request without a bound does not take one', async () => {
    const client = await startClient(more);
    for (const [path, first, other] of [
      [paths.events, { PostedAfter: '2025-06-01' }, { PostedAfter: '2025-06-01', PostedBefore: '2025-06-30' }],
      [paths.groups, {}, { FinancialEventGroupStartedAfter: '2025-06-01' }],
    ] as const) {
      const token = await firstToken(client, path, { ...first, MaxResultsPerPage: 1 });
      expect((await client.get(path, { ...first, NextToken: token })).status).toBe(200);
      expect((await client.get(path, { ...other, NextToken: token })).status).toBe(400);
    }
  });

  test('serves its own operation and path only', async () => {
    const client = await startClient(more);
    const every = [
      paths.events,
      paths.groups,
      paths.ofGroup('G'),
      paths.ofGroup('H'),
      paths.ofOrder(order),
      paths.ofOrder(otherOrder),
    ];
    for (const path of every) {
      const token = await firstToken(client, path, { MaxResultsPerPage: 1 });
      for (const other of every) {
        const reply = await client.get(other, { NextToken: token });
        expect([other, reply.status, reply.code]).toEqual(
          other === path ? [other, 200, undefined] : [other, 400, 'InvalidInput'],
        );
      }
    }
  });

  test('may be used again and brings the same page', async () => {
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 3 });
    const [once, twice] = [
      await client.get(paths.events, { NextToken: token }),
      await client.get(paths.events, { NextToken: token }),
    ];
    expect(twice.ids).toEqual(once.ids);
  });

  test('keeps the range of the first request while the clock goes on', async () => {
    const limit = now - 120_000;
    const items = [-2, -1, 0, 1].map((distance) => event(limit + distance, distance));
    const client = await startClient(items);
    const first = await client.get(paths.events, { MaxResultsPerPage: 1 });
    client.clock.move(60_000);
    // What comes up meanwhile in front of the place reached neither shifts nor repeats anything.
    items.push(event(limit - 3, 'late'));
    const rest = await pages(client, paths.events, { NextToken: first.token });
    expect([first, ...rest].flatMap(({ ids }) => ids)).toEqual([-2, -1]);
  });

  test('keeps the 180 days of the first request while the clock goes on', async () => {
    const after = new Date(now - 120_000 - 180 * 86_400_000).toISOString();
    const client = await startClient(seven);
    const token = await firstToken(client, paths.events, { PostedAfter: after, MaxResultsPerPage: 1 });
    client.clock.move(1);
    expect((await client.get(paths.events, { NextToken: token })).ids).toHaveLength(1);
    expect((await client.get(paths.events, { PostedAfter: after, NextToken: token })).ids).toHaveLength(1);
  });

  test('keeps out what happened after the first request', async () => {
    const items = [event(day, 0, { group: 'G' }), event(now, 1, { group: 'G' }), event(now + 1, 2, { group: 'G' })];
    const client = await startClient(items);
    const token = await firstToken(client, paths.ofGroup('G'), { MaxResultsPerPage: 1 });
    client.clock.move(1_000);
    expect((await client.get(paths.ofGroup('G'), { NextToken: token })).ids).toEqual([1]);
    expect((await client.get(paths.ofGroup('G'))).ids).toEqual([0, 1, 2]);
  });
});
