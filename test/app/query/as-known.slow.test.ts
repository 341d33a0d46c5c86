import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { asKnownMacros, loadedSpansMacro } from '../../../src/app/query/as-known.js';
import { knownTooEarly } from '../../../src/app/query/query-notes.js';
import { StatementScopes } from '../../../src/app/query/statement-scope.js';
import type { Clock } from '../../../src/core/clock.js';
import { openDatabase } from '../../../src/core/duckdb/connection.js';
import { lakeTables, openLakeReader } from '../../../src/app/query/lake-files.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import type { Commit } from '../../../src/lake/catalog/commit.js';
import { Lake } from '../../../src/lake/lake.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { tables } from '../../../src/sources/finances/lake-tables.js';
import { database, ran, serving, temporaryFolder } from '../lake-run.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { arrayBackend } from '../../serve/http/array-backend.js';
import { compacted } from '../maintenance/kept-lake.js';
import { shipment, shipments, smallLake, within } from '../maintenance/small-lake.js';
import { setClock, synced } from '../load/synced.js';
import { refreshed } from '../reconcile/revised-lake.js';
import { commitsOf, writeCommits } from '../verify/damage.js';
import { fee, shipment as shipmentItem } from '../verify/small-backend.js';

const scopeOf = (statement: string) => new StatementScopes([]).of(statement);

const clock = setClock('2026-02-01T00:00:00Z');
const [one = '', two = '', three = ''] = shipments(2);
const late = shipment(within(2, 300), 'order-late', '7.77');
/** What window 2 held from each day of February on. */
const steps = [
  { day: 1, events: [one, two, three] },
  { day: 5, events: [one, two, three, late, late] },
  { day: 9, events: [two, three, late] },
  { day: 13, events: [one, two, three, late, late] },
  { day: 17, events: [one, one, two] },
];

let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock);
  for (const { day, events } of steps.slice(1)) {
    clock.set(Date.UTC(2026, 1, day));
    await refreshed(small.lake, new Map([[2, events]]), { clock });
  }
});
afterAll(() => small.remove());

test.each(['small files', 'merged files'])(
  'a window is as it was at every instant, event by event and amount by amount (%s)',
  async (kind) => {
    if (kind === 'merged files') await compacted({ lake: small.lake }, { clock });
    const database = await openDatabase();
    const lake = await Lake.open(openStore(small.lake), tables, clock);
    await createViews(database, lakeTables, lake.fileAddresses());
    for (const macro of [loadedSpansMacro(lake.snapshot), ...asKnownMacros]) await database.execute(macro);
    for (const { day, events } of steps) {
      const known = `'${new Date(Date.UTC(2026, 1, day + 2)).toISOString()}'`;
      const rows = await database.rows(
        `SELECT raw, account, month, event_id FROM events_as_known(${known}) WHERE window_start = '2026-01-08' ORDER BY raw`,
      );
      expect(
        rows.map(({ raw }) => raw),
        `day ${day}`,
      ).toEqual(events.toSorted());
      expect(new Set(rows.map(({ event_id }) => event_id)).size).toBe(events.length);
      expect(rows.every(({ account, month }) => account === 'shop' && month === '2026-01')).toBe(true);
      const [sum] = await database.rows(
        `SELECT sum(amount) AS net, count(*)::INTEGER AS n FROM entries_as_known(${known}) ` +
          "WHERE effective_at >= '2026-01-08' AND effective_at < '2026-01-15'",
      );
      const prices = events.map((event) => Number(/"CurrencyAmount":(\d+)\.(\d\d)/.exec(event)?.slice(1).join('')));
      const cents = prices.reduce((total, price) => total + price, 0) - events.length * 150;
      expect(sum, `day ${day}`).toEqual({ net: `${(cents / 100).toFixed(2)}0000`, n: events.length * 2 });
      const [others] = await database.rows(
        `SELECT count(*)::INTEGER AS n FROM events_as_known(${known}) WHERE window_start <> '2026-01-08'`,
      );
      expect(others).toEqual({ n: 6 });
    }
    for (const name of ['events', 'entries']) {
      const early = `SELECT * FROM ${name}_as_known('2026-01-31T23:59:59Z')`;
      expect(await database.rows(`DESCRIBE ${early}`)).toEqual(
        await database.rows(`DESCRIBE ${early.replace(/01-31.*Z/, '02-02')}`),
      );
      expect(await database.rows(early)).toEqual([]);
    }
    const now = 'SELECT * FROM events_as_known(now())';
    expect(await database.rows(`(${now} EXCEPT ALL FROM events) UNION ALL (FROM events EXCEPT ALL ${now})`)).toEqual(
      [],
    );
    database.close();
  },
);

/** A database with the views and macros of a lake, as they are after `read`. */
async function asKnownOf(lake: string, clock: Clock) {
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const read = async () => {
    const { lakeFiles, macrosFor } = await openLakeReader(lake, clock);
    await createViews(database, lakeTables, await lakeFiles());
    for (const macro of macrosFor()) await database.execute(macro);
  };
  return { database, read };
}

