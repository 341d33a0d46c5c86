import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { entries } from '../../../src/sources/finances/api-v0/event-tables.js';
import { derivedTableOf, rederivedEntries } from '../../../src/app/maintenance/rederived-entries.js';
import { contentOf } from '../../../src/core/io/file-content.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, serving, temporaryFolder } from '../lake-run.js';
import { comparedEntries, storedEvents } from './stored-events.js';
import { fetchedBodies, fileOf, imported } from '../import/imported.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const month = { PostedAfter: '2025-05-01T00:00:00Z', PostedBefore: '2025-06-01T00:00:00Z' };

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

/** A month of a seller with so many events in 40 days, as one file of events with a date and one of their entries. */
async function files(
  count = 1000,
): Promise<{ events: Uint8Array; path: string; counts: { events: number; rows: number } }> {
  const url = await serving({
    backend: createSeller({ seed: 11, events: count, days: 40, profile: 'edge-cases' }, clock),
    clock,
  });
  const lake = join(await temporaryFolder(), 'lake');
  await imported({ root: lake, clock }, [
    await fileOf(await fetchedBodies(url, '/finances/v0/financialEvents', month)),
  ]);
  const first = async (table: string): Promise<string> => {
    const folder = join(lake, table, 'account=demo', 'month=2025-05');
    const numberOf = (name: string) => Number(/-(\d+)\.parquet$/.exec(name)?.[1]);
    // Those with a date are written first.
    const [name] = (await readdir(folder)).toSorted((one, other) => numberOf(one) - numberOf(other));
    if (name === undefined) throw new Error(`expected a file of ${table}`);
    return join(folder, name);
  };
  // Out of the folders whose names DuckDB takes for columns.
  const path = join(lake, 'entries.parquet');
  await copyFile(await first('entries'), path);
  const main = await first('events');
  const rowsIn = async (of: string) =>
    Number((await database.rows(`SELECT count(*) AS rows FROM '${of}'`))[0]?.['rows']);
  return { events: await readFile(main), path, counts: { events: await rowsIn(main), rows: await rowsIn(path) } };
}

/** What DuckDB makes of the file of entries, as `compact` writes files. */
async function written(select: string): Promise<string> {
  const target = join(await temporaryFolder(), 'entries.parquet');
  await database.execute(
    `COPY (${select}) TO '${target}' (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 10240)`,
  );
  return target;
}

/** A local file of these bytes. */
async function fileWith(bytes: Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(), 'entries.parquet');
  await writeFile(path, bytes);
  return path;
}

const pipeline = 'financial-events';
const derived = derivedTableOf(pipeline);

/** The rows of a file of events and of its entries, derived again; undefined where the stored entries are others. */
async function unchangedEntries(file: Uint8Array, stored: readonly string[], signal?: AbortSignal) {
  const { net } = await rederivedEntries(derived, await storedEvents(pipeline, file, undefined));
  const compared = { files: stored, nets: [net], sha256: undefined };
  const { events, rows, sameBy } = await comparedEntries(database, pipeline, file, compared, signal);
  return sameBy === undefined ? undefined : { events, rows };
}

test('entries that are what they should be are found so, whoever wrote their file', async () => {
  // More than is made, and more than is read, at once.
  const { events, path, counts } = await files(6000);
  expect(counts.rows).toBeGreaterThan(20_000);
  expect(await unchangedEntries(events, [path])).toEqual(counts);
  expect(await unchangedEntries(events, [await written(`SELECT * FROM '${path}'`)])).toEqual(counts);
  const stopped = AbortSignal.abort(new Error('enough'));
  await expect(unchangedEntries(events, [path], stopped)).rejects.toThrow('enough');
});

