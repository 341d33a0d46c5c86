import { describe, expect, test } from 'vitest';
import { event, group } from './array-backend.js';
import { paths, start, startClient } from './client.js';

const now = Date.parse(start);
const iso = (ms: number) => new Date(ms).toISOString();
const minutes = 60_000;
const days = 86_400_000;
/** The latest bound that is allowed. */
const latest = now - 2 * minutes;

const kinds = [
  { what: 'events', address: paths.events, after: 'PostedAfter', before: 'PostedBefore', item: event },
  {
    what: 'groups',
    address: paths.groups,
    after: 'FinancialEventGroupStartedAfter',
    before: 'FinancialEventGroupStartedBefore',
    item: group,
  },
  {
    what: 'events of a group',
    address: paths.ofGroup('G'),
    after: 'PostedAfter',
    before: 'PostedBefore',
    item: (at: number, id: string) => event(at, id, { group: 'G' }),
  },
];

describe.each(kinds)('the bounds of $what', ({ address, after, before, item }) => {
  const instant = Date.parse('2025-06-15T08:00:00.500Z');
  const items = [-1, 0, 1].map((distance) => item(instant + distance, String(distance)));

  test('the lower one is inclusive, to the millisecond', async () => {
    const { get } = await startClient(items);
    expect((await get(address, { [after]: iso(instant) })).ids).toEqual(['0', '1']);
    expect((await get(address, { [after]: iso(instant + 1) })).ids).toEqual(['1']);
  });

  test('the upper one is exclusive, to the millisecond', async () => {
    const { get } = await startClient(items);
    const from = iso(instant - days);
    expect((await get(address, { [after]: from, [before]: iso(instant) })).ids).toEqual(['-1']);
    expect((await get(address, { [after]: from, [before]: iso(instant + 1) })).ids).toEqual(['-1', '0']);
  });

  test('digits beyond the millisecond count', async () => {
    const { get } = await startClient(items);
    const from = iso(instant - days);
    expect((await get(address, { [after]: '2025-06-15T08:00:00.500000001Z' })).ids).toEqual(['1']);
    expect((await get(address, { [after]: '2025-06-15T08:00:00.4999Z' })).ids).toEqual(['0', '1']);
    const justPast = { [after]: from, [before]: '2025-06-15T08:00:00.5000001Z' };
    expect((await get(address, justPast)).ids).toEqual(['-1', '0']);
  });

  test('an offset is understood, its plus encoded or not', async () => {
    const { get, raw } = await startClient(items);
    expect((await get(address, { [after]: '2025-06-15T10:00:00.500+02:00' })).ids).toEqual(['0', '1']);
    expect((await raw(`${address}?${after}=2025-06-15T10:00:00.500+02:00`)).ids).toEqual(['0', '1']);
    expect((await get(address, { [after]: '2025-06-15T02:30:00.500-05:30' })).ids).toEqual(['0', '1']);
  });

  test('plain dates and minutes are instants too', async () => {
    const { get } = await startClient(items);
    expect((await get(address, { [after]: '2025-06-15', [before]: '2025-06-16' })).ids).toEqual(['-1', '0', '1']);
    expect((await get(address, { [after]: '2025-06-15T08:01Z' })).ids).toEqual([]);
  });

  test.each([
    '2025-02-30T00:00:00Z',
    '2025-06-15T25:00:00Z',
    '2025-06-15T08:00:00',
    '2025-06-15t08:00:00z',
    '2025-06-15 08:00:00Z',
    '15.06.2025',
    'yesterday',
    '1749974400',
  ])('%s is refused', async (text) => {
    const { get } = await startClient(items);
    for (const query of [{ [after]: text }, { [after]: '2025-01-01', [before]: text }]) {
      const reply = await get(address, query);
      expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toMatch(/ISO 8601/);
      expect(reply.message).toContain(Object.keys(query).at(-1));
    }
  });

  test('both may be two minutes before the request, and no later', async () => {
    const { get } = await startClient(items);
    expect((await get(address, { [after]: iso(latest) })).status).toBe(200);
    expect((await get(address, { [after]: iso(latest - 1), [before]: iso(latest) })).status).toBe(200);
    for (const query of [
      { [after]: iso(latest + 1) },
      { [after]: iso(latest).replace('Z', '001Z') },
      { [after]: iso(latest - 1), [before]: iso(latest + 1) },
      { [after]: iso(now + days) },
    ]) {
      const reply = await get(address, query);
      expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toMatch(
        new RegExp(`^${String(Object.keys(query).at(-1))} should be no later than 2 minutes from now`),
      );
    }
  });

  test('what is refused now is allowed once the clock has moved on', async () => {
    const { get, clock } = await startClient(items);
    const query = { [after]: iso(latest + 1) };
    expect((await get(address, query)).status).toBe(400);
    clock.move(1);
    expect((await get(address, query)).status).toBe(200);
  });

  test('the upper one must be later than the lower one', async () => {
    const { get } = await startClient(items);
    const bounds = (from: number, to: number) => get(address, { [after]: iso(from), [before]: iso(to) });
    expect(await bounds(instant, instant + 1)).toMatchObject({ status: 200, ids: ['0'] });
    for (const to of [instant, instant - 1]) {
      const reply = await bounds(instant, to);
      expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
      expect(reply.message).toBe(`${before} must be later than ${after}.`);
    }
  });

  test('180 days apart is answered, a millisecond more is empty', async () => {
    const { get } = await startClient(items);
    const to = instant + 2;
    const bounds = (from: number) => get(address, { [after]: iso(from), [before]: iso(to), MaxResultsPerPage: 1 });
    expect(await bounds(to - 180 * days)).toMatchObject({ status: 200, ids: ['-1'] });
    expect((await bounds(to - 180 * days)).token).toBeTypeOf('string');
    expect(await bounds(to - 180 * days - 1)).toMatchObject({ status: 200, ids: [], token: undefined });
  });

  test('neither needs to be given', async () => {
    const { get } = await startClient(items);
    expect((await get(address)).ids).toEqual(['-1', '0', '1']);
  });
});

