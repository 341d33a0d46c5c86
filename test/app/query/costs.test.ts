import fc from 'fast-check';
import { expect, test } from 'vitest';
import { costsQuery, parseCosts } from '../../../src/app/query/costs.js';
import { viewStatements } from '../../../src/app/query/views.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import { viewTables } from './view-tables.js';

const head = 'sku,from,unit_cost,currency\n';

test.each([
  ['', 'costs.csv, line 1, column 1: expected the column sku, got an empty file'],
  ['sku,from,unit_cost\n', 'line 1, column 1: expected the column currency, got only sku, from, unit_cost'],
  [
    'sku,from,unit cost,currency\n',
    'line 1, column 10: expected a column of sku, from, unit_cost, currency, got "unit cost"',
  ],
  ['sku;unit_cost;currency\n', 'got "sku;unit_cost;currency"; columns are separated by commas'],
  [`${head}A,2026-01-01,1\n`, 'line 2, column 1: expected 4 fields, got 3'],
  [`${head}\n,2026-01-01,1,EUR\n`, 'line 3, column 1: expected a SKU, got an empty field'],
  [
    `${head}A,1.2.2026,1,EUR\n`,
    'line 2, column 3: expected a date as YYYY-MM-DD, or nothing for all time, got "1.2.2026"',
  ],
  [`${head}A,2026-02-30,1,EUR\n`, 'line 2, column 3: expected a date as YYYY-MM-DD'],
  [`${head}A,,"1,50",EUR\n`, 'line 2, column 4: expected a cost such as 12.50, of up to six decimals, got "1,50"'],
  [`${head}A,,-1,EUR\n`, 'expected a cost such as 12.50'],
  [`${head}A,,1.2345678,EUR\n`, 'expected a cost such as 12.50'],
  [`${head}A,,1,eur\n`, 'line 2, column 6: expected a currency such as EUR, got "eur"'],
  [
    `${head}A,,1,EUR\nA,,2,USD\nA,,3,EUR\n`,
    'line 4, column 1: expected one cost of a SKU, date and currency, got those of line 2',
  ],
])('%j is refused by line and column', (text, message) => {
  expect(() => parseCosts(text, 'costs.csv')).toThrow(message);
});

test('a cost without a day holds from the beginning, and the column may be left out', () => {
  const row = { sku: 'A', from: '0001-01-01', unitCost: '1.50', currency: 'EUR' };
  expect(parseCosts(`${head}A,,1.50,EUR\n`, 'costs.csv')).toEqual([row]);
  expect(parseCosts('sku,unit_cost,currency\nA,1.50,EUR\n', 'costs.csv')).toEqual([row]);
});

test('any SKU and any cost reach DuckDB exactly', async () => {
  const { database } = await viewTables();
  const sku = fc.string({ minLength: 1, unit: 'grapheme' }).map((text) => text.replaceAll('\0', '').trim() || 'x');
  const micros = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n });
  const day = fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
  const rows = fc.uniqueArray(fc.tuple(sku, micros, day), { minLength: 1, selector: ([name]) => name });
  await fc.assert(
    fc.asyncProperty(rows, async (given) => {
      const expected = given.map(([name, cost, from]) => {
        const digits = String(cost).padStart(7, '0');
        return [name, from.toISOString().slice(0, 10), `${digits.slice(0, -6)}.${digits.slice(-6)}`, 'EUR'];
      });
      const csv =
        head + expected.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')).join('\n');
      const read = await database.rows(costsQuery(parseCosts(csv, 'costs.csv')));
      expect(read.map((row) => Object.values(row))).toEqual(expected);
    }),
    { numRuns: 30 },
  );
});

/** Sales of 10.00 a unit of the SKUs, each with a fee of 1.00, by instant. */
async function profitOf(
  sales: readonly (readonly [sku: string, at: string, quantity: number, currency?: string])[],
  costs: string,
  zone = 'UTC',
) {
  const { database, insert } = await viewTables();
  const entries = sales.flatMap(([sku, at, quantity, currency = 'USD'], event) =>
    (['charge', 'fee'] as const).map((kind, entry) => ({
      event_id: `e-${event}`,
      entry,
      effective_at: at,
      month: at.slice(0, 7),
      event_list: 'ShipmentEventList',
      item: 0,
      sku,
      quantity,
      kind,
      role: 'net',
      currency,
      name: kind === 'fee' ? 'Commission' : 'Principal',
      amount: kind === 'fee' ? '-1.00' : `${quantity}0.00`,
    })),
  );
  await insert('entries', entries);
  const rows = costs === '' ? [] : parseCosts(head + costs, 'costs.csv');
  for (const statement of viewStatements(lakeTables, { timeZone: zone, costs: rows }).values())
    await database.execute(statement);
  const found = await database.rows('FROM sku_profit ORDER BY month, sku, currency');
  return found.map((row) =>
    ['month', 'sku', 'units', 'earned', 'cost', 'net_margin', 'missing_cost'].map((name) => row[name]),
  );
}

