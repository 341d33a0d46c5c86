import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSeller, type Seller } from '../src/emulator/seller/seller.js';
import type { BackendPage } from '../src/serve/operation/backend-page.js';
import { startApiServer, type RunningApiServer } from '../src/serve/http/server.js';
import { clockAt, database, fileHashes, ran, serving, temporaryFolder, type Ran } from './app/lake-run.js';
import { booksOf } from './emulator/seller/seller-books.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const range = { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 2, 10) };
const dates = { from: '2026-01-01', to: '2026-03-10' };

function newSeller(): Seller {
  return createSeller({ seed: 7, events: 3000, profile: 'edge-cases' }, clock);
}

async function loaded(options: Parameters<typeof ran>[0] = {}) {
  const seller = newSeller();
  const endpoint = await serving({ backend: seller, clock });
  const lake = await temporaryFolder();
  const given = { lake, endpoint, account: 'shop', ...dates, ...options };
  return { seller, lake, given, run: await ran(given, { clock }) };
}

/** The whole range, loaded once: tests that change it copy it first. */
let whole: { readonly seller: Seller; readonly lake: string; readonly run: Ran; readonly server: RunningApiServer };
beforeAll(async () => {
  const seller = newSeller();
  const server = await startApiServer({ backend: seller, clock });
  const lake = await mkdtemp(join(tmpdir(), 'ledgerlake-whole-'));
  const run = await ran({ lake, endpoint: server.url, account: 'shop', ...dates }, { clock });
  whole = { seller, lake, run, server };
});
afterAll(async () => {
  await whole.server.close();
  await rm(whole.lake, { recursive: true });
});

async function copyOfWhole() {
  const lake = await temporaryFolder();
  await cp(whole.lake, lake, { recursive: true });
  return { lake, run: whole.run, given: { lake, endpoint: whole.server.url, account: 'shop', ...dates } };
}

/** Decimal text as millionths. */
function millionths(text: unknown): bigint {
  return BigInt(String(text).replace('.', ''));
}

/** How often each thing is there. */
function tally(things: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const thing of things) counts.set(thing, (counts.get(thing) ?? 0) + 1);
  return counts;
}

async function everyItem(ask: (cursor: string | undefined) => Promise<BackendPage>): Promise<string[]> {
  const items: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await ask(cursor);
    items.push(...page.items.map(({ list, json }) => `${list} ${json}`));
    if (page.next === undefined) return items;
    cursor = page.next;
  }
}