test('transactions are as they were, each with its status and its amounts, also once what was deferred was released', async () => {
  const begin = Date.parse('2026-03-01T02:00:00Z');
  const moving = setClock(new Date(begin).toISOString());
  const seller = createSeller({ seed: 5, events: 1500, profile: 'plausible' }, moving);
  const endpoint = await serving({ backend: seller, clock: moving });
  const lake = await temporaryFolder();
  const given = { lake, endpoint, account: 'shop', api: '2024-06-19' as const };
  await ran({ ...given, from: '2026-02-01' }, { clock: moving });
  const { database, read } = await asKnownOf(lake, moving);
  const deferred =
    "SELECT account, currency, sum(total_amount) AS outstanding FROM transactions WHERE status = 'DEFERRED' GROUP BY ALL";
  const nights = [0, 8, 16];
  const sums: unknown[] = [];
  for (const night of nights) {
    moving.set(begin + night * 86_400_000);
    if (night > 0) await synced({ ...given, lookBack: 2 }, { clock: moving });
    await read();
    sums.push(await database.rows(`${deferred} ORDER BY ALL`));
    await database.execute(`CREATE TABLE t${night} AS FROM transactions`);
    await database.execute(`CREATE TABLE e${night} AS FROM transaction_entries`);
  }
  const early = new Date(begin - 1000).toISOString();
  for (const name of ['transactions', 'transaction_entries']) {
    expect(await database.rows(`FROM ${name}_as_known('${early}')`)).toEqual([]);
  }
  for (const night of nights) {
    const known = `'${new Date(begin + night * 86_400_000 + 3_600_000).toISOString()}'`;
    const then = `transactions_as_known(${known})`;
    // Rows that stay move up in their window when others vanish, and a window that grows is another one.
    for (const [columns, table, macro] of [
      ['* EXCLUDE (position, window_end)', `t${night}`, then],
      ['*', `e${night}`, `transaction_entries_as_known(${known})`],
    ] as const) {
      const differing = (one: string, other: string) =>
        database.rows(`SELECT ${columns} FROM ${one} EXCEPT ALL SELECT ${columns} FROM ${other}`);
      expect([await differing(macro, table), await differing(table, macro)], table).toEqual([[], []]);
    }
  }
  const [, query = ''] =
    /```sql\n([^`]* AS outstanding[^`]*);\n```/.exec(await readFile('docs/transactions.md', 'utf8')) ?? [];
  for (const [at, night] of nights.entries()) {
    // What is younger than five minutes isn't asked for.
    const before = new Date(begin + night * 86_400_000 - 300_000).toISOString();
    const rows = await database.rows(query.replaceAll('now()', `'${before}'`));
    expect(rows, `night ${night}`).toEqual(sums[at]);
  }
  const released = 'SELECT count(*)::INTEGER AS n FROM t0 ANTI JOIN t16 USING (event_id)';
  expect(Number((await database.rows(released))[0]?.['n'])).toBeGreaterThan(20);
});

test('the documentation shows one', async () => {
  expect(await readFile('docs/queries.md', 'utf8')).toMatch(/```sql[^`]*entries_as_known\(/);
});

test('the lake knows when it was first loaded', async () => {
  expect((await openLakeReader(small.lake, clock)).firstLoad).toBe(Date.UTC(2026, 1, 1));
});

test.each(['1e300', '-5', '"abc"', 'null', '8640000000000001', '253402300800000', '1.5'])(
  'a catalog whose tables were made at %s does not say when the lake was first loaded',
  async (at) => {
    const lake = await temporaryFolder();
    await cp(small.lake, lake, { recursive: true });
    const commits = JSON.stringify(commitsOf(lake));
    const foreign = commits.replaceAll(/"createdTime":\d+/g, `"createdTime":${at}`);
    expect(foreign).not.toBe(commits);
    writeCommits(lake, JSON.parse(foreign) as Commit[]);
    const { firstLoad } = await openLakeReader(lake, clock);
    expect(firstLoad).toBeUndefined();
    // The load keys say it by themselves.
    const asKnown = await database(lake, clock);
    for (const [instant, n] of [
      ['2026-01-31', 0],
      ['2026-02-02', 9],
    ] as const) {
      const counted = `SELECT count(*)::INTEGER AS n FROM events_as_known('${instant}')`;
      expect(await asKnown.rows(counted), instant).toEqual([{ n }]);
    }
  },
);

test('an instant before the first load is said', () => {
  const first = Date.parse('2026-02-01T04:00:00Z');
  const early = "SELECT count(*) FROM entries_as_known('2026-01-31')";
  expect(knownTooEarly(scopeOf(early), first)).toBe(
    'WARNING: entries_as_known: this lake was first loaded at 2026-02-01T04:00:00.000Z, after 2026-01-31T00:00:00.000Z, so there ' +
      'are no rows',
  );
  expect(knownTooEarly(scopeOf("FROM events_as_known ( '2026-02-01 03:59:59' )"), first)).toContain(
    'events_as_known: ',
  );
  for (const text of ['2026-02-01T04:00:00Z', '2026-02-01 04:00', '2026-02-01T06:00:00+02:00', 'now', '2027-01-01']) {
    expect([text, knownTooEarly(scopeOf(`FROM events_as_known('${text}')`), first)]).toEqual([text, undefined]);
  }
  expect(knownTooEarly(scopeOf(early), undefined)).toBeUndefined();
});

