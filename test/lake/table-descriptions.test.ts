import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { createViews } from '../../src/core/duckdb/views.js';
import { systemClock } from '../../src/core/clock.js';
import type { Table } from '../../src/core/columns/table.js';
import { reservedColumns } from '../../src/core/columns/table-schema.js';
import { Snapshot } from '../../src/lake/catalog/snapshot.js';
import { schemaChange } from '../../src/lake/commit-files.js';
import { newMetaData } from '../../src/lake/delta/table-metadata.js';
import { Lake } from '../../src/lake/lake.js';
import { descriptionOf } from '../../src/lake/table-descriptions.js';
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

/** A lake whose catalog has these descriptions. */
async function lakeWith(descriptions: Readonly<Record<string, unknown>>): Promise<Lake> {
  const store = diskStore(await mkdtemp(join(lake, 'lake-')));
  const first = await Lake.open(store, [], systemClock);
  await first.commitChange('CREATE TABLE', () => ({
    tables: Object.fromEntries(
      Object.entries(descriptions).map(([name, description]) => [
        name,
        { metaData: newMetaData({ ...table, name }, 0), description: description as Described },
      ]),
    ),
  }));
  return Lake.open(store, [], systemClock);
}

async function describedAs(change: (description: Described) => unknown): Promise<readonly Table[]> {
  const description = JSON.parse(JSON.stringify(descriptionOf(table))) as Described;
  const changed = change(description) ?? description;
  return (await lakeWith({ shop_orders: changed })).described;
}

test('a description that the program has written is read as it was, lines in front of their table', async () => {
  const lines: Table = { ...table, name: 'shop_lines', linesOf: 'shop_orders' };
  const opened = await lakeWith({ shop_orders: descriptionOf(table), shop_lines: descriptionOf(lines) });
  expect(opened.described).toEqual([lines, table]);
  expect(opened.tables).toEqual([lines, table]);
});

test('a commit describes a custom table, and no other', () => {
  expect(descriptionOf({ name: 'things', about: 'Things.', columns: [] })).toBeUndefined();
  expect(schemaChange(Snapshot.empty, table, 0)).toMatchObject({ description: descriptionOf(table) });
});

test('columns that a definition gets are in the next description where it has them, those that it lacks behind', async () => {
  const store = diskStore(lake);
  const definition = (...names: string[]) =>
    customTable('shop-orders', {
      name: 'shop_orders',
      about: 'Orders of a shop.',
      sort: [],
      columns: Object.fromEntries(names.map((name) => [name, { type: 'varchar' as const }])),
    });
  const namesOf = ({ described }: Lake) =>
    described[0]?.columns.flatMap(({ name, later }) =>
      reservedColumns.includes(name) ? [] : [later === true ? `${name} later` : name],
    );
  const first = await Lake.open(store, [definition('b')], systemClock);
  await first.growTables([definition('b')]);
  expect(first.snapshot.isEmpty).toBe(true);
  await first.commitChange('CREATE TABLE', (snapshot) => ({
    tables: { shop_orders: schemaChange(snapshot, definition('b'), 0) },
  }));
  const older = await Lake.open(store, [], systemClock);
  expect(namesOf(older)).toEqual(['b']);
  await older.growTables([definition('a', 'b', 'c')]);
  const newer = await Lake.open(store, [], systemClock);
  expect(namesOf(newer)).toEqual(['a later', 'b', 'c later']);
  // An older program takes none back, and the same again changes nothing.
  await newer.growTables([definition('b')]);
  await newer.growTables([definition('b')]);
  const last = await Lake.open(store, [], systemClock);
  expect(namesOf(last)).toEqual(['b', 'a later', 'c later']);
  expect(last.snapshot.version).toBe(2);
  // A checkpoint has it, too.
  await last.erase('ERASE');
  expect(namesOf(await Lake.open(store, [], systemClock))).toEqual(['b', 'a later', 'c later']);
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
  ['a path as a pipeline', (all) => Object.assign(all, { customPipeline: '../../x' })],
  ['the name of another table', (all) => Object.assign(all, { name: 'other' })],
  ['lines of itself', (all) => Object.assign(all, { linesOf: 'shop_orders' })],
  ['lines of no table', (all) => Object.assign(all, { linesOf: 'other' })],
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
];

test.each(hostile)('a description with %s is refused in one line', async (_, change) => {
  await expect(
    describedAs((all) => {
      change(all);
    }),
  ).rejects.toMatchObject({
    code: 'LAKE_LOG',
    message: expect.stringMatching(
      /^expected the description of the table shop_orders in the catalog of .*, found something else \(.{1,200}\)[^\n]*$/,
    ) as unknown,
  });
});

test('two tables of one pipeline are refused', async () => {
  const other = { ...descriptionOf(table), name: 'other_orders' };
  await expect(lakeWith({ shop_orders: descriptionOf(table), other_orders: other })).rejects.toThrow(
    /another table is of shop-orders, too/,
  );
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
