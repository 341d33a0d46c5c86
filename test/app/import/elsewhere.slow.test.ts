import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { importLimits } from '../../../src/app/import/chunks/chunk-threads.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, database, fileContents, ran, serving, temporaryFolder } from '../lake-run.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { readLastRuns, writeLastRun } from '../../../src/lake/upkeep/last-run.js';
import { copied } from '../../lake/s3-run.js';
import { builtChunkThread } from '../../core/built-thread.js';
import { servedBucket } from '../../s3-server/served-bucket.js';
import { runningClock } from '../../running-clock.js';
import { found, verified } from '../verify/verified.js';
import { fetchedBodies, fileOf, imported } from './imported.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const days = { PostedAfter: '2025-04-20T00:00:00Z', PostedBefore: '2025-05-20T00:00:00Z' };

test('an import into a lake on S3 writes what one on disk gets', async () => {
  await servedBucket();
  const url = await serving({ backend: createSeller({ seed: 7, events: 3000, profile: 'edge-cases' }, clock), clock });
  const file = await fileOf(await fetchedBodies(url, '/finances/v0/financialEvents', days));
  const limits = { ...importLimits, chunkBytes: 300_000, thread: { from: 0, script: builtChunkThread } };
  const onDisk = await temporaryFolder();
  await imported({ root: onDisk, clock }, [file], { limits });
  const location = 's3://bucket/lakes/demo';
  const first = await imported({ root: location, clock }, [file], { limits });
  expect(first.summary.pipelines['financial-events']?.['files']).toBeGreaterThan(4);
  const ofS3 = await copied(location);
  expect(await fileContents(ofS3)).toEqual(await fileContents(onDisk));

  const second = await imported({ root: location, clock }, [file], { limits });
  expect(second.summary.pipelines['financial-events']).toMatchObject({ files: 0, events: 0 });
  expect(await fileContents(await copied(location))).toEqual(await fileContents(onDisk));
});

/** Whether imported files were committed between files of a backfill: by the log of `events`. */
async function areMixed(root: string): Promise<boolean> {
  const folder = join(root, 'events', '_delta_log');
  const commits = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted();
  const kinds: boolean[] = [];
  for (const commit of commits) {
    const text = await readFile(join(folder, commit), 'utf8');
    const added = text.split('\n').filter((line) => line.startsWith('{"add":'));
    if (added.length > 0) kinds.push(added.some((line) => line.includes('/import-')));
  }
  const imports = kinds.indexOf(true);
  return imports > kinds.indexOf(false) && imports < kinds.lastIndexOf(false);
}

test('an import beside a running backfill: each day is of one of them, and nothing is lost or doubled', async () => {
  const now = '2025-06-01T00:05:00Z';
  const seller = createSeller({ seed: 7, events: 3000, profile: 'edge-cases' }, clock);
  const url = await serving({ backend: seller, clock });
  const bodies = await fetchedBodies(url, '/finances/v0/financialEvents', days);
  // A file for every few pages, each with commits of its own.
  const pages = Array.from({ length: Math.ceil(bodies.length / 2) }, (_, at) => bodies.slice(at * 2, at * 2 + 2));
  const files = await Promise.all(pages.map((of) => fileOf(of)));

  const root = await temporaryFolder();
  const importOf = (of: readonly string[]) => imported({ root, clock: runningClock(now) }, of);
  // The first commit makes the table, the second one holds the first slice.
  const isBegun = () => existsSync(join(root, 'events', '_delta_log', `${'1'.padStart(20, '0')}.json`));
  // The backfill waits for its later slices until half of the files are there, and goes on beside the other half.
  const goOn = new AbortController();
  const half = once(goOn.signal, 'abort');
  const backend: typeof seller = {
    ...seller,
    events: async (window, query) => {
      if (window.end > Date.parse('2025-05-10')) await half;
      return seller.events(window, query);
    },
  };
  const options = { pipelines: ['financial-events'], account: 'demo', from: '2025-05-01', to: '2025-05-20' };
  const endpoint = await serving({ backend, clock: runningClock(now) });
  const backfill = ran({ ...options, lake: root, endpoint }, { clock: runningClock(now) });
  await vi.waitUntil(isBegun, 600_000);
  const middle = files.length >> 1;
  const first = await importOf(files.slice(middle));
  goOn.abort();
  const [, second] = await Promise.all([backfill, importOf(files.slice(0, middle))]);
  for (const { failure } of [first, second]) expect(failure).toBeUndefined();
  expect(second.summary.imported['financial-events']?.known).toBeGreaterThan(0);
  expect(await areMixed(root)).toBe(true);

  const alone = await temporaryFolder();
  await ran({ ...options, lake: alone, endpoint: url, from: '2025-04-20' }, { clock });
  // Where an event without a date stands depends on its pages.
  const dated = 'SELECT raw FROM events WHERE posted_at IS NOT NULL ORDER BY raw';
  expect(await (await database(root, clock)).rows(dated)).toEqual(await (await database(alone, clock)).rows(dated));
  expect(found(await verified({ root, clock }))).toEqual([]);
});

test('a lake whose last run is said to have read from nowhere is imported into all the same', async () => {
  const url = await serving({ backend: createSeller({ seed: 7, events: 300, profile: 'edge-cases' }, clock), clock });
  const file = await fileOf(await fetchedBodies(url, '/finances/v0/financialEvents', days));
  const root = await temporaryFolder();
  await imported({ root, clock }, [file]);
  const store = diskStore(root);
  const [last] = (await readLastRuns(store)).values();
  if (last === undefined) throw new Error('expected the note of a run');
  await writeLastRun(store, { ...last, endpoint: 'httpq://host' });
  const { failure, logged, summary } = await imported({ root, clock }, [file]);
  expect([failure, summary.status]).toEqual([undefined, 'done']);
  expect(logged).toContain('the note for `ledgerlake status` could not be written');
});