test('imported rows are known since their import, and rows that were compared with none before since they are there', async () => {
  const moving = setClock('2026-02-01T00:00:00Z');
  const root = join(await temporaryFolder(), 'lake');
  const bodyOf = (texts: readonly string[]) => eventsBody(texts.map((json) => ({ list: 'ShipmentEventList', json })));
  const first = shipment(within(1, 10), 'order-a');
  const second = shipment(within(1, 20), 'order-b');
  const other = shipment(within(1, 2000), 'order-c');
  const countsAt = async (days: readonly number[]) => {
    const opened = await database(root, moving);
    const counts: unknown[] = [];
    for (const day of days) {
      const instant = new Date(Date.UTC(2026, 1, day, 12)).toISOString();
      const of = (table: string) => `(SELECT count(*)::INTEGER FROM ${table}_as_known('${instant}'))`;
      const [row] = await opened.rows(`SELECT ${of('events')} AS events, ${of('entries')} AS entries`);
      counts.push([row?.['events'], row?.['entries']]);
    }
    return counts;
  };
  await imported({ root, clock: moving }, [await fileOf([bodyOf([first, other])])], { account: 'shop' });
  expect(await countsAt([0, 1])).toEqual([
    [0, 0],
    [2, 4],
  ]);
  // The day gets another row: nothing says any more which of its rows were there before.
  moving.set('2026-02-03T00:00:00Z');
  await imported({ root, clock: moving }, [await fileOf([bodyOf([first, second, other])])], { account: 'shop' });
  expect(await countsAt([0, 1, 3])).toEqual([
    [0, 0],
    [1, 2],
    [3, 6],
  ]);
  // Merged files have the rows of both days.
  moving.set('2026-02-04T00:00:00Z');
  await compacted({ lake: root }, { clock: moving });
  expect(await countsAt([1, 3])).toEqual([
    [1, 2],
    [3, 6],
  ]);
  // The API's answer replaces them.
  moving.set('2026-02-05T00:00:00Z');
  const items = [
    { at: Date.parse(within(1, 10)), list: 'ShipmentEventList', json: first },
    { at: Date.parse(within(1, 20)), list: 'ShipmentEventList', json: second },
    { at: Date.parse(within(1, 2000)), list: 'ShipmentEventList', json: other },
  ];
  const endpoint = await serving({ backend: arrayBackend(items), clock: moving });
  const loaded = { pipelines: ['financial-events'], account: 'shop', from: '2026-01-01', to: '2026-01-08' };
  await ran({ ...loaded, lake: root, endpoint }, { clock: moving });
  expect(await countsAt([1, 3, 5])).toEqual([
    [0, 0],
    [0, 0],
    [3, 6],
  ]);
  const { notesOn } = await openLakeReader(root, moving);
  expect(notesOn("FROM entries_as_known('2026-02-03T12:00:00Z')")[0]).toBe(
    'WARNING: entries_as_known: what shop has of 2026-01-01 to 2026-01-08 was loaded after 2026-02-03T12:00:00.000Z, so it is left out',
  );
});

test('an event without a date that moves as its window grows is known since it was first read, one that is new since then', async () => {
  const lake = await temporaryFolder();
  const clock = setClock('2025-03-04T03:05:00Z');
  const items = [fee('2025-03-04T02:00:00Z', '-1.00', 'GROUP')];
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const { database, read } = await asKnownOf(lake, clock);
  const run = async (): Promise<void> => {
    await synced({ lake, endpoint, account: 'shop' }, { clock });
    await read();
  };
  const amounts = async (known: string) => {
    const net = `SELECT amount FROM entries_as_known('${known}') WHERE role = 'net' ORDER BY amount`;
    return (await database.rows(net)).map(({ amount }) => Number(amount));
  };
  const four = '2025-03-04T04:00:00Z';
  const places = async () =>
    (await database.rows('SELECT effective_at FROM events WHERE posted_at IS NULL')).map((row) => row['effective_at']);
  await run();
  expect(await places()).not.toContain(four);
  items.push(shipmentItem(four, '2', '35.00', '-5.00', 'GROUP'), fee('2025-03-04T05:00:00Z', '-2.00', 'GROUP'));
  clock.set(Date.parse('2025-03-05T03:05:00Z'));
  await run();
  expect(await places()).toEqual([four, four]);
  expect(await amounts('2025-03-04T12:00:00Z')).toEqual([-1]);
  expect(await amounts('2025-03-05T12:00:00Z')).toEqual([-5, -2, -1, 35]);
});
