import { readdirSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Table } from '../../../src/core/columns/table.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { sqlTables } from '../../../src/app/query/lake-files.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { Lake } from '../../../src/lake/lake.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { newFileOf, standing, things } from '../../lake/small-table.js';
import { lakeFolder } from './lake-fixture.js';

/** The same table, as a newer version of the program has it. */
const newer: Table = {
  ...things,
  columns: [
    { name: 'amount', type: 'decimal', nullable: false, encoding: 'plain', about: 'What it costs.' },
    ...things.columns,
    { name: 'filename', type: 'text', nullable: true, encoding: 'plain', about: 'Where it was found.' },
  ],
};

let database: Database;
beforeAll(async () => {
  database = await openDatabase();
});
afterAll(() => {
  database.close();
});

async function lakeOfBoth() {
  const folder = lakeFolder();
  onTestFinished(() => {
    folder.remove();
  });
  const store = diskStore(folder.root);
  const commit = async (schema: Table, partition: string, query: string) => {
    const local = await folder.write(`query.parquet`, query);
    const bytes = await readFile(local);
    await rm(local);
    const lake = await Lake.open(store, [schema], standing);
    const [, account = '', month = ''] = /account=(.*)\/month=(.*)/.exec(partition) ?? [];
    await lake.commitFiles({
      operation: 'WRITE',
      main: schema,
      files: [newFileOf(schema, bytes, { account, month })],
      replaced: () => ({ removed: [] }),
    });
  };
  await commit(things, 'account=a/month=2025-01', `SELECT 'x' AS id`);
  await commit(
    newer,
    'account=b/month=2025-02',
    `SELECT 1.5::DECIMAL(18,6) AS amount, 'y' AS id, 'shelf' AS "filename"`,
  );
  await commit(newer, 'account=b/month=2025-03', `SELECT 2::DECIMAL(18,6) AS amount, 'z' AS id`);
  return { root: folder.root, store };
}

async function viewed(schema: Table, { root, store }: Awaited<ReturnType<typeof lakeOfBoth>>): Promise<void> {
  const lake = await Lake.open(store, [schema], standing);
  const columns = lake.snapshot.columnsOf(lake.table('things'));
  const files = lake.fileAddresses().get('things') ?? [];
  expect(files).toHaveLength(3);
  expect(files.every((file) => file.startsWith(root))).toBe(true);
  await createViews(database, sqlTables([{ name: 'things', columns }]), new Map([['things', files]]));
}

test('columns that came later are there for both versions of the program, and NULL in older files', async () => {
  const lake = await lakeOfBoth();
  await viewed(newer, lake);
  expect(await database.rows('SELECT * FROM things ORDER BY id')).toEqual([
    { amount: null, id: 'x', filename: null, account: 'a', month: '2025-01' },
    { amount: '1.500000', id: 'y', filename: 'shelf', account: 'b', month: '2025-02' },
    { amount: '2.000000', id: 'z', filename: null, account: 'b', month: '2025-03' },
  ]);
  await viewed(things, lake);
  expect(await database.rows('SELECT * FROM things ORDER BY id')).toEqual([
    { id: 'x', amount: null, filename: null, account: 'a', month: '2025-01' },
    { id: 'y', amount: '1.500000', filename: 'shelf', account: 'b', month: '2025-02' },
    { id: 'z', amount: '2.000000', filename: null, account: 'b', month: '2025-03' },
  ]);
  expect(await database.rows(`SELECT column_type AS type FROM (DESCRIBE things) WHERE column_name = 'amount'`)).toEqual(
    [{ type: 'DECIMAL(18,6)' }],
  );
});

test('the log tells of them once, with the first file that may have them', async () => {
  const { store } = await lakeOfBoth();
  const told: (string[] | undefined)[] = [];
  for (const version of [0, 1, 2, 3]) {
    const bytes = await store.read(`things/_delta_log/${String(version).padStart(20, '0')}.json`);
    const line = Buffer.from(bytes ?? [])
      .toString()
      .split('\n')
      .find((each) => each.startsWith('{"metaData"'));
    const action = line === undefined ? undefined : (JSON.parse(line) as { metaData: { schemaString: string } });
    const schema = JSON.parse(action?.metaData.schemaString ?? '{}') as {
      fields?: { name: string; nullable: boolean }[];
    };
    told.push(schema.fields?.map(({ name, nullable }) => `${name}${nullable ? '?' : ''}`));
  }
  const grown = ['id', 'account', 'month', 'amount?', 'filename?'];
  expect(told).toEqual([['id', 'account', 'month'], undefined, grown, undefined]);
});

test('a query opens no file of another account or month, nor does the view', async () => {
  const lake = await lakeOfBoth();
  const month = join(lake.root, 'things/account=a/month=2025-01');
  for (const name of readdirSync(month)) writeFileSync(join(month, name), 'this is no Parquet');
  await viewed(newer, lake);
  const sum = (where: string) => database.rows(`SELECT sum(amount) AS sum FROM things ${where}`);
  expect(await sum(`WHERE account = 'b'`)).toEqual([{ sum: '3.500000' }]);
  expect(await sum(`WHERE account = 'b' AND month = '2025-02'`)).toEqual([{ sum: '1.500000' }]);
  expect(await sum(`WHERE month IN ('2025-03', '2025-04')`)).toEqual([{ sum: '2.000000' }]);
  expect(await sum(`WHERE month > '2025-01' AND amount > 1`)).toEqual([{ sum: '3.500000' }]);
  await expect(sum('')).rejects.toThrow(/month=2025-01\/.*\.parquet/);
});
