import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/core/duckdb/connection.js';
import type { BackendItem } from '../../../src/serve/operation/backend-page.js';
import { database, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { eventsBody, fileOf, imported } from '../../app/import/imported.js';
import { steppingClock } from '../../app/maintenance/kept-lake.js';
import { makeLake, type MadeLake } from '../../app/maintenance/made-lake.js';
import { arrayBackend, event, group, type DatedItem } from '../http/array-backend.js';
import { allPages, lakeBackend, sorted } from './served-lake.js';

const clock = steppingClock();
const asOf = Date.parse('2026-03-15T12:00:00Z');
const order = '902-1845936-5435065';
let made: MadeLake;

beforeAll(async () => {
  made = await makeLake(clock, { events: 1000, orders: 20 });
});

afterAll(() => made.remove());

async function held(duckdb: Database, sql: string): Promise<string[]> {
  const rows = await duckdb.rows(sql);
  return rows.map(({ list, raw }) => `${String(list)} ${String(raw)}`).sort();
}

function flat(pages: readonly (readonly BackendItem[])[]): BackendItem[] {
  return pages.flat();
}

/** A lake that was loaded from items, each at its date, and the DuckDB that reads it. */
async function lakeOf(items: readonly DatedItem[], options: Parameters<typeof ran>[0] = {}) {
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const lake = await temporaryFolder();
  const range = { from: '2026-02-01', to: '2026-02-03' };
  const load = (more: Parameters<typeof ran>[0] = {}) =>
    ran({ lake, endpoint, account: 'shop', ...range, ...options, ...more }, { clock });
  await load();
  return { lake, load, backend: await lakeBackend(lake, clock) };
}

function dated(at: string, id: string, more: Partial<DatedItem> = {}): DatedItem {
  return event(at, id, { json: `{"id":"${id}","PostedDate":"${at}"}`, ...more });
}

function ofOrder(at: string, id: string): DatedItem {
  return event(at, id, { order, json: `{"id":"${id}","AmazonOrderId":"${order}","PostedDate":"${at}"}` });
}

describe('a lake as a backend', () => {
  test('any range in pages of any size holds what SQL finds in it, each once', async () => {
    const backend = await lakeBackend(made.lake, clock);
    const duckdb = await database(made.lake, clock);
    const first = Date.parse('2026-01-23T00:00:00Z');
    const hours = fc.integer({ min: 0, max: 48 * 24 });
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 3 });
    const isEvents = fc.boolean();
    await fc.assert(
      fc.asyncProperty(hours, hours, sizes, isEvents, async (from, length, limits, events) => {
        const range = { start: first + from * 3_600_000, end: first + (from + length) * 3_600_000 };
        const pages = await allPages(
          (query) => (events ? backend.events(range, query) : backend.groups(range, query)),
          asOf,
          limits,
        );
        for (const [at, { length: size }] of pages.entries()) {
          expect(size).toBeLessThanOrEqual(limits[Math.min(at, limits.length - 1)] ?? 0);
        }
        const within = (column: string) =>
          `${column} >= make_timestamptz(${range.start * 1000}) AND ${column} < make_timestamptz(${range.end * 1000})`;
        const sql = events
          ? `SELECT event_list AS list, raw FROM events WHERE ${within('effective_at')}`
          : `SELECT '' AS list, raw FROM groups WHERE ${within('started_at')}`;
        expect(sorted(flat(pages))).toEqual(await held(duckdb, sql));
      }),
      { numRuns: 40 },
    );
  });

  test('a group’s events, list by list in the order of receipt', async () => {
    const backend = await lakeBackend(made.lake, clock);
    const duckdb = await database(made.lake, clock);
    const groups = await duckdb.rows('SELECT group_id, count(*) AS events FROM group_events GROUP BY ALL ORDER BY ALL');
    expect(groups.length).toBeGreaterThan(3);
    for (const { group_id: id } of groups) {
      const pages = await allPages((query) => backend.eventsOfGroup(String(id), query), asOf, [70, 100]);
      const sql = `SELECT event_list AS list, raw FROM group_events WHERE group_id = '${String(id)}'`;
      expect(sorted(flat(pages))).toEqual(await held(duckdb, sql));
      const positions = new Map(
        (
          await duckdb.rows(`SELECT event_list || ' ' || raw AS item, min(position) AS position FROM group_events
          WHERE group_id = '${String(id)}' GROUP BY ALL HAVING count(*) = 1`)
        ).map(({ item, position }) => [item, Number(position)]),
      );
      for (const page of pages) {
        const received = page.flatMap(({ list, json }) => positions.get(`${list} ${json}`) ?? []);
        expect(received).toEqual(received.toSorted((a, b) => a - b));
      }
    }
  });

  test('a group’s events by date: ranges that adjoin hold each once, those without a date too', async () => {
    const backend = await lakeBackend(made.lake, clock);
    const duckdb = await database(made.lake, clock);
    const groups = await duckdb.rows(`SELECT group_id AS id, epoch_ms(median(effective_at)) AS middle FROM group_events
      GROUP BY ALL ORDER BY count(*) FILTER (posted_at IS NULL) DESC, id LIMIT 3`);
    for (const { id, middle } of groups) {
      const cut = Number(middle);
      const rangePages = (from: number, to: number) =>
        allPages((query) => backend.eventsOfGroup(String(id), query, { start: from, end: to }), asOf, [7, 100]);
      const before = flat(await rangePages(0, cut));
      const after = flat(await rangePages(cut, asOf));
      expect(before.length * after.length).toBeGreaterThan(0);
      const sql = `SELECT event_list AS list, raw FROM group_events WHERE group_id = '${String(id)}'`;
      expect(sorted([...before, ...after])).toEqual(await held(duckdb, sql));
      expect(sorted(before)).toEqual(await held(duckdb, `${sql} AND effective_at < make_timestamptz(${cut * 1000})`));
      expect(await rangePages(0, 0)).toEqual([[]]);
    }
  });

  test('an order that was asked for, one that only came by date, and one that nobody knows', async () => {
    const backend = await lakeBackend(made.lake, clock);
    const duckdb = await database(made.lake, clock);
    const [asked = ''] = made.orders;
    const [other] = await duckdb.rows(`SELECT amazon_order_id AS id FROM events WHERE amazon_order_id LIKE '___-%'
      AND amazon_order_id NOT IN (SELECT requested_order_id FROM order_events) GROUP BY ALL ORDER BY count(*) DESC, id`);
    for (const [id, table, column] of [
      [asked, 'order_events', 'requested_order_id'],
      [String(other?.['id']), 'events', 'amazon_order_id'],
    ] as const) {
      const pages = await allPages((query) => backend.eventsOfOrder(id, query), asOf, [1]);
      const sql = `SELECT event_list AS list, raw FROM ${table} WHERE ${column} = '${id}'`;
      const expected = await held(duckdb, sql);
      expect(expected.length).toBeGreaterThan(0);
      expect(sorted(flat(pages))).toEqual(expected);
    }
    const query = { cursor: undefined, limit: 100, asOf };
    expect(await backend.eventsOfOrder('999-0000000-0000000', query)).toBeUndefined();
    expect(await backend.eventsOfGroup('nobody', query)).toBeUndefined();
  });
});

