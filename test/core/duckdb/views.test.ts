import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import fc from 'fast-check';
import { createViews } from '../../../src/core/duckdb/views.js';
import { literal } from '../../../src/core/duckdb/literals.js';
import { entriesQuery, lakeFolder, tables, type LakeFolder } from './lake-fixture.js';

let database: Database;
let folder: LakeFolder;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});
beforeEach(() => {
  folder = lakeFolder();
});
afterEach(() => {
  folder.remove();
});

async function types(view: string): Promise<string[]> {
  const rows = await database.rows(`SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${view})`);
  return rows.map(({ name, type }) => `${String(name)} ${String(type)}`);
}

const entryTypes = [
  'event_id VARCHAR',
  'entry INTEGER',
  'quantity BIGINT',
  'amount DECIMAL(18,6)',
  'posted_at TIMESTAMP WITH TIME ZONE',
  'account VARCHAR',
  'month VARCHAR',
];

test('a table without files is an empty view with all columns', async () => {
  await createViews(database, tables, new Map());
  expect(await types('entries')).toEqual(entryTypes);
  expect(await database.rows('SELECT count(*) AS n FROM entries')).toEqual([{ n: 0n }]);
});

test('a view is one statement, whatever breaks out of it, also where the user’s own may be several', async () => {
  const target = join(folder.root, 'written.csv');
  const type = `VARCHAR); COPY (SELECT 1) TO '${target}'; SELECT CAST(NULL AS VARCHAR`;
  const columns = [{ name: 'a', type }];
  await expect(createViews(database, [{ name: 'broken', columns }], new Map())).rejects.toThrow(
    'expected one statement, got 3: nothing was run',
  );
  expect(existsSync(target)).toBe(false);
});

test('a view reads its files and no others, exactly, with account and month as text', async () => {
  const files = [
    await folder.write('entries/account=007/month=2025-03/a.parquet', entriesQuery('a', 3)),
    await folder.write('entries/account=x%20y/month=2025-04/b.parquet', entriesQuery('b', 1)),
  ];
  await folder.write('entries/account=007/month=2025-03/replaced.parquet', entriesQuery('old', 5));
  await createViews(database, tables, new Map([['entries', files]]));
  expect(await types('entries')).toEqual(entryTypes);
  expect(
    await database.rows(
      'SELECT account, month, count(*) AS n, sum(amount) AS total, max(quantity) AS most FROM entries GROUP BY ALL ORDER BY ALL',
    ),
  ).toEqual([
    { account: '007', month: '2025-03', n: 3n, total: '37.037034', most: 9007199254740995n },
    { account: 'x y', month: '2025-04', n: 1n, total: '12.345678', most: 9007199254740993n },
  ]);
  expect(await database.rows('SELECT DISTINCT posted_at FROM entries')).toEqual([
    { posted_at: '2025-03-04T05:06:07.250Z' },
  ]);
});

test('a filter on the month opens the files of that month only', async () => {
  const files: string[] = [];
  for (const month of ['01', '02', '03']) {
    files.push(await folder.write(`entries/account=a/month=2025-${month}/f.parquet`, entriesQuery(month, 2)));
  }
  await createViews(database, tables, new Map([['entries', files]]));
  const [plan] = await database.rows(`EXPLAIN SELECT sum(amount) FROM entries WHERE month = '2025-02'`);
  expect(plan?.['explain_value']).toContain('Scanning Files: 1/3');
});

