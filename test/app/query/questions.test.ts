import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lackText, monthBefore, newestMonth } from '../../../src/app/query/loaded-months.js';
import { questionNamed, questionQuery, questions, questionValues } from '../../../src/app/query/questions.js';
import { parametersOf, statementsOf } from '../../../src/core/duckdb/sql-statements.js';
import { viewTables } from './view-tables.js';

const time = { newestMonth: '2026-01', now: Date.parse('2026-02-10T12:00:00Z') };

test.each(questions)('$name says what it answers, and has the parameters that it declares', (question) => {
  const { name, title, about, parameters, query } = question;
  expect(name).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
  expect(title).toMatch(/^[A-Z].*[^.]$/);
  expect(about).toMatch(/^One row for each .*\.$/);
  expect(about).not.toContain('$');
  // `$month_12` follows from `$month`.
  const named = [...parametersOf(query)].filter((name) => !name.startsWith('month_'));
  expect(named.toSorted()).toEqual(parameters.map((parameter) => parameter.name).toSorted());
  for (const parameter of parameters) expect(parameter.about).toMatch(/[^.]$/);
  const asked = questionQuery(question, questionValues(question, {}, time));
  expect([...parametersOf(asked)]).toEqual([]);
  expect(statementsOf(asked)).toHaveLength(1);
});

test('each question has its file, and each file its question', () => {
  const files = readdirSync('src/app/query/questions').toSorted();
  expect(files).toEqual(questions.map(({ name }) => `${name}.sql`).toSorted());
});

test('a parameter has the value of the user, or its default', () => {
  const values = (name: string, given = {}) => Object.fromEntries(questionValues(questionNamed(name), given, time));
  expect(values('profit-by-sku')).toEqual({ month: '2026-01', limit: '20' });
  expect(values('profit-by-sku', { month: '2025-12', limit: '3' })).toEqual({ month: '2025-12', limit: '3' });
  expect(values('month-comparison')).toEqual({ month: '2026-01', month_1: '2025-12', month_12: '2025-01' });
  expect(values('refund-rate')).toEqual({ from: '2025-11', orders: '10', limit: '20' });
  expect(values('late-events')).toEqual({ since: '2026-01-11', limit: '50' });
  expect(values('order-history')).toEqual({ order: undefined });
  expect(values('orders-not-paid')).toEqual({ at: '2026-02-11', limit: '100' });
  // As defaults are written.
  expect(values('fee-rate', { from: 'newest - 13' })).toEqual({ from: '2024-12' });
  expect(values('fee-rate', { from: 'newest' })).toEqual({ from: '2026-01' });
  expect(values('late-events', { since: '40 days ago' })).toMatchObject({ since: '2026-01-01' });
  expect(values('orders-not-paid', { at: 'tomorrow' })).toMatchObject({ at: '2026-02-11' });
});

test.each([
  [
    'profit-by-sku',
    { month: '2026-13' },
    'expected the parameter month to be a month such as 2026-01, or newest, got "2026-13"',
  ],
  ['order-history', { order: '' }, 'expected the parameter order to be a text that is not empty, got ""'],
  ['fee-rate', { from: '2 days ago' }, 'expected the parameter from to be a month'],
  ['late-events', { since: 'newest' }, 'expected the parameter since to be a date such as 2026-01-31, got "newest"'],
  ['profit-by-sku', { limit: '-1' }, 'expected the parameter limit to be a whole number, got "-1"'],
  ['profit-by-sku', { limit: "1; SELECT 'x'" }, 'expected the parameter limit to be a whole number'],
  ['late-events', { since: '2026-02-30' }, 'expected the parameter since to be a date such as 2026-01-31'],
  ['fee-rate', { month: '2026-01' }, 'expected a parameter of fee-rate (from), got "month"'],
  ['currencies', { month: '2026-01' }, 'expected a parameter of currencies (none), got "month"'],
  ['fee-rates', {}, 'expected the name of a question, got "fee-rates"; did you mean fee-rate?'],
  ['x', {}, 'expected the name of a question, got "x"; `ledgerlake ask` lists them'],
])('%s refuses %j', (name, given, message) => {
  expect(() => questionValues(questionNamed(name), given, time)).toThrow(message);
});

