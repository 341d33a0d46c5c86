import { readdir } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { openServedLake } from '../../../src/cli/serve/serve-lake.js';
import { clockAt, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { arrayLedger, event } from '../http/array-ledger.js';
import { allPages, sorted } from './served-lake.js';

const clock = clockAt('2026-03-15T12:00:00Z');

test('a lake on S3 is served from copies of its files, which go when the service ends', async () => {
  await servedBucket();
  const folder = await temporaryFolder();
  vi.stubEnv('TMPDIR', folder);
  const lake = 's3://bucket/lake';
  const items = Array.from({ length: 20 }, (_, number) => {
    const at = Date.parse('2026-02-01') + number * 3_600_000;
    return event(at, number, { json: JSON.stringify({ id: number, PostedDate: new Date(at).toISOString() }) });
  });
  const endpoint = await serving({ ledger: arrayLedger(items), clock });
  const options = { from: '2026-02-01', to: '2026-02-03', pipelines: ['financial-events'] };
  await ran({ lake, endpoint, account: 'shop', ...options }, { clock });

  const { ledger } = await openServedLake(lake, undefined, clock, () => undefined);
  const range = { from: 0, to: clock.now() };
  const pages = await allPages((query) => ledger.events(range, query), clock.now(), [7]);
  expect(sorted(pages.flat())).toEqual(sorted(items));
  // Beside them DuckDB has a folder of its own, for rows that memory has no room for.
  expect((await readdir(folder)).toSorted()).toEqual([
    expect.stringMatching(/^ledgerlake-duckdb-/),
    expect.stringMatching(/^ledgerlake-serve-/),
  ]);
  await ledger.close();
  expect(await readdir(folder)).toEqual([]);
});
