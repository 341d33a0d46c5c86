import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { events, groups, orderEvents } from '../../../src/sources/finances/api-v0/event-tables.js';
import {
  firstStart,
  canSelectRows,
  loadKeysLabel,
  keyColumn,
  loadKeyCondition,
} from '../../../src/lake/files/load-key-rows.js';

const january = 'window/2026-01-01T00:00:00.000Z/2026-01-08T00:00:00.000Z';
const later = 'window/2026-01-08T00:00:00.000Z/2026-01-15T00:00:00.000Z';

describe('load keys for people and names', () => {
  test('windows are told as one, single orders by their number, several by how many', () => {
    expect(loadKeysLabel([later, january])).toBe('2026-01-01T00:00:00.000Z/2026-01-15T00:00:00.000Z');
    expect(loadKeysLabel(['order/1-2/3'])).toBe('order 1-2/3');
    expect(loadKeysLabel(['group/a', 'group/b'])).toBe('2 groups');
    expect(loadKeysLabel(['group/a', 'order/b'])).toBe('2 load keys');
    expect(firstStart([later, january])).toBe('20260101T000000Z');
    expect(firstStart(['group/a'])).toBeUndefined();
    expect(keyColumn(['group/a', 'group/b'])).toEqual({ column: 'group_id', prefix: 'group/' });
    expect(keyColumn([january])).toBeUndefined();
  });

  test('load keys that nobody knows, and tables without the columns, are left alone', () => {
    expect(canSelectRows(events, [january, later])).toBe(true);
    expect(canSelectRows(events, [january, 'page/1'])).toBe(false);
    expect(canSelectRows(groups, ['order/1'])).toBe(false);
    expect(canSelectRows(orderEvents, ['order/1'])).toBe(true);
  });
});

describe('rows of load keys', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openDatabase();
  });
  afterAll(() => {
    database.close();
  });

  test('every row belongs to its own unit alone, whatever that is called', async () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(names, fc.nat(5), async (orders, at) => {
        const own = orders[at % orders.length] ?? '';
        const rows = orders.map((_, index) => `($${index + 1}::VARCHAR)`).join(', ');
        const found = await database.rows(
          `SELECT requested_order_id AS name FROM (VALUES ${rows}, (NULL)) t(requested_order_id) WHERE ${loadKeyCondition([`order/${own}`])}`,
          { parameters: orders },
        );
        expect(found).toEqual([{ name: own }]);
      }),
      { numRuns: 50 },
    );
  });

  test('windows are told apart to the millisecond', async () => {
    const count = async (condition: string) => {
      const [row] = await database.rows(
        `SELECT count(*) AS n FROM (VALUES (TIMESTAMPTZ '2026-01-01 00:00:00Z', TIMESTAMPTZ '2026-01-08 00:00:00Z'),
         (TIMESTAMPTZ '2026-01-01 00:00:00.001Z', TIMESTAMPTZ '2026-01-08 00:00:00Z'), (NULL, NULL)) t(window_start, window_end)
         WHERE ${condition}`,
      );
      return row?.['n'];
    };
    expect(await count(loadKeyCondition([january]))).toBe(1n);
    expect(await count(`NOT ${loadKeyCondition([january])}`)).toBe(2n);
    expect(await count(loadKeyCondition([]))).toBe(0n);
  });
});