describe('an order that both tables have events of', () => {
  const twin = ofOrder('2026-02-01T10:00:00Z', 'twin');

  test('has each as often as the table that has more, and what was posted since it was asked for', async () => {
    const items = [twin, twin, ofOrder('2026-02-01T11:00:00Z', 'one'), dated('2026-02-01T12:00:00Z', 'not of it')];
    const orders = [order];
    const { load, backend, lake } = await lakeOf(items, { pipelines: ['order-events'], orders });
    items.push(ofOrder('2026-02-02T10:00:00Z', 'later'));
    await load({ pipelines: ['financial-events'], orders: undefined });
    const duckdb = await database(lake, clock);
    const counted = 'SELECT (SELECT count(*) FROM order_events) AS asked, (SELECT count(*) FROM events) AS dated';
    expect(await duckdb.rows(counted)).toEqual([{ asked: 3n, dated: 5n }]);
    for (const size of [1, 2, 100]) {
      const pages = await allPages((query) => backend.eventsOfOrder(order, query), asOf, [size]);
      expect(pages.flat().map(({ json }) => (JSON.parse(json) as { id: string }).id)).toEqual([
        'twin',
        'twin',
        'one',
        'later',
      ]);
    }
  });

  test('of more events than are looked up one by one comes whole', async () => {
    const items = Array.from({ length: 1010 }, (_, nth) =>
      ofOrder(new Date(Date.UTC(2026, 1, 1, 0, nth)).toISOString(), `e${nth}`),
    );
    items.push(dated('2026-02-01T12:00:00Z', 'not of it'));
    const { backend } = await lakeOf(items, { pipelines: ['financial-events'] });
    const pages = await allPages((query) => backend.eventsOfOrder(order, query), asOf, [100]);
    expect(sorted(pages.flat())).toEqual(sorted(items.slice(0, -1)));
  });

  test('without any event is an order, if it was asked for', async () => {
    const orders = [order, '902-0000000-0000000'];
    const { backend } = await lakeOf([twin], { pipelines: ['order-events'], orders });
    const query = { cursor: undefined, limit: 100, asOf };
    expect(await backend.eventsOfOrder('902-0000000-0000000', query)).toEqual({ items: [], next: undefined });
    expect(await backend.eventsOfOrder('902-0000000-0000001', query)).toBeUndefined();
  });
});

