import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { LakeDatabase } from '../../src/app/query/lake-database.js';
import { openLakeReader } from '../../src/app/query/lake-files.js';
import { compact } from '../../src/app/maintenance/compact-lake.js';
import { verify } from '../../src/app/verify/verify.js';
import { openStore } from '../../src/lake/store/open-store.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../app/lake-run.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const dates = { from: '2026-01-01', to: '2026-03-01' };

/** Every file of a lake, copied into a folder: a lake that DuckDB can read without its extension for S3. */
export async function copied(location: string): Promise<string> {
  const folder = await temporaryFolder();
  const store = openStore(location);
  for await (const { path } of store.list('')) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, (await store.read(path)) ?? '');
  }
  return folder;
}

async function verified(location: string): Promise<{ code: 0 | 1; certificate: string }> {
  const output = new PassThrough();
  const written = text(output);
  const { exitCode: code = 0 } = await verify(
    { lake: location, format: 'table', strict: true },
    { clock, signal: new AbortController().signal, output, emit: () => undefined },
  );
  output.end();
  return { code, certificate: await written };
}

/** What queries over a lake on S3 give, whose files they fetch, and over one on disk. */
async function expectSameQueries(location: string, onDisk: string): Promise<void> {
  const reader = await openLakeReader(location, clock, {
    cache: await temporaryFolder(),
    cacheGigabytes: 1,
  });
  const lake = await LakeDatabase.open(reader);
  onTestFinished(() => {
    lake.close();
  });
  await lake.refresh();
  for (const query of [
    "SELECT count(*) AS n, sum(amount) AS total FROM entries WHERE month = '2026-01'",
    'SELECT event_list, count(*) AS n FROM group_events JOIN groups USING (account, group_id) GROUP BY ALL ORDER BY ALL',
    "SELECT kind, sum(amount) AS total FROM ledger WHERE account = 'shop' GROUP BY ALL ORDER BY ALL",
  ]) {
    const here = await (await database(onDisk, clock)).rows(query);
    expect(here.length).toBeGreaterThan(0);
    expect(await lake.rows(query)).toEqual(here);
  }
}

async function differences(one: string, other: string): Promise<bigint> {
  const duckdb = await database(one, clock);
  let different = 0n;
  for (const table of ['events', 'entries', 'groups', 'group_events', 'group_entries']) {
    const files = `read_parquet('${other}/${table}/account=*/month=*/*.parquet', hive_partitioning = true)`;
    const [row] = await duckdb.rows(`
      SELECT (SELECT count(*) FROM (FROM ${files} EXCEPT ALL FROM ${table})) +
        (SELECT count(*) FROM (FROM ${table} EXCEPT ALL FROM ${files})) AS n,
        (SELECT count(*) FROM ${table}) AS held`);
    expect(Number(row?.['held'])).toBeGreaterThan(0);
    different += BigInt(String(row?.['n']));
  }
  return different;
}

/**
 * Loads the same range into a lake on S3, as the environment has it, and into one on disk: both hold the same rows, a
 * second run asks for nothing, verify finds nothing, compact merges, and queries give the same. How many slices the first run committed.
 */
export async function s3LakeRun(location: string): Promise<number> {
  const endpoint = await serving({
    backend: createSeller({ seed: 3, events: 600, profile: 'edge-cases' }, clock),
    clock,
  });
  const onDisk = await temporaryFolder();
  await ran({ lake: onDisk, endpoint, account: 'shop', ...dates }, { clock });

  const first = await ran({ lake: location, endpoint, account: 'shop', ...dates }, { clock });
  const slices = Object.values(first.summary.pipelines).reduce((sum, pipeline) => sum + (pipeline['slices'] ?? 0), 0);
  expect(await differences(onDisk, await copied(location))).toBe(0n);

  const second = await ran({ lake: location, endpoint: 'http://127.0.0.1:9', account: 'shop', ...dates }, { clock });
  expect(Object.values(second.summary.pipelines).map(({ requests }) => requests)).toEqual([0, 0, 0]);
  expect(await verified(location)).toMatchObject({ code: 0, certificate: expect.stringContaining('WHOLE') as string });

  const signal = new AbortController().signal;
  await compact({ lake: location, pipelines: [], account: undefined }, { clock, signal, emit: () => undefined });
  expect(await differences(onDisk, await copied(location))).toBe(0n);
  expect(await verified(location)).toMatchObject({ code: 0 });
  await expectSameQueries(location, onDisk);
  return slices;
}
