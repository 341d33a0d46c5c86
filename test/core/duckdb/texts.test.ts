import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { dateText, floatNumber, ticksText } from '../../../src/core/duckdb/texts.js';
import { decimalText } from '../../../src/core/numeric/decimal.js';

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

/** What DuckDB itself makes of expressions, one text each. */
async function casts(expressions: readonly string[]): Promise<unknown[]> {
  const rows = await database.rows(
    `SELECT unnest([${expressions.map((one) => `(${one})::VARCHAR`).join(', ')}]) AS text`,
  );
  return rows.map((row) => row['text']);
}

test('decimals are DuckDB’s own text, with a zero before a bare point', async () => {
  const values = fc.sample(
    fc.tuple(fc.bigInt(-(10n ** 18n - 1n), 10n ** 18n - 1n), fc.integer({ min: 0, max: 17 })),
    300,
  );
  values.push([0n, 6], [-1n, 6], [25_100_000n, 6], [-5n, 2]);
  const texts = values.map(([value, scale]) => decimalText(value, scale));
  const theirs = await casts(values.map(([, scale], at) => `'${texts[at] ?? ''}'::DECIMAL(18,${scale})`));
  expect(texts).toEqual(theirs);
  expect(texts.slice(-4)).toEqual(['0.000000', '-0.000001', '25.100000', '-0.05']);
});

test('dates and instants agree with DuckDB from year 1 to 9999', async () => {
  const first = -62_135_596_800_000_000n;
  const last = 253_402_300_799_999_999n;
  const values = fc.sample(fc.oneof(fc.bigInt(first, last), fc.bigInt(-(10n ** 7n), 10n ** 7n)), 300);
  values.push(first, last, -1n, 0n, 951_782_400_000_000n);
  const theirs = await casts(values.map((value) => `strftime(make_timestamp(${value}), '%Y-%m-%dT%H:%M:%S.%f')`));
  const ours = values.map((value) => ticksText(value, 6, ''));
  expect(ours.map((text) => (text.includes('.') ? text.padEnd(26, '0') : `${text}.000000`))).toEqual(theirs);
  const days = values.map((value) => Number(value / 86_400_000_000n));
  expect(days.map(dateText)).toEqual(await casts(days.map((day) => `DATE '1970-01-01' + ${day}::INTEGER`)));
});

test('dates agree with the calendar of JavaScript over all of its range', () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000_000, max: 100_000_000 }), (day) => {
      expect(dateText(day)).toBe(new Date(day * 86_400_000).toISOString().split('T')[0]);
    }),
  );
});

test('a fraction is there only where it isn’t zero, in whole thousands', () => {
  expect(ticksText(0n, 6, 'Z')).toBe('1970-01-01T00:00:00Z');
  expect(ticksText(250_000n, 6, 'Z')).toBe('1970-01-01T00:00:00.250Z');
  expect(ticksText(-1n, 6, 'Z')).toBe('1969-12-31T23:59:59.999999Z');
  expect(ticksText(100n, 6, '')).toBe('1970-01-01T00:00:00.000100');
  expect(ticksText(1n, 9, '')).toBe('1970-01-01T00:00:00.000000001');
  expect(ticksText(7n, 0, '')).toBe('1970-01-01T00:00:07');
  expect(ticksText(2n ** 63n - 1n, 6, 'Z')).toBe('infinity');
  expect(ticksText(-(2n ** 63n - 1n), 6, 'Z')).toBe('-infinity');
  expect(dateText(2 ** 31 - 1)).toBe('infinity');
});

test('a 32-bit float is the shortest number that is the same float', () => {
  expect(floatNumber(Math.fround(0.1))).toBe(0.1);
  expect(floatNumber(NaN)).toBeNaN();
  fc.assert(
    fc.property(fc.float(), (value) => {
      const short = floatNumber(value);
      expect(Math.fround(short)).toBe(value);
      expect(String(short).length).toBeLessThanOrEqual(String(value).length);
    }),
  );
});
