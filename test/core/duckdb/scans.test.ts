import fc from 'fast-check';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { scannedFiles, scansOf } from '../../../src/core/duckdb/scans.js';
import { createViews, type ViewedTable } from '../../../src/core/duckdb/views.js';

const accounts = ['shop', 'shop-2', "o'neill", 'a%b'];
const months = ['2024-12', '2025-01', '2025-02', '2025-11', 'unknown'];
const columns = [
  { name: 'id', type: 'INTEGER' },
  { name: 'filename', type: 'VARCHAR' },
];
const tables: readonly ViewedTable[] = [
  { name: 'entries', columns },
  { name: 'events', columns },
];

let root: string;
let database: Database;
/** By table: each real file, and the empty one of its partition. */
const files = new Map<string, Map<string, string>>();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  database = await openDatabase();
  let id = 0;
  for (const { name } of tables) {
    const own = new Map<string, string>();
    for (const account of accounts) {
      for (const month of months) {
        const folder = join(root, name, `account=${encodeURIComponent(account)}`, `month=${month}`);
        const file = join(folder, 'some.parquet');
        await mkdir(dirname(file), { recursive: true });
        await database.execute(
          `COPY (SELECT ${id++} AS id, 'f' AS filename) TO '${file.replaceAll("'", "''")}' (FORMAT parquet)`,
        );
        await writeFile(join(folder, 'none.parquet'), '');
        own.set(file, join(folder, 'none.parquet'));
      }
    }
    files.set(name, own);
  }
});
afterAll(async () => {
  database.close();
  await rm(root, { recursive: true });
});

/** Rows over all files, and over those that the plan says are read: the others are empty files. */
async function compared(query: string): Promise<number> {
  const whole = new Map([...files].map(([name, own]) => [name, [...own.keys()]]));
  await createViews(database, tables, whole);
  const expected = await database.rows(query);
  const empty = new Map([...files].map(([name, own]) => [name, [...own.values()]]));
  await createViews(database, tables, empty);
  const scans = await scansOf(database, query, {});
  const needed = new Map<string, string[]>();
  let count = 0;
  for (const [name, own] of files) {
    const read = await scannedFiles(database, name, [...own.values()], scans ?? []);
    needed.set(
      name,
      [...own].map(([file, none]) => (scans === undefined || read.has(none) ? file : none)),
    );
    count += read.size;
  }
  await createViews(database, tables, needed);
  expect(await database.rows(query)).toEqual(expected);
  return count;
}

const text = (values: readonly string[]) =>
  fc.constantFrom(...values).map((value) => `'${value.replaceAll("'", "''")}'`);
const atom = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('account', 'month'),
      fc.constantFrom('=', '<>', '<', '>=', 'LIKE', 'IS DISTINCT FROM'),
      text([...accounts, ...months, '2025%', '%shop%', 'a(b)(c)']),
    )
    .map((words) => words.join(' ')),
  fc
    .tuple(
      fc.constantFrom('account', 'month'),
      fc.array(text([...accounts, ...months]), { minLength: 1, maxLength: 3 }),
    )
    .map(([column, values]) => `${column} IN (${values.join(', ')})`),
  text(['2024', '2025']).map((year) => `substr(month, 1, 4) = ${year}`),
  text(months).map((month) => `CASE WHEN account = 'shop' THEN month = ${month} ELSE month > ${month} END`),
  fc.tuple(text(months), text(months)).map(([one, other]) => `month BETWEEN ${one} AND ${other}`),
  fc.nat(40).map((id) => `id > ${id}`),
  fc.constantFrom(
    'month IS NULL',
    "regexp_matches(month, '^2025-0')",
    'length(account) > 4',
    "month || account = '2025-01shop'",
    'month = (SELECT min(month) FROM events)',
    'account IN (SELECT account FROM events WHERE id = 31)',
  ),
);
const condition = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    atom,
    fc
      .tuple(tie('any'), fc.constantFrom('AND', 'OR'), tie('any'))
      .map(([one, word, other]) => `(${one}) ${word} (${other})`),
    tie('any').map((one) => `NOT (${one})`),
  ),
})).any;

test('a statement reads no other files than those of its scans', async () => {
  await fc.assert(
    fc.asyncProperty(
      condition,
      fc.constantFrom('entries', 'events'),
      fc.constantFrom('count(*)', 'sum(id)', 'max(month)'),
      async (where, table, value) => {
        await compared(`SELECT ${value} AS value FROM ${table} WHERE ${where}`);
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);

test.each([
  ["SELECT sum(id) AS n FROM entries WHERE month = '2025-01'", 4],
  ["SELECT sum(id) AS n FROM entries WHERE month = '2025-01' AND account = 'o''neill'", 1],
  ["SELECT sum(id) AS n FROM entries WHERE month LIKE '2025-0%' AND account IN ('shop', 'a%b')", 4],
  ['SELECT sum(id) AS n FROM entries', 20],
  ["SELECT max(filename) AS n FROM events WHERE account = 'shop'", 5],
  ['SELECT 1 AS n', 0],
  // Nothing says of which table a bare number of rows is.
  ['SELECT count(*) AS n FROM entries', 40],
] as const)('%s reads %i files', async (query, expected) => {
  expect(await compared(query)).toBe(expected);
});

test('statements that need each other may read anything, and wrong ones read nothing', async () => {
  expect(await scansOf(database, 'CREATE TEMP TABLE made AS FROM entries; FROM made', {})).toBeUndefined();
  expect(await scansOf(database, "EXPORT DATABASE 'somewhere'", {})).toBeUndefined();
  for (const wrong of ['FROM nothing', 'SELEC 1', 'EXPLAIN FROM entries'])
    expect(await scansOf(database, wrong, {})).toEqual([]);
  expect(await scansOf(database, 'EXPLAIN ANALYZE SELECT id FROM entries', {})).toHaveLength(1);
});