test('a text is a literal in the query, whatever it has', async () => {
  const { database, insert } = await viewTables();
  const text = fc.string({ minLength: 1, unit: 'grapheme' }).map((of) => `o'$order;--${of.replaceAll('\0', '')}`);
  await fc.assert(
    fc.asyncProperty(text, async (order) => {
      await database.execute('DELETE FROM entries');
      const row = { role: 'net', amount: '1', currency: 'USD', effective_at: '2026-01-01T00:00:00Z' };
      await insert('entries', [
        { ...row, event_id: 'a', amazon_order_id: order },
        { ...row, event_id: 'b', amazon_order_id: 'other' },
      ]);
      const question = questionNamed('order-history');
      const query = questionQuery(question, questionValues(question, { order }, time));
      expect(await database.rows(query)).toHaveLength(1);
    }),
    { numRuns: 20 },
  );
});

const at = (instant: string): number => Date.parse(instant);

test('the newest month is the last one that is loaded to its end in the time zone', () => {
  const loaded = (start: string, end: string, zone = 'UTC') =>
    newestMonth([{ start: at(start), end: at(end) }], zone, at('2030-01-01'));
  expect(loaded('2025-06-10T00:00:00Z', '2026-01-20T00:00:00Z')).toBe('2025-12');
  expect(loaded('2025-06-10T00:00:00Z', '2026-02-01T00:00:00Z')).toBe('2026-01');
  expect(loaded('2025-06-10T00:00:00Z', '2026-01-31T23:59:59Z')).toBe('2025-12');
  expect(loaded('2025-06-10T00:00:00Z', '2026-01-31T23:00:00Z', 'Europe/Berlin')).toBe('2026-01');
  expect(loaded('2025-06-10T00:00:00Z', '2026-02-01T00:00:00Z', 'America/New_York')).toBe('2025-12');
  expect(loaded('2026-01-10T00:00:00Z', '2026-01-20T00:00:00Z')).toBe('2026-01');
  expect(newestMonth([], 'UTC', at('2026-01-20T00:00:00Z'))).toBe('2025-12');
});

test('months of a range that windows cover in part, or not at all, are named', () => {
  const windows = [
    { start: at('2025-10-15T00:00:00Z'), end: at('2025-12-01T00:00:00Z') },
    { start: at('2026-01-01T00:00:00Z'), end: at('2026-02-03T00:00:00Z') },
  ];
  const loaded = 'loaded is 2025-10-15 to 2025-12-01, 2026-01-01 to 2026-02-03';
  const lack = (first: string, last = first, zone = 'UTC') =>
    lackText('shop', windows, zone, { first, last })?.replace(`: ${loaded}`, '');
  expect(lack('2025-10', '2026-02')).toBe('shop has nothing of 2025-12 and only a part of 2025-10, 2026-02');
  expect(lack('2025-11', '2026-01')).toBe('shop has nothing of 2025-12');
  expect(lack('2025-08', '2026-03')).toBe(
    'shop has nothing of 2025-08 to 2025-09, 2025-12, 2026-03 and only a part of 2025-10, 2026-02',
  );
  expect(lack('2025-11')).toBeUndefined();
  expect(lack('2026-01')).toBeUndefined();
  expect(lack('2026-02')).toBe('shop has only a part of 2026-02');
  expect(lack('2025-12')).toBe('shop has nothing of 2025-12');
  expect(lack('9999-12')).toBe('shop has nothing of 9999-12');
  expect(lack('2025-11', '2026-01', 'Europe/Berlin')).toBe('shop has only a part of 2025-12, 2026-01');
  expect(lackText('shop', [], 'UTC', { first: '2025-12', last: '2026-01' })).toBe(
    'shop has nothing of 2025-12 to 2026-01: loaded is no day',
  );
});

test('months before a month are counted over years', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1970 * 12, max: 2100 * 12 }), fc.nat(200), (month, count) => {
      const text = (of: number) => `${Math.floor(of / 12)}-${String((of % 12) + 1).padStart(2, '0')}`;
      expect(monthBefore(text(month), count)).toBe(text(month - count));
    }),
  );
});
