import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { emptyFailure } from '../../../src/app/reconcile/findings.js';
import { failingStore, interruptedStore } from '../maintenance/failing-store.js';
import { compacted, copied, dataFiles, everyHash, steppingClock } from '../maintenance/kept-lake.js';
import { shipment, shipments, smallLake, within } from '../maintenance/small-lake.js';
import { historyOf, refreshed, rowsOf } from './revised-lake.js';

const clock = steppingClock();
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock);
});
afterAll(() => small.remove());

const late = shipment(within(2, 300), 'order-late', '7.77');
/** Window 2 with one event that came late, and without one that was there. */
const changed = [...shipments(2).slice(1), late];
const expected = ['appeared order-late', 'vanished order-2-0'];

test('a first load leaves no history', async () => {
  expect(await historyOf(small.lake, clock)).toEqual([]);
});

test('a window that is read again and is the same changes no byte of the lake, also where it was merged with others', async () => {
  const lake = await copied(small.lake);
  for (const prepare of [() => Promise.resolve(), () => compacted({ lake }, { clock })]) {
    await prepare();
    const before = await everyHash(lake);
    const found = await refreshed(lake, new Map([2, 3].map((number) => [number, shipments(number)])), { clock });
    expect(found).toEqual({ changes: [], emptied: [], uncompared: [] });
    expect(await everyHash(lake)).toEqual(before);
  }
});

test('a window that is the same, but whose files are missing or were changed, has them again as they were', async () => {
  const lake = await copied(small.lake);
  const before = await everyHash(lake);
  const [events] = await dataFiles(lake, 'events');
  const [entries] = await dataFiles(lake, 'entries');
  await rm(join(lake, 'events', events ?? ''));
  await writeFile(join(lake, 'entries', entries ?? ''), 'not what the log says');
  expect(await everyHash(lake)).not.toEqual(before);
  const all = [1, 2, 3].map((number) => [number, shipments(number)] as const);
  const { changes, uncompared } = await refreshed(lake, new Map(all), { clock });
  expect(changes).toEqual([]);
  expect(uncompared.map(({ reason }) => reason).toSorted()).toEqual([
    expect.stringContaining('its commit has it, it has 21 bytes instead of'),
    expect.stringContaining('its commit has it, it is missing; it was written again'),
  ]);
  expect(await everyHash(lake)).toEqual(before);
});

test('rows that a store fails to return stay, and their differences are kept once it returns them', async () => {
  const lake = await copied(small.lake);
  const before = await everyHash(lake);
  const store = interruptedStore(
    openStore(lake),
    () => false,
    () => Promise.resolve(),
  );
  const failing = {
    ...store,
    readRange: (path: string, start: number, length: number) =>
      path.endsWith('.parquet')
        ? Promise.reject(new LedgerlakeError('LAKE_STORE', 'the store is down'))
        : store.readRange(path, start, length),
  };
  const windows = new Map([[2, changed]]);
  await expect(refreshed(failing, windows, { clock })).rejects.toThrow('the store is down');
  expect(await everyHash(lake)).toEqual(before);
  await refreshed(store, windows, { clock });
  expect(await historyOf(lake, clock)).toEqual(expected);
});