describe('a lake beside the seller’s own books', () => {
  test('by date: every event byte for byte, every amount, every sum', async () => {
    const { seller, lake, run } = whole;
    const duckdb = await database(lake, clock);

    const raws = await duckdb.rows("SELECT event_list || ' ' || raw AS item FROM events");
    const delivered = await everyItem((cursor) => seller.events(range, { cursor, limit: 100, asOf: clock.now() }));
    expect(tally(raws.map(({ item }) => String(item)))).toEqual(tally(delivered));
    expect(run.summary.pipelines['financial-events']?.['events']).toBe(delivered.length);

    const lists = await duckdb.rows('SELECT event_list, count(*) AS n FROM events GROUP BY 1');
    expect(new Map(lists.map(({ event_list, n }) => [event_list, Number(n)]))).toEqual(
      booksOf(seller).countByList(range),
    );
    expect(lists).toHaveLength(34);

    const amounts = await duckdb.rows('SELECT event_list, path, role, currency, amount FROM entries');
    const booked = [...booksOf(seller).entriesBooked(range)];
    expect(
      tally(
        amounts.map((row) =>
          [row['event_list'], row['path'], row['role'], row['currency'], millionths(row['amount'])].join(),
        ),
      ),
    ).toEqual(
      tally(booked.map(({ list, path, role, currency, micros }) => [list, path, role, currency, micros].join())),
    );

    const net = await duckdb.rows(
      "SELECT month, currency, sum(amount) AS net FROM entries WHERE role = 'net' GROUP BY ALL",
    );
    const sums = new Map<string, Map<string, bigint>>();
    for (const row of net) {
      const month = sums.get(String(row['month'])) ?? new Map<string, bigint>();
      sums.set(String(row['month']), month.set(String(row['currency']), millionths(row['net'])));
    }
    expect(sums).toEqual(booksOf(seller).netByMonth(range));
  });

  test('by group: each settlement’s net is its total less its beginning balance, and the seller’s own sum', async () => {
    const { seller, lake } = whole;
    const duckdb = await database(lake, clock);
    const groups = await duckdb.rows(`
      SELECT group_id, original_total - beginning_balance AS expected, coalesce(sum(amount), 0) AS net, ended_at
      FROM groups LEFT JOIN group_entries USING (group_id)
      WHERE role = 'net' OR role IS NULL
      GROUP BY ALL`);
    expect(groups.length).toBeGreaterThan(15);
    const booked = booksOf(seller).netByGroup({ start: 0, end: clock.now() });
    for (const { group_id, expected, net } of groups) {
      expect(millionths(net)).toBe(millionths(expected));
      expect(millionths(net)).toBe(booked.get(String(group_id)) ?? 0n);
    }
  });

  test('by date and by group: the same events where both cover the same days', async () => {
    const { lake } = whole;
    const duckdb = await database(lake, clock);
    const [row] = await duckdb.rows(`
      WITH whole AS (SELECT group_id FROM groups WHERE started_at >= '2026-01-01' AND ended_at <= '2026-03-10'),
        by_group AS (SELECT content_hash, effective_at FROM group_events JOIN whole USING (group_id)),
        by_date AS (SELECT content_hash FROM events)
      SELECT (SELECT count(*) FROM by_group) AS n,
        (SELECT count(*) FROM (SELECT content_hash FROM by_group EXCEPT ALL FROM by_date)) AS missing`);
    expect(Number(row?.['n'])).toBeGreaterThan(1000);
    expect(row?.['missing']).toBe(0n);
  });

  test('an event without a date stands between the dates of its neighbours', async () => {
    const { seller, lake } = whole;
    const duckdb = await database(lake, clock);
    const rows = await duckdb.rows(
      'SELECT raw, epoch_ms(effective_at) AS at, epoch_ms(window_start) AS first, epoch_ms(window_end) AS last FROM events WHERE posted_at IS NULL',
    );
    expect(rows.length).toBeGreaterThan(50);
    // Two events may be the same to the byte, so each has the instants of all that are.
    const hidden = new Map<string, number[]>();
    const items = await everyItem((cursor) => seller.events(range, { cursor, limit: 100, asOf: clock.now() }));
    for (const [index, { at, list }] of [...booksOf(seller).eventsBooked(range)].entries()) {
      const raw = items[index]?.slice(list.length + 1) ?? '';
      hidden.set(raw, [...(hidden.get(raw) ?? []), at]);
    }
    for (const { raw, at, first, last } of rows) {
      expect(Number(at)).toBeGreaterThanOrEqual(Number(first));
      expect(Number(at)).toBeLessThan(Number(last));
      // A page of 100 spans about three days at this density.
      const distances = (hidden.get(String(raw)) ?? []).map((instant) => Math.abs(Number(at) - instant));
      expect(Math.min(...distances)).toBeLessThan(5 * 86_400_000);
    }
  });

  test('ids are unique, positions count from 0, entries from 0', async () => {
    const { lake } = whole;
    const duckdb = await database(lake, clock);
    for (const table of ['events', 'group_events']) {
      const slice = table === 'events' ? 'window_start, window_end' : 'group_id';
      const [row] = await duckdb.rows(`
        SELECT count(*) AS n, count(DISTINCT event_id) AS ids,
          (SELECT count(*) FROM (SELECT max(position) + 1 <> count(*) AS off FROM ${table} GROUP BY ${slice}) WHERE off) AS gaps
        FROM ${table}`);
      expect(row?.['ids']).toBe(row?.['n']);
      expect(row?.['gaps']).toBe(0n);
    }
    const [entries] = await duckdb.rows(`
      SELECT count(*) AS n, count(DISTINCT (event_id, entry)) AS ids,
        (SELECT count(*) FROM (SELECT max(entry) + 1 <> count(*) AS off FROM entries GROUP BY event_id) WHERE off) AS gaps
      FROM entries`);
    expect(entries?.['ids']).toBe(entries?.['n']);
    expect(entries?.['gaps']).toBe(0n);
  });
});