test('entries are compared by the bytes of the file that landed them, whichever version did, and else by their rows', async () => {
  const { events, path, counts } = await files();
  const again = await rederivedEntries(derived, await storedEvents(pipeline, events, undefined));
  expect(again.files?.map(({ rows }) => rows)).toEqual([counts.rows]);
  const comparison = async (file: Uint8Array, net = again.net) => {
    const compared = { files: [await fileWith(file)], nets: [net], sha256: contentOf(file).sha256 };
    return (await comparedEntries(database, pipeline, events, compared)).sameBy;
  };
  const stored = await readFile(path);
  expect(await comparison(stored)).toBe('bytes');
  // Of one length, so that nothing else of the footer changes.
  const [older, unlike] = ['ledgerlake 0.0.9', 'ledgerlake-0.0.9'].map((writer) =>
    Buffer.from(stored.toString('latin1').replace(/ledgerlake \d\.\d\.\d/, writer), 'latin1'),
  );
  for (const file of [older, unlike]) expect(await comparison(file ?? stored)).toBe('bytes');
  expect(await comparison(await readFile(await written(`SELECT * FROM '${path}'`)))).toBe('rows');
  expect(
    await comparison(await readFile(await written(`SELECT * REPLACE ('x' AS name) FROM '${path}'`))),
  ).toBeUndefined();
  expect(await comparison(stored, { USD: '0.000001' })).toBeUndefined();
  expect(await comparison(Buffer.from('no Parquet file'))).toBeUndefined();
});

test('a single other value is found, in any column and row', async () => {
  const { events, path, counts } = await files();
  for (const { name, type } of entries.columns) {
    const { sql, more, other } = values[type] ?? { sql: '', more: 'NULL', other: () => '' };
    for (const row of [0, counts.rows - 1]) {
      const value = `CASE WHEN file_row_number = ${row} THEN coalesce(${other(name)}, ${more})::${sql} ELSE ${name} END`;
      const stored = await written(
        `SELECT * EXCLUDE (file_row_number) REPLACE (${value} AS ${name}) FROM read_parquet('${path}', file_row_number = true)`,
      );
      expect(await unchangedEntries(events, [stored]), `${name} of row ${row}`).toBeUndefined();
    }
  }
});

test('the same rows come to the same in any order, batches, files and arrays, and others do not', async () => {
  const { events, path, counts } = await files();
  const all = `SELECT * FROM '${path}'`;
  for (const [select, isSame] of [
    [all, true],
    [`${all} ORDER BY amount, name, entry`, true],
    [`SELECT * REPLACE (sku AS fnsku, fnsku AS sku) FROM '${path}'`, false],
    [`SELECT * EXCLUDE (sku) FROM '${path}'`, false],
    [`SELECT * REPLACE (quantity::DOUBLE AS quantity) FROM '${path}'`, false],
  ] as const) {
    expect(await unchangedEntries(events, [await written(select)]), select).toEqual(isSame ? counts : undefined);
  }
  const halves = [await written(`${all} LIMIT 100`), await written(`${all} OFFSET 100`)];
  expect(await unchangedEntries(events, halves)).toEqual(counts);
  const [half = path] = halves;
  expect(await unchangedEntries(events, [half])).toBeUndefined();
});

test('other rows and other columns are found', async () => {
  const { events, path, counts } = await files();
  const all = `SELECT * FROM '${path}'`;
  for (const select of [
    `${all} OFFSET 1`,
    `${all} LIMIT ${counts.rows - 1}`,
    `${all} UNION ALL (${all} LIMIT 1)`,
    `SELECT * EXCLUDE (sku) FROM '${path}'`,
    `SELECT *, 1 AS more FROM '${path}'`,
    `SELECT * REPLACE (amount::DECIMAL(18,4) AS amount) FROM '${path}'`,
    `SELECT * REPLACE (quantity::DECIMAL(18,6) AS quantity) FROM '${path}'`,
    `SELECT * REPLACE (entry::BIGINT AS entry) FROM '${path}'`,
    `SELECT * REPLACE (CASE WHEN entry = 1 THEN NULL ELSE name END AS name) FROM '${path}'`,
    `SELECT * REPLACE (CASE WHEN entry = 1 THEN NULL ELSE amount END AS amount) FROM '${path}'`,
  ]) {
    expect(await unchangedEntries(events, [await written(select)]), select).toBeUndefined();
  }
});

/** By the type of a column: its name in SQL, what stands for no value, and what is no value's own. */
const values: Readonly<Record<string, { sql: string; more: string; other: (name: string) => string }>> = {
  text: { sql: 'VARCHAR', more: `''`, other: (name) => `${name} || 'x'` },
  decimal: { sql: 'DECIMAL(18,6)', more: '0', other: (name) => `-${name} - 0.000001` },
  instant: { sql: 'TIMESTAMPTZ', more: `'1970-01-01Z'`, other: (name) => `${name} + INTERVAL 1 microsecond` },
  integer: { sql: 'INTEGER', more: '0', other: (name) => `${name} + 1` },
  bigint: { sql: 'BIGINT', more: '0', other: (name) => `${name} + 4294967296` },
};
