import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LakeDatabase } from '../../../src/app/query/lake-database.js';
import { wholeLake } from './whole-lake.js';
import { entriesQuery, lakeFolder, tables, type LakeFolder } from '../../core/duckdb/lake-fixture.js';
import { failureOf } from '../../failure-of.js';

let folder: LakeFolder;
beforeAll(() => {
  folder = lakeFolder();
});
afterAll(() => {
  folder.remove();
});

const count = 'SELECT count(*)::INTEGER AS n FROM entries';

/** A lake whose file has one row; `replace` puts one with two in its place. */
async function changingLake(name: string) {
  const path = (part: string) => `entries/account=a/month=2025-03/${name}-${part}.parquet`;
  const [old, newer] = [
    await folder.write(path('old'), entriesQuery('old', 1)),
    await folder.write(path('new'), entriesQuery('new', 2)),
  ];
  let files = [old];
  const lakeFiles = () => Promise.resolve(new Map([['entries', files]]));
  const replace = () => {
    files = [newer];
    rmSync(old, { force: true });
  };
  const lake = await LakeDatabase.open({ ...wholeLake, tables, lakeFiles });
  onTestFinished(() => {
    lake.close();
  });
  return { lake, replace, remove: () => (rmSync(newer), newer) };
}

test('statements that belong together read one version: all are read again where a commit replaces a file in between', async () => {
  const { lake, replace } = await changingLake('together');
  let reads = 0;
  const counts = await lake.readNewest(async (version) => {
    reads++;
    const first = await version.rows(count);
    replace();
    return [...first, ...(await version.rows(count))];
  });
  expect(counts).toEqual([{ n: 2 }, { n: 2 }]);
  expect(reads).toBe(2);
});

test('a statement of its own reads the newest version where its file is gone, another one stays at the version that is shown', async () => {
  const { lake, replace, remove } = await changingLake('alone');
  await lake.refresh();
  await lake.execute('CREATE TABLE kept AS FROM entries');
  replace();
  expect(await lake.rows('SELECT count(*)::INTEGER AS n FROM kept')).toEqual([{ n: 1 }]);
  expect(await lake.rows(count)).toEqual([{ n: 2 }]);
  // Without another version the error is final.
  const removed = remove();
  expect((await failureOf(lake.rows(count))).message).toContain(removed);
  expect((await failureOf(lake.readNewest((version) => version.rows(count)))).message).toContain(removed);
});
