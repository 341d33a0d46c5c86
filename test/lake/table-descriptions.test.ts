import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { createViews } from '../../src/core/duckdb/views.js';
import { describeTables, describedTables } from '../../src/lake/table-descriptions.js';
import { diskStore } from '../../src/lake/store/disk.js';
import { sqlTables } from '../../src/app/query/lake-files.js';
import { customTable } from '../../src/sources/custom/custom-table.js';

let lake: string;
beforeEach(async () => {
  lake = await mkdtemp(join(tmpdir(), 'ledgerlake-kept-'));
});
afterEach(() => rm(lake, { recursive: true }));

const table = customTable('shop-orders', {
  name: 'shop_orders',
  about: 'Orders of a shop.',
  columns: {
    id: { type: 'varchar', about: 'Its id.' },
    total: { type: 'decimal(12,2)' },
    placed_at: { type: 'timestamp' },
  },
  sort: ['placed_at'],
});

type Described = Record<string, unknown> & { columns: Record<string, unknown>[] };

async function describedAs(change: (description: Described) => unknown): Promise<unknown> {
  const store = diskStore(lake);
  const description = JSON.parse(JSON.stringify(table)) as Described;
  const changed = change(description) ?? description;
  await store.write('_pipelines/shop-orders.json', Buffer.from(JSON.stringify(changed)));
  return describedTables(store);
}

test('a description that the program has written is read as it was', async () => {
  const store = diskStore(lake);
  await describeTables(store, [table]);
  expect(await describedTables(store)).toEqual([table]);
});

const injected = "1) AS x; COPY (SELECT 1) TO '/tmp/x'; --";
const hostile: [string, (description: Described) => unknown][] = [
  [
    'SQL as a precision',
    ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: injected, scale: 2 } }),
  ],
  ['SQL as a scale', ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: 12, scale: injected } })],
  [
    'a list as a precision',
    ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: [12], scale: 2 } }),
  ],
  [
    'a fraction as a scale',
    ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: 12, scale: 2.5 } }),
  ],
  ['too many digits', ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: 39, scale: 2 } })],
  [
    'a scale above the precision',
    ({ columns }) => Object.assign(columns[1] ?? {}, { digits: { precision: 2, scale: 3 } }),
  ],
  ['SQL as a type', ({ columns }) => Object.assign(columns[0] ?? {}, { type: injected })],
  ['SQL as a column', ({ columns }) => Object.assign(columns[0] ?? {}, { name: `a" , ${injected}` })],
  ['a column that Object has', ({ columns }) => Object.assign(columns[0] ?? {}, { type: 'constructor' })],
  ['SQL as a table', (all) => Object.assign(all, { name: `t" AS SELECT 1; ${injected}` })],
  ['a path as a table', (all) => Object.assign(all, { name: '../../other' })],
  ['a path as a pipeline', (all) => Object.assign(all, { ownPipeline: '../../x' })],
  ['the pipeline of another file', (all) => Object.assign(all, { ownPipeline: 'other' })],
  ['SQL as a sort column', (all) => Object.assign(all, { sort: [injected] })],
  ['a sort column that is none', (all) => Object.assign(all, { sort: ['other'] })],
  [
    'a column twice',
    (all) => {
      all.columns.push(all.columns[0] ?? {});
    },
  ],
  ['no columns', (all) => Object.assign(all, { columns: [] })],
  ['a key that is none', (all) => Object.assign(all, { run: injected })],
  ['a table that lasts', (all) => Object.assign(all, { lasting: true })],
  ['a list', () => []],
  ['null', () => JSON.parse('[null]') as unknown],
];

test.each(hostile)('a description with %s is refused in one line', async (_, change) => {
  await expect(
    describedAs((all) => {
      const made = change(all);
      return Array.isArray(made) ? made : undefined;
    }),
  ).rejects.toMatchObject({
    code: 'LAKE_LOG',
    message: expect.stringMatching(
      /^expected the description of a table in .*shop-orders\.json, found something else \(.{1,200}\); restore it from a copy[^\n]*$/,
    ) as unknown,
  });
});

test('two descriptions of one table are refused', async () => {
  const store = diskStore(lake);
  await describeTables(store, [table, { ...table, customPipeline: 'second' }]);
  await expect(describedTables(store)).rejects.toThrow(/another one describes shop_orders too/);
});

test('whatever a description holds, views over it run no statement of its own', async () => {
  const canary = join(lake, 'canary');
  const attack = fc.constantFrom(
    `2); COPY (SELECT 1) TO '${canary}'; SELECT (1`,
    `x" AS SELECT 1; COPY (SELECT 1) TO '${canary}'; --`,
    `'; COPY (SELECT 1) TO '${canary}'; --`,
    '12',
  );
  const database = await openDatabase();
  await fc.assert(
    fc.asyncProperty(attack, attack, attack, attack, async (name, column, type, digits) => {
      const described = await describedAs((all) => {
        all['name'] = name;
        Object.assign(all.columns[1] ?? {}, { name: column, type, digits: { precision: digits, scale: digits } });
      }).catch(() => []);
      await createViews(database, sqlTables(described as []), new Map());
      expect(existsSync(canary)).toBe(false);
    }),
    { numRuns: 50 },
  );
  database.close();
});