describe('a second run', () => {
  test('of the same range sends no request and changes no byte', async () => {
    const { lake, given, run } = await copyOfWhole();
    expect(run.summary.pipelines['financial-events']?.['requests']).toBeGreaterThan(20);
    const before = await fileHashes(lake);
    const again = await ran({ ...given, endpoint: 'http://127.0.0.1:9' }, { clock });
    expect(Object.values(again.summary.pipelines).map(({ requests }) => requests)).toEqual([0, 0, 0]);
    expect(again.printed).toContain('Nothing to do');
    expect(await fileHashes(lake)).toEqual(before);
  });

  test('of an overlapping range loads what is missing', async () => {
    const { lake, given } = await loaded({ from: '2026-01-15', to: '2026-02-10' });
    const before = await fileHashes(lake);
    await ran({ ...given, ...dates }, { clock });
    const after = await fileHashes(lake);
    for (const [path, hash] of before) expect(after.get(path)).toBe(hash);
    const seller = newSeller();
    const duckdb = await database(lake, clock);
    const [row] = await duckdb.rows('SELECT count(*) AS n, count(DISTINCT event_id) AS ids FROM events');
    expect(Number(row?.['n'])).toBe([...booksOf(seller).eventsBooked(range)].length);
    expect(row?.['ids']).toBe(row?.['n']);
  });

  test('with --refresh reads again and, where nothing has changed upstream, changes no file', async () => {
    const { lake, given } = await copyOfWhole();
    const before = await fileHashes(lake);
    const again = await ran({ ...given, refresh: true, from: '2026-02-03', to: '2026-02-04' }, { clock });
    expect(again.summary.pipelines['financial-events']).toMatchObject({ slices: 1, files: 0 });
    expect(await fileHashes(lake)).toEqual(before);
  });
});

test('group-events alone lists the groups that it needs, and stores them', async () => {
  const { lake, run } = await loaded({ pipelines: ['group-events'] });
  expect(Object.keys(run.summary.pipelines)).toEqual(['financial-event-groups', 'group-events']);
  const duckdb = await database(lake, clock);
  const [row] = await duckdb.rows(
    'SELECT (SELECT count(*) FROM groups) AS groups, count(DISTINCT group_id) AS loaded, (SELECT count(*) FROM events) AS events FROM group_events',
  );
  expect(row?.['groups']).toBe(row?.['loaded']);
  expect(row?.['events']).toBe(0n);
});

test('orders are read one by one, and stand in the month of their first date', async () => {
  const seller = newSeller();
  const ids = [...booksOf(seller).orderIds(range)].slice(0, 150);
  const unknown = '999-9999999-9999999';
  const { lake, given, run } = await loaded({ pipelines: ['order-events'], orders: [...ids, unknown] });
  expect(run.printed).toContain(`1 order that the service does not know: ${unknown}`);
  const duckdb = await database(lake, clock);
  const rows = await duckdb.rows("SELECT requested_order_id || ' ' || raw AS item, month FROM order_events");
  const expected: string[] = [];
  for (const id of ids) {
    const items = await everyItem(async (cursor) => {
      const page = await seller.eventsOfOrder(id, { cursor, limit: 100, asOf: clock.now() });
      return page ?? { items: [], next: undefined };
    });
    expected.push(...items.map((item) => `${id} ${item.replace(/^\S+ /, '')}`));
  }
  expect(tally(rows.map(({ item }) => String(item)))).toEqual(tally(expected));
  const [months] = await duckdb.rows(`
    SELECT count(*) AS off FROM (
      SELECT coalesce(strftime(min(posted_at), '%Y-%m'), 'unknown') <> any_value(month) AS off
      FROM order_events GROUP BY requested_order_id) WHERE off`);
  expect(months?.['off']).toBe(0n);

  const again = await ran(given, { clock });
  expect(again.summary.pipelines['order-events']).toMatchObject({ requests: 0, slices: 0 });
});

test('a plain reader of the folders sees what ledgerlake sql sees', async () => {
  const { lake } = whole;
  const duckdb = await database(lake, clock);
  for (const table of ['events', 'entries', 'groups', 'group_events', 'group_entries']) {
    const plain = `read_parquet('${lake}/${table}/account=*/month=*/*.parquet', hive_partitioning = true)`;
    const [row] = await duckdb.rows(`
      SELECT (SELECT count(*) FROM (FROM ${plain} EXCEPT ALL FROM ${table})) + (SELECT count(*) FROM (FROM ${table} EXCEPT ALL FROM ${plain})) AS different,
        (SELECT count(*) FROM ${table}) AS n`);
    expect(row?.['different']).toBe(0n);
    expect(Number(row?.['n'])).toBeGreaterThan(0);
  }
});

test('made-up money and real money stay apart', async () => {
  const { given } = await loaded({ pipelines: ['financial-event-groups'] });
  await expect(ran({ ...given, account: 'demo' }, { clock })).rejects.toMatchObject({ exitCode: 2 });
});