test('an answer beyond 180 days has the shape of any other', async () => {
  const { get } = await startClient([event('2025-06-01T00:00:00Z', 1), group('2025-06-01T00:00:00Z', 'G')]);
  const events = await get(paths.events, { PostedAfter: '2024-01-01', PostedBefore: '2025-06-30' });
  expect(Object.keys(events.body.payload?.FinancialEvents ?? {})).toHaveLength(34);
  const groups = await get(paths.groups, {
    FinancialEventGroupStartedAfter: '2024-01-01',
    FinancialEventGroupStartedBefore: '2025-06-30',
  });
  expect(groups.text).toBe('{"payload":{"FinancialEventGroupList":[]}}');
});

describe('a missing PostedBefore', () => {
  const items = [latest - 1, latest, latest + 1, now].map((at) => event(at, at - latest));

  test('stands for two minutes before the request', async () => {
    const { get, clock } = await startClient(items);
    expect((await get(paths.events, { PostedAfter: iso(latest - days) })).ids).toEqual([-1]);
    expect((await get(paths.events)).ids).toEqual([-1]);
    clock.move(1);
    expect((await get(paths.events)).ids).toEqual([-1, 0]);
    clock.move(1);
    expect((await get(paths.events)).ids).toEqual([-1, 0, 1]);
  });

  test('counts for the span of 180 days', async () => {
    const { get, clock } = await startClient(items);
    const query = { PostedAfter: iso(latest - 180 * days) };
    expect((await get(paths.events, query)).ids).toEqual([-1]);
    clock.move(1);
    expect((await get(paths.events, query)).ids).toEqual([]);
  });

  test('and PostedAfter at that very instant: empty, not refused', async () => {
    const { get } = await startClient(items);
    expect(await get(paths.events, { PostedAfter: iso(latest) })).toMatchObject({ status: 200, ids: [] });
  });
});

describe('the events of a group', () => {
  const items = [latest - 1, latest, latest + 1, now].map((at) => event(at, at - latest, { group: 'G' }));

  test('are all there without a bound, and up to two minutes before the request with one', async () => {
    const { get } = await startClient(items);
    expect((await get(paths.ofGroup('G'))).ids).toEqual([-1, 0, 1, now - latest]);
    expect((await get(paths.ofGroup('G'), { PostedAfter: iso(latest - days) })).ids).toEqual([-1]);
  });

  test('by date come in pages whose tokens keep the bounds', async () => {
    const { get } = await startClient(items);
    const query = { PostedAfter: iso(latest - days), MaxResultsPerPage: 1 };
    expect(await get(paths.ofGroup('G'), query)).toMatchObject({ ids: [-1], token: undefined });
    const older = Array.from({ length: 3 }, (_, at) => event(latest - 10 + at, `${at}`, { group: 'G' }));
    const more = await startClient([...older, ...items]);
    const first = await more.get(paths.ofGroup('G'), { ...query, PostedBefore: iso(latest - 8) });
    const next = await more.get(paths.ofGroup('G'), { NextToken: first.token });
    expect([first.ids, next.ids, next.token]).toEqual([['0'], ['1'], undefined]);
    const other = { NextToken: first.token, PostedAfter: iso(latest - 2 * days) };
    expect(await more.get(paths.ofGroup('G'), other)).toMatchObject({ status: 400 });
  });

  test('of an unknown group are not found, whatever the dates', async () => {
    const { get } = await startClient(items);
    for (const PostedAfter of [iso(latest - days), iso(latest - 200 * days)]) {
      expect((await get(paths.ofGroup('H'), { PostedAfter })).status).toBe(404);
    }
  });
});

test('PostedBefore without PostedAfter is refused', async () => {
  const { get } = await startClient();
  const reply = await get(paths.events, { PostedBefore: '2025-06-01' });
  expect(reply).toMatchObject({ status: 400, code: 'InvalidInput' });
  expect(reply.message).toMatch(/PostedAfter.*must.*PostedBefore/);
});

describe('the bounds of groups are independent', () => {
  const old = group('2019-01-01T00:00:00Z', 'old');
  const items = [old, ...[latest, now, now + 1].map((at) => group(at, String(at - latest)))];

  test('an upper one alone reaches back without end', async () => {
    const { get } = await startClient(items);
    expect((await get(paths.groups, { FinancialEventGroupStartedBefore: iso(latest) })).ids).toEqual(['old']);
  });

  test('a lower one alone reaches up to the request, however far that is', async () => {
    const { get } = await startClient(items);
    const reply = await get(paths.groups, { FinancialEventGroupStartedAfter: '2019-01-01' });
    expect(reply.ids).toEqual(['old', '0', String(2 * minutes)]);
  });
});