test('an event without a date is in every range that covers its window, at its instant and nowhere else', async () => {
  const undated = event('2026-02-01T09:30:00Z', 'fee', { list: 'ServiceFeeEventList', json: '{"id":"fee"}' });
  const { backend } = await lakeOf([dated('2026-02-01T09:00:00Z', 'a'), undated, dated('2026-02-02T10:00:00Z', 'b')]);
  const ids = async (from: string, to: string) => {
    const range = { start: Date.parse(from), end: Date.parse(to) };
    const { items } = await backend.events(range, { cursor: undefined, limit: 100, asOf });
    return items.map(({ json }) => (JSON.parse(json) as { id: string }).id);
  };
  expect(await ids('2026-02-01T00:00:00Z', '2026-02-03T00:00:00Z')).toEqual(['a', 'b', 'fee']);
  // Its page began with the first event: there it stands, and within a page list after list, as it was received.
  expect(await ids('2026-02-01T09:00:00Z', '2026-02-01T09:00:00.001Z')).toEqual(['a', 'fee']);
  expect(await ids('2026-02-01T09:00:00.001Z', '2026-02-03T00:00:00Z')).toEqual(['b']);
});

test('identical events are all delivered, also where they are cut apart by pages', async () => {
  const twin = dated('2026-02-01T10:00:00Z', 'twin');
  const { backend } = await lakeOf([twin, twin, twin, twin, twin, dated('2026-02-01T10:00:00Z', 'other')]);
  const range = { start: Date.parse('2026-02-01'), end: Date.parse('2026-02-03') };
  for (const size of [1, 2, 3, 4, 5]) {
    const pages = await allPages((query) => backend.events(range, query), asOf, [size]);
    expect(pages.map(({ length }) => length)).toEqual(
      Array.from({ length: Math.ceil(6 / size) }, (_, at) => Math.min(size, 6 - at * size)),
    );
    expect(sorted(pages.flat()).filter((item) => item.includes('twin'))).toHaveLength(5);
  }
});

test('a group that is listed and whose events were not loaded is none, instead of an empty one', async () => {
  const items = [group('2026-02-01T00:00:00Z', 'G'), dated('2026-02-01T10:00:00Z', 'a', { group: 'G' })];
  const { backend, load } = await lakeOf(items, { pipelines: ['financial-event-groups'] });
  const query = { cursor: undefined, limit: 100, asOf };
  expect((await backend.groups({ start: 0, end: asOf }, query)).items).toHaveLength(1);
  expect(await backend.eventsOfGroup('G', query)).toBeUndefined();
  await load({ pipelines: ['group-events'] });
  expect((await backend.eventsOfGroup('G', query))?.items).toHaveLength(1);
});

test('imported events are served like loaded ones', async () => {
  const root = await temporaryFolder();
  const items = [dated('2024-02-29T10:00:00Z', 'a'), dated('2024-03-01T10:00:00Z', 'b')];
  await imported({ root, clock }, [await fileOf([eventsBody(items)])]);
  const backend = await lakeBackend(root, clock);
  const { items: found } = await backend.events({ start: 0, end: asOf }, { cursor: undefined, limit: 100, asOf });
  expect(found.map(({ json }) => json)).toEqual(items.map(({ json }) => json));
});
