import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { isMacro, viewStatements } from '../../../src/app/query/views.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { monthOf } from './month-of.js';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

async function inZone(zone: string): Promise<void> {
  for (const statement of [...viewStatements(lakeTables, { timeZone: zone }).values()].filter(isMacro)) {
    if (/MACRO (?:time_zone|month_of|month_start)\(/.test(statement)) await database.execute(statement);
  }
}

const zones = ['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata', 'Australia/Lord_Howe', 'America/Havana'];

test.each([...zones, 'Asia/Tokyo'])('months are those of %s', async (zone) => {
  await inZone(zone);
  const year = Date.UTC(2026, 0);
  const instants = fc.oneof(
    fc.integer({ min: Date.UTC(2012, 0), max: Date.UTC(2032, 0) }),
    // Hours around the ends of months.
    fc
      .tuple(fc.integer({ min: 0, max: 240 }), fc.integer({ min: -16 * 3600, max: 16 * 3600 }))
      .map(([month, seconds]) => Date.UTC(2012, month) + seconds * 1000),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(instants, { minLength: 1, maxLength: 200 }), async (drawn) => {
      const ats = [...drawn, year - 1, year];
      const rows = await database.rows(
        `SELECT month_of(at_) AS month, month_start(month_of(at_)) <= at_ AS is_begun,
           month_of(month_start(month_of(at_))) = month_of(at_) AS is_in,
           month_of(month_start(month_of(at_)) - INTERVAL 1 MICROSECOND) < month_of(at_) AS is_first
         FROM (SELECT make_timestamptz(unnest([${ats.map((at) => `${at}000`).join(', ')}])) AS at_)`,
      );
      expect(rows).toEqual(
        ats.map((at) => ({ month: monthOf(at, zone), is_begun: true, is_in: true, is_first: true })),
      );
    }),
    { numRuns: 30 },
  );
});

test('DuckDB knows the time zones that the setting takes', async () => {
  const known = Intl.supportedValuesOf('timeZone');
  expect(known.length).toBeGreaterThan(400);
  for (const zone of ['utc', 'europe/berlin', 'US/Pacific', 'EST', ...known]) {
    await database.query(`SELECT timezone('${zone}', TIMESTAMPTZ '2026-01-01')`);
  }
});

test('an amount counts in the month of its zone in views of months and in ledger', async () => {
  const own = await openDatabase();
  try {
    await createViews(own, lakeTables, new Map());
    for (const name of ['events', 'entries', 'transactions', 'transaction_entries']) {
      const { columns = [] } = lakeTables.find((table) => table.name === name) ?? {};
      const all = [...columns, { name: 'account', type: 'VARCHAR' }, { name: 'month', type: 'VARCHAR' }];
      await own.execute(`DROP VIEW ${name}`);
      await own.execute(`CREATE TABLE ${name} (${all.map((column) => `"${column.name}" ${column.type}`).join(', ')})`);
    }
    const sale = (table: string, at: string, of: string) =>
      own.execute(
        `INSERT INTO ${table} BY NAME SELECT 'shop' AS account, '${at.slice(0, 7)}' AS month, '${at}' AS effective_at, 'net' AS role, 1 AS amount, 'EUR' AS currency, ${of}`,
      );
    const fee = "'fee' AS kind, 'Commission' AS name";
    await sale('entries', '2026-02-28T23:30:00Z', `'e' AS event_id, 'ServiceFeeEventList' AS event_list, ${fee}`);
    await own.execute(
      "INSERT INTO transactions BY NAME SELECT 'shop' AS account, '2026-03' AS month, 't' AS event_id, TIMESTAMPTZ '2026-03-01' AS window_start",
    );
    const paid = "'RELEASED' AS status, 'Commission' AS breakdown, 'ServiceFee' AS transaction_type";
    await sale('transaction_entries', '2026-03-31T22:30:00Z', `'t' AS event_id, ${fee}, ${paid}`);

    const months = async (zone: string): Promise<unknown> => {
      for (const statement of viewStatements(lakeTables, { timeZone: zone }).values()) await own.execute(statement);
      const of = async (view: string) =>
        (await own.rows(`SELECT month FROM ${view} ORDER BY month`)).map(({ month }) => month);
      const read = await Promise.all(
        ['ledger', 'pnl_by_month', 'pnl_by_month_earned', 'fees_by_type', 'reconciliation_by_month'].map(of),
      );
      const [first = []] = read;
      expect(read.map((all) => [...new Set(all)])).toEqual(read.map(() => first));
      return first;
    };
    expect(await months('UTC')).toEqual(['2026-02', '2026-03']);
    expect(await months('Europe/Berlin')).toEqual(['2026-03', '2026-04']);
    expect(await months('Europe/London')).toEqual(['2026-02', '2026-03']);
    expect(await months('America/Los_Angeles')).toEqual(['2026-02', '2026-03']);
    expect(await months('Asia/Kolkata')).toEqual(['2026-03', '2026-04']);
  } finally {
    own.close();
  }
});