test('a unit costs what its SKU costs on the day of its shipment', async () => {
  const sales = [
    ['A', '2026-03-09T23:59:59Z', 2],
    ['A', '2026-03-10T00:00:00Z', 3],
    ['A', '2026-04-01T00:00:00Z', 1],
  ] as const;
  expect(await profitOf(sales, 'A,,1.000001,USD\nA,2026-03-10,2.5,USD\nB,,9,USD\n')).toEqual([
    ['2026-03', 'A', 5n, '48.000000', '-9.500002', '38.499998', null],
    ['2026-04', 'A', 1n, '9.000000', '-2.500000', '6.500000', null],
  ]);
});

test('a unit of a deferred sale costs what its SKU costs on the day of the sale, and not on that of its release', async () => {
  const { database, insert } = await viewTables();
  const rows = [
    { id: 'd', at: '2026-03-05T10:00:00Z', status: 'DEFERRED', deferred: '' },
    { id: 'r', at: '2026-03-20T10:00:00Z', status: 'RELEASED', deferred: 'd' },
    // Its sale was before the lake.
    { id: 's', at: '2026-03-21T10:00:00Z', status: 'RELEASED', deferred: 'x' },
  ].map(({ id, at, status, deferred }) => ({
    event_id: id,
    transaction_type: 'Shipment',
    effective_at: at,
    status,
    ...(deferred !== '' && { deferred_transaction_id: deferred }),
  }));
  const window = { window_start: '2026-03-01T00:00:00Z', window_end: '2026-04-01T00:00:00Z' };
  await insert(
    'transactions',
    rows.map((row) => ({ ...row, ...window, transaction_id: row.event_id, posted_at: row.effective_at })),
  );
  const entry = {
    entry: 0,
    item: 0,
    sku: 'A',
    quantity: 2,
    kind: 'charge',
    role: 'net',
    currency: 'USD',
    amount: '20.00',
    name: 'Base',
    breakdown: 'Sales/ProductCharges/OurPricePrincipal/Base',
  };
  await insert(
    'transaction_entries',
    rows.map((row) => ({ ...row, ...entry })),
  );
  const costs = parseCosts(`${head}A,,1,USD\nA,2026-03-10,3,USD\n`, 'costs.csv');
  for (const text of viewStatements(lakeTables, { costs }).values()) await database.execute(text);
  expect(await database.rows('SELECT units, cost, missing_cost FROM sku_profit')).toEqual([
    { units: 4n, cost: '-8.000000', missing_cost: null },
  ]);
});

test('the day and the month of a shipment are those of the time zone', async () => {
  const sales = [['A', '2026-03-31T22:30:00Z', 1]] as const;
  const costs = 'A,,1,USD\nA,2026-04-01,2,USD\n';
  expect(await profitOf(sales, costs)).toEqual([['2026-03', 'A', 1n, '9.000000', '-1.000000', '8.000000', null]]);
  expect(await profitOf(sales, costs, 'Europe/Berlin')).toEqual([
    ['2026-04', 'A', 1n, '9.000000', '-2.000000', '7.000000', null],
  ]);
});

test('a cost that is missing, or in another currency, leaves no part of a sum', async () => {
  const sales = [
    ['A', '2026-03-01T00:00:00Z', 2],
    ['A', '2026-03-20T00:00:00Z', 3],
    ['B', '2026-03-01T00:00:00Z', 1, 'EUR'],
    ['B', '2026-03-01T00:00:00Z', 1, 'USD'],
    ['C', '2026-03-01T00:00:00Z', 1],
  ] as const;
  expect(await profitOf(sales, 'A,2026-03-10,1,USD\nB,,2,EUR\nB,,3,GBP\n')).toEqual([
    ['2026-03', 'A', 5n, '48.000000', null, null, 'none before 2026-03-10'],
    ['2026-03', 'B', 1n, '9.000000', '-2.000000', '7.000000', null],
    ['2026-03', 'B', 1n, '9.000000', null, null, 'in EUR, GBP only'],
    ['2026-03', 'C', 1n, '9.000000', null, null, 'none of this SKU'],
  ]);
  expect((await profitOf([['A', '2026-03-01T00:00:00Z', 2]], '')).map((row) => row.at(-1))).toEqual([
    'no costs are given',
  ]);
});