describe('files of several versions', () => {
  test('have the columns of all, in whatever order they come', async () => {
    const old = await folder.write(
      'events/account=a/month=2025-01/old.parquet',
      `SELECT 'x' AS event_id, NULL::TIMESTAMPTZ AS posted_at`,
    );
    const newer = await folder.write(
      'events/account=a/month=2025-02/new.parquet',
      `SELECT '{}' AS raw, 'y' AS event_id, 7 AS "new ""column""", now() AS posted_at`,
    );
    const added = { name: 'new "column"', type: 'INTEGER' };
    const widened = tables.map((table) => ({ ...table, columns: [...table.columns, added] }));
    for (const files of [
      [old, newer],
      [newer, old],
    ]) {
      await createViews(database, widened, new Map([['events', files]]));
      expect(await types('events')).toEqual([
        'event_id VARCHAR',
        'posted_at TIMESTAMP WITH TIME ZONE',
        'raw VARCHAR',
        'new "column" INTEGER',
        'account VARCHAR',
        'month VARCHAR',
      ]);
      expect(await database.rows('SELECT event_id, raw, "new ""column""" AS n, month FROM events ORDER BY 1')).toEqual([
        { event_id: 'x', raw: null, n: null, month: '2025-01' },
        { event_id: 'y', raw: '{}', n: 7, month: '2025-02' },
      ]);
    }
  });

  test('that all lack a column show it as NULL, and get the types of the table', async () => {
    const file = await folder.write(
      'entries/account=a/month=2025-01/f.parquet',
      `SELECT 'x' AS event_id, 1::BIGINT AS entry, 2.5::DECIMAL(9,2) AS amount`,
    );
    await createViews(database, tables, new Map([['entries', [file]]]));
    expect(await types('entries')).toEqual(entryTypes);
    expect(await database.rows('SELECT entry, quantity, amount FROM entries')).toEqual([
      { entry: 1, quantity: null, amount: '2.500000' },
    ]);
  });
});

test.each(['it’s [1] *?', "quote'd", 'env=prod', 'account=other/month=1999-01/lake'])(
  'a lake in a folder named %s is read as any other',
  async (name) => {
    const odd = lakeFolder(name);
    try {
      const files = [
        await odd.write('entries/account=a%20b/month=2025-01/f.parquet', entriesQuery('f', 1)),
        await odd.write('entries/account=a%20b/month=2025-02/g.parquet', entriesQuery('g', 1)),
      ];
      await createViews(database, tables, new Map([['entries', files]]));
      expect(await types('entries')).toEqual(entryTypes);
      expect(await database.rows('SELECT event_id, account, month FROM entries ORDER BY 1')).toEqual([
        { event_id: 'f', account: 'a b', month: '2025-01' },
        { event_id: 'g', account: 'a b', month: '2025-02' },
      ]);
    } finally {
      odd.remove();
    }
  },
);

test('ten thousand files make one view', async () => {
  const file = await folder.write('entries/account=a/month=2025-01/f.parquet', entriesQuery('f', 2));
  const files = Array.from({ length: 10_000 }, () => file);
  await createViews(database, tables, new Map([['entries', files]]));
  expect(await database.rows('SELECT count(*) AS n, sum(amount) AS total FROM entries')).toEqual([
    { n: 20_000n, total: '246913.560000' },
  ]);
});

test('a file that is gone is an error that names it', async () => {
  const files = new Map([['entries', [`${folder.root}/entries/account=a/month=2025-01/gone.parquet`]]]);
  await expect(createViews(database, tables, files)).rejects.toThrow(/^IO Error: No files found.*gone\.parquet/);
});

test.each([
  'entries/f.parquet',
  'entries/account=a/f.parquet',
  'entries/account=a/month=1/f.parquet',
  'entries/month=2025-01/account=a/f.parquet',
  'events/account=a/month=2025-01/f.parquet',
])('a file at %s is none of the table’s, and named', async (path) => {
  const files = [`${folder.root}/entries/account=a/month=2025-01/g.parquet`, `${folder.root}/${path}`];
  await expect(createViews(database, tables, new Map([['entries', files]]))).rejects.toMatchObject({
    code: 'LAKE_LOG',
    message: expect.stringContaining(`got ${folder.root}/${path} in the log`) as string,
  });
});

test('a literal is its text, whatever it holds', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\0', "'", '"', '\\', '\n', 'é', ';', '--') });
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const sql = `SELECT ${literal(value)} AS is, ${literal(value)} IN (${literal(`${value}x`)}) AS other`;
      expect(await database.rows(sql)).toEqual([{ is: value, other: false }]);
    }),
    { numRuns: 200 },
  );
});
