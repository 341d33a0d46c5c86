import { expect, onTestFinished, test } from 'vitest';
import { cacheOf } from '../../../src/app/configuration/settings.js';
import { openServedLake } from '../../../src/cli/serve/serve-lake.js';
import { cacheSize, clearCache } from '../../../src/lake/files/file-cache.js';
import { clockAt, ran, serving, temporaryFolder } from '../../app/lake-run.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { arrayBackend, event } from '../http/array-backend.js';
import { allPages, sorted } from './served-lake.js';

const clock = clockAt('2026-03-15T12:00:00Z');

test('a lake on S3 is served from copies in the cache, which the next service shares, and a damaged file is refused', async () => {
  const server = await servedBucket();
  const cache = await temporaryFolder();
  const lake = 's3://bucket/lake';
  const items = Array.from({ length: 20 }, (_, number) => {
    const at = Date.parse('2026-02-01') + number * 3_600_000;
    return event(at, number, { json: JSON.stringify({ id: number, PostedDate: new Date(at).toISOString() }) });
  });
  const endpoint = await serving({ backend: arrayBackend(items), clock });
  const options = { from: '2026-02-01', to: '2026-02-03', pipelines: ['financial-events'] };
  await ran({ lake, endpoint, account: 'shop', ...options }, { clock });

  const range = { start: 0, end: clock.now() };
  const answered = async () => {
    const before = server.calls.length;
    const { backend } = await openServedLake({ lake, cache }, clock, () => undefined);
    onTestFinished(() => {
      backend.close();
    });
    const pages = await allPages((query) => backend.events(range, query), clock.now(), [7]);
    return { rows: sorted(pages.flat()), fetched: server.calls.slice(before).filter(({ key }) => isEvents(key)) };
  };
  const first = await answered();
  expect(first.rows).toEqual(sorted(items));
  expect((await cacheSize(cacheOf({ cache }))).files).toBe(first.fetched.length);
  expect(await answered()).toEqual({ rows: sorted(items), fetched: [] });

  await clearCache(cacheOf({ cache }));
  for (const [key, { bytes }] of server.bucket('bucket').objects) {
    if (!isEvents(key)) continue;
    const damaged = Buffer.from(bytes);
    damaged[100] = (damaged[100] ?? 0) ^ 1;
    server.bucket('bucket').put(key, damaged, {}, false);
  }
  await expect(answered()).rejects.toThrow(/expected .*events.* as its commit has it, its bytes have changed; /);
});

const isEvents = (key: string): boolean => /\/events\/.*\.parquet$/.test(key);