test('what a window newly holds and no longer holds is kept, with the bytes and the entries of what has gone', async () => {
  const lake = await copied(small.lake);
  const found = await refreshed(lake, new Map([[2, changed]]), { clock });
  expect(await historyOf(lake, clock)).toEqual(expected);
  expect(found.changes).toMatchObject([
    {
      pipeline: 'financial-events',
      appeared: 1,
      vanished: 1,
      differ: 0,
      load_keys: [expect.stringMatching(/^window\//)],
    },
  ]);
  const [gone] = await rowsOf(lake, clock, "SELECT * FROM event_history WHERE change = 'vanished'");
  expect(gone).toMatchObject({
    source: 'events',
    raw: shipments(2)[0],
    event_list: 'ShipmentEventList',
    amazon_order_id: 'order-2-0',
    posted_at: '2026-01-08T00:00:00Z',
    window_start: '2026-01-08T00:00:00Z',
    window_end: '2026-01-15T00:00:00Z',
    account: 'shop',
    month: '2026-01',
  });
  const amounts = (JSON.parse(String(gone?.['entries'])) as { amount: string; path: string }[]).map((of) => of.amount);
  expect(amounts.toSorted()).toEqual(['-1.500000', '2.000000']);
  const [came] = await rowsOf(
    lake,
    clock,
    "SELECT raw, entries, event_id FROM event_history WHERE change = 'appeared'",
  );
  expect(came).toMatchObject({ raw: null, entries: null });
  expect(await rowsOf(lake, clock, 'SELECT events.raw FROM events JOIN event_history USING (event_id)')).toEqual([
    { raw: late },
  ]);
});

test('of identical events as many are kept as there are more or fewer', async () => {
  const lake = await copied(small.lake);
  const [one = ''] = shipments(2);
  await refreshed(lake, new Map([[2, [one, ...shipments(2), one]]]), { clock });
  await refreshed(lake, new Map([[2, [...shipments(2), one]]]), { clock });
  const rows = await rowsOf(
    lake,
    clock,
    'SELECT change, right(event_id, 2) AS number FROM event_history ORDER BY seen_at, number',
  );
  expect(rows).toEqual([
    { change: 'appeared', number: '-2' },
    { change: 'appeared', number: '-3' },
    { change: 'vanished', number: '-3' },
  ]);
});

test('an event that comes and goes and comes leaves each of its steps, also where the clock stands still', async () => {
  const lake = await copied(small.lake);
  const still = { now: () => Date.parse('2026-04-01T00:00:00Z'), sleep: () => Promise.resolve() };
  for (const events of [[...shipments(2), late], shipments(2), [...shipments(2), late]]) {
    await refreshed(lake, new Map([[2, events]]), { clock: still });
  }
  expect((await historyOf(lake, clock)).toSorted()).toEqual([
    'appeared order-late',
    'appeared order-late',
    'vanished order-late',
  ]);
});

test.each([
  ['events', false],
  ['entries', false],
  ['events', true],
])(
  'what came back without any event stays, also where nobody can read its %s (merged: %s)',
  async (table, isMerged) => {
    const lake = await copied(small.lake);
    if (isMerged) await compacted({ lake }, { clock });
    for (const file of await dataFiles(lake, table)) {
      await writeFile(join(lake, table, file), 'not what the log says');
    }
    const damaged = await everyHash(lake);
    const refused = await refreshed(lake, new Map([[2, []]]), { clock });
    expect(refused.emptied).toMatchObject([{ accepted: false, pipeline: 'financial-events' }]);
    expect(refused.emptied[0]?.atMost).toBe(isMerged ? true : undefined);
    expect(refused.emptied[0]?.rows).toBe(isMerged ? 9 : 3);
    expect(refused.uncompared).toEqual([]);
    expect(emptyFailure(refused)?.message).toContain(isMerged ? 'has up to 9 rows' : 'has 3 rows');
    expect(await everyHash(lake)).toEqual(damaged);
    if (isMerged) return;
    const accepted = await refreshed(lake, new Map([[2, []]]), { clock, acceptEmpty: true });
    expect(accepted.emptied).toMatchObject([{ rows: 3, accepted: true }]);
    expect(accepted.uncompared).toHaveLength(1);
  },
);

test('what came back without any event stays, unless that is accepted', async () => {
  const lake = await copied(small.lake);
  const before = await everyHash(lake);
  const refused = await refreshed(lake, new Map([[2, []]]), { clock });
  expect(refused.emptied).toMatchObject([{ rows: 3, accepted: false, pipeline: 'financial-events' }]);
  expect(await everyHash(lake)).toEqual(before);

  const accepted = await refreshed(lake, new Map([[2, []]]), { clock, acceptEmpty: true });
  expect(accepted.emptied).toMatchObject([{ rows: 3, accepted: true }]);
  expect(await historyOf(lake, clock)).toEqual(['order-2-0', 'order-2-1', 'order-2-2'].map((id) => `vanished ${id}`));
  expect(await rowsOf(lake, clock, 'SELECT count(*)::INTEGER AS n FROM events')).toEqual([{ n: 6 }]);
});

/** What the history says and what the folders hold of it. */
async function stateOf(lake: string) {
  return {
    history: await historyOf(lake, clock),
    files: (await dataFiles(lake, 'event_history').catch(() => [])).length,
  };
}

test.each(['small files', 'merged files'])(
  'a refresh that dies at any change leaves history and events as before or as after, and the next run ends it (%s)',
  async (kind) => {
    const whole = await copied(small.lake);
    if (kind === 'merged files') await compacted({ lake: whole }, { clock });
    for (let dieAt = 1; ; dieAt++) {
      const lake = await copied(whole);
      const store = failingStore(openStore(lake), dieAt);
      const failure: unknown = await refreshed(store, new Map([[2, changed]]), { clock }).catch(
        (error: unknown) => error,
      );
      if (store.changes < dieAt) {
        expect(dieAt).toBeGreaterThan(8);
        break;
      }
      expect(failure, `change ${dieAt}`).toBeInstanceOf(Error);
      const events = await rowsOf(lake, clock, "SELECT 1 FROM events WHERE amazon_order_id = 'order-late'");
      expect(await historyOf(lake, clock), `change ${dieAt}`).toEqual(events.length === 0 ? [] : expected);
      await rm(join(lake, '_runs'), { recursive: true, force: true });
      // The same again, and a run that sweeps.
      await refreshed(lake, new Map([[2, changed]]), { clock });
      expect(await historyOf(lake, clock), `change ${dieAt}, again`).toEqual(expected);
      await compacted({ lake }, { clock });
      expect(await stateOf(lake), `change ${dieAt}, swept`).toEqual({ history: expected, files: 1 });
    }
  },
);

test('history is merged as other tables are, and dies with it at any change without losing or doubling a row', async () => {
  const whole = await copied(small.lake);
  await refreshed(whole, new Map([[2, changed]]), { clock });
  await refreshed(whole, new Map([[2, shipments(2)]]), { clock });
  const history = await historyOf(whole, clock);
  expect(history).toHaveLength(4);
  expect(await dataFiles(whole, 'event_history')).toHaveLength(2);
  for (let dieAt = 1; ; dieAt++) {
    const lake = await copied(whole);
    const store = failingStore(openStore(lake), dieAt);
    await compacted({ lake, store, pipelines: ['event-history'] }, { clock }).catch(() => undefined);
    expect(await historyOf(lake, clock), `change ${dieAt}`).toEqual(history);
    if (store.changes < dieAt) {
      expect(dieAt).toBeGreaterThan(3);
      break;
    }
    await rm(join(lake, '_runs'), { recursive: true, force: true });
    await compacted({ lake, pipelines: ['event-history'] }, { clock });
    expect(await stateOf(lake), `change ${dieAt}, after`).toEqual({ history, files: 1 });
    const before = await everyHash(lake);
    await compacted({ lake, pipelines: ['event-history'] }, { clock });
    expect(await everyHash(lake)).toEqual(before);
    await refreshed(lake, new Map([[2, changed]]), { clock });
    expect(await historyOf(lake, clock)).toHaveLength(6);
  }
});

test.each([
  { where: 'before the first commit', when: (path: string) => path.startsWith('event_history/account=') },
  { where: 'between the commits', when: (path: string) => path.startsWith('events/_delta_log/') },
])('another run that replaces the window $where is compared with in its turn', async ({ when }) => {
  const lake = await copied(small.lake);
  const store = interruptedStore(openStore(lake), when, async () => {
    await refreshed(lake, new Map([[2, [...shipments(2), late]]]), { clock });
  });
  await refreshed(store, new Map([[2, changed]]), { clock });
  expect(await historyOf(lake, clock)).toEqual(expected);
  const opened = await Lake.open(openStore(lake), tables, clock);
  expect([...opened.snapshot.files('event_history')]).toHaveLength(2);
  await compacted({ lake, pipelines: ['financial-events'] }, { clock });
  expect(await dataFiles(lake, 'event_history')).toHaveLength(2);
});
